"""Chapter 8: a pendulum, a particle and three links with a Hamiltonian that indirect methods keep."""

from __future__ import annotations

from typing import Any

import numpy as np

from kingpost.gallery.document_001.links import LINKS
from kingpost.gallery.document_001.optima import DIGITS, balance, energies, held, solved
from kingpost.gallery.entry import Panel, Sheet

PENDULUM = "mathematical-pendulum"
#: N: cost direct mid-point and direct Greenspan; Hamiltonian indirect Greenspan and indirect mid-point.
SWINGS = {
    10: (7.8781341, 7.6995869, 3.2812197, 3.2558773),
    20: (6.7581414, 6.7118699, 1.8048054, 1.7866964),
    40: (6.5152160, 6.5035238, 1.4702791, 1.4655966),
}


def pendulum(sheet: Sheet) -> None:
    """Figs. 8.2 to 8.4: a pendulum at the least cost, direct and with a conserved Hamiltonian."""
    curves: dict[str, list[Any]] = {"direct": [], "indirect": []}
    for N, (mid, greenspan, kept, kept_mid) in SWINGS.items():
        sheet.because(DIGITS)
        direct = solved(PENDULUM, N, transcription="greenspan")
        sheet.row(f"N = {N}: cost, mid-point", solved(PENDULUM, N).cost, mid, 6e-8)
        sheet.row(f"N = {N}: cost, Greenspan", direct.cost, greenspan, 6e-8)
        indirect = solved(PENDULUM, N, transcription="hamiltonian:states=greenspan")
        other = solved(PENDULUM, N, transcription="hamiltonian:states=midpoint")
        sheet.row(f"N = {N}: Hamiltonian, indirect Greenspan", indirect.hamiltonian.mean(), kept, 6e-8)
        sheet.row(f"N = {N}: Hamiltonian, indirect mid-point", other.hamiltonian.mean(), kept_mid, 6e-8)
        sheet.because("round-off of some hundred numbers of the size 10")
        sheet.below(f"N = {N}: spread of the indirect Hamiltonian", np.ptp(indirect.hamiltonian), 1e-11)
        curves["direct"].append((f"N = {N}", held(direct), direct.hamiltonian))
        curves["indirect"].append((f"N = {N}", held(indirect), indirect.hamiltonian))
    found, plain = solved(PENDULUM, 20, transcription="greenspan"), solved(PENDULUM, 20)
    sums = {}
    for name, of in (("Greenspan", found), ("mid-point", plain)):
        q, v = of.states.T
        work = np.concatenate([[0.0], np.cumsum(of.inputs[:, 0] * np.diff(q))])
        sums[name] = v**2 / 2 - 9.81 * np.sin(q) - work
    sheet.because("rounding of 10 J; and digits of an independent program")
    sheet.below("Greenspan: T + V + W, spread", np.ptp(sums["Greenspan"]), 1e-10, "J")
    sheet.row("mid-point: T + V + W, spread", np.ptp(sums["mid-point"]), 6.96e-2, 5e-5, "J")
    sheet.says(
        "Greenspan's scheme is consistent in energy, the mid-point rule is not", np.ptp(sums["mid-point"]) > 1e-3, "section 8.1"
    )
    values = [SWINGS[N][2] for N in SWINGS]
    sheet.says("the Hamiltonian's value differs for different steps", max(values) - min(values) > 0.1, "section 8.1")
    q, v = found.states.T
    panels = [
        Panel("the document's u, torque [N m]", [("", held(found), -found.inputs[:, 0], {"drawstyle": "steps-mid"})]),
        Panel("angle [rad]", [("", found.times, q)]),
        Panel("kinetic energy [J]", [("", found.times, v**2 / 2)]),
        Panel(
            "T + V + W [J]",
            [(name, found.times, total, {"ls": "-" if name == "Greenspan" else "--"}) for name, total in sums.items()],
        ),
        Panel("Hamiltonian, direct", curves["direct"]),
        Panel("Hamiltonian, indirect", curves["indirect"]),
    ]
    sheet.draw("Document 001, Figs. 8.2 to 8.4: pendulum", panels)


PARTICLE, INDIRECT = "central-field-particle", "hamiltonian:states=gonzalez,sigma=1"
#: N = 1280: Hamiltonian and averages of the third costates, eq. (8.58).
REFERENCE = (0.5724864, 0.3891723, 0.2979368)


