"""What transcriptions cannot do is refused before anything is solved; discrete gradients are what they promise."""

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from kingpost import MechanismError, RunSettings, prepare_optimisation
from kingpost.mechanism.optimal_tasks import CostPart
from kingpost.modelfiles.opened import open_model
from kingpost.plugins.optimal_control.collocation import butcher
from kingpost.plugins.optimal_control.discrete_gradients import gradient


def prepared(plugins, model, transcription, task="001", how=None, **changes):
    opened = open_model(model, plugins)
    asked = replace(opened.optimal_task(task), **changes)
    how = how or RunSettings(backend="vm")
    return prepare_optimisation(opened.mechanism, asked, transcription=transcription, how=how, plugins=plugins)


DIRECTORS = RunSettings(formulation="directors:planar=true", backend="vm")


@pytest.mark.parametrize(
    ("model", "transcription", "changes", "message"),
    [
        ("three-link-manipulator", "collocation", {"how": DIRECTORS}, "takes equations without constraints, and formulation"),
        ("three-link-manipulator", "gonzalez", {"how": DIRECTORS}, "needs coordinates without constraints whose rates"),
        ("satellite", "gonzalez", {}, "needs coordinates without constraints whose rates are the speeds"),
        ("three-link-manipulator", "greenspan", {}, "needs a constant mass matrix, and that of 'three-link-manipulator'"),
        ("three-link-manipulator", "hamiltonian", {"task": "001-friction"}, "has others, such as friction"),
        ("three-link-manipulator", "hamiltonian", {"task": "001-one-sided"}, "no bounds, rates or free parameters"),
        ("mathematical-pendulum", "hamiltonian", {"costs": (CostPart("effort-rate"),)}, "takes the effort as the only cost"),
        ("mathematical-pendulum", "hamiltonian", {"end": {"pivot.angle": 1.0}}, "needs the whole state at the end"),
    ],
)
def test_what_a_transcription_cannot_do(plugins, model, transcription, changes, message):
    with pytest.raises(MechanismError, match=rf"{message}.*Transcriptions: collocation"):
        prepared(plugins, model, transcription, **changes)


@pytest.mark.parametrize(
    ("transcription", "message"),
    [
        ("collocation:degree=0", "degree = 0: take 1 to 9"),
        ("multiple-shooting:substeps=0", "substeps = 0: at least one"),
        ("gonzalez:sigma=-1", "sigma = -1"),
        ("hamiltonian:sigma=-1", "sigma = -1"),
    ],
)
def test_options_that_make_no_sense(plugins, transcription, message):
    from kingpost import PluginError

    with pytest.raises(PluginError, match=message):
        prepared(plugins, "mathematical-pendulum", transcription)


def test_discrete_gradients_have_the_directionality_property():
    """Eq. (8.9): dV . (x1 - x0) = V(x1) - V(x0), for any metric; to the 1e-12 below which places count as the same."""
    rng = np.random.default_rng(5)
    x0, x1, weights = rng.normal(size=3), rng.normal(size=3), np.array([1.0, 4.0, 0.1])

    def function(x):
        return ca.sin(x[0]) * x[1] ** 2 + ca.exp(x[2] * x[0])

    found = np.asarray(ca.DM(gradient(function, ca.SX(x0), ca.SX(x1), ca.DM(weights)))).ravel()
    change = float(ca.DM(function(ca.DM(x1)) - function(ca.DM(x0))))
    assert found @ (x1 - x0) == pytest.approx(change, rel=1e-10)
    same = np.asarray(ca.DM(gradient(function, ca.SX(x0), ca.SX(x0), ca.DM(weights)))).ravel()
    assert np.isfinite(same).all()


@pytest.mark.parametrize(
    ("kind", "degree", "order"), [("radau", 2, 3), ("legendre", 2, 4), ("radau", 3, 5), ("legendre", 1, 2)]
)
def test_collocation_weights_integrate_polynomials(kind, degree, order):
    """Weights are exact up to the order of the method, stages up to the number of points."""
    c, A, b = butcher(degree, kind)
    for k in range(order):
        assert b @ c**k == pytest.approx(1 / (k + 1), abs=1e-13)
    for k in range(degree):
        assert A @ c**k == pytest.approx(c ** (k + 1) / (k + 1), abs=1e-13)
