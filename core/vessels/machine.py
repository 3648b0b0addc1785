"""How a vessel floats with all that stands on it: masses and places of every body of a machine at its start."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.formulas import Scalar, evaluate
from kingpost.mechanism.elements import Joint
from kingpost.mechanism.mechanism import Mechanism
from kingpost.multibody.assembly import assemble
from kingpost.multibody.tree import TreeKinematics
from kingpost.registry.pluginset import PluginSet
from kingpost.vessels.loading import Loading, loading
from kingpost.vessels.parts import Vessel


def loading_of(mechanism: Mechanism, vessel: Vessel, plugins: PluginSet | None = None) -> Loading:
    """Return the loading of a machine whose bodies all stand on, or hang from, a vessel, as it is at the start.

    A load on a rope counts where it hangs; to heel it feels like a weight at the tip, which ``kingpost equilibrium`` knows.
    """
    return loading(parts_of(mechanism, plugins), vessel.floating, vessel.data.gravity)


def parts_of(mechanism: Mechanism, plugins: PluginSet | None = None) -> Mapping[str, tuple[float, FloatArray]]:
    """Return masses (kg) and centres of gravity in the world (m) of all bodies at the start, those without mass left out."""
    assembly = assemble(mechanism, plugins or PluginSet())
    tree = TreeKinematics(assembly)
    numbers = {parameter.name: parameter.default for parameter in mechanism.parameters}
    q = [float(evaluate(value, numbers)) for joint in mechanism.joints for value in _start(joint)]
    places = [tree.pose(body.name).p + tree.pose(body.name).R @ tree.vector(body.com) for body in mechanism.bodies]
    masses = [tree.value(body.mass) for body in mechanism.bodies]
    function = ca.Function("weights", [assembly.t, tree.q, assembly.p], [ca.horzcat(*places), ca.vertcat(*masses)])
    centres, mass = (np.asarray(item) for item in function(0.0, q, list(numbers.values())))
    return {
        body.name: (float(m), centre)
        for body, m, centre in zip(mechanism.bodies, mass.ravel(), centres.T, strict=True)
        if m > 0
    }


def _start(joint: Joint) -> tuple[Scalar, ...]:
    start = joint.start
    return start if isinstance(start, tuple) else (start,)
