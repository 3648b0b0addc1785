"""What FMUs say."""

from kingpost.fmu.instance.log import KEPT, Log, Message, status_name


def test_statuses_have_names():
    assert [status_name(i) for i in (0, 3, 9)] == ["ok", "error", "unknown status 9"]


def test_messages_are_handed_on_and_the_last_ones_are_kept():
    heard = []
    log = Log(heard.append)
    for i in range(KEPT + 10):
        log.take(1, b"events", f"number {i}\n".encode())
    assert log.count == len(heard) == KEPT + 10
    assert len(log.messages) == KEPT
    assert heard[0] == Message("warning", "events", "number 0")
    assert log.last(2) == [f"[warning] number {KEPT + 8}", f"[warning] number {KEPT + 9}"]


def test_damaged_messages_are_counted_and_shown_as_far_as_possible():
    log = Log()
    log.take(3, None, b"caf\xe9")
    log.take(3, b"", None)
    assert log.damaged == 2
    assert log.last() == ["[error] caf\N{REPLACEMENT CHARACTER}", "[error] "]
