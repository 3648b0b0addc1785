"""Projections and jumps in the motions of bodies are what the equations of all coordinates say."""

import casadi as ca
import numpy as np
import pytest

from kingpost import prepare
from kingpost.plugins.integrators import rigid_system
from kingpost.plugins.integrators.implicit import Moment
from kingpost.plugins.integrators.rigid import RigidParts
from kingpost.plugins.models.chain import Chain, ChainOptions
from kingpost.plugins.models.heavy_top import HeavyTop
from kingpost.plugins.models.satellite import Satellite
from kingpost.plugins.models.squeezer import AndrewsSqueezer

MACHINES = {
    "top": lambda: HeavyTop().build(),
    "chain": lambda: Chain(ChainOptions(3)).build(),
    "satellite": lambda: Satellite().build(),
    "squeezer": lambda: AndrewsSqueezer().build(),
}


def parts_of(name):
    """Return the parts of a machine in directors, and a state with speeds that fit nothing."""
    planar = ":planar=true" if name == "squeezer" else ""
    run = prepare(
        MACHINES[name](), 1.0, formulation=f"directors{planar}", integrator="generalized-alpha", step=1e-3, backend="vm"
    )
    e = run.equations
    q, v = e.split(np.asarray(run.x0)[: e.nx])
    return RigidParts(e, e.structure.rigid), q, v + np.random.default_rng(3).uniform(-1, 1, e.nv), run.p


def fitting(parts):
    """Return the function (q, v, p) -> speeds as the steps project them."""
    e = parts.equations
    symbols = [ca.MX.sym(name, size) for name, size in (("q", e.nq), ("v", e.nv), ("p", e.np))]
    at = Moment(ca.MX(0.0), ca.MX.zeros(e.u.numel()))
    return ca.Function("f", symbols, [parts.fitted(at, *symbols)])


def fitted(parts, q, v, p):
    """Return speeds as the steps project them."""
    return np.asarray(fitting(parts)(q, v, p)).ravel()


def nearest(parts, q, v, p):
    """Return the rigid speeds nearest to v in the mass metric that constraints allow, from the conditions of the minimum."""
    e = parts.equations
    given = [0.0, q, v, np.zeros(e.u.numel()), p]
    M, A, b = (np.asarray(ca.DM(function(*given)).full()) for function in (parts.mass, parts.jacobian, parts.drift))
    B = np.asarray(ca.DM(parts.rigid.matrix(q[: parts.nv])).full())
    whole = np.block([[B.T @ M @ B, (A @ B).T], [A @ B, np.zeros((parts.m, parts.m))]])
    found = np.linalg.solve(whole, np.concatenate([B.T @ M @ v, -b.ravel()]))
    return B @ found[: B.shape[1]], np.linalg.cond(whole), A, b.ravel()


@pytest.mark.parametrize("name", list(MACHINES))
def test_speeds_are_the_nearest_that_constraints_allow(name):
    parts, q, v, p = parts_of(name)
    expected, condition, A, b = nearest(parts, q, v, p)
    found = fitted(parts, q, v, p)
    # An error of rounding in the equations is grown by their condition, at most.
    assert np.abs(found - expected).max() <= 10 * condition * np.finfo(float).eps * np.abs(v).max()
    assert np.abs(A @ found + b).max() <= 1e-12 * np.abs(v).max()
    assert np.abs(A @ v + b).max() > 1e-3


@pytest.mark.parametrize("name", list(MACHINES))
def test_forces_alone_and_motions_with_forces_find_the_same(name, monkeypatch):
    parts, q, v, p = parts_of(name)
    ways = []
    for shorter in (True, False):
        monkeypatch.setattr(rigid_system, "_shorter", lambda *given, way=shorter: way)
        ways.append(fitted(parts_of(name)[0], q, v, p))
    condition = nearest(parts, q, v, p)[1]
    assert np.abs(ways[0] - ways[1]).max() <= 10 * condition * np.finfo(float).eps * np.abs(v).max()


def test_one_function_for_each_kind_of_body_gives_the_same(monkeypatch):
    parts, q, v, p = parts_of("chain")
    expected = fitted(parts, q, v, p)
    monkeypatch.setattr(rigid_system, "LONGEST", 0)
    found = fitted(parts_of("chain")[0], q, v, p)
    assert np.abs(found - expected).max() <= 1e-13 * np.abs(v).max()


@pytest.mark.parametrize(("name", "unknowns"), [("chain", "kp_forces"), ("satellite", "kp_saddle")])
def test_the_shorter_way_is_taken(name, unknowns):
    """In a chain forces alone; where all bodies hang on one, these would all depend on each other."""
    parts, *_ = parts_of(name)
    assert unknowns in {part.name() for part in fitting(parts).find_functions()}
