"""Document 002: its figures and tables, its misprints, and the entries that reproduce it."""

from __future__ import annotations

from kingpost.gallery.document_002.linkages import drift, slider_crank, three_legs, whitworth
from kingpost.gallery.document_002.rolling import ring, sphere
from kingpost.gallery.document_002.tricycle import tricycle, tricycle_table
from kingpost.gallery.entry import DATA, DRAWING, LOST, RESULT, WORDS, Document, Entry, Misprint, figures

DERIVED = "derived anew"
MISPRINTS = {
    "Ex. 2.1": Misprint("example 2.1 (a)", "qx as the third coordinate", "qz", "context"),
    "p. 32": Misprint("p. 32, footnote", "nu(qbar) - nu# columns", "nu(q) - nu# columns", "counting"),
    "Ex. 2.2": Misprint(
        "example 2.2", "full rank everywhere without the angle", "not for equal rods folded together", "computed: rank 3"
    ),
    "Ex. 2.4": Misprint("example 2.4 (a), (b)", "signs of all dependent rows", "negated", "A S = 0 holds only so"),
    "Ex. 2.6": Misprint("examples 2.6 (d), 2.7 (d)", "vx as the second row's label", "vy", "context"),
    "(2.34)": Misprint("eq. (2.34)", "indices k", "indices n", "context"),
    "(3.127)": Misprint(
        "eq. (3.127)",
        "independent quasi-velocities in every factor",
        "all of them in the gyroscopic term",
        "the sleigh: the printed form has no centrifugal force",
    ),
    "3.4.2": Misprint("section 3.4.2", "active and active forces", "active and inertia forces", "context"),
    "Ex. 4.1": Misprint(
        "example 4.1 (c), (k)", "r cos sin; rows [-y 0 y], [-z x 0]", "r cos cos; rows [-y x 0], [-z 0 x]", DERIVED
    ),
    "Ex. 4.3": Misprint(
        "example 4.3 (g)", "no weight of the payload", "a further term", "recursion and Lagrange agree only with it"
    ),
    "Ex. 4.5": Misprint("example 4.5 (h)", "C M q'", "C^T M q'", "dimensions"),
    "Ex. 4.7": Misprint("example 4.7 (a), (b)", "z2'' and s1", "w2' and sin(theta)", DERIVED),
    "(4.21)": Misprint("eq. (4.21)", "1 / g", "1 / (2 g)", "linearised by automatic differentiation"),
    "(5.4)": Misprint("eq. (5.4)", "from N to L", "from N to B", "context"),
    "(5.11)": Misprint("eq. (5.11)", "subscript W", "S_J", "context"),
    "(5.18)": Misprint("eq. (5.18)", "q_W", "q_FJ", "context"),
    "Table 5.1": Misprint(
        "Table 5.1",
        "masses in m; p* and q* in K; rods and knuckles that do not meet",
        "kg; in P and Q; the geometry has to be closed in some way",
        "differences of its own numbers: 50 mm",
    ),
    "capsize": Misprint(
        "section 5.2.5",
        "capsize's ratio of steer to lean changes its phase twice and settles below weave's",
        "once, and at -1.30, above weave's",
        "K2 has no effect on a machine that goes on straight",
    ),
    "weave": Misprint(
        "section 5.2.5",
        "weave's ratio is infinite near 0.02 m/s",
        "not with a potential's symmetric K0",
        "belongs to a complement by least squares, which no motion has",
    ),
    "5.3": Misprint("section 5.3", "refers to example 2.5", "example 2.6", "context"),
    "(5.26)": Misprint("eq. (5.26)", "velocities on the right", "their rates", "dimensions"),
    "5.3.1": Misprint("section 5.3.1", "(0.001, 0.3) for the second point of the rail", "(0.001, 0.8)", "the rail is level"),
    "Fig. 5.12": Misprint("Fig. 5.12", "caption q_P,3,3", "q_B,3,3, the lever's rate", "the author's data"),
    "5.3.2": Misprint(
        "section 5.3.2",
        "q_N,1,1 twice, and sin(pi t / 4) of the platform's angle",
        "q_N,1,2, and sin^4",
        "the author's data and pictures",
    ),
    "(A.14)": Misprint("eq. (A.14)", "a symbol of first order", "the second derivative of S", DERIVED),
}

