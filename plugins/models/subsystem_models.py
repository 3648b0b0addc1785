"""Systems of document 002 that are described as subsystems, so that they can be run and shown by name.

What assembles subsystems is loaded when one of them is built: other machines do without.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.model import Model


@dataclass(frozen=True)
class PendulumSubsystemsOptions:
    """``variables``: two angles, the place, the place and the square of the speed, or those of a free body and two angles."""

    variables: Literal["angles", "place", "speed-square", "body"] = "place"


class SphericalPendulumSubsystems(Model):
    """A particle on a sphere in the variables of document 002, assembled by its method; gravity is along its x."""

    name = "spherical-pendulum-subsystems"
    Options = PendulumSubsystemsOptions

    def build(self) -> Mechanism:
        from kingpost.modular.machine import as_mechanism
        from kingpost.plugins.models.pendulum_subsystems import SETS

        return as_mechanism(SETS[self.options.variables](), name=self.name, description=(self.__doc__ or "").strip())


@dataclass(frozen=True)
class TwoRodSubsystemsOptions:
    """``angle``: whether the angle between the rods is a variable, too, as in the document."""

    angle: bool = False


class TwoRodSliderSubsystems(Model):
    """The two-rod slider by the places of its joints, as document 002 has it, assembled by its method."""

    name = "two-rod-slider-subsystems"
    Options = TwoRodSubsystemsOptions

    def build(self) -> Mechanism:
        from kingpost.modular.machine import as_mechanism
        from kingpost.plugins.models.two_rod_subsystems import in_points

        return as_mechanism(in_points(self.options.angle), name=self.name, description=(self.__doc__ or "").strip())


class FiveBarSubsystems(Model):
    """The five-bar with motors from the eleven subsystems of document 002: motors, cranks, rods, payload, halves, linkage."""

    name = "five-bar-subsystems"
    t_end = 2.0

    def build(self) -> Mechanism:
        from kingpost.modular.machine import as_mechanism
        from kingpost.plugins.models.five_bar_parts import five_bar

        return as_mechanism(five_bar(), name=self.name, description=(self.__doc__ or "").strip())
