"""Document 003: its figures and tables, its misprints, and the entries that reproduce it."""

from __future__ import annotations

from kingpost.gallery.document_003.figures import figure_5, figure_7, figure_8, figure_10, kinds_of_realisation
from kingpost.gallery.entry import DRAWING, RESULT, WORDS, Document, Entry, Misprint, figures

MISPRINTS = {
    "(24)": Misprint(
        "eq. (24)",
        "a numerator for general links in one term, for equal ones in the other",
        "[(1 - kappa)(JC2 + m2 s2^2) - kappa m2 s2 l1 cos(beta)] / det M",
        "derived from (22) and (23)",
    ),
    "(25)": Misprint("eq. (25)", "m l^3", "m l^2", "derived; and by its units"),
    "(27)": Misprint(
        "eq. (27)",
        "-mL l^2 phi'^2 sin, and -mL l^2 theta'^2",
        "-mL l theta'^2 sin, and -mL l theta'^2",
        "derived by Lagrange",
    ),
    "(28)": Misprint(
        "eq. (28)",
        "h with reference accelerations in it and all signs reversed",
        "h = [2 l' th' cos - l th'^2 sin, -2 l' th' sin - l th'^2 cos]",
        "derived",
    ),
    "(29)": Misprint("eq. (29)", "all signs reversed", "those of (27) and (28); the sizes hold to all digits", "recomputed"),
    "u_f": Misprint(
        "section 4.2",
        "u_f = [0, mL g]",
        "[0, -mL g rW]: mL g is the tension, the winch's torque is -98.1 N m",
        "statics",
    ),
    "beta": Misprint(
        "section 4.1",
        "the bend beta stays small",
        "it reaches -66.7 degrees without damping, so that gamma is not the azimuth of P",
        "computed, Fig. 5",
    ),
    "(33)": Misprint(
        "after eq. (33)",
        "roots in the right half plane",
        "in the left half plane",
        "a polynomial with the others is not Hurwitz",
    ),
}

DOCUMENT = Document(
    "003",
    "a paper on servo-constraints of underactuated mechanical systems: an arm, an overhead crane, masses on springs",
    (
        *figures(
            DRAWING,
            "an idea, drawn",
            [
                ("1", "actuating forces along and across the gradients of servo-constraints"),
                ("2", "structure of a controller by inversion, for orthogonal realisation"),
                ("3", "structure of a controller by solving the DAE from measured states"),
            ],
        ),
        *figures(
            DRAWING,
            "a machine, drawn; ours is on its page",
            [
                ("4", "arm with an actuated shoulder and a sprung, passive elbow", "passive-joint-arm"),
                ("6", "overhead crane with trolley and winch", "overhead-crane"),
                ("9", "two masses with a spring and a damper", "mass-chain"),
                ("11", "three masses with springs", "mass-chain"),
            ],
        ),
        *figures(
            RESULT,
            "",
            [
                ("5", "angles, rates and torque of the arm, without and with damping"),
                ("7", "path of the load of the overhead crane"),
                ("8", "overhead crane: trolley, rope, swing, force and torque, without and with damping"),
                ("10", "two masses: places, rates and force, without and with damping"),
                ("T2", "kinds of realisation, and what follows from them"),
            ],
        ),
        *figures(
            WORDS,
            "words: kinds of problems by how many inputs there are",
            [
                ("T1", "over-, fully and underactuated inverse dynamics"),
            ],
        ),
    ),
    MISPRINTS,
    (
        Entry(
            ("5",),
            "an arm with a passive joint makes half a turn in 6 s",
            ("passive-joint-arm",),
            "kingpost inverse passive-joint-arm --task 003 --method minimal-extension --stepper bdf2:step=0.001 "
            "--set damping=0.2",
            figure_5,
            ("(24)", "(25)", "beta"),
        ),
        Entry(
            ("7",),
            "the load of the overhead crane from (0, 4) to (5, 1.5) m in 3 s",
            ("overhead-crane",),
            "kingpost inverse overhead-crane --task 003 --method minimal-extension --stepper bdf2:step=0.001",
            figure_7,
        ),
        Entry(
            ("8",),
            "the overhead crane, damping 0 and 50 N s/m",
            ("overhead-crane",),
            "kingpost inverse overhead-crane --task 003 --stepper bdf2:step=0.001 "
            "--set trolley_damping=50 --set winch_damping=50",
            figure_8,
            ("(27)", "(28)", "(29)", "u_f"),
        ),
        Entry(
            ("10",),
            "two masses, d = 0 and 10 N s/m",
            ("mass-chain:n=2",),
            "kingpost inverse mass-chain:n=2 --task 003 --stepper bdf2:step=0.001 --set damping=10",
            figure_10,
        ),
        Entry(
            ("T2",),
            "rank of Y, index and internal states of every machine of the document",
            ("passive-joint-arm", "overhead-crane", "mass-chain:n=2", "mass-chain:n=3"),
            "kingpost index overhead-crane --task 003",
            kinds_of_realisation,
        ),
    ),
)
