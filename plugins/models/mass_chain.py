"""The masses on springs of document 003, section 4.3 and Fig. 11."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kingpost.base.errors import MechanismError
from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.mechanism.polynomials import SMOOTHEST
from kingpost.mechanism.shapes import Shape
from kingpost.mechanism.tasks import ServoTask
from kingpost.plugins.models.paths import rest_to_rest

#: Where the last mass begins and ends, and the distance at which a spring does not pull (m).
BEGIN, END, FREE = 0.5, 3.0, 0.5


@dataclass(frozen=True)
class MassChainOptions:
    """The number ``n`` of masses."""

    n: int = 2

    def __post_init__(self) -> None:
        if self.n < 2:
            raise MechanismError(f"a mass-chain has at least 2 masses, got {self.n}", path=("n",))


class MassChain(Model):
    """Masses in a row on a straight line, with springs and dampers between neighbours, and a force on the first one."""

    name = "mass-chain"
    Options = MassChainOptions
    t_end = 6.0

    def build(self) -> Mechanism:
        n = self.options.n
        masses = [Parameter(f"mass{i}", 1.0 if i == 1 else 2.0, "kg", f"mass number {i}") for i in range(1, n + 1)]
        stiffness = Parameter("stiffness", 10.0, "N/m", "of each spring")
        damping = Parameter("damping", 0.0, "N.s/m", "of each damper", minimum=0.0)
        free = Parameter("free_length", FREE, "m", "distance of neighbours at which springs do not pull", minimum=0.0)
        force = Input("force", "N", description="force on the first mass")
        side = 0.12
        return Mechanism(
            name=self.name,
            description=f"{(self.__doc__ or '').strip()} {n} masses.",
            parameters=(*masses, stiffness, damping, free),
            inputs=(force,),
            bodies=tuple(
                Body(f"block{i}", mass=mass, shape=(Shape("box", size=(side, side, side)),)) for i, mass in enumerate(masses, 1)
            ),
            joints=tuple(
                Joint(
                    f"slide{i}",
                    "prismatic",
                    "world",
                    f"block{i}",
                    axis=(1, 0, 0),
                    coordinates=("x",),
                    start=BEGIN - (n - i) * free,
                )
                for i in range(1, n + 1)
            ),
            forces=(
                ForceElement("joint-effort", name="drive", coordinate="slide1.x", effort=force),
                *(
                    ForceElement(
                        "joint-spring",
                        name=f"spring{i}",
                        coordinate=f"slide{i + 1}.x",
                        other=f"slide{i}.x",
                        stiffness=stiffness,
                        damping=damping,
                        rest=free,
                    )
                    for i in range(1, n)
                ),
            ),
            outputs=tuple(Output(f"mass{i}", f"block{i}") for i in range(1, n + 1)),
        )

    def tasks(self) -> Mapping[str, ServoTask]:
        """Return the manoeuvre of document 003: the last mass goes from 0.5 m to 3 m in 6 s."""
        n = self.options.n
        # Without damping the index is 2 n + 1, and bounded forces take as many continuous derivatives as 2 n.
        path = rest_to_rest({f"mass{n}.x": (BEGIN, END)}, 6.0, None if n == 2 else f"smooth:{min(2 * n, SMOOTHEST)}")
        description = "document 003, section 4.3; damping 0 or 10 N s/m"
        return {"003": ServoTask(path, ("force",), 6.0, name="003", description=description)}
