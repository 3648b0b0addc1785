"""A pendulum under a driven trolley: the smallest crane."""

from __future__ import annotations

from collections.abc import Mapping

from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.mechanism.optimal_tasks import CostPart, OptimalTask


class SliderPendulum(Model):
    """A load on a massless rod under a trolley on a rail, driven by a horizontal force input."""

    name = "slider-pendulum"

    def build(self) -> Mechanism:
        trolley = Parameter("trolley_mass", 200.0, "kg", "mass of the trolley")
        load = Parameter("load_mass", 500.0, "kg", "mass of the load, a point")
        length = Parameter("rope_length", 4.0, "m", "distance from the trolley to the load")
        stiffness = Parameter("rail_stiffness", 0.0, "N/m", "spring that pulls the trolley back to the origin", minimum=0.0)
        damping = Parameter("rail_damping", 50.0, "N.s/m", "viscous friction of the trolley on the rail", minimum=0.0)
        gravity = Parameter("gravity", 9.81, "m/s2", "acceleration of free fall")
        drive = Input("drive", "N", description="force on the trolley along the rail")
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip(),
            parameters=(trolley, load, length, stiffness, damping, gravity),
            inputs=(drive,),
            bodies=(Body("trolley", mass=trolley), Body("load", mass=load, com=(0, 0, -length))),
            joints=(
                Joint("rail", "prismatic", "world", "trolley", axis=(1, 0, 0)),
                Joint("swing", "revolute", "trolley", "load", axis=(0, 1, 0), start=0.2),
            ),
            forces=(
                ForceElement("gravity", acceleration=(0, 0, -gravity)),
                ForceElement(
                    "joint-spring", name="rail-spring", coordinate="rail.displacement", stiffness=stiffness, damping=damping
                ),
                ForceElement("joint-effort", name="rail-drive", coordinate="rail.displacement", effort=drive),
            ),
            outputs=(Output("hook", "load", at=(0, 0, -length)),),
        )

    def optimal_tasks(self) -> Mapping[str, OptimalTask]:
        """Return the fastest way by 5 m, from rest to rest without swing, with a force of at most 2000 N and no friction."""
        end = {"rail.displacement": 5.0, "swing.angle": 0.0, "rail.displacement.rate": 0.0, "swing.angle.rate": 0.0}
        task = OptimalTask(
            ("drive",),
            (1.0, 15.0),
            end=end,
            bounds={"drive": (-2000.0, 2000.0)},
            costs=(CostPart("time"),),
            settings={"rail_damping": 0.0, "swing.angle": 0.0},
            intervals=80,
            guess="line",
            description="5 m in the least time; the force within 2000 N, no friction",
        )
        return {"minimum-time": task}
