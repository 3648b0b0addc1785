"""Andrews' squeezer, the seven-body mechanism of document 000, section 3.5."""

from __future__ import annotations

from kingpost.base.formulas import Vector3
from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Body, ForceElement, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model

AXIS = (0.0, 0.0, 1.0)
#: Mass (kg), moment of inertia (kg m^2) and centre of mass in the link's own frame (m).
LINKS = {
    "K1": (0.04325, 2.194e-6, (0.00092, 0.0, 0.0)),
    "K2": (0.00365, 4.410e-7, (-0.0115, 0.0, 0.0)),
    "K3": (0.02373, 5.255e-6, (0.01043, -0.01874, 0.0)),
    "K4": (0.00706, 5.667e-7, (0.0, -0.00579, 0.0)),
    "K5": (0.07050, 1.169e-5, (0.02308, 0.00916, 0.0)),
    "K6": (0.00706, 5.667e-7, (0.00579, 0.0, 0.0)),
    "K7": (0.05498, 1.912e-5, (-0.00449, -0.01228, 0.0)),
}
#: The fixed points of the frame (m).
A, B, C = (-0.06934, -0.00227, 0.0), (-0.03635, 0.03273, 0.0), (0.014, 0.072, 0.0)
#: Start angles beta, Theta, gamma, Phi, delta, Omega, epsilon.
START = (
    -0.0617138900142764496358948458001,
    0.0,
    0.455279819163070380255912382449,
    0.222668390165885884674473185609,
    0.487364979543842550225598953530,
    -0.222668390165885884674473185609,
    1.23054744454982119249735015568,
)


class AndrewsSqueezer(Model):
    """Seven links in a plane with three closed loops and one degree of freedom, driven by a torque against a spring.

    Angles and lengths are those of Hairer and Wanner and the public test set for initial-value problems. Document 000 gives the
    joints of the start position rounded to 0.01 mm, which shifts the crank by 0.1 % in 30 ms, and two centres of mass with a
    wrong sign (K1 in y, K3 in x).
    """

    name = "andrews-squeezer"
    t_end = 0.03
    step = 1e-5

    def build(self) -> Mechanism:
        torque = Parameter("torque", 0.033, "N.m", "torque on the crank K1 at O")
        stiffness = Parameter("spring_stiffness", 4530.0, "N/m", "stiffness of the spring from D on K3 to the point C")
        length = Parameter("spring_length", 0.07785, "m", "length of the spring at which it is free of force")
        beta, theta, gamma, phi, delta, omega, epsilon = START

        def pivot(name: str, parent: str, child: str, at: Vector3, start: float) -> Joint:
            return Joint(name, "revolute", parent, child, axis=AXIS, position=at, start=start, coordinates=("angle",))

        def at_P(child: str, place: Vector3) -> Closure:
            return Closure(f"P-{child}", "point-on-line", "K2", child, axis=AXIS, position=(-0.028, 0, 0), child_position=place)

        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip().split("\n")[0],
            parameters=(torque, stiffness, length),
            bodies=tuple(
                Body(name, mass=mass, com=com, inertia=(moment, moment, moment)) for name, (mass, moment, com) in LINKS.items()
            ),
            joints=(
                pivot("O", "world", "K1", (0, 0, 0), beta),
                pivot("G", "K1", "K2", (0.007, 0, 0), theta),
                pivot("B", "world", "K3", B, gamma),
                pivot("A-K5", "world", "K5", A, delta),
                pivot("E", "K5", "K4", (0.04, 0, 0), phi),
                pivot("A-K7", "world", "K7", A, epsilon),
                pivot("F", "K7", "K6", (0, -0.04, 0), omega),
            ),
            # K2, K3, K4 and K6 meet in the pin P.
            closures=(at_P("K3", (0, -0.035, 0)), at_P("K4", (0, -0.02, 0)), at_P("K6", (0.02, 0, 0))),
            forces=(
                ForceElement("joint-effort", name="drive", coordinate="O.angle", effort=torque),
                ForceElement(
                    "point-spring", name="spring", body="K3", at=(0.02, -0.018, 0), other="world", other_at=C,
                    stiffness=stiffness, length=length,
                ),
            ),
            outputs=(Output("P", "K2", at=(-0.028, 0, 0)),),
        )  # fmt: skip
