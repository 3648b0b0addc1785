"""Every built-in model in every formulation: the same accelerations, energies, outputs and joint loads, or a clear refusal.

Models and formulations come from the registry, so that new ones are compared, too.
"""

import re
from functools import cache

import numpy as np
import pytest

from kingpost import MechanismError, PluginError, PluginSet, SolverError, simulate
from kingpost.equations.consistency import consistent_start
from kingpost.equations.redundancy import without_redundant_rows
from kingpost.loads.load_dependent import with_judged_loads
from kingpost.mechanism.values import resolve_values
from kingpost.multibody.assembly import assemble
from kingpost.registry.selection import select
from kingpost.simulation.problem import derive, start_state, with_loads

PLUGINS = PluginSet(entry_points=False)
#: The one that the others are compared with; against Pinocchio, MuJoCo and closed forms it has tests of its own.
REFERENCE = "kane"
FORMULATIONS = [name for name in PLUGINS.formulations if name != REFERENCE]
#: Models that are described by subsystems alone have no bodies for a formulation; tests/core/modular holds them. Friction that
#: depends on loads is not for every formulation.
MODELS = [name for name in PLUGINS.models if name != "chain" and not name.endswith("-subsystems")]
MODELS += ["chain:links=3", "spatial-slider-crank:friction=none"]
EXPRESS_EVERYTHING = ("kane", "modular", "recursive")
#: What any other formulation may say instead of equations.
REFUSALS = (
    r"formulation '\w+' takes no .*\('.*'\).*\. Formulations that take '.*': .*kane",
    r"force '.*' \(.*\) depends on the load of joint .* takes no forces that depend on joint loads. Formulations .*: kane",
    r"force '.*' \(.*\) adds inertia to (body|coordinate) '.*', which .* cannot express; use formulation 'kane' or 'recursive'",
)
#: Large machines that differ from others in the list by numbers or names of directions alone, or have tests of their own.
LARGE = (
    "tadpole-tricycle",
    "offshore-crane",
    "offshore-crane-on-base",
    "offshore-crane-on-base-ned",
    "offshore-vessel",
    "offshore-vessel-plain",
    "offshore-crane-cylinder",
    "barge",
    "barge-crane",
    "small-crane-on-base",
    "small-crane-parked-on-base",
    "us-navy-crane-3d",
)
MODELS_BY_SIZE = [pytest.param(name, marks=pytest.mark.slow) if name in LARGE else name for name in MODELS]
#: At a state: some 1e4 operations, and condition numbers of M and of the constraints up to 1e4 or so.
AT_A_STATE = 1e-9
#: Those whose motion every run of the tests compares: closed loops and trees, with and without quaternions.
MOTIONS = ("four-bar", "slider-crank", "heavy-top", "double-pendulum")


class Machine:
    """A model in a formulation, observed at states that are given in joint coordinates."""

    def __init__(self, name, formulation):
        self.mechanism = select(PLUGINS.models, name).build()
        self.assembly = assemble(self.mechanism, PLUGINS)
        self.equations = derive(self.assembly, formulation, PLUGINS)
        values = resolve_values(self.mechanism, {})
        self.p, self.u = np.array(list(values.parameters.values())), np.array(list(values.inputs.values()))
        self.start = start_state(self.assembly, self.equations, values)
        self.equations = with_judged_loads(without_redundant_rows(self.equations, 0.0, self.start, self.p))

    def state(self, q, v):
        """Return q and v of the formulation."""
        if self.equations.coordinates.initial is None:
            return q, v
        return self.equations.split(np.asarray(self.equations.coordinates.initial(q, v, self.p)).ravel())

    def joint_accelerations(self, q, v):
        own = self.state(q, v)
        vdot = self.equations.accelerations(0.0, *own, self.equations.acting(self.u, self.start), self.p)
        if self.equations.coordinates.joint_state is not None:
            vdot = self.equations.coordinates.joint_state(*own, vdot, self.p)[2]
        return np.asarray(vdot).ravel()

    def observer(self, method):
        """Return the function of a state that gives all channels by name, with the loads of all joints by some method."""
        equations = with_loads(self.assembly, self.equations, "all", method, PLUGINS)
        names = [channel.name for channel in equations.channels]

        def observed(q, v):
            x = np.concatenate([*self.state(q, v), equations.states_of(self.start)])
            return dict(zip(names, np.asarray(equations.observe(0.0, x, self.u, self.p)).ravel(), strict=True))

        return observed


