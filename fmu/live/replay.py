"""Scenarios repeated without anybody watching: as fast as can be, into a history."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import Interrupted, SolverError
from kingpost.fmu.live.scenario import Scenario
from kingpost.fmu.live.session import SAME_TIME, LiveSession
from kingpost.fmu.live.subject import LiveStoppedError
from kingpost.results.history import History
from kingpost.simulation.grid import NUMBER, memory


def replay(session: LiveSession, scenario: Scenario, progress: Callable[[float], None] = lambda fraction: None) -> History:
    """Carry a scenario out in a session that has just begun; return all channels at every frame.

    Raises
    ------
    SolverError
        If it cannot go on before the end of the scenario; its ``history`` holds what was computed before.

    """
    session.load(scenario)
    subject, started = session.subject, time.perf_counter()
    last = scenario.actions[-1].t if scenario.actions else session.t
    end = scenario.until if scenario.until is not None else last
    _check_room(session, end)
    times: list[float] = [session.t]
    rows: list[FloatArray] = [session.row]

    def so_far(outcome: str) -> History:
        history = subject.history(times, rows, outcome, time.perf_counter() - started)
        done = [{"t": action.t, "set": dict(action.set)} for action in session.scenario().actions]
        return History(history.time, history.channels, history.values, {**history.provenance, "actions": done})

    span = end - session.t
    try:
        while session.t < end - SAME_TIME * subject.frame:
            session.advance()
            times.append(session.t)
            rows.append(session.row)
            progress(min(1.0, (session.t - times[0]) / span))
    except LiveStoppedError as error:
        raise SolverError(str(error), history=so_far("failed")) from None
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted at t = {times[-1]:g} s", history=so_far("interrupted")) from None
    return so_far("complete")


def _check_room(session: LiveSession, end: float) -> None:
    frames = max(0.0, (end - session.t) / session.subject.frame)
    needed = NUMBER * frames * len(session.row)
    if not np.isfinite(needed) or needed > memory():
        raise SolverError(
            f"the scenario goes to t = {end:g} s, which makes {frames:.3g} frames of {len(session.row)} channels: more than "
            "the memory of this machine; let it end earlier (until)"
        )
