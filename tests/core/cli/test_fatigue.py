"""``kingpost fatigue``, and what its page in the documentation shows."""

import json
import re
import sys
import textwrap
from pathlib import Path

import pytest

from kingpost.fatigue import HotSpot, assess_hot_spots, assess_loads, read_curves, read_hot_spots, read_states
from kingpost.results.read_write import read_history, write_history
from tests.core.fatigue.synthetic import cosine, load_history

TIME, WAVE = cosine(20)
HISTORY = load_history(TIME, {"slew.Mx": 1e5 * WAVE, "luff.Fz": 2e4 * WAVE}, {"loads.residual.force": 0 * TIME})
SPOTS = '[[hotspots]]\nname = "weld"\ncurve = "D-air"\ndff = 3\n[hotspots.stress]\n"slew.Mx" = 600.0\n'


@pytest.fixture
def fatigue(kingpost_cli, tmp_path):
    write_history(HISTORY, tmp_path / "run.csv")
    (tmp_path / "spots.toml").write_text(SPOTS)
    return lambda *words: kingpost_cli("fatigue", *words)


def table(text):
    """Return the rows of the first table by name, and the notes below it."""
    head, _, below = text.partition("\n\n")
    names, *lines = (re.split(r"  +", line.strip()) for line in head.splitlines())
    notes: dict[str, str] = {}
    for line in below.splitlines():
        word, text = re.split(r"  +", line, maxsplit=1)
        notes[word] = f"{notes[word]}; {text}" if word in notes else text
    return {line[0]: dict(zip(names, line, strict=True)) for line in lines}, notes


def test_loads_are_printed_with_what_must_be_said_beside_them(fatigue):
    outcome = fatigue("run.csv")
    assert (outcome.status, outcome.err) == (0, "")
    rows, notes = table(outcome.out)
    assert len(rows) == 12
    moment = rows["slew.Mx"]
    assert [moment[key] for key in ("UNIT", "MAX", "MIN", "LARGEST RANGE", "CYCLES")] == [
        "N.m",
        "1e+05",
        "-1e+05",
        "2e+05",
        "20",
    ]
    assert [moment[f"DEL RANGE m={slope}"] for slope in (3, 4, 5)] == ["2e+05"] * 3
    assert notes["counting"].startswith("rainflow, ASTM E1049-85 section 5.4.4, residue as half cycles (rainflow 3.")
    assert notes["time"] == "0 s skipped at the start; counted 0 s to 20 s, T = 20 s, 801 samples"
    assert notes["DEL"] == "(sum n_i R_i^m / N_eq)^(1/m), N_eq = T f_ref = 20 s x 1 Hz = 20; R are ranges"
    assert notes["loads"] == "on the child, child axes, about the joint: slew, luff"
    assert notes["residual"] == "loads.residual.force up to 0 N, 0.0e+00 of the largest load"


def test_what_is_counted_and_how_can_be_chosen(fatigue):
    outcome = fatigue(
        "run.csv", "--channel", "luff.Fz", "--slopes", "3,10", "--f-ref", "0.5", "--skip", "4", "--threshold", "1%"
    )
    rows, notes = table(outcome.out)
    # 16 cycles of 4e4 N spread over 8 reference cycles.
    assert rows["luff.Fz"]["DEL RANGE m=10"] == f"{4e4 * 2**0.1:.5g}"
    assert "DEL RANGE m=4" not in rows["luff.Fz"]
    assert notes["time"].startswith("4 s skipped at the start; counted 4 s to 20 s, T = 16 s")
    assert "N_eq = T f_ref = 16 s x 0.5 Hz = 8" in notes["DEL"]
    assert "excursions below 1.000% of the largest range left out (hysteresis filter)" in notes["counting"]
    rows, notes = table(fatigue("run.csv", "--joint", "luff", "--threshold", "5e4").out)
    assert list(rows) == [f"luff.{part}" for part in ("Mx", "My", "Mz", "Fx", "Fy", "Fz")]
    assert rows["luff.Fz"]["CYCLES"] == "0"
    assert "excursions below 50000 left out" in notes["counting"]


