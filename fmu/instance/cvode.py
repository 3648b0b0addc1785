"""CVode of SUNDIALS as fmpy brings it, with what events need, and errors of the FMU inside its callbacks brought out."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
from fmpy.sundials import CVodeSolver
from fmpy.sundials import cvode as sundials

from kingpost.fmu.instance.instance import FmiError

#: What tells CVode that going on makes no sense.
GIVE_UP = -1
#: CVode comes back after each of its own steps, instead of at the time that it was asked for.
ONE_STEP = 2
#: Steps of its own on the way to one time, after which it gives up.
MOST_STEPS = 20_000

_set_stop_time = sundials.sundials_cvode.CVodeSetStopTime
_set_stop_time.argtypes = [ctypes.c_void_p, ctypes.c_double]
_set_stop_time.restype = ctypes.c_int


class CVode(CVodeSolver):  # type: ignore[misc]  # fmpy ships no types
    """CVode; an exception in a callback would only be printed by ctypes, and CVode would go on with old numbers.

    With ``singly`` it comes back after each of its own steps, for FMUs that want to be told of them.
    """

    fault: Exception | None = None

    def __init__(self, *, singly: bool = False, **arguments: Any) -> None:
        super().__init__(maxNumSteps=MOST_STEPS, **arguments)
        self.singly = singly
        self._take_nominals()

    def f(self, t: float, y: Any, ydot: Any, user_data: Any) -> int:
        """Give the rates."""
        try:
            self.input.apply(t)
            return int(super().f(t, y, ydot, user_data))
        except Exception as error:
            self.fault = error
            return GIVE_UP

    def g(self, t: float, y: Any, gout: Any, user_data: Any) -> int:
        """Give the event indicators."""
        try:
            return int(super().g(t, y, gout, user_data))
        except Exception as error:
            self.fault = error
            return GIVE_UP

    def stop_at(self, time: float) -> None:
        """Let no rate be asked for beyond a time."""
        if math.isfinite(time):
            _set_stop_time(self.cvode_mem, time)

    def step(self, t: float, tNext: float) -> Any:  # fmpy's name
        """Go to ``tNext``, or to an event before; return whether there is one, and where."""
        if self.singly:
            self.stop_at(tNext)
        reached = ctypes.c_double(t)
        flag = sundials.CVode(
            self.cvode_mem, tNext, self.x, ctypes.byref(reached), ONE_STEP if self.singly else sundials.CV_NORMAL
        )
        if flag < 0:
            fault, self.fault = self.fault, None
            if fault is not None:
                raise fault
            why = self.error_info[3] if self.error_info else f"code {flag}"
            raise FmiError(f"CVode gave up between t = {t:g} s and {tNext:g} s: {why}")
        if not self.discrete:
            self.set_x(self.px, self.nx)
        return flag == sundials.CV_ROOT_RETURN, None, reached.value

    def reset(self, time: float) -> None:
        """Begin anew from the FMU's states, whose sizes may have changed as well."""
        super().reset(time)
        self._take_nominals()

    def _take_nominals(self) -> None:
        """Hold states to the tolerance times their nominal values; one that is no size is taken as 1."""
        if not self.discrete:
            self.get_nominals(self.pabstol, self.nx)
            sizes = np.abs(self.npabstol)
            self.npabstol[:] = self.reltol * np.where(np.isfinite(sizes) & (sizes > 0), sizes, 1.0)
        sundials.CVodeSVtolerances(self.cvode_mem, self.reltol, self.abstol)
