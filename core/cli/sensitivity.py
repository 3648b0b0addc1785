"""``kingpost sensitivity``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kingpost.base.errors import Interrupted
from kingpost.cli.arguments import add_input_argument, add_model_argument
from kingpost.cli.command import Command
from kingpost.cli.how import OPTIONS, add_how_arguments, settings_from
from kingpost.cli.output import ProgressBar, print_json, print_table
from kingpost.cli.run import DIVERGES
from kingpost.cli.signals import while_doing
from kingpost.cli.state import warn_of_fitted_start

if TYPE_CHECKING:
    from kingpost.gradients.sensitivity import Question, Sensitivity
    from kingpost.registry.pluginset import PluginSet

#: What a run does beside its steps has no gradient.
NOT_OF_A_GRADIENT = ("monitors", "verify", "check_step")


class FindSensitivity(Command):
    """Run a machine and print a number of its history with its gradient.

    The gradient is exact for the steps that were taken, and costs a few runs for any number of names. --of reads one number:
    'hull.roll at 0.3', 'max abs slew.My', 'min', 'range', 'mean', 'rms', 'std', 'integral', 'end' and 'start' of a channel,
    all of them 'from T1 to T2' if wanted; 'max norm(slew.Mx, slew.My)'; 'equivalent slew.My slope 4'; 'damage SPOT' with
    --hotspots; sums and products of these with blanks around +, -, * and /.
    """

    name = "sensitivity"
    example = "kingpost sensitivity vessel-crane --of 'max abs slew.My' --to kP,kD,m4 --t-end 20"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_model_argument(parser)
        parser.add_argument("--of", required=True, metavar="NUMBER", help="what is read from the run, e.g. 'max abs slew.My'")
        parser.add_argument(
            "--to",
            required=True,
            action="append",
            metavar="NAME,...",
            help="parameters, constant inputs and start values, or patterns such as 'm*'; inputs with stairs (repeatable)",
        )
        add_how_arguments(parser, *(name for name in OPTIONS if name not in NOT_OF_A_GRADIENT))
        add_input_argument(parser)
        parser.add_argument("--hotspots", type=Path, metavar="FILE.toml", help="hot spots for 'damage SPOT'")
        parser.add_argument("--curves", type=Path, metavar="FILE.toml", help="S-N curves, beside those that are shipped")
        parser.add_argument("--skip", type=float, default=0.0, metavar="S", help="do not count cycles of the first S seconds")
        parser.add_argument("--json", action="store_true", help="print JSON instead of the table")

    def run(self, arguments: argparse.Namespace, plugins: PluginSet) -> int:
        question = _question(arguments, plugins)
        bar = ProgressBar(question.simulation.mechanism.name)
        try:
            with while_doing("the gradient was being found; nothing is written"):
                found = question.answer(bar)
        except Interrupted as interrupt:
            raise KeyboardInterrupt(f"{interrupt}; there is no gradient") from None
        finally:
            bar.close()
        warn_of_fitted_start(question.simulation.problem)
        for warning in found.warnings:
            print(f"kingpost: warning: {warning}", file=sys.stderr)
        if arguments.json:
            print_json(found.record())
        else:
            _print(found)
        return DIVERGES if found.history.provenance["diverges"] else 0


def _question(arguments: argparse.Namespace, plugins: PluginSet) -> Question:
    from kingpost.gradients.damage import DamageWords
    from kingpost.gradients.sensitivity import ask
    from kingpost.modelfiles.opened import open_model
    from kingpost.modelfiles.signal_words import with_inputs

    with while_doing(f"'{arguments.model}' was being prepared; nothing was computed"):
        from kingpost.fatigue.assessment import CountingOptions

        opened = with_inputs(open_model(arguments.model, plugins, arguments.set, python=True), arguments.input)
        how = opened.how(settings_from(arguments)).selected(opened.plugins)
        damage = DamageWords.read(arguments.hotspots or (), arguments.curves, CountingOptions(skip=arguments.skip))
        return ask(
            *(opened.mechanism, arguments.of, arguments.to, opened.settings, opened.inputs, how, opened.plugins, damage),
        )


def _print(found: Sensitivity) -> None:
    print_table([("of", found.of), ("value", f"{found.value:.9g}")])
    for what, time in found.places.items():
        print(f"{what} at {time:g} s")
    print()
    share = found.elasticity
    rows = [
        (
            *(name, f"{found.at[name]:.6g} {found.units[name]}".removesuffix(" 1")),
            *(f"{slope:.9g}", f"{share[name]:+.4g} %" if name in share else "-"),
        )
        for name, slope in found.gradient.items()
    ]
    print_table(rows, ("with respect to", "at", "gradient", "for 1 % more"))
    for name, course in found.courses.items():
        k = int(abs(course.gradient).argmax())
        words = f"{len(course.time)} values, the largest gradient {course.gradient[k]:.9g} by that at {course.time[k]:g} s"
        print_table([(name, f"{words}; --json prints them all")])
    spent = found.seconds
    print(f"\nrun {spent['run']:.3g} s, gradient {spent['gradient']:.3g} s")
