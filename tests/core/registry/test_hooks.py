"""One test for each hook, by name (tests/docs looks for them here), and kinds of plugins of one's own."""

import dataclasses
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from kingpost import ForceElement, PluginError, PluginSet, inverse, simulate
from kingpost.testing import check_executor, check_reducer, check_sampler
from kingpost.testing.problems import pendulum

PLUGINS_PAGE = Path(__file__).parents[3] / "docs" / "plugins.md"


def hook_test(plugin_file, hook, base, body):
    module = f"kingpost.{base}".rpartition(".")[0]
    path = plugin_file(
        f"""
from dataclasses import dataclass
import {module}

class Mine(kingpost.{base}):
    \"\"\"Mine.\"\"\"
    name = "mine"
{textwrap.indent(textwrap.dedent(body), "    ")}

@kingpost.hookimpl
def {hook}():
    return Mine
"""
    )
    return PluginSet([path], entry_points=False)


def test_hook_kingpost_register_formulations(plugin_file):
    plugins = hook_test(
        plugin_file,
        "kingpost_register_formulations",
        "Formulation",
        """
        def derive(self, assembly):
            from kingpost.plugins.formulations.kane import Kane
            return Kane().derive(assembly)
        """,
    )
    assert len(simulate(pendulum(), 0.1, formulation="mine", plugins=plugins)) == 11


def test_hook_kingpost_register_formalisms(plugin_file):
    """A formalism in a file is a formulation of the same name, too."""
    plugins = hook_test(
        plugin_file,
        "kingpost_register_formalisms",
        "Formalism",
        """
        def derive(self, machine):
            from kingpost.plugins.formalisms.newton_euler import recursive_matrices
            return kingpost.Road(*recursive_matrices(machine))
        """,
    )
    assert "mine" in plugins.formalisms
    assert "mine" not in plugins.formulations
    assert len(simulate(pendulum(), 0.1, formulation="mine", plugins=plugins)) == 11
    assert [str(source.origin) for source in plugins.formulations.sources("mine")] == ["file"]


def test_hook_kingpost_register_integrators(plugin_file):
    plugins = hook_test(
        plugin_file,
        "kingpost_register_integrators",
        "Solver",
        """
        order = 1
        def march(self, problem):
            x = problem.x0
            for a, b in zip(problem.times[:-1], problem.times[1:]):
                x = x + (b - a) * problem.rhs(a, x)
                yield x
        """,
    )
    assert len(simulate(pendulum(), 0.1, integrator="mine", plugins=plugins)) == 11


def test_hook_kingpost_register_joint_loads(plugin_file):
    plugins = hook_test(
        plugin_file,
        "kingpost_register_joint_loads",
        "JointLoads",
        """
        def constraint_wrenches(self, dynamics, equations, joints):
            from kingpost.plugins.joint_loads.recursive import RecursiveLoads
            found = RecursiveLoads().constraint_wrenches(dynamics, equations, joints)
            return {name: 2 * wrench for name, wrench in found.items()}
        """,
    )
    ways = ("mine", "recursive")
    doubled, single = (simulate(pendulum(), 0.1, loads="all", load_method=way, plugins=plugins) for way in ways)
    assert doubled["pivot.Fz"] == pytest.approx(2 * single["pivot.Fz"])
    # The residual tells that something is wrong with it.
    assert doubled["loads.residual.force"].max() == pytest.approx(np.linalg.norm(single.loads("pivot").total, axis=1).max())


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return {}", "joint loads 'mine' gave nothing for joint pivot"),
        ("return {'pivot': dynamics.t}", "joint loads 'mine': joint 'pivot' got a 1 x 1 wrench, expected 6 x 1"),
    ],
)
def test_a_joint_load_plugin_that_gives_something_else_is_named(plugin_file, body, message):
    method = f"def constraint_wrenches(self, dynamics, equations, joints):\n    {body}\n"
    plugins = hook_test(plugin_file, "kingpost_register_joint_loads", "JointLoads", method)
    with pytest.raises(PluginError, match=message):
        simulate(pendulum(), 0.1, loads="all", load_method="mine", plugins=plugins)


