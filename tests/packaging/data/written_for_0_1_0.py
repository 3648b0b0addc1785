"""A drop-in file as it was written for version 0.1.0, by the module names of that version; it is not to be changed."""

from dataclasses import dataclass
from pathlib import Path

import casadi as ca
import numpy as np

import kingpost
import kingpost.interfaces.force
from kingpost.assembly import Assembly
from kingpost.elements import Body, ForceElement, Joint, Parameter
from kingpost.equations import Channel, Equations, FloatArray
from kingpost.errors import KingpostError, MechanismError, listed
from kingpost.expressions import Scalar, evaluate
from kingpost.externals import External
from kingpost.fields import BodyName, CoordinateName
from kingpost.history import History
from kingpost.hookspecs import hookimpl
from kingpost.interfaces.command import Command
from kingpost.interfaces.exporter import Exported, Exporter, ExportSelection
from kingpost.interfaces.force import Force, Kinematics, Loads
from kingpost.interfaces.formulation import Formulation
from kingpost.interfaces.integrator import InitialValueProblem, Solver, StepMap
from kingpost.interfaces.joint_loads import JointLoads
from kingpost.interfaces.master import Coupling, Master
from kingpost.interfaces.model import Model
from kingpost.interfaces.plugin import Plugin
from kingpost.interfaces.writer import Writer
from kingpost.joints import JOINT_KINDS
from kingpost.kinematics import TreeKinematics
from kingpost.mechanism import Mechanism
from kingpost.metadata import to_text
from kingpost.screws import hat


@dataclass(frozen=True)
class WindOptions:
    body: BodyName
    area: Scalar = 2.0


class Wind(Force):
    """Wind that grows with height."""

    name = "earlier-wind"
    Options = WindOptions

    def loads(self, kinematics: Kinematics) -> Loads:
        place = kinematics.pose(self.options.body)
        area = kinematics.value(self.options.area)
        force = ca.vertcat(area * 10 * ca.tanh(place.p[2] + 1), 0, 0)
        wrench = ca.vertcat(ca.SX(3, 1), place.R.T @ force)
        return Loads(wrenches={self.options.body: wrench}, signals={"force": (force[0], "N")})


@dataclass(frozen=True)
class StopOptions:
    coordinate: CoordinateName
    stiffness: float = 50.0


class Stop(kingpost.interfaces.force.Force):
    """A spring beyond 0.5 rad, in plain Python."""

    name = "earlier-stop"
    Options = StopOptions

    def loads(self, kinematics):
        def torque(angle):
            return -self.options.stiffness * np.sign(angle) * np.maximum(np.abs(angle) - 0.5, 0.0)

        angle = kinematics.coordinate(self.options.coordinate)
        return Loads(efforts={self.options.coordinate: kinematics.call(torque, angle, size=1)})


class Heun(StepMap):
    """Heun's method: explicit trapezoidal rule, two stages, order 2."""

    name = "earlier-heun"
    order = 2

    def step(self, equations: Equations, t, x, u, p, h):
        slope = equations.rhs(t, x, u, p)
        return x + h / 2 * (slope + equations.rhs(t + h, x + h * slope, u, p))


class ExplicitEuler(Solver):
    """Euler's method, in Python."""

    name = "earlier-euler"
    order = 1

    def march(self, problem: InitialValueProblem):
        x: FloatArray = problem.x0
        for t, t_next in zip(problem.times[:-1], problem.times[1:], strict=True):
            x = x + (t_next - t) * problem.rhs(t, x)
            yield x


class Mast(Model):
    """A pole that falls over."""

    name = "earlier-mast"
    t_end = 1.0

    def build(self) -> Mechanism:
        length = Parameter("length", 2.0, "m")
        if "revolute" not in JOINT_KINDS:
            raise MechanismError(f"there are only {listed(JOINT_KINDS)}")
        return Mechanism(
            "earlier-mast",
            parameters=[length],
            bodies=[Body("pole", mass=3.0, com=(0, 0, length / 2))],
            joints=[Joint("foot", "revolute", parent="world", child="pole", axis=(0, 1, 0), start=0.1)],
            forces=[ForceElement("gravity"), ForceElement("earlier-wind", body="pole")],
        )


class Shout(Writer):
    """The names of all channels, in capitals."""

    name = "earlier-shout"
    suffix = ".shout"

    def write(self, history: History, path: Path) -> None:
        channels: list[Channel] = list(history.channels)
        path.write_text("\n".join(channel.name.upper() for channel in channels) + f"\n{len(to_text(history)) > 0}\n")


class Newton(Formulation):
    """Kane's equations under another name."""

    name = "earlier-newton"

    def derive(self, assembly: Assembly) -> Equations:
        assert TreeKinematics and hat and evaluate and External
        return kingpost.PluginSet(entry_points=False).formulations.get("kane")().derive(assembly)


class Sum(JointLoads):
    """Loads by the built-in recursion."""

    name = "earlier-sum"

    def constraint_wrenches(self, dynamics, equations, joints):
        return (
            kingpost.PluginSet(entry_points=False)
            .joint_loads.get("recursive")()
            .constraint_wrenches(dynamics, equations, joints)
        )


class Listing(Exporter):
    """The names of the parameters."""

    name = "earlier-listing"
    suffix = ".txt"

    def export(self, model, selection: ExportSelection, path: Path) -> Exported:
        path.write_text("\n".join(parameter.name for parameter in model.mechanism.parameters))
        return Exported(path, (("parameters", str(len(model.mechanism.parameters))),))


class Jacobi(Master):
    """All components step at once."""

    name = "earlier-jacobi"

    def begin(self, coupling: Coupling):
        def advance(t, h):
            coupling.transfer()
            for partner in coupling.partners:
                partner.step(t, h)
            return h

        return advance


class Twice(Command):
    """Print a number twice as large."""

    name = "earlier-twice"

    def configure(self, parser):
        parser.add_argument("number", type=int)

    def run(self, arguments, plugins):
        if arguments.number < 0:
            raise KingpostError("only numbers above zero")
        print(2 * arguments.number)
        return 0


assert issubclass(Twice, Plugin)


@hookimpl
def kingpost_register_forces():
    return [Wind, Stop]


@hookimpl
def kingpost_register_integrators():
    return [Heun, ExplicitEuler]


@hookimpl
def kingpost_register_models():
    return [Mast]


@hookimpl
def kingpost_register_writers():
    return [Shout]


@hookimpl
def kingpost_register_formulations():
    return [Newton]


@hookimpl
def kingpost_register_joint_loads():
    return [Sum]


@hookimpl
def kingpost_register_exporters():
    return [Listing]


@hookimpl
def kingpost_register_masters():
    return [Jacobi]


@hookimpl
def kingpost_register_commands():
    return [Twice]
