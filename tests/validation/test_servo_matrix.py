"""Every method of inverse dynamics on every machine of the documents: what it finds, or why it does not take the task.

Errors of steps have series in their length h: e = C h^p + D h^(p+1) + E h^(p+2) + ... of a stepper of order p, wherever the
path is smooth. Richardson's rule takes one term after the other away, with steps h, h/2, h/4: if p is the order, what is left
is of h^(p+2), a step's part of the term that was taken away last, and smaller than that. If the order were p - 1, the rule
would leave 1/7 of the error for p = 2, and take away 1/42 of it last: a lower order does not pass.

Where the path determines everything and the index is 5 or less, coordinates have no error of steps at all, whatever the method,
and are the same to 1e-9. With internal states, and at index 7, of which a method takes two off, coordinates err, too, and are
the same to 1e-9 by Richardson's rule. Refusals are sentences with the number that decides.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from kingpost import KingpostError, MechanismError, open_model
from kingpost.control.servo.index.analysis import analyse
from kingpost.control.servo.index.refusals import refuse_if_impossible
from kingpost.control.servo.posing import pose_servo
from tests.validation.servo_cases import BY_NAME, CASES, LIKE_A_POINT, METHODS, QUICK, WITHOUT_STEPS
from tests.validation.servo_solutions import coordinates, joint_coordinates, posed, reference, report, solved

#: Coordinates, in m and rad; inputs, as a part of the largest.
SAME, ROUNDING = 1e-9, 1e-8
#: What stable inversion leaves of internal motions at the ends of the time that it adds.
FORGOTTEN = 1e-7
ORDERS = {"backward-euler": 1, "bdf2": 2, "bdf3": 3}


def marked(cases):
    return [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in cases]


def found(name, method, stepper, step, formulation="kane"):
    """Return a solution, or raise the refusal."""
    result = solved(name, method, stepper, step, formulation)
    if isinstance(result, KingpostError):
        raise result
    return result


def away(name, times, stepper, step):
    """Say which samples are so long after corners of the path that no difference in a step reaches back over one.

    Inputs are found from index - 1 derivatives, each of them a difference over as many steps as its order is.
    """
    case, task = BY_NAME[name], posed(name).task
    corners = {item.time for every in task.breaks({}).values() for item in every} | {task.t_start}
    memory = (case.index - 1) * ORDERS[stepper] * step
    return np.all([(times < corner - 1e-9) | (times > corner + memory + 1e-9) for corner in corners], axis=0)


def extrapolated(values, order):
    """Return what steps converge to by Richardson's rule, from values for h, h/2, ..., and what its last term has changed."""
    while True:
        better = [fine + (fine - coarse) / (2**order - 1) for coarse, fine in itertools.pairwise(values)]
        if len(better) == 1:
            return better[0], np.abs(better[0] - values[-1]).max(axis=0)
        values, order = better, order + 1


def in_columns(result, formulation):
    """Return coordinates and inputs; in other coordinates than those of joints, inputs alone."""
    return np.hstack([result.q, result.u]) if formulation == "kane" else result.u


class Richardson:
    """Errors of a method at the samples of its longest steps, and what Richardson's rule makes of them."""

    def __init__(self, name, method, stepper, step, count=3, formulation="kane"):
        results = [found(name, method, stepper, step / 2**k, formulation) for k in range(count)]
        values = [in_columns(result, formulation)[:: 2**k] for k, result in enumerate(results)]
        wanted = reference(name, step)[:, -values[0].shape[1] :]
        inside = away(name, results[0].times, stepper, step)
        assert inside.sum() >= 5
        self.n = len(coordinates(name))
        #: At all samples, without the rule, and away from corners, with it.
        self.plain = [np.abs(part - wanted) for part in values]
        best, self.correction = extrapolated([part[inside] for part in values], ORDERS[stepper])
        self.left = np.abs(best - wanted[inside]).max(axis=0)

    def check_order(self, floor):
        """What is left is below what was taken away last, and below rounding, where nothing was to be taken away."""
        assert (self.left <= np.maximum(self.correction, floor)).all(), (self.left, self.correction)


def sizes(name):
    """Return how well coordinates and inputs are known from the reference, in its columns."""
    wanted = reference(name, BY_NAME[name].step)
    n = len(coordinates(name))
    return np.array([SAME] * n + [ROUNDING * np.abs(wanted[:, n:]).max()] * (wanted.shape[1] - n))


@pytest.mark.parametrize("name", marked(case.name for case in CASES))
def test_the_index_is_known(name):
    case, analysed = BY_NAME[name], report(name)
    assert (analysed.index, analysed.internal_states) == (case.index, case.internal)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", marked(case.name for case in CASES))
def test_every_method_finds_the_same_or_says_why_not(name, method):
    """Backward Euler, which the documents take for everything: order one."""
    case = BY_NAME[name]
    if method in case.refused:
        with pytest.raises(KingpostError, match=case.refused[method]):
            found(name, method, "backward-euler", case.step)
        return
    if method == "stable-inversion":
        check_stable_inversion(name)
        return
    if method in WITHOUT_STEPS:
        result = found(name, method, "backward-euler", case.step)
        off = np.abs(np.hstack([result.q, result.u]) - reference(name, case.step)).max(axis=0)
        assert (off < sizes(name)).all(), off
        return
    # Without reduction, rounding grows by h^(1 - index): longer steps keep it below what they leave out.
    step = min(4 * case.step, 0.25) if method == "direct" and case.index > 5 else case.step
    steps = Richardson(name, method, "backward-euler", step)
    if case.exact and method not in ("direct", *case.turning):
        assert max(errors[:, : steps.n].max() for errors in steps.plain) < SAME
    steps.check_order(sizes(name))


