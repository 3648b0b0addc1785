"""What pythonfmu's binary calls: methods that never raise, since an exception that reaches it damages the importer's process.

The binary knows one way to be told of a failure: ``do_step`` returning False, which it passes on as fmi2Discard. So whatever
goes wrong elsewhere is logged, and the next step fails with the same text.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from kingpost.fmu.export.python.runtime.engine import DISCARD, ERROR, OK, WARNING
from kingpost.fmu.export.python.runtime.instance import SlaveInstance

#: The binary takes value references for signed numbers.
UNSIGNED = 0xFFFFFFFF
CATEGORIES = {WARNING: "logStatusWarning", DISCARD: "logStatusDiscard", ERROR: "logStatusError"}


class _Log:
    """Where messages go; nothing in it refers back to the instance, so that an instance is gone when it is freed."""

    def __init__(self, name: str, append: Callable[[int, str, str], None]) -> None:
        self._name, self._append = name, append
        self._waiting: list[tuple[int, str, str]] = []
        #: Failures in the order in which they were told.
        self.failures: list[str] = []

    def __call__(self, status: int, text: str) -> None:
        if status >= DISCARD and text not in self.failures:
            self.failures.append(text)
            # The binary passes messages on only if the importer has switched logging on; failures should not be lost.
            self._print(text)
        elif status == WARNING:
            self._print(text)
        # The importer takes the text for a format.
        self._waiting.append((status, CATEGORIES.get(status, "logAll"), text.replace("%", "%%")))

    def _print(self, text: str) -> None:
        with contextlib.suppress(Exception):
            print(f"{self._name}: {text}", file=sys.stderr, flush=True)

    def deliver(self) -> None:
        """Hand messages over, at the end of a call, when the binary passes them on.

        One that is still in its list when an instance is freed makes it use its logger after having deleted it, and crash: so
        what is said while an instance is made waits for the first call.
        """
        for message in self._waiting:
            self._append(*message)
        self._waiting.clear()


class Front:
    """One instance behind pythonfmu's binary. ``append`` puts status, category and text into the binary's list of messages."""

    def __init__(self, name: str, resources: str, append: Callable[[int, str, str], None]) -> None:
        _forget(resources)
        self._log = _Log(name, append)
        self._instance = SlaveInstance(resources, self._log)

    def setup_experiment(self, start: float, stop: float | None) -> None:
        self._done(self._instance.setup(start, stop))

    def enter_initialization_mode(self) -> None:
        self._done(self._instance.enter_initialization())

    def exit_initialization_mode(self) -> None:
        self._done(self._instance.exit_initialization())

    def terminate(self) -> None:
        self._done(self._instance.terminate())

    def do_step(self, start: float, size: float) -> bool:
        return self._done(self._instance.step(start, size))

    def get_real(self, references: Sequence[int]) -> list[float]:
        """Return values; NaN for all of them if one cannot be had, since a list of numbers is all the binary takes."""
        status, values = self._instance.get([reference & UNSIGNED for reference in references])
        return values if self._done(status) and values is not None else [float("nan")] * len(references)

    def set_real(self, references: Sequence[int], values: Sequence[float]) -> None:
        self._done(self._instance.set([reference & UNSIGNED for reference in references], values))

    def none_of_type(self, kind: str, count: int) -> None:
        """Answer a question for variables of a type that there are none of."""
        text = f"this model has no {kind} variables; all its variables are of type Real"
        self._done(self._instance.say(ERROR, text) if count else OK)

    def get_state(self) -> bytes:
        status, state = self._instance.get_state()
        return state if self._done(status) and state is not None else b""

    def set_state(self, state: object) -> None:
        accepted = self._instance.set_state(state) if isinstance(state, bytes) else None
        self._done(self._instance.say(ERROR, f"{state!r} is not a state") if accepted is None else accepted)

    def _done(self, status: int) -> bool:
        """Return whether a call was carried out; if not, the next step fails as well, for the binary cannot tell by itself."""
        if status != OK:
            texts = [text for text in self._log.failures if not text.startswith("Traceback")]
            self._instance.condemn(texts[-1] if texts else "it failed without saying why")
        self._log.deliver()
        return status == OK


def _forget(resources: str) -> None:
    """Remove what the binary adds to the search path for each instance: nothing else in this process should look there."""
    with contextlib.suppress(Exception):
        sys.path[:] = [entry for entry in sys.path if not entry or Path(entry) != Path(resources)]
