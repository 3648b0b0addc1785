"""An FMU without a solver (model exchange) as a component: one of ours takes it from communication point to point."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.fmu.cosim.components.described import Places
from kingpost.fmu.cosim.components.fmu import FmuComponent
from kingpost.fmu.cosim.components.operations import Parts
from kingpost.fmu.cosim.components.rows import Row
from kingpost.fmu.cosim.components.running import WHOLE_OWN_STEPS, RunningFmu
from kingpost.fmu.file.opened import Fmu
from kingpost.fmu.instance.instance import FmiError, Instance
from kingpost.fmu.instance.modelexchange import make_instance


class RunningExchange(RunningFmu):
    """An instance whose rates are integrated in this process.

    Inputs that hold over a step jump at its beginning: an event, after which the solver begins anew. Inputs with slopes are
    followed as they are at every time that the solver asks for, if they are continuous and real.
    """

    by_hand = "a solver of this process takes its steps"

    def in_machine_code(self, t: float, h: float) -> Parts | str:
        return self.by_hand

    def _make_instance(self, component: FmuComponent, span: float) -> Instance:
        return make_instance(
            component.fmu,
            self._folder,
            name=component.name,
            log=self._log,
            trail=self._trail,
            solver=component.solver,
            t_span=span,
        )

    def _prepare_steps(self, fmu: Fmu, component: FmuComponent, places: Places) -> None:
        variables = [component.variable_of(label) for label in places.inputs]
        self._smooth = np.array([v.real and v.variability == "continuous" for v in variables], dtype=float)
        self._begun = False
        #: The inputs that the FMU has; None: not known.
        self._given: FloatArray | None = None

    def begin(self) -> None:
        super().begin()
        self._begun = True

    def give(self) -> None:
        self._guarded(self._give)

    def _give(self) -> None:
        if not self._begun:
            self._input_row.write()
            self._given = self.inputs.copy()
        elif self._given is None or not np.array_equal(self.inputs, self._given):
            self.instance.jump(self._input_row.write)
            self._given = self.inputs.copy()

    def send(self, t: float, h: float, slopes: FloatArray | None = None) -> None:
        try:
            self._give()
            if slopes is None or not len(self.inputs):
                self._advance(t, h)
            else:
                self._follow_slopes(t, h, slopes * self._smooth)
            self._output_row.read()
        except FmiError as error:
            raise self.explained(error) from None

    def _follow_slopes(self, t: float, h: float, slopes: FloatArray) -> None:
        first = self.inputs.copy()

        def follow(time: float) -> None:
            since = time - t
            self.inputs[:] = first + since * slopes[0] + since * since / 2 * slopes[1]
            self._input_row.write()

        self.instance.follow(follow)
        try:
            self._advance(t, h)
        finally:
            self.instance.follow(None)
        self._given = self.inputs.copy()

    def _advance(self, t: float, h: float) -> None:
        """Integrate, in steps of the component's own length if it has one."""
        n = 1 if self._own_step is None else max(1, math.ceil(h / self._own_step * (1 - WHOLE_OWN_STEPS)))
        for k in range(n):
            self.instance.step(t + k * h / n, h / n)

    def _write(self, row: Row) -> None:
        self.instance.jump(row.write)

    def restore(self, state: Any) -> None:
        super().restore(state)
        self._given = None