def test_hook_kingpost_register_forces(plugin_file):
    plugins = hook_test(
        plugin_file,
        "kingpost_register_forces",
        "Force",
        """
        def loads(self, kinematics):
            return kingpost.Loads(efforts={"pivot.angle": 3.0 - kinematics.rate("pivot.angle")})
        """,
    )
    mechanism = dataclasses.replace(pendulum(), forces=(ForceElement("mine"),))
    history = simulate(mechanism, 100.0, plugins=plugins, step=0.01)
    assert history["pivot.angle.rate"][-1] == pytest.approx(3.0, rel=1e-6)


def test_hook_kingpost_register_models(plugin_file, kingpost_cli):
    path = plugin_file()
    hook_test(
        plugin_file,
        "kingpost_register_models",
        "Model",
        """
        def build(self):
            from kingpost.testing.problems import pendulum
            return pendulum()
        """,
    )
    assert kingpost_cli("run", "mine", "--plugin", path, "--t-end", "0.1", "--write", "csv").status == 0


def servo_problem():
    from kingpost.modelfiles.opened import open_model

    chain = open_model("mass-chain")
    return chain.mechanism, chain.task("003")


def test_hook_kingpost_register_inverse_dynamics(plugin_file):
    (code, _) = re.findall(r"```python\n(class (?:AtSpeedLevel|BackwardEuler).*?)```", PLUGINS_PAGE.read_text(), flags=re.S)
    path = plugin_file(
        f"import kingpost\n\n{code}\n@kingpost.hookimpl\ndef kingpost_register_inverse_dynamics():\n    return AtSpeedLevel\n"
    )
    plugins = PluginSet([path], entry_points=False)
    history = inverse(*servo_problem(), method="at-speed-level", stepper="backward-euler:step=0.01", plugins=plugins)
    assert np.abs(history["servo.speed.mass2.x"]).max() < 1e-10
    assert history.provenance["inverse"]["method"]["name"] == "at-speed-level"


def pendulum_optimum(plugins, **changes):
    from dataclasses import replace

    from kingpost import RunSettings, optimise
    from kingpost.modelfiles.opened import open_model

    pendulum = open_model("mathematical-pendulum", plugins)
    transcription = changes.pop("transcription", "step")
    task = replace(pendulum.optimal_task("001"), **changes)
    how = RunSettings(backend="vm")
    return optimise(pendulum.mechanism, task, transcription=transcription, how=how, plugins=plugins)


IMPORTS = "import casadi as ca\nimport numpy as np\nimport kingpost\n\n"


def test_hook_kingpost_register_optimal_control(plugin_file):
    (code,) = re.findall(r"```python\n(class ForwardEuler.*?)```", PLUGINS_PAGE.read_text(), flags=re.S)
    path = plugin_file(
        f"{IMPORTS}{code}\n@kingpost.hookimpl\ndef kingpost_register_optimal_control():\n    return ForwardEuler\n"
    )
    found = pendulum_optimum(PluginSet([path], entry_points=False), transcription="forward-euler")
    assert found.status == "optimal"
    q, v = found.states.T
    assert np.abs(np.diff(q) - found.h * v[:-1]).max() < 1e-9


def test_hook_kingpost_register_cost_terms(plugin_file):
    (code,) = re.findall(r"```python\n(class Jerky.*?)```", PLUGINS_PAGE.read_text(), flags=re.S)
    path = plugin_file(f"{IMPORTS}{code}\n@kingpost.hookimpl\ndef kingpost_register_cost_terms():\n    return Jerky\n")
    found = pendulum_optimum(PluginSet([path], entry_points=False), costs=("jerky",))
    assert found.cost == pytest.approx((np.diff(found.inputs[:, 0]) ** 2).sum(), rel=1e-9)


def test_hook_kingpost_register_nlp_solvers(plugin_file):
    (code,) = re.findall(r"```python\n(class Sqp.*?)```", PLUGINS_PAGE.read_text(), flags=re.S)
    hook = "@kingpost.hookimpl\ndef kingpost_register_nlp_solvers():\n    return Sqp\n"
    path = plugin_file(f"from dataclasses import replace\n{IMPORTS}{code}\n{hook}")
    from kingpost.testing.nlp_solvers import NlpSolverSubject, check_least_cost, check_multipliers

    subject = NlpSolverSubject("sqp", PluginSet([path], entry_points=False))
    check_least_cost(subject)
    check_multipliers(subject)


