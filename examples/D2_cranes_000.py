"""The figures of chapters 4 to 6 of the thesis on servo-constraints (document 000), each with its characteristic numbers.

Writes PNG files (needs the 'viz' extra) and prints what was found, beside closed forms and numbers computed independently:

    python D2_cranes_000.py             # all of them, in a few minutes
    python D2_cranes_000.py 4.3 6.17

| figures | crane | section |
|---|---|---|
| 4.2 to 4.4, 5.3 to 5.5 | overhead crane | 4.4.1, 5.3.1 |
| 4.7 to 4.9, 5.7 to 5.9 | rotary crane | 4.4.2, 5.3.2 |
| 5.12 to 5.16 | rotary crane with two winches | 5.4.4 |
| 6.2 to 6.5, 6.7 to 6.10 | US Navy crane in the plane, without and with pulley mass | 6.1 |
| 6.13 and 6.14, 6.16 and 6.17 | US Navy crane in space, without and with pulley mass | 6.2 |
| 6.21 to 6.24, 6.25 and 6.26, 6.27 to 6.30 | CABLEV: rotation, translation, both | 6.3 |

Of all axes in the document only those of Fig. 6.17 survived. Steps and schemes are those of the document: backward Euler.
"""

import sys

from cranes_000.cablev import figure_6_21, figure_6_25, figure_6_27
from cranes_000.navy import figure_6_2, figure_6_7, figure_6_13, figure_6_16
from cranes_000.overhead import figure_4_2, figure_4_3, figure_4_4, figure_5_3, figure_5_4
from cranes_000.rotary import figure_4_7, figure_4_8, figure_4_9, figure_5_7, figure_5_8
from cranes_000.two_winches import figure_5_12, figure_5_13, figure_5_14
from gallery import run

FIGURES = {
    "4.2": figure_4_2, "5.5": figure_4_2, "4.3": figure_4_3, "4.4": figure_4_4, "5.3": figure_5_3, "5.4": figure_5_4,
    "4.7": figure_4_7, "5.9": figure_4_7, "4.8": figure_4_8, "4.9": figure_4_9, "5.7": figure_5_7, "5.8": figure_5_8,
    "5.12": figure_5_12, "5.13": figure_5_13, "5.14": figure_5_14, "5.15": figure_5_14, "5.16": figure_5_14,
    **{f"6.{k}": figure_6_2 for k in (2, 3, 4, 5)}, **{f"6.{k}": figure_6_7 for k in (7, 8, 9, 10)},
    "6.13": figure_6_13, "6.14": figure_6_13, "6.16": figure_6_16, "6.17": figure_6_16,
    **{f"6.{k}": figure_6_21 for k in (21, 22, 23, 24)}, "6.25": figure_6_25, "6.26": figure_6_25,
    **{f"6.{k}": figure_6_27 for k in (27, 28, 29, 30)},
}  # fmt: skip

if __name__ == "__main__":
    run(FIGURES, sys.argv[1:])
