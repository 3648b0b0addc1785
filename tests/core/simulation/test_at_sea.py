"""Machines at sea: parameters, records, listings, and nothing compiled for another sea."""

import numpy as np
import pytest

from kingpost import Body, ForceElement, Joint, KingpostError, Mechanism, PluginSet, open_model, prepare, simulate
from kingpost.kernel import compiler
from kingpost.marine.seas import read_sea
from kingpost.mechanism.elements import WaveNumber
from kingpost.multibody.assembly import make_forces
from kingpost.simulation.at_sea import at_sea, padded, room, sea_settings
from kingpost.studies.batch import simulate_batch

SEA = "jonswap:Hs=1,Tp=6,heading=120,seed=1,components=20"
OTHER = "torsethaugen:Hs=2,Tp=9,heading=-75,seed=8,components=13,cos2s=6"
PLUGINS = PluginSet(entry_points=False)
DIAGONAL = [1e4, 1e4, 4e5, 6e5, 2e6, 1e5]


def matrix(entries):
    return [[entry if i == j else 0 for j in range(6)] for i, entry in enumerate(entries)]


BARGE = Mechanism(
    "barge",
    [Body("hull", mass=20e3, inertia=(8e4, 2.4e5, 3e5))],
    [Joint("sea", "free", "world", "hull")],
    [
        ForceElement("hydrostatic", body="hull", matrix=matrix(DIAGONAL)),
        ForceElement("body-damping", body="hull", matrix=matrix([entry / 10 for entry in DIAGONAL])),
        ForceElement(
            "wave-excitation", name="waves", body="hull", box={"length": 12, "beam": 4, "draft": 0.4}, scale=[10055] * 6
        ),
    ],
)


def test_another_sea_seed_or_heading_compiles_nothing(monkeypatch):
    built = []
    build = compiler.Compiler.build

    def counted(self, *arguments, **more):
        built.append(arguments[0])
        return build(self, *arguments, **more)

    monkeypatch.setattr(compiler.Compiler, "build", counted)
    choices = {"step": 0.05, "plugins": PLUGINS}
    first = simulate(BARGE, 3.0, sea=SEA, **choices)
    assert len(built) <= 1
    count = len(built)
    for sea in (SEA.replace("seed=1", "seed=2"), SEA.replace("120", "30"), OTHER.replace("13", "20"), "regular:H=1,T=5"):
        waves = 20 if "regular" not in sea else 1
        history = simulate(
            BARGE if waves == 20 else at_sea(BARGE, SEA, PLUGINS),
            3.0,
            **choices,
            **({"sea": sea} if waves == 20 else {"settings": sea_settings(at_sea(BARGE, SEA, PLUGINS), sea)}),
        )
        assert not np.array_equal(history["sea.z"], first["sea.z"])
    assert len(built) == count
    assert np.array_equal(simulate(BARGE, 3.0, sea=SEA, **choices)["sea.z"], first["sea.z"])


def test_settings_are_the_sea_in_runs_and_batches():
    afloat = at_sea(BARGE, SEA, PLUGINS)
    assert room(afloat, PLUGINS and {"waves": _force(afloat)}) == 24  # twenty waves, filled up to a multiple of eight
    settings = sea_settings(afloat, OTHER, PLUGINS)
    assert len(settings) == 24 * 15
    assert set(settings) == {parameter.name for parameter in afloat.parameters}
    direct = simulate(BARGE, 2.0, sea=OTHER, step=0.05, backend="vm", plugins=PLUGINS)
    by_settings = simulate(afloat, 2.0, settings=settings, step=0.05, backend="vm", plugins=PLUGINS)
    # The same waves, in sums with other zeros.
    assert by_settings["sea.z"] == pytest.approx(direct["sea.z"], abs=1e-13)
    batch = simulate_batch(afloat, 2.0, [{}, settings], step=0.05, backend="vm", plugins=PLUGINS)
    assert np.array_equal(batch.channel("sea.z")[1], by_settings["sea.z"])
    assert batch.channel("waves.elevation").shape == by_settings["waves.elevation"].shape[:0] + (2, len(batch.time))
    by_how = simulate_batch(BARGE, 2.0, [{}, {"sea.z": 0.1}], sea=SEA, step=0.05, backend="vm", plugins=PLUGINS)
    assert np.array_equal(by_how.channel("sea.z")[0], batch.channel("sea.z")[0])


def _force(mechanism):
    from kingpost.multibody.assembly import make_forces

    return make_forces(mechanism, PLUGINS)["waves"]


def test_the_elevation_is_that_of_the_waves():
    history = simulate(BARGE, 4.0, sea=SEA, step=0.1, backend="vm", plugins=PLUGINS)
    waves = read_sea(SEA).components()
    exact = np.cos(np.outer(history.time, waves.frequency) + waves.phase) @ waves.amplitude
    assert history["waves.elevation"] == pytest.approx(exact, abs=1e-13)


