"""Electric motors on joint coordinates."""

from __future__ import annotations

from dataclasses import dataclass

from kingpost.base.errors import MechanismError
from kingpost.base.fields import CoordinateName
from kingpost.base.formulas import Scalar, as_scalar
from kingpost.mechanism.mechanism import Mechanism
from kingpost.multibody.force import Force, ForceState, Kinematics, Loads, Rotor


@dataclass(frozen=True)
class DCMotorOptions:
    """``voltage`` (V): a number, or a formula in parameters, inputs and the time t.

    ``inductance`` (H) and ``resistance`` (Ohm) of the armature, ``torque_constant`` (N m/A), and what the turning rotor
    induces, ``back_emf`` (V s/rad), by default as much. The rotor turns ``gear_ratio`` times as fast as the coordinate; its
    ``rotor_inertia`` (kg m^2) and ``rotor_damping`` (N m s/rad) are those at the motor. ``start_current`` in A.
    """

    coordinate: CoordinateName
    voltage: Scalar
    inductance: Scalar
    resistance: Scalar
    torque_constant: Scalar
    back_emf: Scalar | None = None
    gear_ratio: Scalar = 1.0
    rotor_inertia: Scalar = 0.0
    rotor_damping: Scalar = 0.0
    start_current: Scalar = 0.0

    def __post_init__(self) -> None:
        what = f"dc-motor on '{self.coordinate}'"
        inductance = as_scalar(self.inductance)
        if isinstance(inductance, float) and not inductance > 0:
            raise MechanismError(
                f"{what}: inductance is {inductance:g} H; it must be positive, since the current is a state. A motor whose "
                "current follows at once is a joint-effort and a damper",
                path=("inductance",),
            )
        for name in ("resistance", "rotor_inertia", "rotor_damping"):
            number = as_scalar(getattr(self, name))
            if isinstance(number, float) and number < 0:
                raise MechanismError(f"{what}: {name} is {number:g}; it must not be negative", path=(name,))
        if as_scalar(self.gear_ratio) == 0.0:
            raise MechanismError(f"{what}: gear_ratio is 0; the rotor must turn with the coordinate", path=("gear_ratio",))


class DCMotor(Force):
    """DC motor with a gear: L i' = V - R i - e w, torque k i, with the rotor's rate w = ratio times that of the coordinate.

    Document 002, example 4.3: forces k i - I w' - b w along w, and V - L i' - R i - e w along the charge. The current is a
    state, and the rotor an inertia along the coordinate, so that its bearings feel nothing of it. Channels beside the current:
    the electric power V i, what heats the armature, R i^2, and the energy of its field, L i^2 / 2.
    """

    name = "dc-motor"
    Options = DCMotorOptions

    def states(self, mechanism: Mechanism) -> tuple[ForceState, ...]:
        return (ForceState("current", "A", self.options.start_current),)

    def loads(self, kinematics: Kinematics) -> Loads:
        options, value = self.options, kinematics.value
        ratio, current, voltage = value(options.gear_ratio), kinematics.state("current"), value(options.voltage)
        spin = ratio * kinematics.rate(options.coordinate)
        torque_constant, inductance, resistance = (
            value(scalar) for scalar in (options.torque_constant, options.inductance, options.resistance)
        )
        back_emf = torque_constant if options.back_emf is None else value(options.back_emf)
        torque = torque_constant * current - value(options.rotor_damping) * spin
        inertia = value(options.rotor_inertia)
        return Loads(
            efforts={options.coordinate: ratio * torque},
            rotors=() if inertia.is_zero() else (Rotor(inertia, {options.coordinate: ratio}),),
            kinetic=inertia * spin**2 / 2,
            rates={"current": (voltage - resistance * current - back_emf * spin) / inductance},
            signals={
                "power": (voltage * current, "W"),
                "heat": (resistance * current**2, "W"),
                "field_energy": (inductance * current**2 / 2, "J"),
            },
        )
