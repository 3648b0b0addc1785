"""Errors of backward Euler on the overhead crane of document 000, section 4.4.1, as our notes measured them independently."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from kingpost.control.servo.inverse import prepare_inverse
from kingpost.modelfiles.opened import open_model
from kingpost.registry.selection import select

#: Largest errors over all samples by step (s): of the force (N), the same for all methods, and of the torque (N m) by form.
FORCE = {0.1: 70.04, 0.05: 43.62, 0.02: 20.78, 0.01: 11.52, 0.005: 6.047, 0.0025: 3.097}
TORQUE = {
    ("dependent", "projection"): {0.1: 3.844, 0.05: 2.137, 0.02: 0.8741, 0.01: 0.4376, 0.005: 0.2190, 0.0025: 0.1095},
    ("dependent", "minimal-extension"): {0.1: 3.844, 0.05: 2.137, 0.02: 0.8741, 0.01: 0.4376, 0.005: 0.2190, 0.0025: 0.1095},
    ("dependent", "projection-dependent"): {
        0.1: 2.496,
        0.05: 1.331,
        0.02: 0.5416,
        0.01: 0.2716,
        0.005: 0.1360,
        0.0025: 0.06805,
    },
    ("minimal", "projection"): {0.1: 2.807, 0.05: 1.442, 0.02: 0.5868, 0.01: 0.2942, 0.005: 0.1472, 0.0025: 0.07358},
    ("minimal", "minimal-extension"): {0.1: 2.299, 0.05: 1.269, 0.02: 0.5193, 0.01: 0.2602, 0.005: 0.1303, 0.0025: 0.06516},
}
#: Steps that are looked at in every run of the tests; the others are alike.
FEW = (0.1, 0.05)


def closed_form(times, path):
    """Force and torque from the path alone: document 000, eqs. (4.78)-(4.83), with the second derivatives of s and l by
    differences of sixth order, which are exact to 1e-7 at this spacing."""
    mt, m, inertia, radius, gravity = 10.0, 100.0, 0.1, 0.1, 9.81

    def place(t):
        x, z = (path[name].jets_at([t], 2)[0] for name in ("load.x", "load.z"))
        z = -z  # the document's z points down
        s = x[0] + z[0] * x[2] / (gravity - z[2])
        length = z[0] * np.hypot(x[2], gravity - z[2]) / (gravity - z[2])
        return np.array([s, length]), m * (gravity - z[2]) / z[0], x[0]

    weights = np.array([1 / 90, -3 / 20, 3 / 2, -49 / 18, 3 / 2, -3 / 20, 1 / 90])
    h = 2e-3
    result = []
    for t in times:
        second = sum(w * place(t + k * h)[0] for k, w in zip(range(-3, 4), weights, strict=True)) / h**2
        (s, length), per_length, x = place(t)
        result.append([mt * second[0] + (s - x) * per_length, radius * (inertia / radius**2 * second[1] - length * per_length)])
    return np.array(result)


@pytest.fixture(scope="module")
def cranes():
    return {form: open_model(f"overhead-crane:form={form}") for form in ("minimal", "dependent")}


@pytest.fixture(scope="module")
def found(cranes):
    """Inverse dynamics of a crane by a method and a stepper; what does not depend on steps is derived once."""

    @cache
    def prepared(form, method):
        crane = cranes[form]
        return prepare_inverse(crane.mechanism, crane.task("000-4.4.1"), method=method, plugins=crane.plugins)

    @cache
    def find(form, method, stepper):
        steps = select(cranes[form].plugins.of("servo_steppers"), stepper)
        return replace(prepared(form, method), stepper=steps).run()

    return find


CASES = [(*key, step) for key, errors in TORQUE.items() for step in errors]


@pytest.mark.quick(
    "dependent-projection-dependent-0.1",
    "minimal-minimal-extension-0.05",
)
@pytest.mark.parametrize(
    ("form", "method", "step"),
    [pytest.param(*case, marks=() if case[2] in FEW else pytest.mark.slow) for case in CASES],
)
def test_inputs_of_backward_euler_are_off_by_what_the_notes_say(found, form, method, step):
    history = found(form, method, f"backward-euler:step={step}")
    exact = found(form, "flat", f"bdf2:step={step}")
    force, torque = (np.abs(history[name] - exact[name]).max() for name in ("trolley_force", "winch_torque"))
    # Four digits are given.
    assert force == pytest.approx(FORCE[step], rel=6e-4)
    assert torque == pytest.approx(TORQUE[form, method][step], rel=6e-4)
    for name in ("load.x", "load.z", "travel.displacement"):
        assert history[name] == pytest.approx(exact[name], abs=1e-9)


def test_flat_is_the_closed_form(cranes, found):
    task, exact = cranes["dependent"].task("000-4.4.1"), found("dependent", "flat", "bdf2:step=0.1")
    inside = slice(1, -1)  # differences would reach beyond the ends, where a derivative jumps
    want = closed_form(exact.time[inside], task.path)
    inputs = np.column_stack([exact["trolley_force"], exact["winch_torque"]])[inside]
    assert inputs == pytest.approx(want, abs=1e-4)
