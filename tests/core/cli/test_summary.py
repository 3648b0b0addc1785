"""What ``kingpost run`` and ``kingpost study`` print at their end: lists that are cut say so, angles are in degrees as well."""

import math
import re

import pytest

from kingpost.cli.study_tables import _print_damage

HOW = ("--t-end", "0.02", "--step", "0.01", "--backend", "vm", "--write", "csv")
BODY = '[[bodies]]\nname = "{0}"\nmass = 1.0\ninertia = [1, 1, 1]\n[[joints]]\nname = "{0}"\nkind = "free"\nparent = "world"\n'


def rows(text):
    """Return the rows of a summary: the first word of each, and the rest."""
    return [(line.split("  ", 1)[0].strip(), line) for line in text.splitlines()]


def test_lists_that_are_cut_say_how_much_is_left_out(kingpost_cli):
    done = kingpost_cli("run", "chain:links=14", "--loads", "all", *HOW)
    assert done.status == 0
    shown = rows(done.out)
    assert sum(" at the end, " in line for _, line in shown) == sum("moment up to" in line for _, line in shown) == 12
    told = [line.split(maxsplit=1)[1] for name, line in shown if name == "..."]
    assert told == [f"2 more {what}; the files hold them all" for what in ("channels", "joints with loads")]


def test_free_joints_are_told_in_degrees_and_those_left_out_are_counted(kingpost_cli, tmp_path):
    spin = 'child = "{0}"\nstart_rate = [0.5, 0, 0, 0, 0, 0]\n'
    (tmp_path / "many.toml").write_text('name = "many"\n' + "".join((BODY + spin).format(f"b{i}") for i in range(14)))
    done = kingpost_cli("run", "many.toml", *HOW)
    assert done.status == 0, done.err
    turned = [line for name, line in rows(done.out) if name.endswith(" turned")]
    assert len(turned) == 12
    # Half a radian per second for 0.02 s.
    (last,) = re.findall(r"roll (\S+) \(0 to", turned[0])
    assert float(last) == pytest.approx(math.degrees(0.01), rel=1e-3) and turned[0].endswith(" deg")
    assert any("2 more free joints; the files hold them all" in line for _, line in rows(done.out))


def test_angles_are_in_degrees_beside_radians(kingpost_cli):
    done = kingpost_cli("run", "double-pendulum", "--set", "shoulder.angle=0.5", "--loads", "none", *HOW)
    assert "..." not in done.out
    (line,) = [line for name, line in rows(done.out) if name == "shoulder.angle"]
    numbers = re.search(r"(\S+) rad at the end, (\S+) to (\S+) \((\S+) deg, (\S+) to (\S+)\)", line)
    assert numbers is not None
    radians, degrees = [float(text) for text in numbers.groups()[:3]], [float(text) for text in numbers.groups()[3:]]
    assert degrees == pytest.approx([math.degrees(angle) for angle in radians], rel=1e-3)


def test_hot_spots_of_a_study_that_are_left_out_are_counted(capsys):
    part = {"damage_per_year": 0.1, "labels": {"Hs": 1.0}}
    spot = {"name": "weld", "curve": "D-air", "damage_per_year": 0.1, "damage_error": None, "dff": 2.0, "life_years": 10.0}
    spots = [{**spot, "name": f"weld {i}", "cells": [part], "positions": []} for i in range(11)]
    _print_damage({"damage": spots})
    shown = capsys.readouterr().out
    assert "weld 7" in shown and "weld 8" not in shown
    assert shown.endswith("... and 3 more hot spots; study.json holds them all\n")
    _print_damage({"damage": spots[:8]})
    assert "more" not in capsys.readouterr().out
