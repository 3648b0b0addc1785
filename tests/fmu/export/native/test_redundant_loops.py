"""Loads that rigid bodies leave open, inside FMUs: shared as in a run in process, and called what they are."""

import zipfile
from xml.etree import ElementTree

import numpy as np
import pytest

from kingpost.fatigue import assess_loads
from kingpost.fmu.cosim import Component, System, cosimulate
from kingpost.fmu.running import run_fmu
from tests.core.loads.redundant import four_bar
from tests.core.loads.test_sharing import SAME, STIFF

#: The FMU takes the same steps by other machine code: round-off, which a swing of half a second does not blow up.
ALIKE = 1e-9
OPEN = "; not unique: rigid bodies leave it open"


def exported(native, linkage, cut, fmi=2):
    mechanism = linkage.cut(cut)
    return mechanism, native(mechanism, fmi=fmi, step=0.005, loads=linkage.requests(), outputs=["*"])


def described(path):
    with zipfile.ZipFile(path) as archive:
        root = ElementTree.fromstring(archive.read("modelDescription.xml"))
        page = archive.read("documentation/index.html").decode()
    return {entry.get("name"): entry.get("description") or "" for entry in root.iterfind("ModelVariables/*")}, page


@pytest.mark.quick("B-2")
@pytest.mark.parametrize(("cut", "fmi"), [("B", 2), ("O", 3)])
def test_an_fmu_shares_the_loads_of_a_loop_as_a_run_does(native, cut, fmi):
    """All along a swing; at its start also against the pseudo-inverse of an equilibrium matrix made by hand."""
    linkage = four_bar()
    mechanism, path = exported(native, linkage, cut, fmi)
    history = run_fmu(path, 0.5, step=0.01, isolated=False)
    for sample in (0, -1):
        inside = linkage.loads_in(history, mechanism, sample)
        expected, _ = linkage.loads(mechanism, t_end=0.5, sample=sample)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(inside, expected, atol=ALIKE * scale)
        # All pins bear the moment of the coupler beside the plane, not those of one side alone.
        assert np.abs(inside[:, 0]).min() > 0.01 * np.abs(inside[:, 0]).max()
    by_hand = linkage.of_minimum_norm(linkage.demand(history), linkage.size)
    np.testing.assert_allclose(linkage.loads_in(history, mechanism), by_hand, atol=SAME * np.abs(by_hand).max())
    assert not history.loads("A").unique
    assert [text for text in assess_loads(history).warnings if "leave the loads of joint" in text]


def test_the_cut_does_not_matter_inside_fmus(native):
    linkage = four_bar()
    kept = []
    for cut in "BO":
        mechanism, path = exported(native, linkage, cut, 3 if cut == "O" else 2)
        kept.append(linkage.loads_in(run_fmu(path, 0.5, step=0.01, isolated=False), mechanism, -1))
    # The loop is kept closed by other rows, so what the steps leave of constraint errors differs, too.
    np.testing.assert_allclose(*kept, atol=1e-6 * np.abs(kept[0]).max())


def test_the_fmu_says_which_loads_are_not_unique(native):
    _, path = exported(native, four_bar(), "B")
    words, page = described(path)
    assert words["A.Mx"] == f"total load of joint A on its child, Mx, about the joint origin, in world axes{OPEN}"
    loads = [f"{name}.{component}" for name in "OABC" for component in ("Mx", "My", "Mz", "Fx", "Fy", "Fz")]
    assert all(words[name].endswith(OPEN) for name in loads)
    assert {name for name in words if words[name].endswith(OPEN)} == {
        *loads, *(name.replace(".", ".constraint.") for name in loads if name.replace(".", ".constraint.") in words),
        *(name.replace(".", ".closure.") for name in loads if name.replace(".", ".closure.") in words),
    }  # fmt: skip
    assert (
        "Loads of O, A, C, B are not unique: rigid bodies leave them open in 3 ways. These are the smallest, by the size"
        in page
    )


def test_nothing_is_said_where_stiffnesses_decide(native):
    linkage = four_bar(**STIFF)
    mechanism, path = exported(native, linkage, "B")
    words, page = described(path)
    assert not any("not unique" in text for text in (page, *words.values()))
    history = run_fmu(path, 0.1, step=0.01, isolated=False)
    by_hand = linkage.of_elastic_pins(linkage.demand(history))
    np.testing.assert_allclose(linkage.loads_in(history, mechanism), by_hand, atol=1e-9 * np.abs(by_hand).max())
    assert history.loads("A").unique


def test_a_coupled_system_names_the_joints_of_its_machines(native, kingpost_cli, tmp_path, plugins):
    """In the record, for fatigue, and in the summary of the command line."""
    linkage = four_bar()
    mechanism, path = exported(native, linkage, "B")
    how = {"loads": linkage.requests(), "step": 0.005}
    system = System("pair", (Component("one", fmu=path), Component("two", model=mechanism, **how)), step=0.01, t_end=0.1)
    history = cosimulate(system, plugins=plugins)
    joints = [f"{name}.{joint}" for name in ("one", "two") for joint in "OACB"]
    assert history.provenance["loads"]["not_unique"]["joints"] == joints
    assert not history.loads("two.A").unique
    assert sum("leave the loads of joint" in text for text in assess_loads(history).warnings) == 2
    (tmp_path / "pair.toml").write_text(f'[run]\nt_end = 0.1\nstep = 0.01\n[components.one]\nfmu = "{path.as_posix()}"\n')
    for words in (("fmu-run", path, "--t-end", "0.1", "--step", "0.01"), ("cosim", tmp_path / "pair.toml")):
        outcome = kingpost_cli(*words, "--out", tmp_path / "out")
        assert outcome.status == 0, outcome.err
        assert "not unique" in outcome.out and "A" in outcome.out and "smallest by the size of their loops" in outcome.out
