"""Loads in axes of their own: what hot spots ask for becomes what the run computes, so that it has a gradient."""

from __future__ import annotations

from dataclasses import replace

from kingpost.base.errors import KingpostError
from kingpost.base.load_frames import COMPONENTS
from kingpost.gradients.readings import Functional
from kingpost.mechanism.load_request import LoadRequest, load_requests
from kingpost.mechanism.mechanism import Mechanism
from kingpost.simulation.settings import RunSettings


def with_load_axes(how: RunSettings, mechanism: Mechanism, functional: Functional) -> RunSettings:
    """Return settings of a run that gives every load in the axes in which a functional wants it."""
    wanted = _wanted(functional)
    if not any(request is not None for request in wanted.values()):
        return how
    asked = {request.joint: request for request in load_requests(mechanism, how.wanted_loads())}
    for joint, request in wanted.items():
        if request is None:
            continue
        given = asked.get(joint, LoadRequest(joint))
        if given not in (LoadRequest(joint), request):
            raise KingpostError(
                f"the load of '{joint}' is asked for as '{_text(given)}', but a hot spot wants it as '{_text(request)}'; a run "
                "gives it once. Leave one of them out"
            )
        asked[joint] = request
    return replace(how, loads=tuple(_text(request) for request in asked.values()))


def _wanted(functional: Functional) -> dict[str, LoadRequest | None]:
    """Return how the load of each joint is wanted; None for as it comes."""
    found: dict[str, LoadRequest | None] = {}
    for part in functional.parts:
        own = {request.joint: request for request in part.requests}
        for channel in part.channels:
            joint, _, component = channel.rpartition(".")
            if component not in COMPONENTS:
                continue
            request = own.get(joint)
            if found.setdefault(joint, request) != request:
                raise KingpostError(
                    f"the load of '{joint}' is wanted in two ways at once, in axes of a hot spot and in others; a run gives it "
                    "once. Ask for them one after the other"
                )
    return found


def _text(request: LoadRequest) -> str:
    if request == LoadRequest(request.joint):
        return request.joint
    at = "/".join(repr(float(x)) for x in request.at)
    return f"{request.joint}:frame={request.frame},side={request.side},at={at}"