def test_the_folder_of_a_run_and_loads_in_other_axes(kingpost_cli, tmp_path):
    words = ("run", "double-pendulum", "--t-end", "2", "--loads", "all", "--backend", "vm", "--write", "npz", "--out", "run")
    assert kingpost_cli(*words).status == 0
    outcome = kingpost_cli(
        "fatigue", "run", "--joint", "elbow:frame=world,side=parent,at=0/0/0.5", "--joint", "shoulder", "--json"
    )
    elbow, shoulder = json.loads(outcome.out)["channels"][5], json.loads(outcome.out)["channels"][11]
    assert (elbow["name"], elbow["frame"], elbow["side"], elbow["at_m"]) == ("elbow.Fz", "world", "parent", [0.0, 0.0, 0.5])
    assert (shoulder["name"], shoulder["frame"], shoulder["side"], shoulder["at_m"]) == (
        "shoulder.Fz",
        "child",
        "child",
        [0.0] * 3,
    )
    loads = read_history(tmp_path / "run").loads("elbow", frame="world", side="parent", at=(0.0, 0.0, 0.5)).total
    assert (elbow["max"], elbow["min"]) == (loads[:, 5].max(), loads[:, 5].min())


def test_hot_spots_are_printed_with_damage_and_life(fatigue):
    outcome = fatigue("run.csv", "--hotspots", "spots.toml")
    assert (outcome.status, outcome.err) == (0, "")
    rows, notes = table(outcome.out)
    (result,) = assess_hot_spots(HISTORY, [HotSpot("weld", "D-air", {"slew.Mx": 600.0}, dff=3.0)]).results
    weld = rows["weld"]
    assert weld["LARGEST RANGE [MPa]"] == "120"
    assert [weld["DAMAGE"], weld["DAMAGE/YEAR"]] == [f"{result.damage:.5g}", f"{result.damage_per_year:.5g}"]
    assert [weld["DFF"], weld["LIFE [years]"]] == ["3", f"{result.life_years:.4g}"]
    assert "life = 1 / (DFF x damage per year)" in notes["damage"]
    assert "verify it against the licensed edition of the standard" in notes["curve"]
    assert {"counting", "time", "DEL"} <= set(notes)


def test_own_curves_are_used(fatigue, tmp_path):
    (tmp_path / "own.toml").write_text("[curves.D-air]\nm1 = 3.0\nlog10_a1 = 12.0\n")
    rows, notes = table(fatigue("run.csv", "--hotspots", "spots.toml", "--curves", "own.toml").out)
    assert rows["weld"]["DAMAGE"] == f"{20 * 120**3 / 1e12:.5g}"
    assert "curve" not in notes


def test_json_is_in_si_units_and_can_be_written(fatigue, tmp_path):
    printed = json.loads(fatigue("run.csv", "--hotspots", "spots.toml", "--json", "--out", "deep/fatigue.json").out)
    assert printed == json.loads((tmp_path / "deep" / "fatigue.json").read_text())
    assert printed["hot_spots"][0]["stress"]["largest_range"] == pytest.approx(120e6)
    outcome = fatigue("run.csv", "--joint", "slew", "--out", "loads.json")
    assert outcome.out.startswith("CHANNEL")
    record = json.loads((tmp_path / "loads.json").read_text())
    assert record["channels"][0]["equivalent_range"][0] == {
        "slope": 3.0,
        "range": assess_loads(HISTORY).signals[0].equivalent_ranges[0].range,
        "equivalent_cycles": 20.0,
    }


def test_states_are_combined(fatigue, tmp_path):
    (tmp_path / "states.toml").write_text('rest = "calm"\n[[states]]\nrun = "run.csv"\nprobability = 0.125\n')
    rows, notes = table(fatigue("--states", "states.toml", "--channel", "slew.Mx").out)
    assert rows["slew.Mx"]["DEL RANGE m=3"] == "1e+05"  # an eighth of the time: half the range at m = 3
    assert notes["states"] == "1 states, 1 runs; probabilities add up to 0.125, calm for the rest (0.875)"
    assert notes["DEL"].endswith("N_eq = T f_ref = 1 year x 1 Hz = 3.15576e+07; R are ranges")
    rows, _ = table(fatigue("--states", "states.toml", "--hotspots", "spots.toml").out)
    alone, _ = table(fatigue("run.csv", "--hotspots", "spots.toml").out)
    assert float(rows["weld"]["DAMAGE/YEAR"]) == pytest.approx(float(alone["weld"]["DAMAGE/YEAR"]) / 8, rel=1e-4)
    record = json.loads(fatigue("--states", "states.toml", "--hotspots", "spots.toml", "--json").out)
    assert record["runs"][0]["weight"] == 0.125
    assert "spectral" not in record["hot_spots"][0]


