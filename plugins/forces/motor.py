"""Electric motors: drives whose current is a state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kingpost.base.errors import MechanismError
from kingpost.base.fields import CoordinateName
from kingpost.base.formulas import Scalar, as_scalar
from kingpost.mechanism.mechanism import Mechanism
from kingpost.multibody.force import Force, ForceState, Kinematics, Loads, Rotor


@dataclass(frozen=True)
class DCMotorOptions:
    """A direct-current motor on a joint coordinate, its shaft turning ``ratio`` times as fast.

    ``voltage`` (V) may use inputs and the time; ``resistance`` (Ohm) and ``inductance`` (H) are those of the armature,
    ``torque_constant`` (N m/A) gives the torque of the shaft by the current, and ``back_emf`` (V s) the voltage of its turning,
    the same number unless given. ``inertia`` (kg m^2) and ``damping`` (N m s) are those of the shaft.
    """

    coordinate: CoordinateName
    voltage: Scalar = 0.0
    resistance: Scalar = 1.0
    inductance: Scalar = 1e-3
    torque_constant: Scalar = 0.05
    back_emf: Scalar | None = None
    ratio: Scalar = 1.0
    inertia: Scalar = 0.0
    damping: Scalar = 0.0
    current: Scalar = 0.0

    def __post_init__(self) -> None:
        inductance = as_scalar(self.inductance)
        if isinstance(inductance, float) and inductance <= 0:
            raise MechanismError(
                f"dc-motor on '{self.coordinate}': inductance is {inductance:g} H; it must be positive, since the current is a "
                "state. Take joint-effort for a motor whose current follows at once",
                path=("inductance",),
            )


class DCMotor(Force):
    """Direct-current motor with a gear: L di/dt = V - R i - kappa w turns a shaft by k i.

    The current is a state, ``name.current``; ``current`` is what it starts with.
    """

    name = "dc-motor"
    Options = DCMotorOptions
    options: DCMotorOptions

    def states(self, mechanism: Mechanism) -> Sequence[ForceState]:
        return (ForceState("current", "A", self.options.current),)

    def loads(self, kinematics: Kinematics) -> Loads:
        options = self.options
        i = kinematics.state("current")
        k, ratio, voltage = (kinematics.value(item) for item in (options.torque_constant, options.ratio, options.voltage))
        kappa = k if options.back_emf is None else kinematics.value(options.back_emf)
        inertia = kinematics.value(options.inertia)
        w = ratio * kinematics.rate(options.coordinate)
        torque = k * i - kinematics.value(options.damping) * w
        slope = (voltage - kinematics.value(options.resistance) * i - kappa * w) / kinematics.value(options.inductance)
        return Loads(
            efforts={options.coordinate: ratio * torque},
            rotors=(Rotor(inertia, {options.coordinate: ratio}),) if options.inertia != 0.0 else (),
            kinetic=inertia * w**2 / 2,
            rates={"current": slope},
            signals={"torque": (torque, "N.m"), "power": (voltage * i, "W")},
        )
