"""Controllers for servo tasks and for optimal tasks as FMUs.

export_controller(mechanism, task, Path("controller.fmu"), feedback="dynamic-extension:poles=-3")
export_controller(mechanism, optimal_task, Path("controller.fmu"), feedback="receding-horizon:sample_time=0.05")
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kingpost.control.blocks import DiscreteBlock, block_model
from kingpost.control.receding.controller import RecedingHorizon, receding
from kingpost.control.servo.feedback import Feedback, ServoLoop
from kingpost.control.servo.loop_stability import LoopStability, loop_stability
from kingpost.control.servo.posing import pose_servo
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.optimal_tasks import OptimalTask
from kingpost.mechanism.tasks import ServoTask
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import Selection, select
from kingpost.simulation.exporter import Exported, Exporter, ExportSelection
from kingpost.simulation.settings import RunSettings


def controller_block(
    mechanism: Mechanism,
    task: ServoTask,
    feedback: Selection[Feedback],
    *,
    settings: Mapping[str, float] | None = None,
    how: RunSettings | None = None,
    plugins: PluginSet | None = None,
) -> tuple[DiscreteBlock, ServoLoop]:
    """Return the controller of a servo task as a sampled block, and the loop that it closes.

    The block can be a component of a coupled system as it is, ``Component("controller", model=block)``.
    """
    plugins = plugins or PluginSet()
    way = select(plugins.of("feedback"), feedback)
    problem = pose_servo(mechanism, task, how, values=settings, plugins=plugins)
    loop = ServoLoop(problem, way.options.path)
    return way.sampled(loop), loop


def export_controller(
    mechanism: Mechanism,
    task: ServoTask | OptimalTask,
    path: Path,
    *,
    feedback: Selection[Feedback] | Selection[RecedingHorizon],
    to: Selection[Exporter] = "native-fmu",
    settings: Mapping[str, float] | None = None,
    how: RunSettings | None = None,
    plugins: PluginSet | None = None,
) -> Exported:
    """Write a controller that keeps a machine on the path of a servo task, or brings it to the end of an optimal one.

    Parameters
    ----------
    mechanism, task
        The machine and what it is to do.
    path
        The file.
    feedback
        The law, e.g. ``"dynamic-extension:poles=-3,sample_time=0.005"``, a class or an instance; for an optimal task
        ``"receding-horizon"`` with its options.
    to
        The exporter, e.g. ``"native-fmu:fmi=3"`` or ``"fmu"``.
    settings
        Parameters, inputs that stay what they are, and start values by name; before those of the task.
    how
        Formulation, as for :func:`kingpost.simulate`.
    plugins
        The plugins to choose from; by default all built-in and installed ones.

    Returns
    -------
    Exported
        The file, and facts about it: the law, and how errors change from sample to sample at the end of the path.

    """
    plugins = plugins or PluginSet()
    exporter = select(plugins.of("exporters"), to)
    if isinstance(task, OptimalTask):
        return _export_receding(mechanism, task, path, RecedingHorizon.selected(feedback), exporter, settings, how, plugins)
    way: Feedback = select(plugins.of("feedback"), feedback)
    block, loop = controller_block(mechanism, task, way, settings=settings, how=how, plugins=plugins)
    model = block_model(block, plugins=plugins, t_start=task.t_start, t_end=task.t_end)
    done = exporter.export(model, ExportSelection(), path)
    found = loop_stability(loop, block)
    told = found.sentence if isinstance(found, LoopStability) else f"not known: {found}"
    name = f"'{task.name}'" if task.name else "of a file"
    facts = (
        ("machine", mechanism.name),
        ("task", f"{name}: {', '.join(task.inputs)} for {', '.join(task.measures)}"),
        ("feedback", f"{way.name}, a sample every {block.sample_time:g} s"),
        ("at the end", told),
    )
    return replace(done, facts=(*facts, *done.facts))


def _export_receding(
    mechanism: Mechanism,
    task: OptimalTask,
    path: Path,
    law: RecedingHorizon,
    exporter: Exporter,
    settings: Mapping[str, float] | None,
    how: RunSettings | None,
    plugins: PluginSet,
) -> Exported:
    made = receding(mechanism, task, law.options, settings=settings, how=how, plugins=plugins)
    horizon, options = made.horizon, law.options
    model = block_model(made.block(), plugins=plugins, t_start=task.t_start)
    done = exporter.export(model, ExportSelection(), path)
    name = f"'{task.name}'" if task.name else "of a file"
    bounds: list[Any] = sorted({row.name for row in horizon.rows})
    facts = (
        ("machine", mechanism.name),
        ("task", f"{name}: {', '.join(task.inputs)} for {', '.join(horizon.targets)}"),
        ("feedback", f"{law.name}, a sample every {options.sample_time:g} s"),
        ("plan", f"{horizon.intervals} intervals, {horizon.intervals * horizon.h:g} s; arrival at {made.arrival:g} s"),
        ("bounds", ", ".join(bounds) if bounds else "none"),
    )
    return replace(done, facts=(*facts, *done.facts))
