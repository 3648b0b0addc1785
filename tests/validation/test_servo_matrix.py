"""Every method of inverse dynamics on every machine of the documents: what it finds, or why it does not take the task.

Where the path determines everything and the index is 5 or less, coordinates are the same to 1e-9 whatever the method and the
step, and inputs converge with the order of the stepper to those of ``flat``. With internal states, and at index 7, of which a
method takes two off, steps leave errors in coordinates, too, and these converge with the same order. Refusals are sentences
with the number that decides.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass, field

import numpy as np
import pytest
import scipy.integrate

from kingpost import KingpostError, MechanismError, RunSettings, open_model
from kingpost.control.servo.index.analysis import analyse
from kingpost.control.servo.index.refusals import Demands, refuse_if_impossible
from kingpost.control.servo.inverse import PreparedInverse
from kingpost.control.servo.posing import pose_servo
from kingpost.registry.selection import select

METHODS = (
    "flat",
    "minimal-extension",
    "minimal-extension:twice=true",
    "projection",
    "projection-dependent",
    "output-coordinates",
    "computed-torque",
    "output-input",
    "stable-inversion",
    "direct",
)
#: Methods that find inputs at each time by themselves, without an error of steps.
WITHOUT_STEPS = ("flat", "minimal-extension:twice=true")
#: Coordinates of a path that determines everything, in m and rad; inputs of methods without steps, as a part of the largest.
SAME, ROUNDING = 1e-9, 1e-8

NO_FREEDOM = r"needs as many measures as degrees of freedom.*the task has \d+ .* has \d+"
MIXED = r"the realisation is (mixed|tangential) \(rank \d of \d, singular values .*\), and the method is for orthogonal ones"
UNDEFINED = "how inputs act on accelerations is not defined, because the mass matrix is singular along"
FREE = r"the path leaves \d internal states? free"
HIDDEN = r"the matrix of its highest derivatives has rank \d+ of \d+ at t = 0 s"
TANGENTIAL = (
    r"no \d coordinates of .* can stay beside the measures at t = 0 s: det Ha = 0 or det Ba = 0 .* smallest singular value is"
)
MANY = r"needs fewer constraints than servo-constraints.* has \d constraints .* for \d measures"
UNSTABLE = r"the zero dynamics are unstable: 2\.44949 1/s at the end"
STOPPED = r"inverse dynamics stopped at t = .* did not solve the equations of the step in 30 iterations"
ORTHOGONAL_ONLY = {"output-input": MIXED, "stable-inversion": MIXED}
UNDERACTUATED = {"computed-torque": NO_FREEDOM}


@dataclass(frozen=True)
class Case:
    """A machine with a task, the steps at which it is looked at, and which methods refuse it."""

    model: str
    task: str
    index: int
    step: float
    refused: dict[str, str] = field(default_factory=dict)
    internal: int = 0
    values: tuple[tuple[str, float], ...] = ()
    #: Other formulations that take it, or what the ones in natural coordinates say.
    others: tuple[str, ...] = ()
    no_other: str = ""

    @property
    def name(self) -> str:
        return " ".join([self.model, self.task, *(f"{name}={value:g}" for name, value in self.values)])

    @property
    def exact(self) -> bool:
        """Whether coordinates have no error of steps."""
        return self.internal == 0 and self.index <= 5


def crane(model, task, refused, step=0.25, index=5, **more):
    """Return a case without internal states and with inputs that do not act on all measures."""
    return Case(model, task, index, step, {**UNDERACTUATED, **ORTHOGONAL_ONLY, **refused}, **more)


NATURAL = ("directors", "nullspace")
CABLEV = {"output-coordinates": TANGENTIAL}
ROPES = {"projection-dependent": MANY, "output-coordinates": TANGENTIAL}
MASSLESS = {**ROPES, "output-input": UNDEFINED, "stable-inversion": UNDEFINED, "minimal-extension:twice=true": HIDDEN}
INERTIA = "adds inertia to coordinate .*, which natural coordinates and quaternions of bodies cannot express"
LEFT_OPEN = {"flat": FREE, "minimal-extension:twice=true": FREE}
DAMPED = {**UNDERACTUATED, **ORTHOGONAL_ONLY, **LEFT_OPEN, "output-coordinates": TANGENTIAL}
FRICTION = (("trolley_damping", 50.0), ("winch_damping", 50.0))
CASES = (
    Case(
        "passive-joint-arm",
        "003",
        3,
        0.02,
        {**UNDERACTUATED, **LEFT_OPEN},
        internal=2,
        values=(("damping", 0.2),),
    ),
    Case(
        "passive-joint-arm",
        "003",
        3,
        0.02,
        {**UNDERACTUATED, **{name: UNSTABLE for name in METHODS if name not in ("computed-torque", "stable-inversion")}},
        internal=2,
        values=(("kappa", 0.5),),
    ),
    crane("overhead-crane", "003", {"minimal-extension:twice=true": HIDDEN, "direct": STOPPED}, 0.02, no_other=INERTIA),
    crane("overhead-crane", "003", {"minimal-extension:twice=true": HIDDEN, "direct": STOPPED}, 0.02, values=FRICTION),
    crane("overhead-crane:form=dependent", "003", {"output-coordinates": TANGENTIAL}, 0.02, others=NATURAL),
    crane("overhead-crane:form=elastic", "003", {"output-coordinates": TANGENTIAL}, 0.02),
    crane("mass-chain", "003", {"output-coordinates": TANGENTIAL}, 0.02, others=NATURAL),
    Case("mass-chain", "003", 4, 0.02, DAMPED, internal=1, values=(("damping", 10.0),)),
    crane("mass-chain:n=3", "003", {"output-coordinates": TANGENTIAL}, 0.02, index=7),
    Case("mass-chain:n=3", "003", 5, 0.02, DAMPED, internal=2, values=(("damping", 10.0),)),
    crane("rotary-crane", "000-4.4.2", {"minimal-extension:twice=true": HIDDEN, "direct": STOPPED}, 0.1),
    crane("rotary-crane", "000-5.3.2", {"minimal-extension:twice=true": HIDDEN, "direct": STOPPED}, 0.1),
    crane("rotary-crane:form=rope", "000-4.4.2", {"output-coordinates": TANGENTIAL}, 0.1),
    crane("rotary-crane-two-winches", "000-5.4.4", ROPES, no_other=INERTIA),
    crane("us-navy-crane-2d:pulley=massless", "000-6.1.1", MASSLESS | {"direct": STOPPED}, 0.02),
    crane("us-navy-crane-2d", "000-6.1.2", ROPES, 0.02),
    crane("us-navy-crane-3d:pulley=massless", "000-6.2.1", MASSLESS),
    crane("us-navy-crane-3d", "000-6.2.2-smooth", ROPES, index=7),
    crane("cablev", "000-6.3.7-rotation", CABLEV),
    crane("cablev", "000-6.3.7-translation", CABLEV),
    crane("cablev", "000-6.3.7-both", CABLEV),
)
QUICK = ("mass-chain 003", "mass-chain 003 damping=10")
BY_NAME = {case.name: case for case in CASES}


@functools.cache
def posed(name, formulation="kane"):
    """Return a case as a servo problem."""
    case = BY_NAME[name]
    opened = open_model(case.model)
    how = RunSettings(formulation=formulation)
    return pose_servo(opened.mechanism, opened.task(case.task), how, values=dict(case.values))


@functools.cache
def report(name):
    """Return the index analysis in joint coordinates; it is the same problem in others."""
    return analyse(posed(name))


@functools.cache
def solved(name, method, stepper, step, formulation="kane"):
    """Return the history of a case, or the refusal."""
    problem = posed(name, formulation)
    plugins = problem.posed.plugins
    way = select(plugins.of("inverse_dynamics"), method).chosen()
    try:
        refusal = way.refusal(problem)
        if refusal:
            raise MechanismError(refusal)
        refuse_if_impossible(
            report(name), Demands(way.name, way.realisations, way.causal, way.internal_states, way.redundant_inputs)
        )
        steps = select(plugins.of("servo_steppers"), f"{stepper}:step={step!r}")
        return PreparedInverse(problem, way, steps, report(name)).run()
    except KingpostError as error:
        return error


def coordinates(name):
    return [item.name for item in posed(name).equations.position_quantities]


def reference(name):
    """Return the coordinates and inputs that are right, at half the step of a case, in columns."""
    case = BY_NAME[name]
    task = posed(name).task
    if not case.internal:
        found = solved(name, "flat", "backward-euler", case.step / 2)
        assert not isinstance(found, KingpostError), found
    elif "mass-chain" in name:
        return damped_chain(name)
    else:
        # The same equations as an ordinary differential equation, by the method of Runge and Kutta: order 4.
        found = solved(name, "output-input:integrator=rk4", "backward-euler", case.step / 2)
    return np.column_stack([found[column] for column in (*coordinates(name), *task.inputs)])


def damped_chain(name):
    """Return places and force of masses on springs and dampers, each led by the next: T = d y' + k (y + l0) for each spring."""
    case, task = BY_NAME[name], posed(name).task
    count = len(coordinates(name))
    (path,) = task.path.values()
    k, d, free = 10.0, 10.0, 0.5
    masses = [1.0] + [2.0] * (count - 1)
    times = np.linspace(0.0, 6.0, round(6.0 / (case.step / 2)) + 1)

    def jets(t, stretches):
        """Return the derivatives of all places, the last mass first, and those of the force in front of all."""
        places = [np.array([float(path.value(t, {}, order)) for order in range(9)])]
        pull = masses[-1] * places[0][2:]
        for y0, mass in zip(stretches, masses[-2::-1], strict=True):
            y = [y0]
            for order in range(len(pull)):
                y.append((pull[order] - k * (y[order] + (free if order == 0 else 0.0))) / d)
            before = places[-1][: len(y)] + np.array(y)
            places.append(before)
            pull = pull[: len(before) - 2] + mass * before[2:]
        return places, pull

    def rates(t, stretches):
        places, _ = jets(t, stretches)
        return [before[1] - after[1] for after, before in itertools.pairwise(places)]

    ran = scipy.integrate.solve_ivp(
        rates, (0.0, 6.0), [-free] * (count - 1), t_eval=times, method="DOP853", rtol=1e-11, atol=1e-12
    )
    rows = []
    for t, stretches in zip(times, ran.y.T, strict=True):
        places, pull = jets(t, stretches)
        rows.append([*(place[0] for place in places[::-1]), pull[0]])
    return np.array(rows)


