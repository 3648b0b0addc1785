"""Forces that depend on joint loads: what plugins may do with them, and how the small system is solved."""

import casadi as ca
import numpy as np
import pytest

from kingpost import Body, Closure, ForceElement, Joint, Mechanism, PluginError, PluginSet, RunSettings
from kingpost.loads.load_dependent import spectral_radius
from kingpost.simulation.problem import pose

#: Of a few thousand operations in machines with condition numbers up to 1e3.
ROUNDING = 1e-10


#: A plugin that looks at a load, and does with it what it is told; the effort is linear, so that its closed form is simple.
WATCH = """
from dataclasses import dataclass

import casadi as ca
import kingpost


@dataclass(frozen=True)
class WatchOptions:
    joint: str
    what: str = "signal"


class Watch(kingpost.Force):
    name = "watch"
    Options = WatchOptions

    def loads(self, kinematics):
        load = kinematics.load(self.options.joint)
        signals = {"pull": (load[5], "N")}
        if self.options.what == "effort":
            return kingpost.Loads(efforts={f"{self.options.joint}.angle": 0.1 * load[5]}, signals=signals)
        if self.options.what == "wrench":
            return kingpost.Loads(wrenches={"rod": ca.vertcat(ca.SX(3, 1), load[3:])})
        return kingpost.Loads(signals=signals)


@kingpost.hookimpl
def kingpost_register_forces():
    return [Watch]
"""


@pytest.fixture(scope="module")
def plugins(tmp_path_factory):
    file = tmp_path_factory.mktemp("plugins") / "watch.py"
    file.write_text(WATCH, encoding="utf-8")
    return PluginSet(entry_points=False).with_files([file])


def rod(*forces):
    return Mechanism(
        "rod",
        bodies=[Body("rod", mass=2.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))],
        joints=[Joint("pin", "revolute", "world", "rod", axis=(0, 1, 0))],
        forces=[ForceElement("gravity"), *forces],
    )


def seen(problem, x=None):
    x = problem.x0 if x is None else x
    values = np.asarray(problem.equations.observe(0.0, x, problem.u0, problem.p)).ravel()
    return {channel.name: value for channel, value in zip(problem.equations.channels, values, strict=True)}


def chain(count, mu=0.2):
    """Links of which each carries the next on a journal."""
    names = [f"link{i}" for i in range(count)]
    return Mechanism(
        "chain",
        bodies=[Body(name, mass=1.0 + 0.1 * i, com=(0, 0, -0.2), inertia=(0.02, 0.02, 0.02)) for i, name in enumerate(names)],
        joints=[
            Joint(
                f"pin{i}",
                "revolute",
                "world" if i == 0 else names[i - 1],
                name,
                axis=(0, 1, 0.1 * i),
                position=(0, 0, 0 if i == 0 else -0.4),
                start=0.3 - 0.1 * i,
                start_rate=(-1) ** i * 0.7,
            )
            for i, name in enumerate(names)
        ],
        forces=[
            ForceElement("gravity"),
            *(
                ForceElement("bearing-friction", name=f"rub{i}", joint=f"pin{i}", mu=mu, radius=0.05, transition=0.2)
                for i in range(count)
            ),
        ],
    )


@pytest.mark.parametrize("count", [2, 11])
def test_both_formulations_find_the_same_friction_in_small_and_large_machines(count):
    # Up to ten joints everything is one straight piece of code; beyond, functions call each other.
    plugins = PluginSet(entry_points=False)
    kane, recursive = (pose(chain(count), RunSettings(formulation=way), plugins=plugins) for way in ("kane", "recursive"))
    q, v = kane.equations.split(kane.x0)
    vdot = [np.asarray(item.equations.accelerations(0.0, q, v, [], item.p)).ravel() for item in (kane, recursive)]
    assert np.abs(vdot[0] - vdot[1]).max() < ROUNDING * np.abs(vdot[0]).max()
    here, there = seen(kane), seen(recursive)
    for i in range(count):
        assert here[f"rub{i}.load"] == pytest.approx(there[f"rub{i}.load"], rel=ROUNDING)
        assert here[f"rub{i}.residual"] < ROUNDING


def test_the_spectral_radius_is_overestimated_by_a_hundredth_at_most():
    rng = np.random.default_rng(3)
    for n in (1, 2, 3, 5):
        for size in (1e-9, 0.3, 1e4):
            K = size * rng.uniform(0, 1, (n, n)) * (rng.uniform(0, 1, (n, n)) > 0.3)
            symbol = ca.MX.sym("K", n, n)
            found = float(ca.Function("f", [symbol], [spectral_radius(symbol)])(K))
            exact = np.abs(np.linalg.eigvals(K)).max()
            # n^(1/64) - 1 is 0.026 for n = 5; a matrix that vanishes in its own powers has a radius that does, too.
            assert exact * (1 - 1e-12) <= found
            if exact > 0.1 * size:
                assert found <= exact * n ** (1 / 64) * 1.02


