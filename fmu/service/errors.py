"""What the service refuses: a sentence for people, a word for programs and a status of HTTP."""

from __future__ import annotations

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
