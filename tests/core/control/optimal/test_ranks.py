"""Which ends inputs can change independently, through phases: against what momentum and counting say."""

from dataclasses import replace

import numpy as np
import pytest

from kingpost import (
    Body,
    ForceElement,
    Input,
    Joint,
    Mechanism,
    MechanismError,
    OptimalTask,
    Output,
    Parameter,
    Phase,
    RunSettings,
    optimise,
)
from kingpost.control.optimal.phases import Piece, linked
from kingpost.control.optimal.ranks import _ends as ends_of
from kingpost.control.optimal.ranks import _slopes, check_end

VM = RunSettings(backend="vm")
FORCE = Input("force", "N")
MASS = Parameter("m", 2.0, "kg")


def slide(name, parent="world"):
    return Joint(name, "prismatic", parent, name, axis=(1, 0, 0), coordinates=("x",))


@pytest.fixture(scope="module")
def pair():
    """Two masses on a rail, and a force between them: what they have of momentum together stays zero."""
    return Mechanism(
        name="pair",
        parameters=(MASS,),
        inputs=(FORCE,),
        bodies=(Body("one", mass=MASS), Body("other", mass=3.0)),
        joints=(slide("one"), slide("other")),
        forces=(
            ForceElement("joint-effort", name="there", coordinate="one.x", effort=FORCE),
            ForceElement("joint-effort", name="back", coordinate="other.x", effort=-FORCE),
        ),
        outputs=(Output("tip", "one"),),
    )


@pytest.fixture(scope="module")
def solved(pair, plugins):
    def solve(*phases, end, how=VM, **changes):
        task = replace(OptimalTask(("force",), phases=phases, end=end, intervals=6), **changes)
        return optimise(pair, task, how=how, plugins=plugins)

    return solve


def test_what_follows_in_a_later_phase_is_named(solved):
    """The place of the tip is that of its mass; each of them may be prescribed once in every phase."""
    with pytest.raises(MechanismError, match=r"1 of the 3 end conditions follow") as caught:
        solved(Phase(1.0, end={"one.x": 1.0}), Phase(1.0, name="back"), end={"one.x": 0.5, "tip.x": 0.5})
    assert "'one.x' at the end of phase 'back'" in str(caught.value)
    assert "'tip.x' at the end of phase 'back'" in str(caught.value)
    assert "phase '1'" not in str(caught.value)
    assert caught.value.path == ("end", "one.x")
    found = solved(Phase(1.0, end={"tip.x": 1.0}), Phase(1.0), end={"one.x": 0.5, "one.x.rate": 0.0})
    assert found.notes == ()


def test_what_motions_keep_ties_phases_to_each_other(solved):
    """Both places at the end of one phase are as many conditions as momentum leaves free there, less one."""
    with pytest.raises(MechanismError, match=r"1 of the 4 end conditions follow") as caught:
        solved(Phase(1.0, end={"one.x": 0.6, "one.x.rate": 0.0}), Phase(1.0), end={"one.x": 0.3, "other.x": -0.2})
    assert "'other.x' at the end of phase '2'" in str(caught.value)


def test_a_phase_that_says_something_that_nothing_changes(plugins):
    machine = Mechanism(
        name="two-masses",
        inputs=(FORCE,),
        bodies=(Body("pushed", mass=1.0), Body("left", mass=1.0)),
        joints=(slide("pushed"), slide("left")),
        forces=(ForceElement("joint-effort", coordinate="pushed.x", effort=FORCE),),
    )
    early, late = Phase(1.0, end={"pushed.x": 0.2}), Phase(1.0, end={"left.x": 1.0})
    task = OptimalTask(("force",), phases=(early, late), end={"pushed.x": 1.0}, intervals=5)
    with pytest.raises(MechanismError, match=r"no input changes 'left.x' at the end of phase '2', so that") as caught:
        optimise(machine, task, how=VM, plugins=plugins)
    assert caught.value.path == ("phases", 1, "end", "left.x")


def test_inputs_of_earlier_phases_count(solved):
    """Two values at the end of a phase with one interval: its own input alone could not do it, but its start is free."""
    found = solved(Phase(1.0, intervals=3), Phase(1.0, intervals=1), end={"one.x": 0.5, "one.x.rate": 0.0})
    assert found.status == "optimal"
    assert found.notes == ()


def test_lengths_that_are_found_count(solved):
    """One force for one second each way: two values at the end from one input and one time."""
    found = solved(Phase((0.2, 3.0), intervals=1), Phase(1.0, intervals=1), end={"one.x": 0.5, "one.x.rate": 0.0})
    assert found.status == "optimal"
    assert found.states[-1] == pytest.approx([0.5, -1 / 3, 0.0, 0.0], abs=1e-7)


@pytest.mark.parametrize("keeps", ["speeds", "momenta"])
@pytest.mark.parametrize("control", ["constant", "linear"])
def test_slopes_are_those_of_the_motion(solved, keeps, control):
    """Masses under forces: the last speed changes with every impulse, less by the ratio of masses where one was picked up.

    One mass picks up as much as it weighs between phases; what is lost is the speed, or nothing.
    """
    phases = Phase(1.0), Phase(1.0, keeps=keeps, settings={"m": 4.0})
    found = solved(*phases, end={"one.x.rate": 0.7}, control=control, intervals=3)
    pieces = [Piece(part.problem, part.rule, part.program, part.solution.w) for part in found.parts]
    joints = linked(found.problem, pieces).joints
    assert check_end(found.problem, pieces, joints) == ""
    slopes = _slopes(pieces, joints, [3, 3], ends_of(found.problem, pieces))[0]
    lost = 0.5 if keeps == "momenta" else 1.0
    impulses = np.array([lost / 2] * 3 + [1 / 4] * 3) / 3
    places = [part.program.layout.state if control == "linear" else part.program.layout.node for part in found.parts]
    first, second = (part.program.scales[place] for part, place in zip(found.parts, places, strict=True))
    if control == "constant":
        assert slopes == pytest.approx(impulses * ([first] * 3 + [second] * 3), rel=1e-9)
    else:
        # Trapezoids: half of the impulses on both sides of a node; where phases meet, there is one input.
        nodal = (np.append(impulses, 0.0) + np.append(0.0, impulses)) / 2
        assert slopes == pytest.approx(nodal * ([first] * 4 + [second] * 3), rel=1e-9)
