"""A uniform field on a charge."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from kingpost.base.errors import MechanismError
from kingpost.base.fields import BodyName
from kingpost.base.formulas import ZERO_VECTOR, Expression, Scalar, Vector3, as_scalar
from kingpost.multibody.force import Force, Kinematics, Loads


@dataclass(frozen=True)
class UniformFieldOptions:
    """The ``field`` (V/m, world axes; formulas of parameters, inputs and t), and the ``charge`` (C) at a point of the body."""

    body: BodyName
    field: Vector3
    charge: Scalar
    at: Vector3 = ZERO_VECTOR

    def __post_init__(self) -> None:
        if all(as_scalar(component) == 0.0 for component in self.field):
            raise MechanismError(
                f"uniform-field on '{self.body}': field is [0, 0, 0] V/m and never acts; give one that does, or remove "
                "the force",
                path=("field",),
            )
        if as_scalar(self.charge) == 0.0:
            raise MechanismError(
                f"uniform-field on '{self.body}': charge is 0 C and feels no field; give one that does, or remove the force",
                path=("charge",),
            )


class UniformField(Force):
    """Uniform electric field on a charge at a point of a body; it has a potential where nothing moves it."""

    name = "uniform-field"
    Options = UniformFieldOptions

    def loads(self, kinematics: Kinematics) -> Loads:
        options = self.options
        at = kinematics.vector(options.at)
        force_W = kinematics.value(options.charge) * kinematics.vector(options.field)
        X_WB = kinematics.pose(options.body)
        force_B = X_WB.R.T @ force_W
        potential = -ca.dot(force_W, X_WB.p + X_WB.R @ at) if self._stands(kinematics) else 0.0
        return Loads(wrenches={options.body: ca.vertcat(ca.cross(at, force_B), force_B)}, potential=potential)

    def _stands(self, kinematics: Kinematics) -> bool:
        """Say whether field and charge are made of parameters alone: else the field does work that no potential has."""
        parameters = {parameter.name for parameter in kinematics.mechanism.parameters}
        scalars = (as_scalar(value) for value in (*self.options.field, self.options.charge))
        return all(value.names <= parameters for value in scalars if isinstance(value, Expression))
