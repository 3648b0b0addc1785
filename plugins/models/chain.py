"""A chain of equal links."""

from __future__ import annotations

from dataclasses import dataclass

from kingpost.base.errors import MechanismError
from kingpost.mechanism.elements import Body, ForceElement, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model


@dataclass(frozen=True)
class ChainOptions:
    """The number of ``links``."""

    links: int = 6


class Chain(Model):
    """A chain of equal links hanging from the world, its hinges turned by 90 degrees from one to the next."""

    name = "chain"
    Options = ChainOptions
    t_end = 5.0

    def build(self) -> Mechanism:
        n = self.options.links
        if n < 1:
            raise MechanismError(f"a chain has at least 1 link, got {n}")
        mass, length = Parameter("mass", 1.0, "kg", "mass of a link"), Parameter("length", 0.5, "m", "length of a link")
        damping = Parameter("damping", 0.05, "N.m.s/rad", "viscous damping in each hinge", minimum=0.0)
        gravity = Parameter("gravity", 9.81, "m/s2", "acceleration of free fall")
        names = [f"link{i + 1}" for i in range(n)]
        joints = [
            Joint(
                f"hinge{i + 1}",
                "revolute",
                parent=names[i - 1] if i else "world",
                child=name,
                axis=(0, 1, 0) if i % 2 == 0 else (1, 0, 0),
                position=(0, 0, -length) if i else (0, 0, 0),
                start=0.3 if i < 2 else 0.0,
            )
            for i, name in enumerate(names)
        ]
        return Mechanism(
            name=self.name,
            description=f"{(self.__doc__ or '').strip()} {n} links.",
            parameters=(mass, length, damping, gravity),
            bodies=tuple(
                Body(name, mass=mass, com=(0, 0, -length / 2), inertia=(mass * length**2 / 12,) * 2 + (mass * length**2 / 100,))
                for name in names
            ),
            joints=tuple(joints),
            forces=(
                ForceElement("gravity", acceleration=(0, 0, -gravity)),
                *(
                    ForceElement("joint-spring", name=f"{joint.name}-damper", coordinate=f"{joint.name}.angle", damping=damping)
                    for joint in joints
                ),
            ),
            outputs=(Output("tip", names[-1], at=(0, 0, -length)),),
        )
