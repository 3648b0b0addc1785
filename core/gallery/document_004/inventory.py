"""Document 004: its figures and its table, its misprints, and the entries that reproduce it."""

from __future__ import annotations

from functools import cache

import numpy as np

from kingpost import open_model, simulate
from kingpost.gallery.entry import DATA, DRAWING, RESULT, Document, Entry, Misprint, Panel, Sheet, figures
from kingpost.report.geometry import Geometry, Poses
from kingpost.results.history import History

MODEL = "vessel-crane"
#: Table I.
TABLE = {
    "l1": 5.0,
    "l2": 2.0,
    "l3": 2.0,
    "d1": 2.5,
    "d2": 1.0,
    "d3": 1.0,
    "d4": 1.0,
    "m1": 1200.0,
    "m2": 30.0,
    "m3": 30.0,
    "m4": 30.0,
}
#: Fig. 5: slew, luff and knuckle at 0, 10 and 20 s.
POSITIONS = {0: (0.0, 0.0, -0.75 * np.pi), 10: (0.0, np.pi / 4, -np.pi / 4), 20: (np.pi / 2, np.pi / 4, -np.pi / 4)}
CRANE = ("slew.angle", "luff.angle", "knuckle.angle")
VESSEL = ("hull.roll", "hull.pitch", "hull.yaw")
LOADS = ("Mx", "My", "Mz", "Fx", "Fy", "Fz")

MISPRINTS = {
    "skew": Misprint(
        "after eq. (38)",
        "(dM/dt - 2 C) is skew-symmetric",
        "not for C of (35), (38) where principal moments of a body differ; with -hat(M w) for hat(w) M it is",
        "computed at random states",
    ),
    "N": Misprint("eq. (45)", "N is a 6 x n selection matrix", "6 x j, j unknown loads", "eqs. (71), (72)"),
    "l4": Misprint("Table I", "no l4, which eq. (73) needs", "2.0 m, as l3", "an assumption; it enters one moment of inertia"),
    "(63)": Misprint(
        "eq. (63)", "a law that leads the crane to zero", "tau = -kP (q - qd) - kD (q' - qd')", "Fig. 5 needs set-points"
    ),
}
ASSUMED = (
    "gravity 9.81 m/s^2, which the paper never mentions",
    "kP = 50 kN m/rad and kD = 5 kN m s/rad",
    "positions of Fig. 5 joined from rest to rest by a polynomial of degree 9",
    "l4 = 2 m",
)


@cache
def run() -> History:
    """Return the 20 s of the paper."""
    machine = open_model(MODEL)
    return simulate(machine.mechanism, 20.0, loads=["slew"], plugins=machine.plugins)


def table_1(sheet: Sheet) -> None:
    """Table I: lengths and masses."""
    values = {parameter.name: parameter.default for parameter in open_model(MODEL).mechanism.parameters}
    sheet.because("printed numbers, as they are")
    for name, value in TABLE.items():
        sheet.row(name, values[name], value, 1e-12, "kg" if name.startswith("m") else "m", "Table I")
    sheet.row("stiffness of the springs", values["stiffness"], 8e7, 0, "N m/rad^3", "section III-D")
    history = run()
    sheet.draw("Document 004, Table I: the machine", [at(history, 0, "start")], 1)


def at(history: History, instant: float, title: str) -> Panel:
    """Return vessel and crane from the side at one time, as lines from joint to joint."""
    bodies = tuple(body.name for body in open_model(MODEL).mechanism.bodies)
    row = int(np.argmin(np.abs(history.time - instant)))
    poses = Poses(history, bodies, np.array([row]))
    joints = [poses.point(body, np.zeros(3))[0] for body in bodies]
    tip = poses.point(bodies[-1], np.array([2.0, 0.0, 0.0]))[0]
    across, up = (np.array([point[k] for point in (*joints, tip)]) for k in (0, 2))
    along = np.array([point[1] for point in (*joints, tip)])
    # The boom's plane turns with the king: what is drawn is the larger of both views.
    flat = along if np.ptp(along) > np.ptp(across) else across
    name = "y [m]" if flat is along else "x [m]"
    return Panel(f"{title}, z [m]", [("", flat, up, {"marker": "o", "lw": 2})], xlabel=name, equal=True)


def figure_5(sheet: Sheet) -> None:
    """Fig. 5: positions of the crane at 0, 10 and 20 s."""
    history = run()
    sheet.because("booms of 30 kg hang on a drive of 50 kN m/rad: up to 1.2 kN m, 0.025 rad below their set-points")
    for instant, angles in POSITIONS.items():
        row = int(np.argmin(np.abs(history.time - instant)))
        for name, wanted in zip(CRANE, angles, strict=True):
            sheet.row(f"{name}({instant} s)", history[name][row], wanted, 0.025, "rad", "Fig. 5")
    sheet.draw("Document 004, Fig. 5: positions", [at(history, t, f"t = {t} s") for t in (0, 10, 20)], 3)