@cache
def reference(name):
    """Return the reference, three random states of it that fit its loops, and what it says there."""
    machine = Machine(name, REFERENCE)
    equations, mechanism = machine.equations, machine.mechanism
    rng, states = np.random.default_rng(7), []
    far = 0.05 if mechanism.closures else 0.3
    for _ in range(3):
        x = machine.start.copy()
        x[: equations.nq] += rng.uniform(-far, far, equations.nq)
        x[equations.nq : equations.nq + equations.nv] += rng.uniform(-1, 1, equations.nv)
        x = np.asarray(equations.normalised(x)).ravel()
        states.append(equations.split(consistent_start(equations, 0.0, x, machine.p, far=True).x))
    observed = machine.observer("recursive")
    return states, [(machine.joint_accelerations(*state), observed(*state)) for state in states]


def derived(name, formulation):
    """Return a machine in a formulation, or None if the formulation refuses it for a reason that is known."""
    try:
        return Machine(name, formulation)
    except (MechanismError, SolverError) as refusal:
        if formulation in EXPRESS_EVERYTHING or not any(re.search(pattern, str(refusal)) for pattern in REFUSALS):
            raise
        return None


def assert_same_channels(ours, theirs, what):
    """Compare all channels that both have; loads of a joint relative to the largest of that joint, or else to themselves."""
    joints = {name[:-3] for name in theirs if name.endswith(".Mx")}
    scales = {
        joint: max(1.0, *(abs(value) for name, value in theirs.items() if name.startswith(f"{joint}."))) for joint in joints
    }
    compared = 0
    for name, value in theirs.items():
        if name not in ours or name.startswith("loads.residual"):
            continue
        scale = next((scales[joint] for joint in joints if name.startswith(f"{joint}.")), max(1.0, abs(value)))
        assert abs(ours[name] - value) <= AT_A_STATE * scale, f"{what}, {name}: {ours[name]} and {value}"
        compared += 1
    assert compared > 6 * len(joints)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("name", MODELS_BY_SIZE)
def test_accelerations_and_loads_are_those_of_the_reference(name, formulation):
    ours = derived(name, formulation)
    if ours is None:
        return
    states, expected = reference(name)
    observed = ours.observer(None)
    for state, (accelerations, channels) in zip(states, expected, strict=True):
        found = ours.joint_accelerations(*state)
        assert np.abs(found - accelerations).max() <= AT_A_STATE * max(1.0, np.abs(accelerations).max())
        assert_same_channels(observed(*state), channels, f"{name}, {formulation}")


def observers(machine):
    """Yield each load method with what it observes; `multipliers` may say that a formulation has none, and nothing else may."""
    for method in PLUGINS.joint_loads:
        try:
            yield method, machine.observer(method)
        except PluginError as refusal:
            if method != "multipliers" or not re.search(
                "come from Lagrange multipliers|what its multipliers amount to", str(refusal)
            ):
                raise


@pytest.mark.slow
@pytest.mark.parametrize("formulation", list(PLUGINS.formulations))
@pytest.mark.parametrize("name", MODELS)
def test_every_load_method_gives_the_loads_of_the_reference(name, formulation):
    ours = derived(name, formulation)
    if ours is None:
        return
    states, expected = reference(name)
    for method, observed in observers(ours):
        for state, (_, channels) in zip(states, expected, strict=True):
            assert_same_channels(observed(*state), channels, f"{name}, {formulation}, {method}")


@cache
def motion(name, formulation):
    """Return the motion over a hundred of a model's own steps, with an error far below that of the comparison."""
    cls = PLUGINS.models.get(name.partition(":")[0])
    options = {"integrator": "dop853:rtol=1e-11,atol=1e-12", "output_step": 10 * cls.step, "plugins": PLUGINS, "backend": "vm"}
    return simulate(select(PLUGINS.models, name).build(), 100 * cls.step, formulation=formulation, **options)


def assert_same_motion(name, formulation):
    if derived(name, formulation) is None:
        return
    theirs, ours = motion(name, REFERENCE), motion(name, formulation)
    names = [channel for channel in theirs.names if channel in ours.names]
    assert {"energy.kinetic", "energy.potential"} < set(names)
    for channel in names:
        scale = max(1.0, np.abs(theirs[channel]).max())
        assert np.abs(ours[channel] - theirs[channel]).max() <= 1e-8 * scale, f"{name}, {formulation}: {channel}"


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("name", MOTIONS)
def test_motion_is_that_of_the_reference(name, formulation):
    assert_same_motion(name, formulation)


@pytest.mark.slow
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("name", [name for name in MODELS if name not in MOTIONS])
def test_motions_of_all_others_are_those_of_the_reference(name, formulation):
    assert_same_motion(name, formulation)
