"""The forces of Kingpost."""

from __future__ import annotations

from kingpost.multibody.force import Force
from kingpost.plugins.forces.bearing import BearingFriction
from kingpost.plugins.forces.bodies import BodyWrench, Hydrostatic, PointSpring
from kingpost.plugins.forces.carried import CarriedLoad
from kingpost.plugins.forces.central import CentralGravity
from kingpost.plugins.forces.contact import PlaneContact
from kingpost.plugins.forces.drift import WaveDrift
from kingpost.plugins.forces.field import UniformField
from kingpost.plugins.forces.flow import CurrentCoefficients, WindCoefficients
from kingpost.plugins.forces.gravity import Gravity
from kingpost.plugins.forces.joint import JointActuator, JointEffort, JointFriction, JointInertia, JointSpring
from kingpost.plugins.forces.motor import DCMotor
from kingpost.plugins.forces.radiation import Radiation
from kingpost.plugins.forces.rope import Rope
from kingpost.plugins.forces.subsystems import Subsystems
from kingpost.plugins.forces.water import AddedMass, BodyDamping
from kingpost.plugins.forces.wave_motion import WavesMoveJoint
from kingpost.plugins.forces.waves import WaveExcitation
from kingpost.registry.hookspecs import hookimpl


@hookimpl
def kingpost_register_forces() -> list[type[Force]]:
    return [
        Gravity,
        JointSpring,
        JointEffort,
        JointActuator,
        JointFriction,
        BearingFriction,
        JointInertia,
        DCMotor,
        PointSpring,
        BodyWrench,
        UniformField,
        CentralGravity,
        CarriedLoad,
        Hydrostatic,
        AddedMass,
        BodyDamping,
        Radiation,
        CurrentCoefficients,
        WindCoefficients,
        WaveExcitation,
        WaveDrift,
        WavesMoveJoint,
        Rope,
        PlaneContact,
        Subsystems,
    ]