def test_damage_from_spectra_of_states_stands_beside_the_counted_one(fatigue, tmp_path):
    (tmp_path / "states.toml").write_text('rest = "calm"\n[[states]]\nrun = "run.csv"\nprobability = 0.125\n')
    words = ("--states", "states.toml", "--hotspots", "spots.toml", "--spectral")
    rows, notes = table(fatigue(*words).out)
    alone, _ = table(fatigue("run.csv", "--hotspots", "spots.toml", "--spectral").out)
    for method in ("NARROW-BAND", "DIRLIK", "BENASCIUTTI-TOVO"):
        assert rows["weld"][f"{method} / COUNTED"] == alone["weld"][f"{method} / COUNTED"]
    assert "holds for a stationary Gaussian stress" in notes["spectral"]
    record = json.loads(fatigue(*words, "--json").out)["hot_spots"][0]
    counted, told = record["damage_per_year"], record["spectral"]["damages"]["dirlik"]
    assert told["damage_per_year"] == pytest.approx(counted * told["part_of_counted"])


def test_warnings_go_to_standard_error_and_into_the_record(fatigue, tmp_path):
    time, wave = cosine(100, 8)
    write_history(load_history(time, {"slew.Mx": wave}), tmp_path / "coarse.csv")
    outcome = fatigue("coarse.csv", "--json")
    assert outcome.err.startswith("kingpost: warning: 'slew.Mx' has 7.9")
    assert json.loads(outcome.out)["warnings"][0] in outcome.err
    (tmp_path / "states.toml").write_text('[[states]]\nrun = "coarse.csv"\nprobability = 1.0\n')
    assert re.search(r"kingpost: warning: .*coarse.csv: 'slew.Mx' has", fatigue("--states", "states.toml").err)


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        ((), 2, "name either a run folder or history file, or a table of runs with --states"),
        (("run.csv", "--states", "x.toml"), 2, "name either a run folder"),
        (("run.csv", "--hotspots", "spots.toml", "--joint", "slew"), 2, "--hotspots says which loads are used"),
        (("run.csv", "--curves", "x.toml"), 2, "--curves is of use with --hotspots only"),
        (("run.csv", "--slopes", "three"), 2, "'three' is not a list of numbers, such as 3,4,5"),
        (("run.csv", "--slopes", "-3"), 2, "inverse slope m = -3.0 is not between 0.1 and 1000"),
        (("run.csv", "--f-ref", "0"), 2, "reference frequency is 0 Hz"),
        (("run.csv", "--threshold", "some"), 2, "'some' is no threshold; write a number, such as 500, or 1% of the largest"),
        (("run.csv", "--threshold", "100%"), 2, "a threshold of 1 of the largest range would leave nothing"),
        (("run.csv", "--joint", "slew:frame=ship"), 2, "--joint: load of joint 'slew': frame 'ship' does not exist"),
        (("run.csv", "--joint", "slew:axes=ship"), 2, "--joint: 'slew:axes=ship': a load has no option 'axes'"),
        (("nowhere",), 6, "there is no file or folder 'nowhere'"),
        (("run.csv", "--skip", "20"), 6, "run.csv: skip = 20 s leaves fewer than two samples of a history of 20 s"),
        (("run.csv", "--channel", "slew.Mq"), 6, "run.csv: no channel 'slew.Mq'; did you mean"),
        (("run.csv", "--joint", "slw"), 6, "run.csv: the history has no load of joint 'slw'; did you mean 'slew'"),
        (("run.csv", "--hotspots", "nowhere.toml"), 6, "there is no hot spot file 'nowhere.toml'"),
        (("run.csv", "--hotspots", "bad.toml"), 6, "bad.toml: hot spot 'weld': there is no S-N curve 'D-iar'; did you mean"),
        (("--states", "nowhere.toml"), 6, "there is no state table file 'nowhere.toml'"),
        (("bare.csv",), 6, "the history has no joint loads .*: loads = 'all'"),
    ],
)  # fmt: skip
def test_wrong_words_are_refused(fatigue, tmp_path, words, status, message):
    (tmp_path / "bad.toml").write_text(SPOTS.replace("D-air", "D-iar"))
    write_history(load_history(TIME, {}), tmp_path / "bare.csv")
    outcome = fatigue(*words)
    assert outcome.status == status
    assert re.search(message, outcome.err)
    assert outcome.out == ""


