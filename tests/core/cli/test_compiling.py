"""What the command line shows while kernels are compiled."""

import sys

from kingpost.cli.compiling import compiling_shown
from kingpost.kernel.telling import tell


def test_on_a_terminal_all_the_time(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with compiling_shown(quiet=True):
        tell("compiling 812 kB of C with cc", 0.1)
        tell("compiling 812 kB of C with cc", 3.0, 9.4)
    said = capsys.readouterr().err
    assert said == "\r\033[Kkingpost: compiling 812 kB of C with cc (3 s, usually 9 s)\r\033[K"


def test_in_a_log_one_line_and_only_if_it_takes_long(capsys):
    with compiling_shown(quiet=False):
        for seconds in (1.0, 14.0):
            tell("compiling", seconds)
        assert capsys.readouterr().err == ""
        for seconds in (16.0, 17.0, 30.0):
            tell("compiling", seconds)
    assert capsys.readouterr().err == "kingpost: compiling (16 s)\n"


def test_where_a_program_reads_along_nothing_is_said(capsys):
    with compiling_shown(quiet=True):
        tell("compiling", 100.0)
    assert capsys.readouterr().err == ""
