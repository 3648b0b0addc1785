"""What a worker needs to know to run cases of a study: everything, in a form that travels."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kingpost.base.errors import KingpostError, SolverError
from kingpost.kernel.pack import KernelPack, packed
from kingpost.modelfiles.opened import OpenedModel, open_model
from kingpost.registry.pluginset import PluginSet
from kingpost.registry.selection import make
from kingpost.simulation.run import Simulation
from kingpost.simulation.settings import RunSettings
from kingpost.simulation.simulate import prepare
from kingpost.simulation.step_check import finer
from kingpost.studies.reducer import Reducer
from kingpost.studies.worker import Worker


@dataclass(frozen=True)
class StudyWork:
    """How cases of a study are run: from it a worker, in this process or on another machine, makes the run once.

    Parameters
    ----------
    model
        A model with its options, or a file, which must be at the same place for every worker.
    t_end
        End of every run, s.
    settings
        Parameters, constant inputs and start values of all cases, where they do not say otherwise.
    how
        How runs are solved, before what the model and its file say. Without a ``backend`` machine code is demanded.
    skip
        What is left out at the start of every run, s.
    reducers
        What is kept: names of reducers, each with its options.
    plugin_files
        Python files with plugins, at the same place for every worker.
    entry_points
        Whether installed plugins are loaded.
    packs
        Compiled kernels, for workers that have no compiler, or need not use theirs.
    halvings
        How often the step is halved, for checks of it.

    """

    model: str
    t_end: float
    settings: Mapping[str, float] = field(default_factory=dict)
    how: RunSettings = field(default_factory=RunSettings)
    skip: float = 0.0
    reducers: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    plugin_files: tuple[str, ...] = ()
    entry_points: bool = True
    packs: tuple[KernelPack, ...] = ()
    halvings: int = 0

    def prepare(self) -> Worker:
        """Return what runs cases: the machine opened, derived and compiled, or taken from a pack."""
        plugins = PluginSet(self.plugin_files, entry_points=self.entry_points)
        obstacles = self._unpack()
        opened = open_model(self.model, plugins, self.settings)
        simulation = self._simulation(opened, obstacles)
        for _ in range(self.halvings):
            simulation, _ = finer(simulation)
        return Worker(simulation, opened, self._reducers(opened.plugins), self.skip)

    def with_kernel(self) -> StudyWork:
        """Return the same with its compiled kernel, so that nobody else compiles it; unchanged if it is interpreted."""
        pack = packed(self.prepare().simulation.kernel)
        return self if pack is None else replace(self, packs=(pack,))

    def finer(self) -> StudyWork:
        """Return the same with half the step, and the same kernel."""
        return replace(self, halvings=self.halvings + 1)

    def _unpack(self) -> list[str]:
        """Put the packs that this machine can run into its cache, and return why it cannot run the others."""
        refusals = {pack: pack.refusal() for pack in self.packs}
        for pack, refusal in refusals.items():
            if not refusal:
                pack.install()
        return [refusal for refusal in refusals.values() if refusal]

    def _simulation(self, opened: OpenedModel, obstacles: list[str]) -> Simulation:
        how = opened.how(replace(self.how, t_end=self.t_end))
        simulation = prepare(opened.mechanism, settings=opened.settings, inputs=opened.inputs, how=how, plugins=opened.plugins)
        if simulation.kernel.backend == "vm" and how.backend != "vm":
            why = "; ".join([simulation.kernel.note.partition(": ")[2], *obstacles])
            raise SolverError(
                f"there is no machine code for '{opened.mechanism.name}' on {platform.node() or 'this machine'}: "
                f'{why}. A study is not run in the interpreter, which takes many times as long, unless it says backend = "vm"'
            )
        return simulation

    def _reducers(self, plugins: PluginSet) -> tuple[Reducer, ...]:
        found = []
        for name, options in self.reducers:
            reducer = make(plugins.of("reducers").get(name), dict(options))
            assert isinstance(reducer, Reducer)
            found.append(reducer)
        if not found:
            raise KingpostError("a study keeps nothing of its runs: give at least one reducer")
        return tuple(found)
