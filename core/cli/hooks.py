"""The verbs that the core brings, registered like those of any plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kingpost.cli.compare import Compare
from kingpost.cli.completion import Completion
from kingpost.cli.doctor import Doctor
from kingpost.cli.evaluate import Evaluate
from kingpost.cli.fatigue import Fatigue
from kingpost.cli.gallery import Gallery
from kingpost.cli.hydro import Hydro
from kingpost.cli.index import Index
from kingpost.cli.inverse import Inverse
from kingpost.cli.listings import Models, Plugins
from kingpost.cli.modular import Modular
from kingpost.cli.new import New
from kingpost.cli.optimise import Optimise
from kingpost.cli.plot import Plot
from kingpost.cli.report import Report
from kingpost.cli.run import Run
from kingpost.cli.sensitivity import FindSensitivity
from kingpost.cli.statics import FindEquilibrium, Linearize
from kingpost.cli.study import StudyCommand
from kingpost.cli.weather import Weather
from kingpost.registry.hookspecs import hookimpl

if TYPE_CHECKING:
    from kingpost.cli.command import Command


@hookimpl
def kingpost_register_commands() -> list[type[Command]]:
    return [
        *(Run, Compare, Inverse, Index, Optimise, Models, Plugins, Evaluate, FindEquilibrium, Linearize, Modular),
        *(StudyCommand, Plot, Fatigue, FindSensitivity, Report, Gallery, Hydro, Weather, New, Completion, Doctor),
    ]
