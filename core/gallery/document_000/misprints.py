"""Misprints of document 000, and statements of it that do not hold."""

from __future__ import annotations

from kingpost.gallery.entry import Misprint

DERIVED = "derived anew"
MISPRINTS = {
    "(2.44)": Misprint("eq. (2.44)", "1/2 (d.d) - 1", "1/2 (d.d - 1)", "its Jacobian, eq. (2.45)"),
    "(2.57)": Misprint("eq. (2.57a)", "one dot on phi", "two", "Newton's law"),
    "(2.90)": Misprint(
        "eq. (2.90), section 2.4.2",
        "s = 1.5 m in one, 2.5 m in the other of two runs that are called identical",
        "1.5 m in both, or not identical",
        "energies differ: -410.12 and -284.12 J",
    ),
    "(2.91)": Misprint("section 2.4.1, eq. (2.91)", "an angular rate of 1 m/s", "1 rad/s", "its unit"),
    "(2.100)": Misprint("eq. (2.100)", "the row of d2_2.d3_1 lacks d2_2 in the slot of d3_1", "add it", DERIVED),
    "(3.28)": Misprint("eq. (3.28)", "no sum over intervals", "the rule of one interval", DERIVED),
    "(3.32)": Misprint("eq. (3.32)", "refers to the trapezoidal Lagrangian", "the mid-point one, eq. (3.26)", DERIVED),
    "(3.35)": Misprint("eq. (3.35)", "no multipliers, and a sign", "-D1 Ld + G^T lam / 2 and D2 Ld - G^T lam / 2", DERIVED),
    "Table 3.2": Misprint(
        "Table 3.2",
        "y of link 1 is +5.7e-5 m, x of link 3 is +1.874e-2 m",
        "both negative",
        "the public test set: beta(15 ms) would be 4.868 instead of 5.663 rad",
    ),
    "(4.106)": Misprint(
        "eqs. (4.106), (5.75), (5.83)",
        "signs of Coriolis and centrifugal terms reversed",
        "f1 = [-2 mt s s' phi', mt s phi'^2, 0], as in (5.137)",
        "the closed form solves (5.137) alone",
    ),
    "(4.115)": Misprint("eq. (4.115)", "l / rw", "(l - l0) / rw", "eqs. (2.76), (2.101)"),
    "(4.120c)": Misprint("eq. (4.120c)", "arctan", "atan2: the girder turns by 3 pi / 4", "the end of the manoeuvre"),
    "(4.126)": Misprint(
        "eqs. (4.126), (4.128), (5.100), sections 5.4.4, 6.3.4",
        "14 t^6 / (2 tau0^5), 7 t^5 / (2 tau0^4), and the third phase with the signs of the first",
        "no halves, and 1 - c_I(tau - t)",
        "only so c is continuous at 5 and 15 s",
    ),
    "ALT": Misprint(
        "section 4.4.2",
        "the formulation ALT differs by 0.1 from the others even for small steps",
        "it converges to the same inputs",
        "computed, Fig. 4.9: it differs from RED by less than 1e-3",
    ),
    "(5.33)": Misprint("eqs. (5.33), (5.35a), (5.40)", "- B^T u", "+ B^T u", "eqs. (5.34c), (5.65), (5.95)"),
    "(5.127)": Misprint("eq. (5.127)", "all Jacobians negated, and alpha1", "the true ones, or -lambda, and alpha", DERIVED),
    "6.1.1": Misprint(
        "section 6.1.1",
        "a rope that pulls throughout",
        "the guide rope would have to push from 1.641 to 2.424 s",
        "computed: lowest tension -442 N",
    ),
    "6.1.2": Misprint(
        "section 6.1.2",
        "ropes that pull throughout",
        "the guide rope would have to push near 2 s and at the end",
        "computed: lowest tension -9177 N",
    ),
    "(6.24)": Misprint(
        "eqs. (6.24), (6.49)",
        "13.23 and 6.6144 m",
        "sqrt(175) and sqrt(43.75) m",
        "lengths at the start that fit the constraints",
    ),
    "6.2.2": Misprint(
        "section 6.2.2",
        "a problem of index 5, with a path of four continuous derivatives",
        "index 7: the slewing torque would have impulses; six derivatives are needed",
        "computed by 'kingpost index', and u4 doubles when the step is halved",
    ),
    "(6.90)": Misprint(
        "eqs. (6.90), (A.6), (A.7)",
        "gyroscopic terms of a diagonal inertia, and (Jx - Jy) wy wz in the first row",
        "w x (J w) with J = R Jp R^T; (Jz - Jy) wy wz in body axes",
        DERIVED,
    ),
    "(6.97)": Misprint("eq. (6.97)", "1 / sin s", "1 / (2 sin s)", "the axis has length one only so"),
    "(6.99)": Misprint("eq. (6.99)", "arccos", "atan2 and asin", "signs of angles would be lost"),
    "(6.107)": Misprint("eq. (6.107)", "gg3''", "pg3''", "context"),
    "(6.119)": Misprint("eq. (6.119)", "solving (6.104c)", "solving (6.104a)", DERIVED),
    "6.3.7": Misprint(
        "section 6.3.7",
        "J1, J2, J3 = 0.75, 0.75, 1.5 as inertias of winches, and no side l1",
        "those of the platform; the side is 1.2 m",
        "the start that is printed fits it",
    ),
    "(A.5)": Misprint("eq. (A.5)", "three servo-constraints for four inputs", "and z0 = gamma4", "counting"),
}