def test_hook_kingpost_register_servo_steppers(plugin_file):
    (_, code) = re.findall(r"```python\n(class (?:AtSpeedLevel|BackwardEuler).*?)```", PLUGINS_PAGE.read_text(), flags=re.S)
    path = plugin_file(
        f"import kingpost\n\n{code}\n@kingpost.hookimpl\ndef kingpost_register_servo_steppers():\n    return BackwardEuler\n"
    )
    plugins = PluginSet([path], entry_points=False)
    mine, ours = (
        inverse(*servo_problem(), method="minimal-extension", stepper=f"{name}:step=0.02", plugins=plugins)
        for name in ("my-euler", "backward-euler")
    )
    assert (mine["force"] == ours["force"]).all()


def test_hook_kingpost_register_feedback(plugin_file):
    (code,) = re.findall(r"```python\n(class Pull.*?)```", PLUGINS_PAGE.read_text(), flags=re.S)
    path = plugin_file(
        f"import casadi as ca\nimport kingpost\n\n{code}\n"
        "@kingpost.hookimpl\ndef kingpost_register_feedback():\n    return Pull\n"
    )
    from kingpost.fmu.blocks import controller_block

    block, loop = controller_block(*servo_problem(), "pull", plugins=PluginSet([path], entry_points=False))
    p = [entry.default for entry in block.parameters]
    # The path is at 0.5 m and the last mass at 0.3 m; the force at the start is zero.
    assert float(block.step(0.0, [], [0.0, 0.3, 0.0, 0.0], p, 0.01)[1]) == pytest.approx(0.2, abs=1e-9)
    assert loop.problem.input_names == ("force",)


def test_hook_kingpost_register_writers(plugin_file, kingpost_cli, tmp_path):
    path = plugin_file()
    hook_test(
        plugin_file,
        "kingpost_register_writers",
        "Writer",
        """
        suffix = ".txt"
        def write(self, history, path):
            path.write_text(str(len(history)))
        """,
    )
    outcome = kingpost_cli("run", "double-pendulum", "--plugin", path, "--t-end", "0.1", "--write", "mine", "--out", "o")
    assert outcome.status == 0
    assert (tmp_path / "o" / "history.txt").read_text() == "11"


def test_hook_kingpost_register_samplers(plugin_file):
    plugins = hook_test(
        plugin_file,
        "kingpost_register_samplers",
        "studies.sampler.Sampler",
        """
        def count(self):
            return 1
        def cases(self):
            yield kingpost.studies.sampler.Sample({"length": 2.0}, labels={"length": 2.0})
        """,
    )
    check_sampler("mine", plugins=plugins)


def test_hook_kingpost_register_reducers(plugin_file):
    plugins = hook_test(
        plugin_file,
        "kingpost_register_reducers",
        "studies.reducer.Reducer",
        """
        def channels(self, available):
            return kingpost.studies.reducer.chosen_channels(["tip.z"], [channel.name for channel in available], "mine")
        def reduce(self, history):
            return {"tip.z:first": float(history["tip.z"][0])}
        """,
    )
    check_reducer("mine", plugins=plugins)


def test_hook_kingpost_register_executors(plugin_file):
    plugins = hook_test(
        plugin_file,
        "kingpost_register_executors",
        "studies.executor.Executor",
        """
        def outcomes(self, work, cases):
            worker = work.prepare()
            for case in cases:
                yield worker.run(case)
        """,
    )
    check_executor("mine", plugins=plugins)


def test_hook_kingpost_register_exporters(plugin_file, kingpost_cli, tmp_path):
    path = plugin_file()
    hook_test(
        plugin_file,
        "kingpost_register_exporters",
        "Exporter",
        """
        suffix = ".txt"
        def export(self, model, selection, path):
            path.write_text(f"{model.mechanism.name} {model.equations.nv} {model.step:g}")
            return kingpost.Exported(path, (("size", "small"),))
        """,
    )
    outcome = kingpost_cli("export", "double-pendulum", "--to", "mine", "--step", "0.002", "--plugin", path)
    assert outcome.status == 0, outcome.err
    assert (tmp_path / "double-pendulum.txt").read_text() == "double-pendulum 2 0.002"
    assert "small" in outcome.out