def loop():
    """A four-bar whose pins on the ground rub, with a closure that holds nothing twice."""
    return Mechanism(
        "loop",
        bodies=[Body(name, mass=1.0, com=(0.4, 0, 0), inertia=(0.1, 0.1, 0.1)) for name in ("crank", "coupler", "rocker")],
        joints=[
            Joint("a", "revolute", "world", "crank", axis=(0, 0, 1), start=1.1, start_rate=0.8),
            Joint("b", "revolute", "crank", "coupler", axis=(0, 0, 1), position=(0.5, 0, 0), start=-1.0),
            Joint("d", "revolute", "world", "rocker", axis=(0, 0, 1), position=(0.9, 0, 0), start=1.4),
        ],
        closures=[
            Closure("c", "point-on-line", "coupler", "rocker", axis=(0, 0, 1), position=(1, 0, 0), child_position=(0.6, 0, 0))
        ],
        forces=[
            ForceElement("gravity", acceleration=(0, -9.81, 0)),
            *(
                ForceElement("bearing-friction", name=f"rub-{name}", joint=name, mu=0.3, radius=0.05, transition=0.1)
                for name in "ad"
            ),
        ],
    )


def closed(way):
    how = RunSettings(formulation=way, loads=("all",), close_loops=True)
    return seen(pose(loop(), how, plugins=PluginSet(entry_points=False)))


@pytest.fixture(scope="module")
def there():
    return closed("kane")


@pytest.mark.parametrize("way", ["recursive", "kane:baumgarte=5", "kane:independent=auto"])
def test_loops_have_the_same_friction_whatever_keeps_them_closed(way, there):
    here = closed(way)
    for name in "ad":
        assert here[f"rub-{name}.load"] == pytest.approx(there[f"rub-{name}.load"], rel=ROUNDING)
        assert here[f"rub-{name}.residual"] < ROUNDING
        # The effort that was solved for is the one that the load asks for, and the parts of the load add up.
        assert abs(here[f"{name}.friction.Mz"]) == pytest.approx(
            0.3 * 0.05 * here[f"rub-{name}.load"] * abs(np.tanh(here[f"{name}.angle.rate"] / 0.1)), rel=1e-8
        )
    assert here["loads.residual.moment"] < 1e-10


class TestPlugins:
    def test_a_signal_may_show_a_load(self, plugins):
        found = seen(pose(rod(ForceElement("watch", joint="pin")), RunSettings(loads=("pin",)), plugins=plugins))
        assert found["watch.pull"] == pytest.approx(found["pin.Fz"], rel=ROUNDING)

    @pytest.mark.parametrize("formulation", ["kane", "recursive"])
    def test_an_effort_may_depend_on_a_load(self, plugins, formulation):
        problem = pose(
            rod(ForceElement("watch", joint="pin", what="effort")),
            RunSettings(formulation=formulation, loads=("pin",)),
            plugins=plugins,
        )
        # Level and at rest: J a = e + m g L about y (down is positive), F = m (g - L a), e = F / 10.
        m, L, J, g = 2.0, 0.5, 0.6, 9.81
        a = (0.1 * m * g + m * g * L) / (J + 0.1 * m * L)
        vdot = problem.equations.accelerations(0.0, [0.0], [0.0], [], problem.p)
        assert float(vdot) == pytest.approx(a, rel=ROUNDING)
        found = seen(problem)
        assert found["pin.actuator.My"] == pytest.approx(0.1 * m * (g - L * a), rel=ROUNDING)
        assert found["watch.coupling"] == pytest.approx(0.1 * m * L / J, rel=ROUNDING)

    def test_a_wrench_may_not(self, plugins):
        with pytest.raises(PluginError) as refused:
            pose(rod(ForceElement("watch", joint="pin", what="wrench")), plugins=plugins)
        assert "force 'watch' (watch): a wrench depends on the load of joint pin; only efforts" in str(refused.value)

    def test_a_joint_that_is_not_there_is_refused(self, plugins):
        with pytest.raises(
            PluginError, match="force 'watch' asks for the load of joint 'pim', which is not there; did you mean"
        ):
            pose(rod(ForceElement("watch", joint="pim")), plugins=plugins)
