"""A session at the controls of the smallest crane, in Python: played, changed, taken back in time, saved and repeated.

A trolley is pushed, coasts, and is braked for half a period of its load, which swings badly then. The session goes back to
where the brake was let go, and holds it for the other half, after which the load hangs still. What was done is a scenario file,
which repeats the session to the same bits.

    python examples/B11_live_session.py [pace]     # 20 times as fast as the clock, if nothing is said
"""

import math
import sys
import time
from pathlib import Path

import numpy as np

from kingpost.fmu.live import LiveSession, Pace, open_session, read_scenario, replay

START = {"model": "slider-pendulum", "settings": {"rail_damping": 0.0, "swing.angle": 0.0}, "options": {"frame": 0.005}}
FORCE = 175.0  # N
TROLLEY, LOAD, ROPE, GRAVITY = 200.0, 500.0, 4.0, 9.81
#: Of small swings under a trolley that rolls freely.
PERIOD = 2 * math.pi / math.sqrt(GRAVITY / ROPE * (1 + LOAD / TROLLEY))
PUSHED, BRAKED, END = 0.5, 4.0, 8.0  # s


def play(session: LiveSession, pace: Pace, until: float) -> list[float]:
    """Go on in step with the clock, for a session has none of its own; return the angles of the load on the way (rad)."""
    angles = []
    pace.begin(time.monotonic(), session.t)
    while session.t < until - session.subject.frame / 2:
        time.sleep(pace.wait(time.monotonic(), session.t + session.subject.frame))
        session.advance()
        pace.reached(time.monotonic(), session.t)
        angles.append(session.watched["swing.angle"])
    return angles


def swing_after(session: LiveSession, pace: Pace) -> float:
    """Let the brake go, and return by how much the load swings from then on (deg)."""
    session.set({"drive": 0.0})
    return math.degrees(max(map(abs, play(session, pace, END))))


def main() -> None:
    session = open_session(START)
    session.watch(["rail.displacement", "swing.angle"])
    pace = Pace(float(sys.argv[1]) if len(sys.argv) > 1 else 20.0)

    play(session, pace, PUSHED)
    session.set({"drive": FORCE})
    play(session, pace, PUSHED + PERIOD)
    session.set({"drive": 0.0})
    play(session, pace, BRAKED)
    session.set({"drive": -FORCE})
    play(session, pace, BRAKED + PERIOD / 2)
    print(f"braked for half a period: the load swings by {swing_after(session, pace):.3f} deg")

    session.go(BRAKED + PERIOD / 2)
    session.set({"drive": -FORCE})
    play(session, pace, BRAKED + PERIOD)
    print(f"braked for a whole one:   the load swings by {swing_after(session, pace):.3f} deg")
    place = session.watched["rail.displacement"]
    print(f"the trolley stands at {place:.4f} m; the session went at {pace.real_factor:.3g} times real time")

    file = Path("braking.toml")
    session.scenario().write(file)
    history = replay(open_session(START), read_scenario(file))
    same = np.array_equal(history.values[-1], session.row)
    print(f"{file} repeats it in {len(history)} frames: {'the same bits' if same else 'OTHER NUMBERS'}")
    session.close()


if __name__ == "__main__":
    main()
