"""How processes end."""

from kingpost.fmu.process.endings import describe_ending


def test_endings_have_names():
    assert describe_ending(-11) == "was killed by SIGSEGV"
    assert describe_ending(-6) == "was killed by SIGABRT"
    assert describe_ending(3) == "left by itself with exit status 3"
    assert describe_ending(0xC0000005) == "was ended by an access violation"