def test_a_run_records_its_sea_in_a_few_numbers():
    record = simulate(BARGE, 0.2, sea=SEA, step=0.1, backend="vm", plugins=PLUGINS).provenance
    assert record["parameters"] == {}
    sea = record["sea"]
    assert sea["text"] == SEA
    assert (sea["Hs_m"], sea["asked"]["Hs_m"]) == pytest.approx((1.0, 1.0))
    assert sea["Tz_s"] == pytest.approx(sea["asked"]["Tz_s"], rel=1e-10)
    assert 0 < sea["repetition"] < 1
    assert sea["forces"] == {"waves": {"energy_outside_table_percent": 0.0}}


def test_numbers_of_waves_are_not_shown():
    afloat = at_sea(BARGE, SEA, PLUGINS)
    assert len(afloat.parameters) == 360
    assert all(isinstance(parameter, WaveNumber) for parameter in afloat.parameters)
    assert afloat.shown_parameters == ()
    with pytest.raises(KingpostError) as caught:
        simulate(afloat, 1.0, settings={"waves_sea_turn_1": 2.0}, plugins=PLUGINS)
    assert "waves_sea" not in str(caught.value).replace("'waves_sea_turn_1'", "")
    again = at_sea(afloat, OTHER, PLUGINS, components=30)
    assert len(again.parameters) == 32 * 15


def test_too_many_waves_and_machines_ashore_are_refused():
    with pytest.raises(KingpostError, match="the sea has 200 components, and there is room for 24; write components=24"):
        sea_settings(at_sea(BARGE, SEA, PLUGINS), "jonswap:Hs=1,Tp=6", PLUGINS)
    with pytest.raises(KingpostError, match="'barge' has no parameters for waves yet; run it with a sea"):
        sea_settings(BARGE, SEA, PLUGINS)
    with pytest.raises(KingpostError, match="'double-pendulum' takes no sea: none of its forces knows of waves: gravity"):
        prepare(open_model("double-pendulum").mechanism, 1.0, sea=SEA)
    with pytest.raises(KingpostError, match="there is no spectrum 'jonswab'; did you mean 'jonswap'"):
        simulate(BARGE, 1.0, sea="jonswab:Hs=1,Tp=6")
    waves = read_sea(SEA).components()
    assert padded(waves, None) is waves


def test_every_model_that_floats_or_is_moved_by_waves_takes_a_sea():
    taking = set()
    for name in PLUGINS.models:
        mechanism = PLUGINS.models.get(name)().build()
        forces = make_forces(mechanism, PLUGINS).values()
        if any(force.drawing().floats or type(force).moves_joints for force in forces):
            assert len(at_sea(mechanism, SEA, PLUGINS).parameters) - len(mechanism.parameters) == 24 * 15, name
            taking.add(name)
    crane, vessel = ("", "-cylinder", "-on-waves"), ("", "-plain")
    expected = {f"offshore-crane{end}" for end in crane} | {f"small-crane{end}" for end in ("", "-parked", "-on-waves")}
    assert taking == expected | {f"{size}-vessel{end}" for size in ("offshore", "small") for end in vessel} | {
        "barge",
        "barge-crane",
    }


def test_a_model_file_may_name_its_sea(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text(f'model = "small-vessel-plain"\n[run]\nsea = "{SEA}"\nt_end = 0.1\n')
    history = open_model(file).simulate(step=0.05, backend="vm")
    assert history.provenance["sea"]["text"] == SEA
    assert open_model(file).how().sea == read_sea(SEA)


@pytest.mark.slow
def test_the_code_of_the_documentation_runs(root, capsys):
    first, second = (part.split("```")[0] for part in (root / "docs" / "seas.md").read_text().split("```python\n")[1:])
    names = {}
    exec(first, names)
    assert "Realised(hs=2.49999999999" in capsys.readouterr().out
    exec(second, names)
    assert names["batch"].channel("hull.z").shape[0] == 4


@pytest.mark.slow
def test_an_fmu_keeps_its_sea_and_shows_no_numbers_of_waves(tmp_path):
    from kingpost.fmu.running import run_fmu

    file = tmp_path / "vessel.fmu"
    model = open_model("small-vessel-plain")
    model.export(file, sea=SEA, communication_step=0.1, step=0.02)
    direct = model.simulate(sea=SEA, t_end=5.0, step=0.02, output_step=0.1, loads=["none"])
    found = run_fmu(file, t_end=5.0, step=0.1)
    # The same steps by the same code, for other bits of compilers' choice.
    assert found["hull.z"] == pytest.approx(direct["hull.z"], abs=1e-9)
    assert not [channel.name for channel in found.channels if "_sea_" in channel.name]


def test_numbers_of_regular_waves_mean_nothing_in_a_sea():
    crane = open_model("small-crane", PLUGINS).mechanism
    with pytest.raises(KingpostError, match="wave_amplitude would have no effect: the sea takes the place .* force 'waves'"):
        prepare(crane, 1.0, sea=SEA, settings={"wave_amplitude": 1.0}, plugins=PLUGINS)
