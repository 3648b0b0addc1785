"""What a formulation says it takes, and what becomes of machines that it does not."""

import dataclasses

import pytest

from kingpost import MechanismError, PluginError, PluginSet, equilibrium, simulate
from kingpost.multibody.constraints import Constraints
from kingpost.plugins.formulations.kane import Kane
from kingpost.registry.selection import select
from kingpost.symbols.closure_kinds import CLOSURE_KINDS
from kingpost.symbols.joints import JOINT_KINDS

PLUGINS = PluginSet(entry_points=False)


def model(name):
    return select(PLUGINS.models, name).build()


class OpenLoops(Kane):
    """Leaves closures out."""

    name = "open-loops"

    def derive(self, assembly):
        equations = super().derive(assembly)
        return dataclasses.replace(equations, formulation=self.name, constraints=Constraints())


class TreesOnly(OpenLoops):
    """The same, and says so."""

    name = "trees-only"
    closure_kinds = ()


class KeptByItself(OpenLoops):
    """Claims that its coordinates keep the loop."""

    name = "kept-by-itself"

    def derive(self, assembly):
        names = tuple(closure.name for closure in assembly.mechanism.closures)
        return dataclasses.replace(super().derive(assembly), constraints=Constraints(kept=names))


@pytest.mark.parametrize("loads", [(), ("all",)])
def test_closures_that_are_left_out_are_refused_by_name(loads):
    with pytest.raises(
        PluginError, match=r"formulation 'open-loops' left closure \S+ out: .*'four-bar' would move with"
    ) as error:
        simulate(model("four-bar"), 0.1, formulation=OpenLoops, loads=loads, plugins=PLUGINS, backend="vm")
    assert all(closure.name in str(error.value) for closure in model("four-bar").closures)
    with pytest.raises(PluginError, match="left closure"):
        equilibrium(model("four-bar"), formulation=OpenLoops, plugins=PLUGINS)


def test_closures_that_the_coordinates_keep_need_no_rows():
    history = simulate(model("four-bar"), 0.01, formulation=KeptByItself, plugins=PLUGINS, backend="vm")
    assert len(history.time) == 2


def test_kinds_that_are_not_taken_are_refused_in_one_sentence_with_formulations_that_take_them():
    with pytest.raises(MechanismError) as error:
        simulate(model("four-bar"), 0.1, formulation=TreesOnly, plugins=PLUGINS)
    kinds = [f"{closure.kind} closure ('{closure.name}')" for closure in model("four-bar").closures]
    assert str(error.value) == (
        f"formulation 'trees-only' takes no {', '.join(kinds)}. Formulations that take 'four-bar': directors, kane, modular, "
        "nullspace, recursive"
    )
    double = model("double-pendulum")
    assert TreesOnly().refusal(double) == ""
    simulate(double, 0.01, formulation=TreesOnly, plugins=PLUGINS, backend="vm")


STRANGERS = '''
from dataclasses import dataclass

from kingpost import hookimpl
from kingpost.plugins.formulations.kane import Kane


@dataclass(frozen=True)
class Scale:
    scale: float
    shift: float = 0.0


class Scaled(Kane):
    """Must be told a scale."""

    name = "scaled"
    Options = Scale

    def derive(self, assembly):
        return Kane().derive(assembly)

    def refusal(self, mechanism):
        return super().refusal(mechanism) or ("" if self.options.scale > 0 else "it wants a scale above zero")


class ScaledTrees(Scaled):
    """The same for trees."""

    name = "scaled-trees"
    closure_kinds = ()


@hookimpl
def kingpost_register_formulations():
    return [Scaled, ScaledTrees]
'''


def test_formulations_that_must_be_given_options_are_listed_with_them(tmp_path):
    (tmp_path / "strangers.py").write_text(STRANGERS, encoding="utf-8")
    plugins = PluginSet([tmp_path / "strangers.py"], entry_points=False)
    with pytest.raises(MechanismError) as error:
        simulate(model("four-bar"), 0.1, formulation="quaternions", plugins=plugins)
    assert str(error.value).endswith(
        "Formulations that take 'four-bar': directors, kane, modular, nullspace, recursive, scaled:scale=..."
    )
    with pytest.raises(MechanismError, match=r"'scaled-trees' takes no .* recursive, scaled:scale=\.\.\.$"):
        simulate(model("four-bar"), 0.1, formulation="scaled-trees:scale=1", plugins=plugins)
    history = simulate(model("double-pendulum"), 0.01, formulation="scaled:scale=2", plugins=plugins, backend="vm")
    assert len(history) == 2
    with pytest.raises(MechanismError, match="it wants a scale above zero"):
        simulate(model("double-pendulum"), 0.01, formulation="scaled:scale=-2", plugins=plugins)
    with pytest.raises(PluginError, match=r"formulation 'scaled' lacks 'scale'. It takes: scale \(required\), shift = 0.0"):
        simulate(model("double-pendulum"), 0.01, formulation="scaled", plugins=plugins)


def test_kinds_that_there_are_not_are_a_fault_of_the_plugin():
    class Misspelt(Kane):
        """A kind that is none."""

        name = "misspelt"
        joint_kinds = ("revolut",)

    with pytest.raises(PluginError, match="'revolut' in joint_kinds, which is no kind; did you mean 'revolute'?"):
        simulate(model("double-pendulum"), 0.1, formulation=Misspelt, plugins=PLUGINS)


def test_what_the_built_in_formulations_take():
    said = {name: PLUGINS.formulations.get(name).limits() for name in PLUGINS.formulations}
    everything = "takes joints of every kind and closures of every kind"
    assert said["kane"].endswith(everything)
    assert said["recursive"].endswith(everything)
    for name in ("directors", "nullspace"):
        assert said[name] == f"formulation '{name}' takes joints of every kind but given and closures of every kind"
    assert said["quaternions"] == "formulation 'quaternions' takes joints of no other kind than spherical, free and no closures"
    assert {*JOINT_KINDS} > {"given"} and {*CLOSURE_KINDS} > {"spherical"}


def test_a_body_on_another_is_refused_where_bodies_hang_on_the_world():
    tops = model("heavy-top")
    joint = tops.joints[0]
    second = dataclasses.replace(joint, name="second", parent=joint.child, child="rider")
    rider = dataclasses.replace(tops.bodies[0], name="rider")
    stacked = dataclasses.replace(tops, bodies=(*tops.bodies, rider), joints=(joint, second))
    with pytest.raises(MechanismError, match="'quaternions' is for bodies that hang on the world; 'rider' hangs on"):
        simulate(stacked, 0.1, formulation="quaternions", plugins=PLUGINS)