def figure_6(sheet: Sheet) -> None:
    """Fig. 6: angles of vessel and crane."""
    history = run()
    sheet.because("the vessel starts at zero")
    for name in VESSEL:
        sheet.row(f"{name} at the start", history[name][0], 0.0, 0.0, "rad", "section III-D")
    moved = max(np.ptp(history[name]) for name in VESSEL)
    sheet.says("the crane moves the vessel", moved > 1e-3, "caption of Fig. 6")
    sheet.because("the springs hold the vessel where gravity overturns it with 35 kN m/rad: sqrt(35e3 / 8e7) = 0.021 rad")
    sheet.below("largest roll or pitch", max(np.abs(history[name]).max() for name in VESSEL[:2]), 3 * 0.021, "rad")
    sheet.note("Nothing damps the vessel and upright is an unstable place: pitch and yaw are sensitive to small changes.")
    panels = [
        Panel(title, [(name, history.time, history[name]) for name in names])
        for title, names in (("vessel q1, q2, q3 [rad]", VESSEL), ("crane q4, q5, q6 [rad]", CRANE))
    ]
    sheet.draw("Document 004, Fig. 6: angles", panels)


def figure_7(sheet: Sheet) -> None:
    """Fig. 7: loads between crane and vessel in frames 1 and 2."""
    history = run()
    first, second = history.loads("slew", frame="parent").constraint, history.loads("slew", frame="child").constraint
    angle = history["slew.angle"]
    c, s = np.cos(angle), np.sin(angle)
    sheet.because("the same loads in turned axes, eq. (71), to rounding of 1 kN and some kN m")
    for k, what in ((0, "moments"), (3, "forces")):
        turned = np.column_stack([c * second[:, k] - s * second[:, k + 1], s * second[:, k] + c * second[:, k + 1]])
        sheet.below(f"{what} in frame 1 less those in frame 2, turned", np.abs(turned - first[:, k : k + 2]).max(), 1e-8)
    # Newton: the force is the rate of the crane's momentum less its weight, by central differences of its centre.
    bodies = tuple(body.name for body in open_model(MODEL).mechanism.bodies)
    geometry, poses = Geometry.read(history.provenance["geometry"], bodies), Poses(history, bodies, np.arange(len(history)))
    centre = np.sum([poses.point(body, geometry.centres[body]) for body in bodies[1:]], axis=0) / 3
    h = history.time[1] - history.time[0]
    acceleration = (centre[2:] - 2 * centre[1:-1] + centre[:-2]) / h**2
    wanted = 90.0 * (acceleration + [0.0, 0.0, 9.81])
    force = poses.axes(bodies[0], first[:, 3:])[1:-1]
    later = history.time[1:-1] > 1.0
    sheet.because("central differences of samples 10 ms apart, of motions of up to 7 rad/s at 900 N: (7 h)^2 / 12 of 900 N")
    worst = np.abs(force - wanted)[later].max()
    sheet.below("force less the rate of the crane's momentum and its weight, after 1 s", worst, (7 * h) ** 2 / 12 * 900, "N")
    sheet.row("mean vertical force, weight of the crane", np.mean(second[:, 5]), 90 * 9.81, 5.0, "N")
    sheet.below("residual of Newton and Euler, force", history["loads.residual.force"].max(), 1e-8, "N")
    panels = []
    for frame, load in (("frame 1", first), ("frame 2", second)):
        for unit, columns in (("moment [N m]", (0, 1)), ("force [N]", (3, 4, 5))):
            panels.append(Panel(f"{unit}, {frame}", [(LOADS[k], history.time, load[:, k]) for k in columns]))
    sheet.draw("Document 004, Fig. 7: loads of the vessel on the crane", panels)


COMMAND = "kingpost run vessel-crane --t-end 20 --loads slew --report"
DOCUMENT = Document(
    "004",
    "a paper on constraint forces between a crane and its vessel, by Kane's method with screws",
    (
        *figures(
            DRAWING,
            "an idea, drawn",
            [
                ("1", "a twist, and how twists are summed"),
                ("2", "frames and twists of neighbouring links"),
                ("3", "a link that loses contact, for auxiliary speeds"),
            ],
        ),
        *figures(DRAWING, "a machine, drawn; ours is on its page", [("4", "a vessel with a crane of three links", MODEL)]),
        *figures(
            RESULT,
            "",
            [
                ("5", "positions of the crane at 0, 10 and 20 s"),
                ("6", "angles of vessel and crane; no axis survives"),
                ("7", "loads between crane and vessel, in frames 1 and 2; no axis survives"),
            ],
        ),
        *figures(DATA, "", [("TI", "lengths and masses")]),
    ),
    MISPRINTS,
    (
        Entry(
            ("TI",),
            "lengths and masses of vessel and crane",
            (MODEL,),
            "kingpost models vessel-crane",
            table_1,
            ("l4",),
            ASSUMED,
        ),
        Entry(("5",), "positions of the crane", (MODEL,), COMMAND, figure_5, ("(63)",), ASSUMED),
        Entry(("6",), "angles of vessel and crane", (MODEL,), COMMAND, figure_6, ("(63)", "l4"), ASSUMED),
        Entry(("7",), "loads between crane and vessel", (MODEL,), COMMAND, figure_7, ("(63)", "l4", "N"), ASSUMED),
    ),
)