@pytest.mark.slow
def test_nothing_but_moments_on_a_turning_load_makes_coordinates_err():
    """With a millionth of the moments, and everything else the same, `projection` has no error of steps there, either."""
    name = LIKE_A_POINT.name
    steps = Richardson(name, "projection", "backward-euler", LIKE_A_POINT.step)
    assert max(errors[:, : steps.n].max() for errors in steps.plain) < SAME


STEPPED = [method for method in METHODS if method not in (*WITHOUT_STEPS, "stable-inversion", "direct")]
TAKEN = [(case.name, method) for case in CASES for method in STEPPED if method not in case.refused]


@pytest.mark.parametrize(
    ("name", "method"), [pytest.param(*pair, marks=() if pair[0] in QUICK else pytest.mark.slow) for pair in TAKEN]
)
def test_what_steps_converge_to_is_the_same_to_1e_9(name, method):
    """Differences of order three and Richardson's rule: errors of h^6, in coordinates, and in inputs where these have none."""
    case = BY_NAME[name]
    steps = Richardson(name, method, "bdf3", case.long, 4)
    assert (steps.left[: steps.n] < SAME).all(), steps.left
    if case.exact:
        assert (steps.left < sizes(name)).all(), steps.left


@pytest.mark.parametrize("name", marked(case.name for case in CASES if not case.values or case.values[0][0] != "kappa"))
def test_second_order_with_bdf2(name):
    Richardson(name, "minimal-extension", "bdf2", BY_NAME[name].long).check_order(sizes(name))


def check_stable_inversion(name):
    """Collocation to 1e-9, and internal motions that are forgotten to 1e-7, against the motion from rest where that is bounded.

    Where it is not, against twice the time before and after, and a hundredth of the tolerance.
    """
    case = BY_NAME[name]
    result = found(name, "stable-inversion", "backward-euler", case.step)
    inside = (result.times > -1e-9) & (result.times < posed(name).task.t_end + 1e-9)
    one = np.hstack([result.q, result.u])[inside]
    if ("kappa", 0.5) in case.values:
        lead = -2 * round(float(result.times[0]) / case.step) * case.step
        more = found(name, f"stable-inversion:lead={lead!r},tolerance=1e-11", "backward-euler", case.step)
        other = np.hstack([more.q, more.u])[(more.times > -1e-9) & (more.times < posed(name).task.t_end + 1e-9)]
        assert more.times[0] < 1.9 * result.times[0]
    else:
        other = reference(name, case.step)
    assert np.abs(one - other).max() < FORGOTTEN * np.abs(other).max()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "formulation"), [(case.name, other) for case in CASES for other in case.others])
def test_another_formulation_finds_the_same(name, formulation):
    """Without steps, everything; with steps, the same coordinates, and inputs that converge to the same with order one.

    Steps of directors are chords of what turns, so that errors of inputs are others than in joint coordinates.
    """
    case, n = BY_NAME[name], len(coordinates(name))
    wanted = reference(name, 0.5)
    assert (np.abs(found(name, "flat", "backward-euler", 0.5, formulation).u - wanted[:, n:]) < sizes(name)[n:]).all()
    for method in ("minimal-extension", "projection"):
        steps = Richardson(name, method, "backward-euler", case.step, formulation=formulation)
        steps.check_order(sizes(name)[n:])
        seen = joint_coordinates(name, method, case.step, formulation)
        assert seen
        for column, values in seen.items():
            right = reference(name, case.step)[:, coordinates(name).index(column)]
            assert values == pytest.approx(right, abs=SAME), column


@pytest.mark.parametrize("name", [case.name for case in CASES if case.no_other])
def test_what_natural_coordinates_cannot_express_is_said(name):
    with pytest.raises(MechanismError, match=BY_NAME[name].no_other):
        posed(name, "directors")


@pytest.mark.slow
def test_a_path_that_is_too_rough_is_refused():
    opened = open_model("us-navy-crane-3d")
    analysed = analyse(pose_servo(opened.mechanism, opened.task("000-6.2.2")))
    with pytest.raises(MechanismError, match=r"not smooth enough for index 7: .* needs C\^6 and is C\^4"):
        refuse_if_impossible(analysed)


@pytest.mark.parametrize(
    ("power", "order", "passes"), [(1, 1, True), (2, 2, True), (1, 2, False), (2, 3, False), (1, 3, False), (2, 1, True)]
)
def test_the_rule_finds_errors_of_a_lower_order(power, order, passes):
    """A higher one is no fault."""
    values = [np.array([3.0 * h**power + 5.0 * h ** (power + 1) + 7.0 * h ** (power + 2)]) for h in (0.02, 0.01, 0.005)]
    left, correction = extrapolated(values, order)
    assert (abs(left[0]) <= correction) == passes
