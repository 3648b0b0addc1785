"""Where an exception was raised: the lines of code that it went through."""

from __future__ import annotations

from dataclasses import dataclass
from types import FrameType


@dataclass(frozen=True)
class Place:
    """A line of code that was running."""

    file: str
    line: int
    function: str
    #: The module that it belongs to.
    module: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}, in {self.function}"


def path_of(error: BaseException) -> list[tuple[Place, FrameType]]:
    """Return the lines that an exception went through, the one that raised it last."""
    found = []
    traceback = error.__traceback__
    while traceback is not None:
        frame = traceback.tb_frame
        code = frame.f_code
        module = str(frame.f_globals.get("__name__", ""))
        found.append((Place(code.co_filename, traceback.tb_lineno, code.co_name, module), frame))
        traceback = traceback.tb_next
    return found


def in_words(error: BaseException) -> str:
    """Return what was raised, in one line if it has one."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
