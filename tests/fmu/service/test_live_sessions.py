"""Listeners of a session: who is slow misses frames, never anything else."""

import asyncio

import pytest

pytest.importorskip("fastapi")

from kingpost.fmu.service.live_sessions import MOST_WAITING, Listener, live_command, live_environment


def test_frames_that_nobody_fetched_are_replaced_by_newer_ones():
    async def tell():
        listener = Listener()
        for k in range(5):
            listener.tell(f"frame {k}", True)
        listener.tell("state", False)
        listener.tell("frame 5", True)
        listener.tell("frame 6", True)
        listener.end()
        return [text async for text in listener.messages()]

    assert asyncio.run(tell()) == ["frame 4", "state", "frame 6"]


def test_who_never_fetches_anything_is_let_go():
    async def tell():
        listener = Listener()
        for k in range(2 * MOST_WAITING):
            listener.tell(f"state {k}", False)
        return listener.over

    assert asyncio.run(tell())


def test_a_session_gets_no_secrets(tmp_path):
    found = live_environment({"PATH": "/bin"}, tmp_path)
    assert found["PATH"] == "/bin"
    assert found["TMPDIR"] == str(tmp_path)
    assert "kingpost.fmu.live.child" in live_command()