def particle(sheet: Sheet) -> None:
    """Fig. 8.5: a particle in a central field, with energy and Hamiltonian conserved, and convergence of order two."""
    found = solved(PARTICLE, 20, transcription=INDIRECT)
    q, v = found.states[:, :3], found.states[:, 3:]
    energy = (v**2).sum(axis=1) / 2 - 1 / np.linalg.norm(q, axis=1)
    work = np.concatenate([[0.0], np.cumsum((found.inputs * np.diff(q, axis=0)).sum(axis=1))])
    sheet.because("rounding of energies of 1")
    sheet.below("T + V + W, spread", np.ptp(energy - work), 1e-11)
    sheet.below("Hamiltonian, spread", np.ptp(found.hamiltonian), 1e-11)
    sheet.because(DIGITS)
    for what, row, wanted in (("first", 0, (-0.28153, -0.06962, -0.71613)), ("last", -1, (-0.29801, 0.31420, 0.47105))):
        for k in range(3):
            sheet.row(f"{what} thrust u{k + 1}", -found.inputs[row, k], wanted[k], 6e-6)
    errors = []
    grids = (10, 20, 40, 80)
    for N in grids:
        of = solved(PARTICLE, N, transcription=INDIRECT)
        assert of.multipliers is not None
        assert of.costates is not None
        averages = (of.hamiltonian.mean(), abs(of.multipliers[:, 2].mean()), abs(of.costates[:, 2].mean()))
        errors.append(np.abs(np.array(averages) - REFERENCE))
    orders = np.log2(np.array(errors)[:-1] / np.array(errors)[1:])
    sheet.because("order two, and at N = 10 some of order four")
    for k, name in enumerate(("Hamiltonian", "lambda_q3", "lambda_p3")):
        sheet.row(f"{name}: order from N = 40 to 80", orders[-1, k], 2.0, 0.05)
    sheet.says("all three converge quadratically", bool(np.abs(orders - 2).max() < 0.15), "section 8.2")
    circle = np.linspace(0, np.pi, 100)
    panels = [
        Panel(
            "energy and Hamiltonian, change",
            [
                ("T + V + W", found.times, energy - work - energy[0]),
                ("H", held(found), found.hamiltonian - found.hamiltonian[0]),
            ],
        ),
        Panel("the document's u, thrust", [(f"u{k + 1}", held(found), -found.inputs[:, k]) for k in range(3)]),
        Panel(
            "trajectory, z over x",
            [("least cost", q[:, 0], q[:, 2]), ("no thrust, y over x", np.cos(circle), np.sin(circle), {"ls": ":"})],
            xlabel="x",
            equal=True,
        ),
        Panel(
            "errors against N = 1280",
            [(name, grids, np.array(errors)[:, k], {"marker": "o"}) for k, name in enumerate(("H", "lambda_q3", "lambda_p3"))],
            xlabel="N",
            logarithmic=True,
        ),
    ]
    sheet.draw("Document 001, Fig. 8.5: particle", panels)


KEPT = "hamiltonian:sigma=3000"


def conserving_links(sheet: Sheet) -> None:
    """Figs. 8.6 to 8.8: three links with a constant Hamiltonian, N = 40."""
    curves: list[Any] = []
    for N, cost in ((10, 4026989.3), (20, 3993558.6), (40, 3984107.7)):
        found = solved(LINKS, N, transcription=KEPT)
        sheet.because(DIGITS)
        sheet.row(f"N = {N}: cost", found.cost, cost, 0.06, "N^2 m^2 s")
        sheet.because("round-off, relative to its value")
        sheet.below(
            f"N = {N}: spread of the Hamiltonian over its value",
            np.ptp(found.hamiltonian) / np.abs(found.hamiltonian).max(),
            1e-11,
        )
        curves.append((f"indirect, N = {N}", held(found), found.hamiltonian))
    plain = solved(LINKS, 40)
    curves.append(("direct, mid-point rule, N = 40", held(plain), plain.hamiltonian, {"ls": "--"}))
    T, _ = energies(found)
    ours = balance(found, np.diff(found.states[:, :3], axis=0))
    theirs = balance(plain, plain.h * (plain.states[1:, 3:] + plain.states[:-1, 3:]) / 2)
    sheet.because("round-off of energies of 5 kJ and torques of 3 kN m in 40 steps")
    sheet.below("indirect: T + V + W, change", np.abs(ours).max(), 1e-6, "J")
    sheet.says(
        "the discrete derivative keeps the energy, the mid-point rule does not", np.abs(theirs).max() > 0.1, "section 8.2"
    )
    sheet.says("the indirect Hamiltonian is conserved, the direct one is not", np.ptp(plain.hamiltonian) > 1e3, "section 8.2")
    t = held(found)
    panels = [
        Panel("the document's u, torques [N m]", [(f"u{k + 1}", t, -found.inputs[:, k]) for k in range(3)]),
        Panel("angles [rad]", [(f"alpha{k + 1}", found.times, found.states[:, k]) for k in range(3)]),
        Panel("kinetic energy [J]", [("", found.times, T)]),
        Panel(
            "T + V + W, change [J]",
            [("discrete derivative", found.times, ours), ("mid-point rule", plain.times, theirs, {"ls": "--"})],
        ),
        Panel("Hamiltonian", curves),
    ]
    sheet.draw("Document 001, Figs. 8.6 to 8.8: three links", panels, 3)