def test_hook_kingpost_register_masters(plugin_file, kingpost_cli, tmp_path):
    path = plugin_file()
    hook_test(
        plugin_file,
        "kingpost_register_masters",
        "fmu.cosim.masters.interface.Master",
        """
        def begin(self, coupling):
            def advance(t, h):
                coupling.transfer()
                for partner in coupling.partners:
                    partner.step(t, h)
                return h
            return advance
        """,
    )
    (tmp_path / "system.toml").write_text('[components.pendulum]\nmodel = "double-pendulum"\n')
    words = ("cosim", "system.toml", "--master", "mine", "--t-end", "0.1", "--step", "0.05", "--write", "csv", "--plugin", path)
    outcome = kingpost_cli(*words)
    assert outcome.status == 0, outcome.err
    assert "mine" in outcome.out


def test_hook_kingpost_register_commands(plugin_file, kingpost_cli):
    path = plugin_file()
    hook_test(
        plugin_file,
        "kingpost_register_commands",
        "Command",
        """
        def configure(self, parser):
            parser.add_argument("number", type=int)
        def run(self, arguments, plugins):
            print(2 * arguments.number)
            return 0
        """,
    )
    assert kingpost_cli("mine", "21", "--plugin", path).out == "42\n"


def test_nothing_of_a_kind_is_loaded_before_it_is_asked_for():
    code = (
        "import sys, kingpost; plugins = kingpost.PluginSet(entry_points=False)\n"
        "print([name for name in sys.modules if name.startswith('kingpost.plugins') or name == 'casadi'])\n"
        "len(plugins.writers); print(sorted(name for name in sys.modules if name.endswith('.hooks')), 'casadi' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "['kingpost.fmu.hooks', 'kingpost.plugins.writers.hooks'] False"]


KIND_OF_ONES_OWN = """\
from abc import abstractmethod
from kingpost import Plugin, PluginKind, hookimpl


class Painter(Plugin):
    kind = "painter"
    colours: int

    @abstractmethod
    def paint(self, wall): ...


class Red(Painter):
    \"\"\"Paints it red.\"\"\"

    name = "red"
    colours = 1

    def paint(self, wall):
        return f"red {wall}"


@hookimpl
def kingpost_register_kinds():
    return [PluginKind("painters", f"{__name__}:Painter", "those who paint")]


@hookimpl
def kingpost_register_painters():
    return [Red]
"""


def test_hook_kingpost_register_kinds(tmp_path):
    path = tmp_path / "painters.py"
    path.write_text(KIND_OF_ONES_OWN)
    plugins = PluginSet([path], entry_points=False)
    assert list(plugins.painters) == ["red"] and plugins.of("painters").get("red")().paint("wall") == "red wall"
    assert {"kind": "painter", "name": "red", "summary": "Paints it red."}.items() <= plugins.listing()[-1].items()
    with pytest.raises(PluginError, match="unknown painter 'rod'; did you mean 'red'"):
        plugins.painters.get("rod")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"painters", f', '"forces", f'), "a kind of plugins 'forces' already"),
        (("    colours = 1\n", ""), "lacks the class attribute 'colours'"),
        (("def paint(self, wall):\n        return", "def splash(self, wall):\n        return"), "lacks the method paint"),
        (("register_painters", "register_paintrs"), "did you mean 'kingpost_register_painters'"),
        (("return [PluginKind", "return [str, PluginKind"), "expected instances of kingpost.PluginKind"),
    ],
)
def test_a_kind_of_ones_own_is_checked_like_any_other(tmp_path, change, message):
    path = tmp_path / "painters.py"
    assert change[0] in KIND_OF_ONES_OWN
    path.write_text(KIND_OF_ONES_OWN.replace(*change))
    with pytest.raises(PluginError, match=message):
        PluginSet([path], entry_points=False)


def test_an_unknown_kind_is_named():
    with pytest.raises(PluginError, match="no kind of plugins 'integrator'; did you mean 'integrators'"):
        PluginSet(entry_points=False).of("integrator")
    with pytest.raises(AttributeError, match="no attribute 'integrator'"):
        _ = PluginSet(entry_points=False).integrator
