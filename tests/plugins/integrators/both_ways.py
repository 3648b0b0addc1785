"""Steps solved in two ways: for the motions of bodies, and for all unknowns of a method."""

import numpy as np

from kingpost import prepare
from kingpost.equations.newton import newton_of
from kingpost.plugins.integrators.implicit import DescriptorStep

TORQUES = {"torque1": 200.0, "torque2": -150.0, "torque3": 100.0}


def end_state(build, method, h, steps, formulation="directors", backend="vm", settings=None):
    """Return equations, solution and the last state."""
    run = prepare(
        build(), h * steps, settings=settings or {}, formulation=formulation, integrator=method, step=h, output_step=h * steps,
        backend=backend,
    )  # fmt: skip
    y = np.empty((1, len(run.equations.channels)))
    stop = run.kernel.march(y, steps, 0.0, h, run.x0, run.inputs, run.p)
    assert not stop.status
    return run, stop.x


def assert_same(build, method, h, steps, monkeypatch, tolerance=3e-13, **choices):
    """Compare the two ways; speeds are differences of coordinates over h."""
    run, found = end_state(build, method, h, steps, **choices)
    newton = newton_of(run.integrator, run.equations)
    assert newton.ordered
    assert newton.problem.guess.numel_out(0) < run.integrator.problem(run.equations).guess.numel_out(0)
    monkeypatch.setattr(DescriptorStep, "solving", lambda self, equations: self.problem(equations))
    other, expected = end_state(build, method, h, steps, **choices)
    assert not newton_of(other.integrator, other.equations).problem.ordered
    nq, nv = run.equations.nq, run.equations.nv
    assert np.abs(found - expected)[:nq].max() <= tolerance * (1 + np.abs(expected[:nq]).max())
    assert np.abs(found - expected)[nq : nq + nv].max() <= 1e3 * tolerance * (1 + np.abs(expected[nq : nq + nv]).max())
