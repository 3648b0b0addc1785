"""The inverse-dynamics methods and servo steppers of Kingpost."""

from __future__ import annotations

from kingpost.control.servo.stepping import ServoStepper
from kingpost.control.servo.system import InverseDynamics
from kingpost.plugins.inverse_dynamics.computed_torque import ComputedTorque
from kingpost.plugins.inverse_dynamics.direct import Direct
from kingpost.plugins.inverse_dynamics.flat import Flat
from kingpost.plugins.inverse_dynamics.minimal_extension import MinimalExtension
from kingpost.plugins.inverse_dynamics.modular import Modular
from kingpost.plugins.inverse_dynamics.output_coordinates import OutputCoordinates
from kingpost.plugins.inverse_dynamics.output_input import OutputInput
from kingpost.plugins.inverse_dynamics.projection import Projection
from kingpost.plugins.inverse_dynamics.projection_dependent import ProjectionDependent
from kingpost.plugins.inverse_dynamics.stable_inversion import StableInversion
from kingpost.plugins.inverse_dynamics.steppers import BDF2, BDF3, BackwardEuler, Midpoint, Radau2
from kingpost.registry.hookspecs import hookimpl


@hookimpl
def kingpost_register_inverse_dynamics() -> list[type[InverseDynamics]]:
    return [
        ComputedTorque,
        Modular,
        OutputInput,
        Projection,
        ProjectionDependent,
        OutputCoordinates,
        MinimalExtension,
        Flat,
        StableInversion,
        Direct,
    ]


@hookimpl
def kingpost_register_servo_steppers() -> list[type[ServoStepper]]:
    return [BackwardEuler, BDF2, BDF3, Radau2, Midpoint]
