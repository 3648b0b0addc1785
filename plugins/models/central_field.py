"""The particle in a central field of document 001, section 8.2."""

from __future__ import annotations

from collections.abc import Mapping
from math import pi

from kingpost.mechanism.elements import Body, ForceElement, Input, Joint, Output, Parameter
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model
from kingpost.mechanism.optimal_tasks import OptimalTask


class CentralFieldParticle(Model):
    """A point mass that a fixed centre attracts, with a thrust along each axis of the world (document 001, section 8.2).

    It starts on the circle on which it would go round without thrust. Thrusts are physical forces, the negative of the
    document's u.
    """

    name = "central-field-particle"
    t_end = 6.0

    def build(self) -> Mechanism:
        mass = Parameter("mass", 1.0, "kg", "mass of the particle")
        strength = Parameter("strength", 1.0, "m3/s2", "constant of gravity times the mass of the centre")
        thrusts = [Input(f"thrust_{axis}", "N", description=f"force along {axis}") for axis in "xyz"]
        place = Joint("place", "translational", "world", "particle", start=(1.0, 0.0, 0.0), start_rate=(0.0, 1.0, 0.0))
        forces = [
            ForceElement("joint-effort", name=f"thruster-{axis}", coordinate=f"place.{axis}", effort=thrust)
            for axis, thrust in zip("xyz", thrusts, strict=True)
        ]
        return Mechanism(
            name=self.name,
            description=(self.__doc__ or "").strip().split("\n")[0],
            parameters=(mass, strength),
            inputs=tuple(thrusts),
            bodies=(Body("particle", mass=mass),),
            joints=(place,),
            forces=(ForceElement("central-gravity", body="particle", strength=strength), *forces),
            outputs=(Output("particle", "particle"),),
        )

    def optimal_tasks(self) -> Mapping[str, OptimalTask]:
        """Return the manoeuvre of the document: to the other side and out of the plane in pi s, with the speed reversed."""
        end = {"place.x": 0.0, "place.y": 0.0, "place.z": 1.5}
        end |= {"place.x.rate": 0.0, "place.y.rate": -1.0, "place.z.rate": 0.0}
        inputs = ("thrust_x", "thrust_y", "thrust_z")
        about = "document 001, section 8.2"
        task = OptimalTask(inputs, pi, end=end, intervals=20, guess="line", name="001", description=about)
        return {"001": task}
