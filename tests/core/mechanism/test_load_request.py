"""Requests for loads, as text."""

from kingpost import (
    LoadRequest,
)


def test_a_request_is_read_from_text():
    assert LoadRequest.parse("slew") == LoadRequest("slew")
    assert LoadRequest.parse("slew:frame=parent,side=parent,at=0/0/0.5") == LoadRequest("slew", "parent", "parent", (0, 0, 0.5))
