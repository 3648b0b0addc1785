"""Tables on a terminal fit it; in a pipe every row is one line."""

from kingpost.cli.output import ProgressBar, print_table

ROWS = [("mass", "a long description of a mass that would not fit into a narrow terminal"), ("length", "short")]


def narrow(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)


def test_a_pipe_gets_one_line_a_row(capsys):
    print_table(ROWS)
    assert capsys.readouterr().out.splitlines() == ["mass    " + ROWS[0][1], "length  short"]


def test_the_last_column_wraps_on_a_terminal(monkeypatch, capsys):
    narrow(monkeypatch, 40)
    print_table(ROWS)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 40 and len(lines) == 4
    assert lines[0].startswith("mass    a long") and lines[1].startswith("        ") and lines[3] == "length  short"
    assert " ".join(line.removeprefix("mass").strip() for line in lines[:3]) == ROWS[0][1]


def test_a_very_narrow_terminal_does_not_cut_words(monkeypatch, capsys):
    narrow(monkeypatch, 12)
    print_table(ROWS)
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_a_table_does_not_begin_behind_a_bar(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    bar = ProgressBar("kingpost:")
    assert bar.visible
    bar.say("compiling")
    print_table([("a", "b")])
    assert capsys.readouterr().err.endswith("compiling\r\033[K")
