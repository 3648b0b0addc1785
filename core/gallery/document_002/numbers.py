"""Numbers of independent programs for document 002, with which the entries here and tests of models compare ours.

Nothing of them is Kingpost's. Curves of the document did not survive but for readings of the author's own pictures, which two
packages hold that the document points to.
"""

from __future__ import annotations

#: Example 4.5, the slider-crank in space with friction: t, s, chi, chi', u1, y3*, z3*, x3*.
SLIDER_CRANK = (
    (0.05, -0.07306, 0.93059, 8.1864, 27.44449, -5.80370, 17.38870, 9.16583),
    (0.10, -0.15591, 1.40334, 10.1080, 6.93901, -8.00520, 12.92572, 7.60193),
    (0.15, -0.25831, 1.90473, 9.6908, -8.25343, 6.97690, -3.80674, 3.97393),
    (0.40, -0.15591, 1.40334, -10.1080, 4.55973, -3.98349, 8.16715, -4.54342),
    (0.45, -0.07306, 0.93059, -8.1864, 25.09193, -3.44144, 12.68357, -6.57108),
)
#: Figs. 5.11 to 5.13, Whitworth's quick return: channel, time and value of extrema.
QUICK_RETURN = (
    ("rail.displacement.rate", 2.474, 0.87072),
    ("rail.displacement.rate", 0.662, -0.31477),
    ("lever-pivot.angle.rate", 0.5, 0.50325),
    ("lever-pivot.angle.rate", 2.5, -1.40085),
    ("torque", 2.297, 0.95237),
    ("torque", 2.655, -1.00406),
    ("torque", 1.538, -0.06092),
    ("torque", 3.706, 0.04219),
)
#: Figs. 5.19 to 5.21, the manipulator 3RRR: its three torques in N m at 1, 2, ... 7 s.
THREE_LEGS = (
    (-4.10916, 4.79659, -5.02503),
    (7.17420, 4.16660, -0.61282),
    (6.90788, -7.33861, 3.28025),
    (-0.66276, 0.94118, 1.50228),
    (-7.33762, 8.05715, -4.34370),
    (4.12235, 1.42105, 6.43340),
    (0.11951, -10.96923, 2.68388),
)
