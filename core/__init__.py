"""Kingpost: multibody machines described once, simulated, and shipped as FMUs."""

from kingpost.base.earlier_names import answer_to_earlier_names
from kingpost.base.lazy import lazy_names
from kingpost.base.version import __version__

#: Where the public names come from; each is loaded when it is first asked for.
PLACES = {
    "base.errors": (
        *("ExportError", "FileError", "InternalError", "Interrupted", "KingpostError", "MechanismError", "PluginError"),
        *("PluginRaisedError", "SolverError"),
    ),
    "base.fields": ("BodyName", "CoordinateName", "JointName"),
    "base.formulas": ("Expression", "Scalar", "Vector3"),
    "cli.command": ("Command",),
    "control.blocks.description": ("Block", "DiscreteBlock"),
    "control.servo.building": ("SystemBuilder",),
    "control.servo.feedback": ("Feedback", "ServoLoop"),
    "control.servo.inverse": ("inverse", "prepare_inverse"),
    "control.servo.problem": ("ServoProblem",),
    "control.servo.stepping": ("ServoStepper",),
    "control.servo.system": ("DirectInverse", "InverseDynamics", "ServoPoint", "ServoSystem", "SteppedInverse"),
    "control.servo.taut": ("keep_taut",),
    "equations.formalism": ("Formalism", "Road"),
    "equations.formulation": ("Formulation",),
    "equations.integrator": ("InitialValueProblem", "Integrator", "Solver", "StepMap"),
    "loads.method": ("JointLoads",),
    "mechanism.closures": ("Closure",),
    "mechanism.drawings": ("Drawing", "Line"),
    "mechanism.elements": ("Body", "ForceElement", "Input", "Joint", "Output", "Parameter", "Port"),
    "mechanism.load_request": ("LoadRequest",),
    "mechanism.measures": ("Measure",),
    "mechanism.mechanism": ("Mechanism",),
    "mechanism.model": ("Model",),
    "mechanism.sections": ("cut",),
    "mechanism.shapes": ("Shape",),
    "mechanism.subsystems": ("Group",),
    "mechanism.tasks": ("ServoTask",),
    "modelfiles.opened": ("OpenedModel", "open_model"),
    "modelfiles.task_file": ("read_task",),
    "modelfiles.toml_model": ("read_model",),
    "modelfiles.urdf": ("read_urdf",),
    "multibody.force": ("Force", "ForceState", "Kinematics", "Loads", "Rotor"),
    "registry.hookspecs": ("hookimpl",),
    "registry.kinds": ("PluginKind",),
    "registry.plugin": ("Plugin",),
    "registry.pluginset": ("PluginSet",),
    "results.history": ("History",),
    "results.joint_load_history": ("JointLoadHistory",),
    "results.read_write": ("read_history", "write_history"),
    "results.run_folder": ("write_run",),
    "results.writer": ("Writer",),
    "simulation.export_model": ("ExportModel", "prepare_export"),
    "simulation.exporter": ("ExportSelection", "Exported", "Exporter"),
    "simulation.problem": ("Problem", "pose"),
    "simulation.run": ("Simulation",),
    "simulation.settings": ("RunSettings",),
    "simulation.signals": ("Moving",),
    "simulation.simulate": ("prepare", "simulate"),
    "simulation.stepper": ("Stepper",),
    "simulation.verbs": ("equilibrium", "evaluate", "export", "linearize"),
    "statics.equilibrium": ("Equilibrium",),
    "statics.linearize": ("Linearisation",),
    "studies.batch": ("Batch", "BatchHistory", "prepare_batch", "simulate_batch"),
}
__getattr__, __dir__, __all__ = lazy_names(__name__, PLACES)
__all__ += ["__version__"]
answer_to_earlier_names(__name__)
