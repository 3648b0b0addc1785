"""The public names, for type checkers; kept equal to ``PLACES`` by a test."""

from collections.abc import Mapping

from kingpost.base.errors import ExportError as ExportError
from kingpost.base.errors import FileError as FileError
from kingpost.base.errors import Interrupted as Interrupted
from kingpost.base.errors import KingpostError as KingpostError
from kingpost.base.errors import MechanismError as MechanismError
from kingpost.base.errors import PluginError as PluginError
from kingpost.base.errors import SolverError as SolverError
from kingpost.base.fields import BodyName as BodyName
from kingpost.base.fields import CoordinateName as CoordinateName
from kingpost.base.fields import JointName as JointName
from kingpost.base.formulas import Expression as Expression
from kingpost.base.formulas import Scalar as Scalar
from kingpost.base.formulas import Vector3 as Vector3
from kingpost.base.version import __version__ as __version__
from kingpost.cli.command import Command as Command
from kingpost.equations.formulation import Formulation as Formulation
from kingpost.equations.integrator import InitialValueProblem as InitialValueProblem
from kingpost.equations.integrator import Integrator as Integrator
from kingpost.equations.integrator import Solver as Solver
from kingpost.equations.integrator import StepMap as StepMap
from kingpost.loads.method import JointLoads as JointLoads
from kingpost.mechanism.closures import Closure as Closure
from kingpost.mechanism.elements import Body as Body
from kingpost.mechanism.elements import ForceElement as ForceElement
from kingpost.mechanism.elements import Input as Input
from kingpost.mechanism.elements import Joint as Joint
from kingpost.mechanism.elements import Output as Output
from kingpost.mechanism.elements import Parameter as Parameter
from kingpost.mechanism.elements import Port as Port
from kingpost.mechanism.load_request import LoadRequest as LoadRequest
from kingpost.mechanism.mechanism import Mechanism as Mechanism
from kingpost.mechanism.model import Model as Model
from kingpost.mechanism.sections import cut as cut
from kingpost.modelfiles.toml_model import read_model as read_model
from kingpost.modelfiles.urdf import read_urdf as read_urdf
from kingpost.multibody.force import Force as Force
from kingpost.multibody.force import ForceState as ForceState
from kingpost.multibody.force import Kinematics as Kinematics
from kingpost.multibody.force import Loads as Loads
from kingpost.registry.hookspecs import hookimpl as hookimpl
from kingpost.registry.kinds import PluginKind as PluginKind
from kingpost.registry.plugin import Plugin as Plugin
from kingpost.registry.pluginset import PluginSet as PluginSet
from kingpost.results.history import History as History
from kingpost.results.joint_load_history import JointLoadHistory as JointLoadHistory
from kingpost.results.read_write import read_history as read_history
from kingpost.results.read_write import write_history as write_history
from kingpost.results.run_folder import write_run as write_run
from kingpost.results.writer import Writer as Writer
from kingpost.simulation.export_model import ExportModel as ExportModel
from kingpost.simulation.export_model import prepare_export as prepare_export
from kingpost.simulation.exporter import Exported as Exported
from kingpost.simulation.exporter import Exporter as Exporter
from kingpost.simulation.exporter import ExportSelection as ExportSelection
from kingpost.simulation.run import Simulation as Simulation
from kingpost.simulation.simulate import prepare as prepare
from kingpost.simulation.simulate import simulate as simulate
from kingpost.studies.batch import Batch as Batch
from kingpost.studies.batch import BatchHistory as BatchHistory
from kingpost.studies.batch import prepare_batch as prepare_batch
from kingpost.studies.batch import simulate_batch as simulate_batch

PLACES: Mapping[str, tuple[str, ...]]
