"""What the service refuses: a sentence for people, a word for programs and a status of HTTP."""

from __future__ import annotations

import errno
import os

from kingpost.base.errors import KingpostError


class ServiceError(KingpostError):
    """What was asked of the service cannot be had."""

    def __init__(self, message: str, *, status: int = 422, code: str = "refused") -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def not_found(what: str) -> ServiceError:
    """Return the refusal of something that is not there."""
    return ServiceError(what, status=404, code="not-found")


class DiskFullError(ServiceError):
    """There is no room on the disk."""

    def __init__(self, message: str) -> None:
        super().__init__(message, status=507, code="disk-full")


def says_full(text: str) -> bool:
    """Say whether a message is about a disk that is full."""
    return any(words in text for words in (os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT), "database or disk is full"))
