"""The mathematical pendulum of document 001, section 8.1."""

from __future__ import annotations

from collections.abc import Mapping
from math import pi

from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.mechanism.optimal_tasks import OptimalTask


class MathematicalPendulum(Model):
    """A point mass on a massless rod with a torque input (document 001, section 8.1).

    The angle is zero where the rod is horizontal, and pi/2 where it hangs down. The torque is the physical one, the negative of
    the document's u.
    """

    name = "mathematical-pendulum"
    t_end = 3.0

    def build(self) -> Mechanism:
        mass = Parameter("mass", 1.0, "kg", "mass of the point")
        length = Parameter("length", 1.0, "m", "length of the rod")
        gravity = Parameter("gravity", 9.81, "m/s2", "acceleration of free fall")
        torque = Input("torque", "N.m", description="torque in the pivot")
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip().split("\n")[0],
            parameters=(mass, length, gravity),
            inputs=(torque,),
            bodies=(Body("bob", mass=mass, com=(length, 0, 0)),),
            joints=(Joint("pivot", "revolute", "world", "bob", axis=(0, 1, 0)),),
            forces=(
                ForceElement("gravity", acceleration=(0, 0, -gravity)),
                ForceElement("joint-effort", name="drive", coordinate="pivot.angle", effort=torque),
            ),
            outputs=(Output("bob", "bob", at=(length, 0, 0)),),
        )

    def optimal_tasks(self) -> Mapping[str, OptimalTask]:
        """Return the manoeuvre of the document: from horizontal to hanging in 3 s, from rest to rest."""
        end = {"pivot.angle": pi / 2, "pivot.angle.rate": 0.0}
        about = "document 001, section 8.1"
        return {"001": OptimalTask(("torque",), 3.0, end=end, intervals=20, name="001", description=about)}