def test_without_the_library_the_command_says_how_to_get_it(fatigue, monkeypatch):
    monkeypatch.setitem(sys.modules, "rainflow", None)
    outcome = fatigue("run.csv")
    assert outcome.status == 4
    assert "pip install 'kingpost[fatigue]'" in outcome.err


def documented(root):
    return (root / "docs" / "fatigue.md").read_text()


def words_and_numbers(text):
    text = re.sub(r"^( *residual +\S+).*", r"\1", textwrap.dedent(text).strip(), flags=re.M)  # residuals are rounding itself
    text = re.sub(r"\(rainflow [\d.]+\)", "", text)
    number = r"(?<![\w.-])-?\d+\.?\d*(?:e[+-]?\d+)?"
    return re.sub(r" +", " ", re.sub(number, "#", text)), [float(item) for item in re.findall(number, text)]


def test_the_example_of_the_page_prints_what_it_shows(kingpost_cli, root):
    run, *commands = re.findall(r"^    kingpost (.*)$", documented(root), flags=re.M)[:3]
    shown = re.findall(r"prints\n\n(.*?)\n\n(?=and,|The crane)", documented(root), flags=re.S)
    assert kingpost_cli(*run.split(), "--write", "csv").status == 0
    for command, text in zip(commands, shown, strict=True):
        printed = kingpost_cli(*(str(root / word) if word.startswith("examples/") else word for word in command.split()))
        words, numbers = words_and_numbers(printed.out)
        shown_words, shown_numbers = words_and_numbers(text)
        assert words == shown_words
        # Shown with five digits; the small motions about an equilibrium do not amplify what mathematical libraries differ by.
        assert numbers == pytest.approx(shown_numbers, rel=2e-4, abs=0.0)


def test_the_files_of_the_page_can_be_read(root, tmp_path):
    spots, matrix, curves, states = re.findall(r"```toml\n(.*?)```", documented(root), flags=re.S)
    path = tmp_path / "file.toml"
    path.write_text(spots)
    assert read_hot_spots(path)[0].loads["slew"].at == (0.0, 0.0, 0.5)
    path.write_text(matrix)
    assert read_hot_spots(path)[1].stress == {"slew.Mx": 0.0, "slew.My": 21.0, "slew.Fz": 0.031}
    path.write_text(curves)
    assert read_curves(path)["detail-71"].k == 0.25
    path.write_text(states)
    assert read_states(path).total == 0.3


def test_the_python_of_the_page_runs(root, capsys):
    (code,) = re.findall(r"```python\n(.*?)```", documented(root), flags=re.S)
    exec(compile(code, "docs/fatigue.md", "exec"), {})
    first, second, third = capsys.readouterr().out.splitlines()
    assert first.startswith("60.5 cycles, largest range 80 MPa")
    # 60 periods of 80 MPa, of which the first and last quarter make half ranges: (59.5 80^3 + 1 40^3) / 600 reference cycles.
    assert float(second.split()[2]) == pytest.approx(((59.5 * 80**3 + 40**3) / 600) ** (1 / 3), rel=1e-3)
    # 40 MPa is below the knee, and counts by the second slope.
    assert float(third.split()[1]) == pytest.approx(59.5 * 80**3 / 10**12.164 + 40**5 / 10**15.6067, rel=1e-3)