def errors(name, found, every):
    """Return the largest error of a coordinate, and the mean error of each input, at the samples that both have."""
    wanted = reference(name)[::every]
    n = len(coordinates(name))
    inside = (found.time > -1e-9) & (found.time < posed(name).task.t_end + 1e-9)
    columns = (*coordinates(name), *posed(name).task.inputs)
    off = np.abs(np.column_stack([found[column][inside] for column in columns]) - wanted)
    size = np.abs(wanted).max(axis=0)
    return off[:, :n].max(), off[:, n:].mean(axis=0), size[n:].max()


def marked(cases):
    return [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in cases]


@pytest.mark.parametrize("name", marked(BY_NAME))
def test_the_index_is_known(name):
    case, found = BY_NAME[name], report(name)
    assert (found.index, found.internal_states) == (case.index, case.internal)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", marked(BY_NAME))
def test_every_method_finds_the_same_or_says_why_not(name, method):
    case = BY_NAME[name]
    coarse = solved(name, method, "backward-euler", case.step)
    if method in case.refused:
        with pytest.raises(KingpostError, match=case.refused[method]):
            raise coarse if isinstance(coarse, KingpostError) else AssertionError("it was not refused")
        return
    if isinstance(coarse, KingpostError):
        raise coarse
    if method == "stable-inversion":
        check_stable_inversion(name, coarse, solved(name, method, "backward-euler", case.step / 2))
        return
    place, inputs, size = errors(name, coarse, 2)
    if method in WITHOUT_STEPS:
        assert place < SAME
        assert inputs.max() < ROUNDING * size
        return
    fine_place, fine_inputs, _ = errors(name, solved(name, method, "backward-euler", case.step / 2), 1)
    if case.exact and method != "direct":
        assert max(place, fine_place) < SAME
    else:
        assert fine_place < max(SAME, 0.7 * place)
    # Order one: half the error, with the next term of the series, which is a step's part of it; and rounding.
    for before, after in zip(inputs, fine_inputs, strict=True):
        assert after < max(0.7 * before, ROUNDING * size)


