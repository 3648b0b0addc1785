"""The overhead crane of chapter 7 at the least cost."""

from __future__ import annotations

import numpy as np

from kingpost import Optimum
from kingpost.base.arrays import FloatArray
from kingpost.gallery.document_001.optima import DIGITS, NATURAL, at_instants, balance, costs_panel, energies, held, solved
from kingpost.gallery.entry import Panel, Sheet

CRANE, DEPENDENT = "overhead-crane", "overhead-crane:form=dependent"


def crane(sheet: Sheet) -> None:
    """Figs. 7.2 and 7.3: the overhead crane at the least cost, by the basic scheme and by the mid-point rule."""
    found, other = solved(DEPENDENT, 40, NATURAL, ""), solved(CRANE, 40, task="001")
    names = found.problem.state_names
    T, _ = energies(found)
    F, M = found.inputs.T
    sheet.because(DIGITS)
    sheet.row("BEM, N = 40: cost", found.cost, 83387.27, 0.006)
    for what, value, wanted in (
        ("lowest F", F.min(), -361.99),
        ("highest F", F.max(), 360.27),
        ("lowest M", M.min(), -158.50),
        ("highest M", M.max(), -77.68),
    ):
        sheet.row(f"BEM, N = 40: {what}", value, wanted, 0.011, "N" if "F" in what else "N m")
    sheet.row("BEM, N = 40: largest kinetic energy", T.max(), 482.16, 0.006, "J")

    def moved(of: Optimum, name: str, scale: float) -> FloatArray:
        columns = [of.problem.state_names.index("travel.displacement"), of.problem.state_names.index(name)]
        return np.diff(of.states[:, columns], axis=0) / [1.0, scale]

    ours, theirs = balance(found, moved(found, "drum.angle", 1.0)), balance(other, moved(other, "reel.length", 0.1))
    sheet.because("what the solver leaves of 482 J; and digits of an independent program")
    sheet.below("BEM: T + V + W, change", np.abs(ours).max(), 5e-4, "J")
    sheet.row("GC, N = 40: T + V + W, change", np.abs(theirs).max(), 8.36, 0.006, "J")
    sheet.says(
        "the energy is consistent by BEM and not in generalized coordinates",
        np.abs(theirs).max() > 1 > np.abs(ours).max(),
        "section 7.2",
    )
    costs = {
        "BEM": {N: solved(DEPENDENT, N, NATURAL, "").cost for N in (40, 80)},
        "GC": {N: solved(CRANE, N, task="001").cost for N in (40, 80)},
    }
    limit = costs["BEM"][80] + (costs["BEM"][80] - costs["BEM"][40]) / 3
    sheet.because("order two, less than a sixteenth of the correction is left")
    sheet.row("BEM: limit of the cost", limit, 83248.67, abs(costs["BEM"][80] - costs["BEM"][40]) / 16)
    places = {name: found.states[:, names.index(name)] for name in ("travel.displacement", "drum.angle", "hook.x", "hook.z")}
    t = held(found)
    shots = [
        (
            "",
            [places["travel.displacement"][k], places["hook.x"][k]],
            [0.0, places["hook.z"][k]],
            {"marker": "o", "ms": 3, "color": "#2f81d6"},
        )
        for k in at_instants(found)
    ]
    panels = [
        Panel("F [N], M [N m]", [("F", t, F), ("M", t, M)]),
        Panel("coordinates", [(name, found.times, values) for name, values in places.items()]),
        Panel("kinetic energy [J]", [("", found.times, T)]),
        Panel("T + V + W, change [J]", [("BEM", found.times, ours), ("GC", other.times, theirs, {"ls": "--"})]),
        costs_panel(costs),
        Panel("0, 0.75, 1.5, 2.25, 3 s, z [m]", shots, xlabel="x [m]", equal=True),
    ]
    sheet.draw("Document 001, Figs. 7.2 and 7.3: overhead crane", panels, 3)
