"""Kingpost: multibody machines described once, simulated, and shipped as FMUs."""

from kingpost.batch import Batch, BatchHistory, prepare_batch, simulate_batch
from kingpost.closures import Closure
from kingpost.elements import Body, ForceElement, Input, Joint, Output, Parameter, Port
from kingpost.errors import (
    ExportError,
    FileError,
    Interrupted,
    KingpostError,
    MechanismError,
    PluginError,
    SolverError,
)
from kingpost.exporting import ExportModel, prepare_export
from kingpost.expressions import Expression, Scalar, Vector3
from kingpost.fields import BodyName, CoordinateName, JointName
from kingpost.history import History
from kingpost.hookspecs import hookimpl
from kingpost.interfaces.command import Command
from kingpost.interfaces.exporter import Exported, Exporter, ExportSelection
from kingpost.interfaces.force import Force, Kinematics, Loads
from kingpost.interfaces.formulation import Formulation
from kingpost.interfaces.integrator import InitialValueProblem, Integrator, Solver, StepMap
from kingpost.interfaces.joint_loads import JointLoads
from kingpost.interfaces.model import Model
from kingpost.interfaces.writer import Writer
from kingpost.loadhistory import JointLoadHistory
from kingpost.loads import LoadRequest
from kingpost.mechanism import Mechanism
from kingpost.modelfile import read_model
from kingpost.pluginset import PluginSet
from kingpost.readers import read_history, write_history
from kingpost.sections import cut
from kingpost.simulate import prepare, simulate
from kingpost.simulation import Simulation
from kingpost.urdf import read_urdf
from kingpost.version import __version__

__all__ = [
    "Batch",
    "BatchHistory",
    "Body",
    "BodyName",
    "Closure",
    "Command",
    "CoordinateName",
    "ExportError",
    "ExportModel",
    "ExportSelection",
    "Exported",
    "Exporter",
    "Expression",
    "FileError",
    "Force",
    "ForceElement",
    "Formulation",
    "History",
    "InitialValueProblem",
    "Input",
    "Integrator",
    "Interrupted",
    "Joint",
    "JointLoadHistory",
    "JointLoads",
    "JointName",
    "Kinematics",
    "KingpostError",
    "LoadRequest",
    "Loads",
    "Mechanism",
    "MechanismError",
    "Model",
    "Output",
    "Parameter",
    "PluginError",
    "PluginSet",
    "Port",
    "Scalar",
    "Simulation",
    "Solver",
    "SolverError",
    "StepMap",
    "Vector3",
    "Writer",
    "__version__",
    "cut",
    "hookimpl",
    "prepare",
    "prepare_batch",
    "prepare_export",
    "read_history",
    "read_model",
    "read_urdf",
    "simulate",
    "simulate_batch",
    "write_history",
]
