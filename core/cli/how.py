"""How a machine is solved, as the command line says it: the same options, with the same words, in every verb that has them."""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING, Any

from kingpost.base.load_frames import FEW_JOINTS
from kingpost.kernel.backends import BACKENDS

if TYPE_CHECKING:
    from kingpost.simulation.settings import RunSettings

_SELECTION = "NAME[:KEY=VALUE,...]"
#: By field of :class:`RunSettings`: the option and what argparse is told of it.
OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "formulation": (
        "--formulation",
        {"metavar": _SELECTION, "help": "how the equations are written (default: kane; recursive for large machines)"},
    ),
    "integrator": ("--integrator", {"metavar": _SELECTION, "help": "how time is advanced (default: rk4)"}),
    "t_end": ("--t-end", {"type": float, "metavar": "S", "help": "end time in s (default: the model's own)"}),
    "t_start": ("--t-start", {"type": float, "metavar": "S", "help": "start time in s (default: 0)"}),
    "step": ("--step", {"type": float, "metavar": "S", "help": "step of a fixed-step integrator in s (default: 0.001)"}),
    "output_step": (
        "--output-step",
        {"type": float, "metavar": "S", "help": "time between samples in s (default: about 0.01)"},
    ),
    "start": (
        "--from",
        {"choices": ["start", "equilibrium"], "help": "begin at the start values, or at rest in equilibrium"},
    ),
    "loads": (
        "--loads",
        {
            "action": "append",
            "metavar": "JOINT[:KEY=VALUE,...]",
            "help": "joints whose loads are wanted: all, none, names, or e.g. slew:frame=parent,side=parent,at=0/0/0.5 "
            f"(repeatable; default: all, if there are at most {FEW_JOINTS} joints)",
        },
    ),
    "load_method": (
        "--load-method",
        {"metavar": "NAME", "help": "how joint loads are found (default: auxiliary-speeds with kane, else recursive)"},
    ),
    "load_metric": (
        "--load-metric",
        {
            "metavar": "size|stiffness|M",
            "help": "measure by which loads that rigid bodies leave open are smallest: moments over the size of their loops, "
            "or over M metres, or by the stiffness of joints (default: stiffness where joints have one, else size)",
        },
    ),
    "cut": (
        "--cut",
        {
            "action": "append",
            "metavar": "BODY=DISTANCE",
            "help": "cut a body by a weld, so many m from its joint, for the section load there (repeatable)",
        },
    ),
    "close_loops": (
        "--close-loops",
        {
            "action": argparse.BooleanOptionalAction,
            "help": "let start values that leave loops open by more than 0.01 rad or m be changed until they close",
        },
    ),
    "monitors": (
        "--monitors",
        {
            "action": argparse.BooleanOptionalAction,
            "help": "also write energy balance, momentum, and errors, rank and condition of the constraints of closed loops",
        },
    ),
    "verify": (
        "--verify",
        {
            "metavar": _SELECTION,
            "help": "find the accelerations of every sample once more by another formalism, and tell the largest difference",
        },
    ),
    "check_step": (
        "--check-step",
        {
            "type": float,
            "nargs": "?",
            "const": 0.01,
            "metavar": "PART",
            "help": "run once more with half the step, and tell which peak loads change by more than this part of the largest "
            "load of their joint (default: 0.01)",
        },
    ),
    "tilt_limit": (
        "--tilt-limit",
        {
            "type": float,
            "metavar": "DEG",
            "help": "tilt of floating bodies beyond which a run is told to be outside linear theory (default: 20)",
        },
    ),
    "sea": (
        "--sea",
        {
            "metavar": "SPECTRUM:KEY=VALUE,...",
            "help": "waves around a floating machine, e.g. jonswap:Hs=2.5,Tp=8,heading=150,seed=3,components=200 (heading: "
            "where waves go to, in degrees from the bow's direction towards port; 180 is a head sea)",
        },
    ),
    "backend": (
        "--backend",
        {"choices": BACKENDS, "help": "machine code (c), interpreter (vm), or what can be had (auto)"},
    ),
}


def add_how_arguments(parser: argparse.ArgumentParser, *names: str, **help_texts: str) -> None:
    """Add the options for some fields of :class:`RunSettings`; a verb may say in its own words what one means to it."""
    for name in names:
        flag, words = OPTIONS[name]
        words = {**words, "help": help_texts[name]} if name in help_texts else words
        parser.add_argument(flag, dest=name, **words)


def settings_from(arguments: argparse.Namespace) -> RunSettings:
    """Return what the command line says."""
    from kingpost.simulation.settings import RunSettings

    names = [field.name for field in dataclasses.fields(RunSettings)]
    said = {name: value for name in names if (value := getattr(arguments, name, None)) is not None}
    if isinstance(said.get("write"), str):
        said["write"] = said["write"].split(",")
    return RunSettings.of(said)