def test_doubtful_loads_are_refused_until_they_are_accepted(kingpost_cli):
    """A run whose step was checked, and peaks of which changed; the fine run is taken."""
    assert kingpost_cli("run", "double-pendulum", "--t-end", "2", "--check-step", "1e-12", "--out", "a").status == 0
    assert kingpost_cli("run", "double-pendulum", "--t-end", "2", "--check-step", "--out", "b").status == 0
    check = json.loads(Path("b/run.json").read_text())["step_check"]
    assert check["limit"] == 0.01 and check["changed"] == {}
    refused = kingpost_cli("fatigue", "a")
    assert refused.status != 0 and refused.out == ""
    assert "a: peaks depend on the step of the run" in refused.err and "accept 'step'" in refused.err
    accepted = kingpost_cli("fatigue", "a", "--accept", "step", "--json")
    assert accepted.status == 0 and "(accepted)" in accepted.err
    assert json.loads(accepted.out)["quality"]["accepted"] == ["step"]
    assert kingpost_cli("fatigue", "b").status == 0
    unknown = kingpost_cli("fatigue", "b", "--accept", "everything")
    assert unknown.status == 2 and "'everything' is not a doubt" in unknown.err


def test_damage_from_spectra_stands_beside_the_counted_one(fatigue):
    outcome = fatigue("run.csv", "--hotspots", "spots.toml", "--spectral")
    assert outcome.status == 0
    rows, notes = table(outcome.out)
    # A sine is no Gaussian process: Rayleigh's peaks of the same variance do Gamma(1 + m/2) times as much damage, m near 5.
    assert float(rows["weld"]["NARROW-BAND / COUNTED"]) > 1.3
    assert {"DIRLIK / COUNTED", "BENASCIUTTI-TOVO / COUNTED"} < set(rows["weld"])
    assert "holds for a stationary Gaussian stress" in notes["spectral"]
    assert "kurtosis 1.5 to 1.5 (3 is Gaussian)" in notes["process"]
    assert "'weld' is not Gaussian: its kurtosis is 1.5" in outcome.err
    record = json.loads(fatigue("run.csv", "--hotspots", "spots.toml", "--spectral", "--json").out)["hot_spots"][0]
    assert record["mean_stress"] == {"rule": "none"}
    damages = record["spectral"]["damages"]
    assert list(damages) == ["narrow-band", "dirlik", "benasciutti-tovo"]
    assert damages["dirlik"]["part_of_counted"] == pytest.approx(damages["dirlik"]["damage_of_run"] / record["damage_of_run"])


def test_classes_over_a_life(fatigue):
    outcome = fatigue("run.csv", "--channel", "slew.Mx", "--life", "0.1")
    _, notes = table(outcome.out)
    # A cycle in a second for a tenth of a year is 3.2e6 of one range: s_m = 1.58.
    assert notes["EN 13001"].startswith("slew.Mx: s_3 = 1.578 (S8), s_4 = 1.578 (S8), s_5 = 1.578 (S8); over 0.1 years")
    assert "verify their limits against the licensed edition" in notes["EN 13001"]
    record = json.loads(fatigue("run.csv", "--channel", "slew.Mx", "--life", "0.1", "--json").out)
    assert record["channels"][0]["en13001_life"]["classes"][0]["class"] == "S8"


def test_mean_stresses_are_corrected_where_the_hot_spot_says_so(fatigue, tmp_path):
    more = SPOTS.replace("dff = 3\n", 'dff = 3\nmean_stress = "goodman"\nultimate_strength = 520e6\n')
    (tmp_path / "mean.toml").write_text(more)
    outcome = fatigue("run.csv", "--hotspots", "mean.toml")
    _, notes = table(outcome.out)
    assert notes["mean"] == "Goodman with an ultimate strength of 520 MPa, no credit for compression: weld"
    assert "counts tensile means twice" in notes["curve"]
    (tmp_path / "mean.toml").write_text(more.replace("520e6", "520"))
    outcome = fatigue("run.csv", "--hotspots", "mean.toml")
    assert "mean.toml:1: hot spot 'weld': ultimate_strength = 520 Pa is no strength of a metal" in outcome.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run.csv", "--spectral"], "--spectral is of use with --hotspots only"),
        (["--states", "s.toml", "--life", "3"], "--life is for one run"),
        (["run.csv", "--life", "-3"], "a life of -3 years has no class"),
    ],
)
def test_words_that_do_not_fit(fatigue, words, said):
    outcome = fatigue(*words)
    assert outcome.status == 2 and said in outcome.err