DOCUMENT = Document(
    "002",
    "a thesis on a modular and recursive modelling methodology: rolling bodies, linkages, a tricycle, parallel machines",
    (
        *figures(
            DRAWING,
            "an idea or a photograph",
            [
                ("1.1", "conventional and modular modelling, side by side"),
                ("1.2", "a parallel mechanism 2RSS+PPaP of another paper"),
                ("1.3", "modelling of a parallel mechanism by Kane's method, as a diagram"),
                ("2.5", "an element of two nodes in a plane"),
                ("5.3", "photograph of a tricycle"),
            ],
        ),
        *figures(
            DRAWING,
            "a machine, drawn; ours is on its page",
            [
                ("1.4", "delta robot, of another paper", "delta"),
                ("2.1", "four-bar linkage", "four-bar"),
                ("2.2", "disc that rolls on its edge", "knife-edge-disc"),
                ("2.3", "two rods and a slider in space", "two-rod-slider"),
                ("2.4", "the same with the slider off the axis, in its singular places", "two-rod-slider-subsystems"),
                ("2.6", "a bicycle and its tree of subsystems", "whipple-bicycle"),
                ("2.7", "a five-bar and its tree of subsystems", "five-bar-subsystems"),
                ("2.8", "a manipulator 3RRR and its tree of subsystems", "rrr-parallel"),
                ("2.9", "further coordinates of the five-bar", "five-bar"),
                ("4.1", "a disc in a ring on a slope", "ring-and-disc"),
                ("4.6", "slider-crank in space", "spatial-slider-crank"),
                ("5.2", "tadpole tricycle and its subsystems", "tadpole-tricycle"),
                ("5.10", "Whitworth's quick return", "whitworth"),
                ("5.15", "manipulator 3RRR", "rrr-parallel"),
            ],
        ),
        *figures(
            WORDS,
            "a listing in another language",
            [
                ("5.1", "a spherical pendulum in the author's package", "spherical-pendulum-subsystems"),
                ("5.9", "ring and disc in the author's package", "ring-and-disc"),
            ],
        ),
        *figures(
            WORDS,
            "words: steps of an algorithm, which 'kingpost modular' follows",
            [
                ("T4.1", "steps for systems with and without subsystems"),
            ],
        ),
        *figures(LOST, "marks of opinion, of which nothing survives", [("T4.2", "modelling methodologies compared by marks")]),
        *figures(
            LOST,
            "eight sets of random parameters that are not printed",
            [
                ("5.7", "eigenvalues of tricycles with other geometries", "tadpole-tricycle"),
                ("5.8", "ratios of steer to lean of the same", "tadpole-tricycle"),
            ],
        ),
        *figures(
            RESULT,
            "",
            [
                ("4.2", "sphere in a trough: x of the contact"),
                ("4.3", "the same: coordinates, normalised"),
                ("4.4", "the same: quaternion"),
                ("4.5", "the same: norm of the quaternion"),
                ("4.7", "slider-crank: errors of invariants, without stabilisation"),
                ("4.8", "the same with Baumgarte's stabilisation"),
                ("4.9", "slider-crank: error of the inverse dynamics"),
                ("4.10", "slider-crank: place of the slider"),
                ("4.11", "slider-crank: angle of the crank"),
                ("4.12", "slider-crank: rate of the crank"),
                ("4.13", "slider-crank: torque"),
                ("4.14", "slider-crank: normal forces on the slider"),
                ("4.15", "ring and disc: steady angle over the slope"),
                ("4.16", "ring and disc: natural frequency"),
                ("4.17", "ring and disc: angle, non-linear and linear"),
                ("4.18", "ring and disc: rate of the ring"),
                ("4.19", "ring and disc: rate of the disc"),
                ("4.20", "ring and disc: rate of the angle"),
                ("4.21", "ring and disc: numerical error"),
                ("5.4", "tricycle: eigenvalues over speed"),
                ("5.5", "tricycle: ratio of steer to lean over speed"),
                ("5.6", "tricycle: eigenvectors at some speeds"),
                ("5.11", "quick return: rate of the slider"),
                ("5.12", "quick return: rate of the lever"),
                ("5.13", "quick return: torque"),
                ("5.14", "quick return: error of constraints"),
                ("5.16", "3RRR: x of the platform's first node"),
                ("5.17", "3RRR: y of the platform's first node"),
                ("5.18", "3RRR: rate of a bar"),
                ("5.19", "3RRR: first torque"),
                ("5.20", "3RRR: second torque"),
                ("5.21", "3RRR: third torque"),
                ("5.22", "3RRR: error of constraints"),
                ("5.23", "3RRR: initial configuration"),
            ],
        ),
        *figures(DATA, "", [("T5.1", "parameters of the tricycle")]),
    ),
    MISPRINTS,
    (
        Entry(
            ("4.2", "4.3", "4.4", "4.5"),
            "a charged sphere rolls in a trough for 50 s",
            ("rolling-sphere",),
            "kingpost run rolling-sphere --t-end 50 --step 2e-4 --output-step 0.01",
            sphere,
        ),
        Entry(
            ("4.7", "4.8"),
            "drift of the slider-crank's invariants",
            ("spatial-slider-crank",),
            "kingpost run spatial-slider-crank --t-end 30 --step 0.02 --formulation kane:projection=false,baumgarte=1 "
            "--set shaft.angle.rate=2 --set friction=0 --monitors",
            drift,
            assumed=("the crank turns freely for 30 s, since the horizon of the figure is lost",),
        ),
        Entry(
            ("4.9", "4.10", "4.11", "4.12", "4.13", "4.14"),
            "inverse dynamics of the slider-crank, with friction",
            ("spatial-slider-crank",),
            "kingpost inverse spatial-slider-crank --task 002 --method modular --stepper "
            "backward-euler:step=0.005 --loads guide",
            slider_crank,
            ("Ex. 4.5",),
        ),
        Entry(
            ("4.15", "4.16", "4.17", "4.18", "4.19", "4.20", "4.21"),
            "a disc rolls in a ring that rolls down a slope",
            ("ring-and-disc",),
            "kingpost run ring-and-disc --t-end 5 --step 1e-3 --output-step 5e-3 --monitors",
            ring,
            ("Ex. 4.7",),
            ("g = 9.8 m/s^2 and 5 s, from the author's package",),
        ),
        Entry(
            ("T5.1",),
            "parameters of the tricycle",
            ("tadpole-tricycle",),
            "kingpost models tadpole-tricycle",
            tricycle_table,
            ("Table 5.1",),
        ),
        Entry(
            ("5.4", "5.5", "5.6"),
            "eigenvalues and eigenvectors of the tricycle over its speed",
            ("tadpole-tricycle",),
            "kingpost linearize tadpole-tricycle --sweep speed=0.5..10:39",
            tricycle,
            ("Table 5.1", "capsize", "weave"),
            ("one way of several to close the geometry of Table 5.1",),
        ),
        Entry(
            ("5.11", "5.12", "5.13", "5.14"),
            "Whitworth's quick return over a turn of its crank",
            ("whitworth",),
            "kingpost inverse whitworth --task 002 --method modular --stepper backward-euler:step=0.005",
            whitworth,
            ("5.3.1", "Fig. 5.12"),
            ("masses and lengths from the author's package",),
        ),
        Entry(
            ("5.16", "5.17", "5.18", "5.19", "5.20", "5.21", "5.22", "5.23"),
            "a manipulator on three legs over 8 s",
            ("rrr-parallel",),
            "kingpost inverse rrr-parallel --task 002 --method modular --stepper backward-euler:step=0.02",
            three_legs,
            ("5.3.2",),
            ("masses and lengths from the author's package",),
        ),
    ),
)
