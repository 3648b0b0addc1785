"""Samples in blocks are those of the whole run, and cost no memory."""

import itertools
import resource
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from kingpost import Interrupted, KingpostError, Solver, SolverError, prepare
from kingpost.testing.problems import oscillator, pushed_mass

SHORT = {"backend": "vm", "step": 0.01, "output_step": 0.02}


def stacked(blocks):
    found = [(block.first, block.time.copy(), block.values.copy()) for block in blocks]
    assert [first for first, _, _ in found] == np.cumsum([0, *(len(time) for _, time, _ in found[:-1])]).tolist()
    return np.concatenate([time for _, time, _ in found]), np.vstack([values for _, _, values in found])


@pytest.mark.parametrize("size", [1, 7, 11, 1000])
@pytest.mark.parametrize(("integrator", "words"), [("rk4", SHORT), ("radau", {"backend": "vm", "output_step": 0.02})])
def test_blocks_are_the_run(plugins, size, integrator, words):
    """With an input that moves, which is a channel, too."""
    inputs = {"push": {"kind": "rest-to-rest", "start": 0.0, "end": 2.0, "t_start": 0.03, "t_end": 0.13}}
    run = prepare(pushed_mass(), 0.2, inputs=inputs, integrator=integrator, plugins=plugins, **words)
    whole = run.run()
    time, values = stacked(run.blocks(size))
    assert np.array_equal(time, whole.time)
    assert np.array_equal(values, whole.values)
    assert "push" in whole and len(whole) == 11


def test_a_block_of_nothing_is_refused(plugins):
    with pytest.raises(KingpostError, match="a block of 0 samples is none"):
        next(prepare(oscillator(), 0.1, plugins=plugins, **SHORT).blocks(0))


def diverging(plugins):
    machine = plugins.models.get("double-pendulum")().build()
    return prepare(machine, 20.0, plugins=plugins, backend="vm", step=0.5, output_step=0.5)


class Tired(Solver):
    """Explicit Euler steps, and then no more."""

    name = "tired"
    order = 1
    problems = ("ode",)

    def march(self, problem):
        x = problem.x0
        for before, t in itertools.pairwise(problem.times[:8]):
            x = x + (t - before) * problem.rhs(before, x)
            yield x
        raise SolverError("that is enough")


def tiring(plugins):
    return prepare(oscillator(), 0.2, plugins=plugins, backend="vm", integrator=Tired, output_step=0.01)


@pytest.mark.parametrize("failing", [diverging, tiring])
def test_a_run_that_fails_gives_its_last_good_samples_first(plugins, failing):
    run = failing(plugins)
    with pytest.raises(SolverError) as whole:
        run.run()
    kept = []
    with pytest.raises(SolverError) as parts:
        kept.extend(block.values.copy() for block in run.blocks(2))
    assert len(kept) > 1
    assert np.array_equal(np.vstack(kept), whole.value.history.values)
    assert str(whole.value).startswith(str(parts.value))


def test_some_channels_are_kept(plugins):
    run = prepare(plugins.models.get("vessel-crane")().build(), 0.2, loads="all", plugins=plugins, **SHORT)
    whole, told = run.run(), []
    some = run.run(told.append, keep=["slew.Mx", "hull.pitch", "slew.Mx"])
    assert some.names == ("slew.Mx", "hull.pitch")
    assert all(np.array_equal(some[name], whole[name]) for name in some.names)
    assert some.channel("slew.Mx") == whole.channel("slew.Mx")
    assert [channel["name"] for channel in some.provenance["channels"]] == list(some.names)
    assert {key: value for key, value in some.provenance.items() if key in ("parameters", "loads", "outcome", "warnings")} == {
        key: value for key, value in whole.provenance.items() if key in ("parameters", "loads", "outcome", "warnings")
    }
    assert told[-1] == 1.0
    with pytest.raises(KingpostError, match=r"no channel 'slew.MX'; did you mean 'slew.Mx'\?"):
        run.run(keep=["slew.MX"])


def test_a_failed_or_interrupted_run_keeps_what_there_was(plugins):
    machine = plugins.models.get("double-pendulum")().build()
    run = prepare(machine, 20.0, plugins=plugins, backend="vm", step=0.5, output_step=0.5)
    with pytest.raises(SolverError) as whole:
        run.run()
    with pytest.raises(SolverError) as some:
        run.run(keep=["elbow.angle"])
    assert str(some.value) == str(whole.value)
    assert np.array_equal(some.value.history["elbow.angle"], whole.value.history["elbow.angle"])
    assert some.value.history.provenance["diverges"] == whole.value.history.provenance["diverges"]

    def stop(fraction):
        raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="interrupted at t = 0.2 s") as ended:
        prepare(machine, 0.2, plugins=plugins, **SHORT).run(stop, keep=["elbow.angle"])
    assert ended.value.history.provenance["outcome"] == "interrupted"


def peak(run):
    tracemalloc.start()
    for block in run.blocks():
        assert np.isfinite(block.values[0]).all()
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


def test_memory_does_not_grow_with_the_length_of_a_run(plugins):
    """Ten times the length: all samples would take ten times the memory, 1.9 MB instead of 0.19."""
    runs = [prepare(oscillator(), t_end, plugins=plugins, step=0.01, output_step=0.01) for t_end in (40.0, 400.0)]
    short, long = (peak(run) for run in runs)
    channels = len(runs[0].channels)
    assert 8 * channels * 40000 > 1e6
    assert long < short + 20_000, f"{long} bytes against {short}"
    assert peak(runs[1].at({})) < short + 20_000


@pytest.mark.slow
def test_the_process_does_not_grow_with_the_length_of_a_run(plugins):
    """As the system sees it: 2e6 samples of all channels of a crane would take 1.7 GB."""
    code = """
import resource, sys
from kingpost import PluginSet, open_model, prepare
crane = open_model("vessel-crane", PluginSet(entry_points=False))
how = {"plugins": crane.plugins, "loads": "all", "step": 0.001, "output_step": 0.001}
run = prepare(crane.mechanism, float(sys.argv[1]), **how)
for block in run.blocks(): pass
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    sizes = [
        int(subprocess.run([sys.executable, "-c", code, t_end], capture_output=True, text=True, check=True).stdout)
        for t_end in ("2", "2000")
    ]
    assert resource.getpagesize() and sizes[1] < sizes[0] + 20_000, f"{sizes} kB"
