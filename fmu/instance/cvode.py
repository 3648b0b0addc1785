"""fmpy's CVode, with errors of the FMU inside its callbacks brought out."""

from __future__ import annotations

from typing import Any

from fmpy.sundials import CVodeSolver

from kingpost.fmu.instance.instance import FmiError

#: What tells CVode that going on makes no sense.
GIVE_UP = -1


class CVode(CVodeSolver):  # type: ignore[misc]  # fmpy ships no types
    """CVode; an exception in a callback would only be printed by ctypes, and CVode would go on with old numbers."""

    fault: Exception | None = None

    def f(self, t: float, y: Any, ydot: Any, user_data: Any) -> int:
        """Give the rates."""
        try:
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

    def step(self, t: float, tNext: float) -> Any:
        """Go to ``tNext``, or to an event before."""
        try:
            return super().step(t, tNext)
        except RuntimeError as error:
            fault, self.fault = self.fault, None
            if fault is not None:
                raise fault from None
            raise FmiError(f"CVode gave up between t = {t:g} s and {tNext:g} s: {error}") from None
