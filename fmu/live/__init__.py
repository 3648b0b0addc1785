"""Live sessions: machines and coupled systems that run at the pace of a clock, are changed on the way, and go back in time."""

from typing import TYPE_CHECKING

from kingpost.base.lazy import lazy_names

if TYPE_CHECKING:
    from kingpost.fmu.live.controls import Control, LiveError
    from kingpost.fmu.live.opening import open_session
    from kingpost.fmu.live.pace import Pace
    from kingpost.fmu.live.replay import replay
    from kingpost.fmu.live.scenario import Action, Scenario, read_scenario
    from kingpost.fmu.live.session import LiveSession
    from kingpost.fmu.live.subject import LiveStoppedError

    __all__ = [
        "Action",
        "Control",
        "LiveError",
        "LiveSession",
        "LiveStoppedError",
        "Pace",
        "Scenario",
        "open_session",
        "read_scenario",
        "replay",
    ]
else:
    PLACES = {
        "controls": ("Control", "LiveError"),
        "opening": ("open_session",),
        "pace": ("Pace",),
        "replay": ("replay",),
        "scenario": ("Action", "Scenario", "read_scenario"),
        "session": ("LiveSession",),
        "subject": ("LiveStoppedError",),
    }
    __getattr__, __dir__, __all__ = lazy_names(__name__, PLACES)
