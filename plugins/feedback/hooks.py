"""The feedback plugins of Kingpost."""

from __future__ import annotations

from kingpost.control.servo.feedback import Feedback
from kingpost.plugins.feedback.dae_step import DaeStep
from kingpost.plugins.feedback.dynamic_extension import DynamicExtension
from kingpost.plugins.feedback.hold_in_world import HoldInWorld
from kingpost.plugins.feedback.lqr_along import LqrAlong
from kingpost.plugins.feedback.pd_output import PdOutput
from kingpost.registry.hookspecs import hookimpl


@hookimpl
def kingpost_register_feedback() -> list[type[Feedback]]:
    return [DaeStep, DynamicExtension, HoldInWorld, LqrAlong, PdOutput]
