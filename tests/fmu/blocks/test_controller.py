"""Controllers for servo tasks as FMUs: with the machine in process, in fmpy and in libcosim, and what they refuse."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from kingpost import KingpostError, export
from kingpost.fmu.blocks import controller_block, export_block, export_controller
from kingpost.fmu.checks import check_fmu
from kingpost.fmu.cosim import Component, Connection, System, cosimulate
from kingpost.registry.selection import select
from tests.fmu.cosim import osp_script
from tests.fmu.hosting import Hosted

EXPORTERS = ("native-fmu", "native-fmu:fmi=3", "fmu", "fmu:engine=package")
LAWS = {
    "pd-output": ("passive-joint-arm", {"damping": 0.2}),
    "dae-step": ("overhead-crane", {}),
    "dynamic-extension": ("overhead-crane", {}),
    "lqr-along": ("overhead-crane", {}),
}


@pytest.fixture(scope="module")
def blocks(plugins):
    """Controllers in process, each derived once."""

    @cache
    def derive(law):
        name, settings = LAWS[law]
        model = select(plugins.models, name)
        feedback = f"{law}:sample_time=0.005"
        return controller_block(model.build(), model.tasks()["003"], feedback, settings=settings, plugins=plugins)[0]

    return derive


@pytest.fixture(scope="module")
def made(tmp_path_factory, plugins, blocks):
    """Controllers as FMUs, each made once: natively for FMI 2 in one go, as users do; for others of the block."""
    folder = tmp_path_factory.mktemp("controllers")

    @cache
    def make(law, to):
        path = folder / f"{law}-{EXPORTERS.index(to)}.fmu"
        if to != EXPORTERS[0]:
            return export_block(blocks(law), path, to=to, plugins=plugins)
        name, settings = LAWS[law]
        model = select(plugins.models, name)
        feedback = f"{law}:sample_time=0.005"
        return export_controller(
            model.build(), model.tasks()["003"], path, feedback=feedback, to=to, settings=settings, plugins=plugins
        )

    return make


def wired(law, controller, machine, plugins, **options):
    """A machine and its controller, wired by name."""
    name, settings = LAWS[law]
    mechanism = select(plugins.models, name).build()
    speeds = [item.name for item in (*mechanism.coordinates, *mechanism.speeds)]
    outputs = [signal.name for signal in mechanism.inputs]
    given = {"settings": settings} if "model" in machine else {}
    return System(
        "loop",
        (Component("machine", **machine, **given), Component("controller", **controller)),
        (
            *(Connection(f"machine.{item}", f"controller.{item}") for item in speeds),
            *(Connection(f"controller.{item}", f"machine.{item}") for item in outputs),
        ),
        **{"t_end": 3.0, "step": 0.005, "master": "gauss-seidel", **options},
    )


@pytest.mark.quick("dynamic-extension")
@pytest.mark.parametrize("law", LAWS)
def test_in_process_and_as_fmu_the_same(law, made, blocks, plugins):
    block, machine = blocks(law), {"model": LAWS[law][0], "step": 0.001}
    inside = cosimulate(wired(law, {"model": block}, machine, plugins, t_end=1.0))
    path = made(law, "native-fmu").path
    outside = cosimulate(wired(law, {"fmu": path}, machine, plugins, t_end=1.0))
    for output in block.outputs:
        scale = np.abs(inside[f"controller.{output.name}"]).max()
        # The same code, with and without fused multiply-add, in a loop that forgets.
        np.testing.assert_allclose(inside[f"controller.{output.name}"], outside[f"controller.{output.name}"], atol=1e-8 * scale)
    assert inside["controller.refused_samples"][-1] == inside["controller.failed_samples"][-1] == 0


@pytest.mark.parametrize(
    ("law", "across", "up"), [("dynamic-extension", 0.02, 0.02), ("dae-step", 0.01, 0.03), ("lqr-along", 0.005, 0.01)]
)
def test_the_crane_follows_its_path(law, across, up, made, plugins):
    history = cosimulate(wired(law, {"fmu": made(law, "native-fmu").path}, {"model": "overhead-crane"}, plugins))
    path = select(plugins.models, "overhead-crane").tasks()["003"].path
    for measure, largest in (("load.x", across), ("load.z", up)):
        wanted = np.array([path[measure].value(float(t)) for t in history.time])
        assert np.abs(history[f"machine.{measure}"] - wanted).max() < largest


@pytest.mark.quick("native-fmu:fmi=3")
@pytest.mark.parametrize("to", EXPORTERS)
def test_all_kinds_of_fmus_give_the_same_numbers(to, made):
    """By hand, with the calls of both standards: samples at their times, and the same outputs as the native FMU for FMI 2."""
    rows = []
    for kind in ("native-fmu", to):
        with Hosted(made("dynamic-extension", kind).path) as fmu:
            fmu.initialize()
            seen = []
            for k in range(40):
                fmu.set({"travel.displacement": 1e-3 * k, "swing.angle": -2e-3 * np.sin(k)})
                fmu.step(0.005 * k, 0.005)
                seen.append(fmu.get(["trolley_force", "winch_torque", "load.z.d2"]))
            rows.append(np.array(seen))
    np.testing.assert_allclose(rows[0], rows[1], rtol=1e-9, atol=1e-9)


@pytest.mark.quick("native-fmu-lqr-along", "native-fmu:fmi=3-dynamic-extension", "fmu-dae-step")
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("to", ["native-fmu", "native-fmu:fmi=3", "fmu"])
def test_a_measurement_that_is_not_a_number_is_refused(law, to, made):
    done = made(law, to)
    with Hosted(done.path) as fmu:
        fmu.initialize()
        inputs = [variable.name for variable in fmu.description.modelVariables if variable.causality == "input"]
        outputs = ["torque"] if law == "pd-output" else ["trolley_force", "winch_torque"]
        good = fmu.get(outputs)
        fmu.step(0.0, 0.005)
        fmu.set({inputs[1]: float("nan")})
        np.testing.assert_array_equal(fmu.get(outputs), good)
        fmu.step(0.005, 0.01)
        np.testing.assert_array_equal(fmu.get(outputs), good)
        assert fmu.get("refused_samples") == 2
        fmu.set({inputs[1]: 0.0})
        fmu.step(0.015, 0.005)
        assert fmu.get("refused_samples") == 2
        told = [text for status, text in fmu.messages if status == 1]
        assert told[0] == f"'{inputs[1]}' is nan at t = 0.005 s: the sample is refused, and the last good outputs are held"
        assert told[1] == "the sample at t = 0.015 s is good again, after 2 that were refused or failed"


@pytest.mark.quick("native-fmu*", "fmu:engine=package")
@pytest.mark.parametrize("to", EXPORTERS)
def test_an_earlier_state_gives_the_same_bits(to, made):
    with Hosted(made("dae-step", to).path) as fmu:
        fmu.initialize()
        outputs = fmu.outputs

        def go():
            seen = []
            for k in range(4):
                fmu.set({"travel.displacement": 1e-3 * k if k != 1 else float("nan")})
                fmu.step(0.007 + 0.003 * k, 0.003)
                seen.append(fmu.get(outputs).tolist())
            return seen

        fmu.step(0.0, 0.007)
        state = fmu.save()
        first = go()
        fmu.restore(state)
        assert go() == first
        fmu.forget(state)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("to", ["native-fmu", "native-fmu:fmi=3", "fmu"])
@pytest.mark.slow
def test_the_checks_find_nothing(law, to, made):
    report = check_fmu(made(law, to).path)
    assert [result for result in report.results if result.outcome not in ("pass", "not applicable")] == []


@pytest.mark.parametrize("law", ["dynamic-extension", "dae-step", "lqr-along"])
def test_libcosim_does_the_same(law, made, plugins, tmp_path):
    """Machine and controller as FMUs of FMI 2 in libcosim's fixed-step algorithm, which is our 'jacobi'."""
    pytest.importorskip("libcosimpy.CosimExecution")
    crane = export(select(plugins.models, "overhead-crane").build(), tmp_path / "crane.fmu", plugins=plugins).path
    controller = made(law, "native-fmu").path
    system = wired(law, {"fmu": controller}, {"fmu": crane}, plugins, t_end=1.0, master="jacobi")
    history = cosimulate(system)
    folder = system.write_osp(tmp_path / "osp", plugins).parent
    for simulator, variables in (("machine", ("travel.displacement", "swing.angle")), ("controller", ("trolley_force",))):
        words = [sys.executable, Path(osp_script.__file__), folder, "1.0", simulator, *variables]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        found = [float(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("value")]
        expected = [history[f"{simulator}.{name}"][-1] for name in variables]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_fmpy_runs_it_alone(made):
    import fmpy

    for to in ("native-fmu", "native-fmu:fmi=3", "fmu"):
        path = str(made("dynamic-extension", to).path)
        found = fmpy.simulate_fmu(path, stop_time=0.1, step_size=0.005, output_interval=0.005)
        assert len(found) == 21
        assert found["winch_torque"][0] == pytest.approx(-98.1, rel=1e-9)


def test_what_the_loop_does_is_told(made):
    facts = dict(made("dae-step", "native-fmu").facts)
    assert facts["task"] == "'003': trolley_force, winch_torque for load.x, load.z"
    assert facts["feedback"] == "dae-step, a sample every 0.005 s"
    assert facts["at the end"].startswith("largest factor from sample to sample 0.99")
    assert facts["at the end"].count("stable") == 2


def test_the_command(kingpost_cli, tmp_path):
    done = kingpost_cli(
        "export-controller", "mass-chain", "--task", "003", "--feedback", "dynamic-extension:poles=-2",
        "--json"
    )  # fmt: skip
    assert done.status == 0, done.err
    told = json.loads(done.out)
    assert told["file"] == "mass-chain-dynamic-extension.fmu"
    assert (tmp_path / told["file"]).is_file()
    assert told["feedback"] == "dynamic-extension, a sample every 0.01 s"
    refused = kingpost_cli("export-controller", "mass-chain", "--task", "003", "--feedback", "pd-output")
    assert refused.status != 0
    assert "the realisation is tangential (rank 0 of 1" in refused.err
    unknown = kingpost_cli("export-controller", "mass-chain", "--feedback", "pid")
    assert unknown.status != 0
    assert "pd-output" in unknown.err


def test_names_that_both_have_are_refused(plugins):
    from dataclasses import replace

    from kingpost import Parameter

    model = select(plugins.models, "mass-chain")
    machine = model.build()
    machine = replace(machine, parameters=(*machine.parameters, Parameter("gain0", 1.0, "1")))
    with pytest.raises(KingpostError, match="'mass-chain' has a parameter 'gain0', and so has the controller"):
        controller_block(machine, model.tasks()["003"], "dynamic-extension", plugins=plugins)