def check_stable_inversion(name, coarse, fine):
    """Collocation of order six on two meshes, the one twice as fine as the other: what is alike in both is right.

    It finds the motion that is bounded before and after the path, which is another than the one that begins at rest with it.
    """
    columns = (*coordinates(name), *posed(name).task.inputs)
    shared = fine.time[np.isclose(fine.time[:, None], coarse.time[None, :], atol=1e-9).any(axis=1)]
    assert len(shared) > 100
    for column in columns:
        one, other = (np.interp(shared, history.time, history[column]) for history in (coarse, fine))
        assert one == pytest.approx(other, abs=1e-7 * max(1.0, np.abs(other).max()))
    assert fine.provenance["inverse"]["residuals"]["position"] < SAME


@pytest.mark.parametrize("name", marked(case.name for case in CASES if case.exact))
def test_second_order_of_the_inputs_with_bdf2(name):
    """Away from the ends and the corners of the path, where derivatives jump."""
    case = BY_NAME[name]
    wanted = reference(name)
    task = posed(name).task
    ends = [0.0, task.t_end] if task.t_end < 10 else [0.0, 5.0, 15.0, 20.0]
    means = []
    for step, every in ((case.step, 2), (case.step / 2, 1)):
        found = solved(name, "minimal-extension", "bdf2", step)
        if isinstance(found, KingpostError):
            raise found
        away = np.min(np.abs(found.time[:, None] - np.array(ends)), axis=1) > 0.2 * (ends[1] - ends[0])
        off = np.column_stack([found[column] for column in task.inputs]) - wanted[::every, len(coordinates(name)) :]
        means.append(np.abs(off[away]).mean(axis=0))
    size = np.abs(wanted[:, len(coordinates(name)) :]).max()
    for before, after in zip(*means, strict=True):
        assert after < max(0.35 * before, 1e-7 * size)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "formulation"), [(case.name, other) for case in CASES for other in case.others])
