"""What a machine that is computed elsewhere does to the body that carries it."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from kingpost.base.errors import MechanismError
from kingpost.base.fields import BodyName
from kingpost.base.formulas import ZERO_VECTOR, Scalar, Vector3
from kingpost.mechanism.port_names import TRIANGLE
from kingpost.multibody.force import Force, Kinematics, Loads
from kingpost.symbols.screws import Pose, rotation_rpy, twist_to


@dataclass(frozen=True)
class CarriedLoadOptions:
    """The ``wrench`` Mx, My, Mz, Fx, Fy, Fz on the body at a frame on it (``position`` in m, ``rotation`` in rad), in its axes.

    With ``inertia``, the 21 numbers A11, A12, ... A66 of the interface inertia of what is carried, the wrench is that without
    acceleration, and the body is accelerated as one with what it carries. All are usually inputs.
    """

    body: BodyName
    wrench: tuple[Scalar, ...]
    inertia: tuple[Scalar, ...] = ()
    position: Vector3 = ZERO_VECTOR
    rotation: Vector3 = ZERO_VECTOR

    def __post_init__(self) -> None:
        for name, value, allowed in (("wrench", self.wrench, (6,)), ("inertia", self.inertia, (0, len(TRIANGLE)))):
            if len(value) not in allowed:
                raise MechanismError(
                    f"carried-load on '{self.body}': {name} has {len(value)} entries, expected {allowed[-1]}", path=(name,)
                )


class CarriedLoad(Force):
    """Load of a machine that stands on a body and is computed elsewhere, with its inertia if that is known."""

    name = "carried-load"
    Options = CarriedLoadOptions

    def loads(self, kinematics: Kinematics) -> Loads:
        options = self.options
        angles = ca.vertsplit(ca.densify(kinematics.vector(options.rotation)))
        X_BM = Pose(rotation_rpy(*angles), kinematics.vector(options.position))
        to_M = twist_to(X_BM.inverse())
        wrenches = {options.body: to_M.T @ kinematics.vector(options.wrench)}
        if not options.inertia:
            return Loads(wrenches=wrenches)
        A = ca.SX(6, 6)
        for (i, j), entry in zip(TRIANGLE, options.inertia, strict=True):
            A[i - 1, j - 1] = A[j - 1, i - 1] = kinematics.value(entry)
        return Loads(wrenches=wrenches, inertias={options.body: to_M.T @ A @ to_M})
