"""Sessions from names, files, plain data and scenarios."""

from contextlib import ExitStack

import numpy as np
import pytest

from kingpost.base.errors import KingpostError
from kingpost.fmu.live import LiveError, open_session
from tests.fmu.live.test_child import MODEL
from tests.fmu.machines import rig

SYSTEM = """
name = "pair"
[run]
step = 0.01
[components.one]
model = "swing.toml"
step = 0.005
[components.two]
model = "swing.toml"
step = 0.005
[[connections]]
from = "one.pivot.angle"
to = "two.torque"
factor = 0.5
"""


@pytest.fixture
def place(tmp_path):
    (tmp_path / "swing.toml").write_text(MODEL)
    (tmp_path / "pair.toml").write_text(SYSTEM)
    return tmp_path


def test_a_model_by_name_with_settings_and_a_sea(plugins):
    start = {
        "model": "small-crane",
        "settings": {"winch_target": 1.0},
        "options": {"sea": "jonswap:Hs=1,Tp=6,heading=150,components=20", "step": 0.005, "loads": "none", "t_end": 10},
    }
    session = open_session(start, plugins)
    assert session.values["winch_target"] == 1.0
    session.advance(20)
    row = session.row
    session.go(0.1)
    session.advance(15)
    np.testing.assert_array_equal(session.row, row)
    assert session.start == start
    calm = open_session(
        {**start, "options": {**start["options"], "sea": "jonswap:Hs=2,Tp=6,heading=150,components=20"}}, plugins
    )
    calm.advance(20)
    assert not np.array_equal(calm.row, row)
    # The numbers of waves are no controls.
    assert not any("_sea_" in name for name in session.values)


@pytest.mark.parametrize("key", ["model", "file"])
def test_a_model_file(place, plugins, key):
    session = open_session({key: "swing.toml", "settings": {"torque": 2.0}}, plugins, place)
    assert session.values == {"torque": 2.0}


@pytest.mark.parametrize("key", ["system", "file"])
def test_a_system_file(place, plugins, key):
    session = open_session({key: "pair.toml", "settings": {"one.torque": 2.0}, "options": {"frame": 0.05}}, plugins, place)
    assert session.values == {"one.torque": 2.0}
    assert session.subject.frame == pytest.approx(0.05)


def test_a_system_as_plain_data(place, plugins):
    import tomllib

    data = tomllib.loads(SYSTEM)
    one = open_session({"system": data, "options": {"master": "gauss-seidel"}}, plugins, place)
    other = open_session({"file": "pair.toml", "options": {"master": "gauss-seidel"}}, plugins, place)
    for session in (one, other):
        session.advance(10)
    np.testing.assert_array_equal(one.row, other.row)


@pytest.mark.slow
def test_an_ssp_archive_and_a_bare_fmu(place, native, plugins):
    from kingpost.fmu.cosim import Component, System

    fmu = native(rig(), step=0.005)
    path = place / "one.ssp"
    System("one", (Component("a", fmu=fmu),), step=0.01).write_ssp(path, plugins)
    with ExitStack() as files:
        session = open_session({"file": str(path)}, plugins, files=files)
        session.advance(5)
        archived = session.row
        session.close()
    session = open_session({"file": str(fmu), "options": {"step": 0.01}}, plugins)
    session.advance(5)
    np.testing.assert_allclose(session.row, archived, atol=1e-12)
    session.close()


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ({}, "exactly one of model, system, file; got none"),
        ({"model": "a", "file": "b"}, "exactly one of"),
        ({"model": "smal-crane"}, "did you mean 'small-crane'"),
        ({"model": "small-crane", "options": {"stp": 1}}, "no option 'stp'; did you mean 'step'"),
        ({"model": "small-crane", "options": {"frame": -1}}, "'frame' is -1"),
        ({"model": "small-crane", "options": {"t_end": "late"}}, "'t_end' is 'late'"),
        ({"model": "small-crane", "options": 3}, "is a table"),
        ({"model": "small-crane", "settings": {"payloat": 1.0}}, "has nothing called 'payloat'"),
        ({"model": "small-crane", "options": {"monitors": True}}, "no option 'monitors'"),
        ({"model": {"a": 1}}, "takes a name or a file"),
        ({"model": 3}, "takes a name or a file"),
        ({"file": "pair.toml", "options": {"formulation": "kane"}}, "a session of a system has no option"),
        ({"file": "pair.toml", "settings": {"three.torque": 1.0}}, "there is no component 'three'"),
        ({"file": "pair.toml", "options": {"master": "jacoby"}}, "jacobi"),
        ({"system": {"components": {}}}, "no components"),
    ],
)
def test_what_cannot_begin_is_refused(place, plugins, start, message):
    with pytest.raises(KingpostError, match=message):
        open_session(start, plugins, place)


def test_refusals_of_the_session_itself_have_a_name(plugins):
    with pytest.raises(LiveError):
        open_session({}, plugins)
