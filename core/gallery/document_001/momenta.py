"""Chapters 4 and 5: how torques and friction enter an energy-momentum scheme, and the heavy top."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from kingpost import open_model, prepare
from kingpost.base.arrays import FloatArray
from kingpost.gallery.entry import Panel, Sheet
from kingpost.gallery.momenta import angular_momentum
from kingpost.results.history import History

#: The document's torque on the rotors is -u; and eq. (4.77), with friction.
TORQUES = {f"torque{i}": -200.0 for i in (1, 2, 3)}
FRICTION = {
    "motion.wx": 0.2,
    "motion.wy": 0.3,
    "motion.wz": 0.4,
    "friction": 100.0,
    **{f"spin{i}.angle.rate": float(i) for i in (1, 2, 3)},
}
#: N: kinetic energy at the end and J3 at the end, with the consistent (kontra) and the plain (kov) mid-point evaluation, by an
#: independent program.
WITH_TORQUES = {5: (3102.872, 306.783), 20: (6584.530, 81.224), 80: (7730.828, 6.777)}
WITH_FRICTION = {5: (913.381, 1813.514, 1508.421), 20: (841.425, 886.976, 1376.305), 80: (840.172, 842.912, 1339.255)}
#: Table 4.1: m, E1, E2, E3, and the rotors' distances.
TABLE_4_1 = {
    "main": (1005.3096, 89.3609, 201.0619, 357.4434),
    "rotor1": (424.1150, 8.8357, 106.0288, 106.0288),
    "rotor2": (424.1150, 106.0288, 8.8357, 106.0288),
    "rotor3": (424.1150, 106.0288, 106.0288, 8.8357),
}
DISTANCES = (0.9167, 1.25, 1.5833)


@cache
def _run(
    model: str, t_end: float, step: float, formulation: str, integrator: str, settings: tuple[tuple[str, float], ...]
) -> Any:
    machine = open_model(model)
    simulation = prepare(
        machine.mechanism,
        t_end,
        step=step,
        output_step=step,
        formulation=formulation,
        integrator=integrator,
        settings=dict(settings),
        plugins=machine.plugins,
        backend="vm",
    )
    history = simulation.run()
    return history, angular_momentum(simulation, history) if formulation.startswith("directors") else None


def with_directors(
    model: str, t_end: float, steps: int, settings: Mapping[str, float], options: str = ""
) -> tuple[History, FloatArray]:
    """Return a run of the basic energy-momentum scheme, and its angular momentum."""
    found: tuple[History, FloatArray] = _run(
        model, t_end, t_end / steps, f"directors{options}", "energy-momentum", tuple(settings.items())
    )
    return found


def satellite_table(sheet: Sheet) -> None:
    """Table 4.1: masses, Euler tensors and distances of the satellite."""
    mechanism = open_model("satellite").mechanism
    sheet.because("half a unit of the fourth decimal that is printed")
    for name, (mass, *euler) in TABLE_4_1.items():
        body: Any = mechanism.body(name)
        moments = [float(value) for value in body.inertia[:3]]
        sheet.row(f"{name}: m", float(body.mass), mass, 6e-5, "kg", "Table 4.1")
        for axis, E in enumerate(euler):
            sheet.row(f"{name}: E{axis + 1}", sum(moments) / 2 - moments[axis], E, 6e-5, "kg m^2", "Table 4.1")
    for i, distance in enumerate(DISTANCES):
        place: Any = mechanism.joints[i + 1].position
        sheet.row(f"rotor{i + 1}: distance", float(place[i]), distance, 6e-5, "m", "Table 4.1")
    axes = np.arange(1.0, 4.0)
    sheet.draw(
        "Document 001, Table 4.1: Euler tensors",
        [Panel("E [kg m^2]", [(name, axes, row[1:], {"marker": "o"}) for name, row in TABLE_4_1.items()], xlabel="axis")],
        1,
    )


def _panels(runs: Mapping[tuple[str, int], tuple[History, FloatArray]]) -> list[Panel]:
    panels = []
    for label in ("kov", "kontra"):
        chosen = [(N, run) for (kind, N), run in runs.items() if kind == label]
        panels.append(Panel(f"T {label} [J]", [(f"N = {N}", h.time, h["energy.kinetic"]) for N, (h, _) in chosen]))
        panels.append(Panel(f"J3 {label} [kg m^2/s]", [(f"N = {N}", h.time, J[:, 2]) for N, (h, J) in chosen]))
    return panels


def torques(sheet: Sheet) -> None:
    """Fig. 4.8: torques inside the satellite, entered at plain (kov) and at dual directors (kontra)."""
    runs = {}
    for N, (energy, third) in WITH_TORQUES.items():
        history, J = runs["kontra", N] = with_directors("satellite", 5.0, N, TORQUES)
        sheet.because("round-off of momenta of 1000 kg m^2/s in up to 80 steps")
        sheet.below(f"N = {N}, kontra: largest angular momentum", np.abs(J).max(), 2e-10, "kg m^2/s")
        history, J = runs["kov", N] = with_directors("satellite", 5.0, N, TORQUES, ":covariant=true")
        sheet.because("digits of an independent program")
        sheet.row(f"N = {N}, kov: T at the end", history["energy.kinetic"][-1], energy, 6e-4, "J")
        sheet.row(f"N = {N}, kov: J3 at the end", J[-1, 2], third, 6e-4, "kg m^2/s")
    sheet.says("J3 stays constant for every step with the dual basis", all(row.good for row in sheet.rows), "section 4.3")
    changes = [abs(runs["kov", N][1][-1, 2]) for N in (5, 20, 80)]
    sheet.says("plain evaluation violates it, less with smaller steps", changes[0] > changes[1] > changes[2] > 1, "section 4.3")
    sheet.draw("Document 001, Fig. 4.8: control torques", _panels(runs))


def friction(sheet: Sheet) -> None:
    """Fig. 4.9: friction in the rotors, by both evaluations; one of two figures of the document whose axes survived."""
    runs = {}
    for N, (energy, plain, third) in WITH_FRICTION.items():
        history, J = runs["kontra", N] = with_directors("satellite", 5.0, N, FRICTION)
        sheet.because("printed with four decimals along the axis")
        sheet.row(f"N = {N}, kontra: J3", J[-1, 2], 1336.6779, 6e-5, "kg m^2/s", "Fig. 4.9")
        sheet.because("round-off of momenta of 1300 kg m^2/s in up to 80 steps")
        sheet.below(f"N = {N}, kontra: change of J", np.abs(J - J[0]).max(), 2e-10, "kg m^2/s")
        sheet.because("digits of an independent program")
        sheet.row(f"N = {N}, kontra: T at the end", history["energy.kinetic"][-1], energy, 6e-4, "J")
        history, J = runs["kov", N] = with_directors("satellite", 5.0, N, FRICTION, ":covariant=true")
        sheet.row(f"N = {N}, kov: T at the end", history["energy.kinetic"][-1], plain, 6e-4, "J")
        sheet.row(f"N = {N}, kov: J3 at the end", J[-1, 2], third, 6e-4, "kg m^2/s")
    panels = _panels(runs)
    ticks = {
        "T kov [J]": (500, 1000, 1500, 2000, 2500),
        "T kontra [J]": (500, 1000, 1500, 2000, 2500),
        "J3 kov [kg m^2/s]": (1300, 1400, 1500, 1600),
    }
    printed = [Panel(panel.title, panel.curves, ticks=ticks.get(panel.title)) for panel in panels]
    for panel in printed:
        if panel.ticks is not None:
            sheet.axis(panel, "Fig. 4.9")
    sheet.draw("Document 001, Fig. 4.9: friction", printed)


TILT, ARM = np.pi / 3, 0.075
#: h: relative error of the centre at 1 s, by directors and by quaternions, of an independent program.
TOP_ERRORS = {0.01: (7.962e-2, None), 0.005: (2.085e-2, 4.15e-1), 0.0025: (5.278e-3, None), 0.00125: (1.322e-3, 2.56e-2)}


def top(sheet: Sheet) -> None:
    """Fig. 5.2: the heavy top that precesses steadily, by energy-momentum schemes with quaternions and with directors."""
    exact = ARM * np.array([np.sin(TILT) * np.sin(10.0), -np.sin(TILT) * np.cos(10.0), np.cos(TILT)])
    errors: dict[str, list[float]] = {"directors": [], "quaternions": []}
    shown: dict[str, History] = {}
    for h, (by_directors, by_quaternions) in TOP_ERRORS.items():
        for kind, wanted in (("directors", by_directors), ("quaternions", by_quaternions)):
            integrator = "energy-momentum" if kind == "directors" else "quaternion-energy-momentum"
            history, _ = _run("heavy-top", 1.0, h, kind, integrator, ())
            centre = np.array([history[f"centre.{axis}"][-1] for axis in "xyz"])
            errors[kind].append(float(np.linalg.norm(centre - exact) / ARM))
            if wanted is not None:
                sheet.because("digits of an independent program")
                sheet.row(f"{kind}, h = {h:g} s: error at 1 s, eq. (5.55)", errors[kind][-1], wanted, 5e-3 * wanted)
            if h == 0.01:
                shown[kind] = history
                sheet.because("round-off of energies of 6 J in 100 steps")
                sheet.below(
                    f"{kind}, h = 0.01 s: change of the energy", np.ptp(history["energy.total"]), 100 * 6 * 2.2e-15, "J"
                )
    first = shown["quaternions"]
    sheet.because("closed forms of eqs. (5.48) to (5.52)")
    sheet.row("energy", first["energy.total"][0], 5.66905519, 6e-9, "J")
    for kind, values in errors.items():
        sheet.because("order two, at the smallest steps")
        sheet.row(f"{kind}: order", float(np.log2(values[-2] / values[-1])), 2.0, 0.1)
    better = all(a < b for a, b in zip(errors["directors"], errors["quaternions"], strict=True))
    sheet.says("directors are more accurate than quaternions at the same step", better, "section 5.5")
    sheet.says("both converge to the analytical solution", errors["quaternions"][-1] < 0.03, "section 5.5")
    t = first.time
    steps = list(TOP_ERRORS)
    panels = [
        Panel("energy, change [J]", [(kind, t, h["energy.total"] - h["energy.total"][0]) for kind, h in shown.items()]),
        Panel(
            "error at 1 s",
            [(kind, steps, values, {"marker": "o"}) for kind, values in errors.items()],
            xlabel="h [s]",
            logarithmic=True,
        ),
        *(
            Panel(
                f"{axis} of the centre [m]",
                [(kind, t, h[f"centre.{axis}"]) for kind, h in shown.items()]
                + [("exact", t, ARM * np.sin(TILT) * value, {"color": "k", "ls": ":"})],
            )
            for axis, value in (("x", np.sin(10 * t)), ("y", -np.cos(10 * t)))
        ),
    ]
    sheet.draw("Document 001, Fig. 5.2: heavy top", panels)
