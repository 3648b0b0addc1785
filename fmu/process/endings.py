"""How a process ended, in words."""

from __future__ import annotations

import signal
import sys

#: What Windows returns for processes that it ends.
WINDOWS = {
    0xC0000005: "access violation",
    0xC00000FD: "stack overflow",
    0xC0000374: "heap corruption",
    0xC0000409: "stack buffer overrun",
}


def describe_ending(code: int) -> str:
    """Return what the return code of a process means: ``"was killed by SIGSEGV"``."""
    if code < 0:
        try:
            return f"was killed by {signal.Signals(-code).name}{_limit(-code)}"
        except ValueError:
            return f"was killed by signal {-code}"
    if code in WINDOWS:
        return f"was ended by an {WINDOWS[code]}" if WINDOWS[code][0] == "a" else f"was ended by a {WINDOWS[code]}"
    return f"left by itself with exit status {code}"


def _limit(number: int) -> str:
    """Return which limit a signal stands for; programs that we start have the limits that we have."""
    if sys.platform == "win32" or number != signal.SIGXCPU:
        return ""
    import resource

    return f", for it had used up its {resource.getrlimit(resource.RLIMIT_CPU)[0]} s of CPU time,"