def test_another_formulation_finds_the_same(name, formulation):
    """Without steps, everything; with steps, the same coordinates, and inputs that converge to the same.

    Steps of directors are chords of what turns, so that errors of inputs are others than in joint coordinates.
    """
    case, wanted = BY_NAME[name], reference(name)
    inputs, n = posed(name).task.inputs, len(coordinates(name))
    size = np.abs(wanted[:, n:]).max()

    def off(method, step):
        found = solved(name, method, "backward-euler", step, formulation)
        if isinstance(found, KingpostError):
            raise found
        rows = wanted[:: round(step / (case.step / 2))]
        for k, column in enumerate(coordinates(name)):
            if column in found:
                assert found[column] == pytest.approx(rows[:, k], abs=SAME)
        return np.abs(np.column_stack([found[column] for column in inputs]) - rows[:, n:]).mean(axis=0)

    assert off("flat", 0.5).max() < ROUNDING * size
    for method in ("minimal-extension", "projection"):
        for before, after in zip(off(method, case.step), off(method, case.step / 2), strict=True):
            assert after < max(0.7 * before, ROUNDING * size)


@pytest.mark.parametrize("name", [case.name for case in CASES if case.no_other])
def test_what_natural_coordinates_cannot_express_is_said(name):
    with pytest.raises(MechanismError, match=BY_NAME[name].no_other):
        posed(name, "directors")


@pytest.mark.slow
def test_a_path_that_is_too_rough_is_refused():
    opened = open_model("us-navy-crane-3d")
    found = analyse(pose_servo(opened.mechanism, opened.task("000-6.2.2")))
    with pytest.raises(MechanismError, match=r"not smooth enough for index 7: .* needs C\^6 and is C\^4"):
        refuse_if_impossible(found)
