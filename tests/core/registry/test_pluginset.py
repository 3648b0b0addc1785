"""Where plugins come from, and what is said about broken ones."""

import dataclasses
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint

import numpy as np
import pytest

import kingpost.registry.pluginset
from kingpost import ForceElement, MechanismError, PluginError, PluginSet, Solver, StepMap, simulate
from kingpost.equations.integrator import Integrator
from kingpost.registry.registry import find_fault
from kingpost.testing.problems import pendulum

PLUGIN = """\
from kingpost import StepMap, hookimpl

class Mine(StepMap):
    \"\"\"My own Euler.\"\"\"

    name = "mine"
    order = 1

    def step(self, equations, t, x, u, p, h):
        return x + h * equations.rhs(t, x, u, p)

@hookimpl
def kingpost_register_integrators():
    return [Mine]
"""


@pytest.fixture
def plugin_file(tmp_path):
    def write(text=PLUGIN, name="plugin.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return path

    return write


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Pretend that distributions with an entry point are installed: installed(foo="module text")."""

    class Pretended(Distribution):
        def __init__(self, name):
            self._name = name

        def read_text(self, filename):
            return f"Metadata-Version: 2.1\nName: {self._name}\nVersion: 1.2.3\n" if filename == "METADATA" else None

        def locate_file(self, path):
            return tmp_path / path

    def install(**modules):
        points = []
        monkeypatch.syspath_prepend(str(tmp_path))
        for name, text in modules.items():
            (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
            monkeypatch.delitem(sys.modules, name, raising=False)
            point = EntryPoint(name=name, value=name, group="kingpost")
            points.append(point._for(Pretended(f"kingpost-{name}")))
        monkeypatch.setattr(kingpost.registry.pluginset.importlib.metadata, "entry_points", lambda group: points)

    return install


def test_importing_kingpost_loads_no_plugin():
    code = "import sys, kingpost; print([m for m in sys.modules if m == 'kingpost.plugins'])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_every_built_in_is_attributed(plugins):
    rows = plugins.listing()
    assert {row["distribution"] for row in rows} == {"kingpost"}
    kinds = {"formulation", "integrator", "joint loads", "force", "model", "writer", "exporter", "master", "command"}
    assert {row["kind"] for row in rows} == kinds
    assert {"rk4", "euler-symplectic", "dop853", "lsoda", "radau", "bdf"} <= {row["name"] for row in rows}
    assert all(row["summary"] and row["version"] == kingpost.__version__ for row in rows)


def test_a_plugin_file_is_loaded_and_runs(plugin_file):
    plugins = PluginSet([plugin_file()], entry_points=False)
    assert "mine" in plugins.integrators
    history = simulate(pendulum(), 1.0, integrator="mine", plugins=plugins)
    assert history.provenance["integrator"]["name"] == "mine"
    assert {"origin": "file", "location": str(plugin_file()), "distribution": "plugin", "version": "local"} in (
        history.provenance["plugins"]
    )


def test_a_class_can_be_used_without_registering_it():
    class Own(StepMap):
        """Euler."""

        name = "own"
        order = 1

        def step(self, equations, t, x, u, p, h):
            return x + h * equations.rhs(t, x, u, p)

    assert simulate(pendulum(), 0.1, integrator=Own).provenance["integrator"]["name"] == "own"
    with pytest.raises(PluginError, match="3 does not select a integrator"):
        simulate(pendulum(), 0.1, integrator=3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nonexistent_module\n", "line 1: ModuleNotFoundError: No module named 'nonexistent_module'"),
        ("x = 1\nraise SystemExit(3)\n", "line 2: SystemExit: 3"),
        ("def f(:\n", "line 1: SyntaxError: invalid syntax"),
        ("x = 1\n", "defines no hook; add for example"),
        (
            PLUGIN.replace("kingpost_register_integrators", "kingpost_register_integrator"),
            "unknown hook 'kingpost_register_integrator'; did you mean 'kingpost_register_integrators'?",
        ),
        (PLUGIN.replace("@hookimpl\n", ""), "'kingpost_register_integrators' is not marked as a hook; put @kingpost.hookimpl"),
        (
            PLUGIN.replace("integrators():", "integrators(config):"),
            "hook 'kingpost_register_integrators(config)' has a wrong signature; write 'def kingpost_register_integrators():'",
        ),
        (
            PLUGIN.replace("def step", "def stepp"),
            "integrator class 'Mine' lacks the method step(self, equations, t, x, u, p, h)",
        ),
        (
            PLUGIN.replace("t, x, u, p, h):", "t, x):"),
            "integrator class 'Mine': step(self, equations, t, x) must take (self, equations, t, x, u, p, h)",
        ),
        (PLUGIN.replace('    name = "mine"\n', ""), "integrator class 'Mine' lacks 'name', the text that selects it"),
        (PLUGIN.replace("    order = 1\n", ""), "integrator class 'Mine' lacks the class attribute 'order'"),
        (PLUGIN.replace("(StepMap)", ""), "does not derive from kingpost.equations.integrator.Integrator"),
        (PLUGIN.replace("[Mine]", "[Mine()]"), "expected classes (not instances)"),
        (PLUGIN.replace("[Mine]", "[1 / 0]"), "kingpost_register_integrators() failed: ZeroDivisionError: division by zero"),
        (
            PLUGIN.replace("    order = 1\n", "    order = 1\n    Options = dict\n"),
            "integrator class 'Mine': Options must be a dataclass",
        ),
    ],
)
def test_a_broken_file_stops_at_once_with_a_reason(plugin_file, text, message):
    path = plugin_file(text)
    with pytest.raises(PluginError) as error:
        PluginSet([path], entry_points=False)
    assert str(path) in str(error.value)
    assert message in str(error.value)


def test_a_missing_file_and_a_file_that_is_not_python(tmp_path):
    with pytest.raises(PluginError, match="plugin file '.*gone.py' does not exist"):
        PluginSet([tmp_path / "gone.py"])
    (tmp_path / "plugin.txt").write_text(PLUGIN)
    with pytest.raises(PluginError, match="its name must end in .py"):
        PluginSet([tmp_path / "plugin.txt"])


def test_options_must_be_frozen_and_known():
    @dataclass
    class Loose:
        order: int = 1

    class Own(StepMap):
        """Euler."""

        name = "own"
        order = 1
        Options = Loose

        def step(self, equations, t, x, u, p, h):
            return x

    assert "Options must be frozen; write @dataclass(frozen=True)" in find_fault(Own, Integrator)


def test_an_integrator_of_no_kind_is_refused():
    class Neither(Integrator):
        name = "neither"
        order = 1

    assert "must derive from kingpost.StepMap or kingpost.Solver" in find_fault(Neither, Integrator)


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        ("rk5", "unknown integrator 'rk5'; did you mean 'rk4'? Available: backward-euler, bdf, bdf2, dop853"),
        ("qqq", "unknown integrator 'qqq'. Available:"),
        (
            "radau:rtoll=1e-3",
            "integrator 'radau' has no 'rtoll'; did you mean 'rtol'? It takes: rtol = 1e-09, atol = 1e-12, max_step = None.",
        ),
        ("radau:rtol=small", "integrator 'radau': rtol: expected a number, got the formula 'small'"),
        ("radau:rtol", "'rtol' is not key=value; write for example 'radau:rtol=1e-8'"),
        ("rk4:rtol=1", "integrator 'rk4' has no 'rtol'. It takes: none."),
    ],
)
def test_a_wrong_selection_is_answered_with_the_right_ones(selection, message):
    with pytest.raises(PluginError) as error:
        simulate(pendulum(), 1.0, integrator=selection)
    assert message in str(error.value)


def test_an_installed_plugin_is_loaded_from_its_entry_point(installed):
    installed(good=PLUGIN)
    plugins = PluginSet()
    row = next(row for row in plugins.listing() if row["name"] == "mine")
    assert (row["distribution"], row["version"], row["origin"]) == ("kingpost-good", "1.2.3", "entry point")


def test_a_broken_installed_plugin_stops_only_a_run_that_needs_it(installed):
    installed(bad="import nonexistent_module", worse="raise SystemExit('no')", good=PLUGIN)
    plugins = PluginSet()
    assert [str(broken) for broken in plugins.broken] == [
        "kingpost-bad 1.2.3: import failed: ModuleNotFoundError: No module named 'nonexistent_module'",
        "kingpost-worse 1.2.3: import failed: SystemExit: no",
    ]
    simulate(pendulum(), 0.1, integrator="mine", plugins=plugins)
    with pytest.raises(PluginError) as error:
        simulate(pendulum(), 0.1, integrator="special", plugins=plugins)
    assert "unknown integrator 'special'" in str(error.value)
    assert "could not be loaded: kingpost-bad 1.2.3: import failed: ModuleNotFoundError" in str(error.value)


def test_one_bad_class_does_not_take_the_others_along(installed):
    installed(half=PLUGIN.replace("[Mine]", "[Mine, int]"))
    plugins = PluginSet()
    assert "mine" in plugins.integrators
    assert "integrator class 'int' does not derive from" in plugins.broken[0].reason


def test_two_plugins_with_one_name_are_refused_when_it_is_used(installed):
    installed(one=PLUGIN, two=PLUGIN, three=PLUGIN.replace('"mine"', '"rk4"'))
    plugins = PluginSet()
    with pytest.raises(
        PluginError, match="two plugins register integrator 'mine': 'kingpost-one 1.2.3' and 'kingpost-two 1.2.3'"
    ):
        simulate(pendulum(), 0.1, integrator="mine", plugins=plugins)
    with pytest.raises(PluginError, match="'rk4': 'kingpost 0.1.0' and 'kingpost-three 1.2.3'"):
        simulate(pendulum(), 0.1, integrator="rk4", plugins=plugins)
    simulate(pendulum(), 0.1, integrator="euler-symplectic", plugins=plugins)


def test_the_allow_list_and_the_trace(installed, monkeypatch, capsys):
    installed(one=PLUGIN, two=PLUGIN.replace('"mine"', '"other"'))
    monkeypatch.setenv("KINGPOST_LOAD_PLUGINS", "kingpost-two")
    monkeypatch.setenv("KINGPOST_TRACE_PLUGINS", "1")
    plugins = PluginSet()
    assert "other" in plugins.integrators
    assert "mine" not in plugins.integrators
    assert "[kingpost] kingpost_register_integrators: kingpost-two 1.2.3 -> Mine" in capsys.readouterr().err
    monkeypatch.setenv("KINGPOST_LOAD_PLUGINS", "")
    assert "other" not in PluginSet().integrators


def test_a_step_that_cannot_be_traced_is_explained():
    class Numeric(StepMap):
        """Needs numbers."""

        name = "numeric"
        order = 1

        def step(self, equations, t, x, u, p, h):
            return x + float(h)

    class Wrong(StepMap):
        """Returns half a state."""

        name = "wrong"
        order = 1

        def step(self, equations, t, x, u, p, h):
            return x[:1]

    with pytest.raises(PluginError, match=r"integrator 'numeric': step cannot be traced .* write a Solver"):
        simulate(pendulum(), 0.1, integrator=Numeric)
    with pytest.raises(PluginError, match="'wrong': step returned a 1 x 1 state, expected 2 x 1"):
        simulate(pendulum(), 0.1, integrator=Wrong)


def test_a_solver_that_stops_or_goes_too_far_is_named():
    class Short(Solver):
        """Gives up."""

        name = "short"
        order = 0

        def march(self, problem):
            yield problem.x0

    class Long(Solver):
        """Never stops."""

        name = "long"
        order = 0

        def march(self, problem):
            while True:
                yield problem.x0

    with pytest.raises(PluginError, match="'short' stopped after 1 of 10 output times without saying why"):
        simulate(pendulum(), 0.1, integrator=Short)
    with pytest.raises(PluginError, match="'long' gave more states than the 10 it was asked for"):
        simulate(pendulum(), 0.1, integrator=Long)


def test_a_wrong_pairing_names_those_that_work(plugins):
    class OnlyDae(StepMap):
        """For constrained problems."""

        name = "only-dae"
        order = 1
        problems = ("index-3 dae",)

        def step(self, equations, t, x, u, p, h):
            return x

    with pytest.raises(Exception, match="advances only INDEX-3 DAE. Integrators that work with it: backward-euler, bdf"):
        simulate(pendulum(), 0.1, integrator=OnlyDae, plugins=plugins)


# One test for each hook, by name: test_docs.py looks for them.


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
        (("return [PluginKind", "return [str"), "expected instances of kingpost.PluginKind"),
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


def test_an_option_of_the_wrong_type_is_named():
    with pytest.raises(PluginError, match="max_step: expected a number, got the formula 'x'"):
        simulate(pendulum(), 0.1, integrator="dop853:max_step=x")
    with pytest.raises(MechanismError, match="'m' was set to True|nothing called"):
        simulate(pendulum(), 0.1, settings={"m": 1.0})
