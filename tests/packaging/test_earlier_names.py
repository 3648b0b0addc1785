"""What was written for version 0.1.0 keeps working: its module names, its public names, and a drop-in file of that time."""

import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import kingpost
from kingpost import PluginSet, simulate
from kingpost.base.earlier_names import EARLIER_NAMES

DROP_IN = Path(__file__).parent / "data" / "written_for_0_1_0.py"
#: The modules of version 0.1.0 that docs and examples named or that plugins use, and their public names. Not to be shortened.
PUBLIC = {
    "assembly": "Assembly assemble",
    "batch": "Batch BatchHistory prepare_batch simulate_batch",
    "closures": "CLOSURE_KINDS Closure ClosureKind Place",
    "compiler": "find_compiler",
    "constraints": "Constraints tree_constraints",
    "cutkinematics": "CutKinematics",
    "discrete": "DiscreteNullSpace",
    "dynamics": "TreeDynamics",
    "elements": "Body ForceElement Input Joint Output Parameter Port WORLD",
    "equations": "Channel Equations FloatArray LoadExpressions output_channels",
    "equilibrium": "Equilibrium find_equilibrium",
    "errors": "ExportError FileError Interrupted KingpostError MechanismError PluginError SolverError closest listed",
    "exporting": "ExportModel prepare_export",
    "expressions": "Expression Scalar Scalars Vector3 as_scalar evaluate",
    "externals": "External",
    "fatigue": "HotSpot assess_loads count_cycles reactions_not_unique read_hot_spots",
    "fatigue.sectors": "Sectors sector_resultants",
    "fields": "BodyName CoordinateName JointName convert fill",
    "fmu": "run_fmu",
    "fmu.archive": "write_archive",
    "fmu.blocks": "Block State block_model export_block pi_controller",
    "fmu.checks": "CHECKS Check CheckOptions Need Nursery Report Result Verdict check_fmu finding not_applicable passed",
    "fmu.cosim": "Component Connection CosimError Cosimulation PowerBond System cosimulate open_ssp prepare_cosimulation "
    "read_ssp read_system",
    "fmu.cosim.masters": "Ecco GaussSeidel InterfaceInertia Iterated Jacobi",
    "fmu.cosim.ssp": "open_ssp read_ssp",
    "fmu.cosim.system": "Component Connection CosimError PowerBond System",
    "fmu.cosim.systemfile": "read_system",
    "fmu.description": "Capabilities describe_model model_identifier",
    "fmu.interface": "Interface Variable build_interface",
    "fmu.native_exporter": "NativeFmu NativeOptions",
    "fmu.osp": "find_groups find_ports osp_path write_osp_description write_osp_system",
    "fmu.python_exporter": "PythonFmu PythonOptions",
    "fmu.running": "Fmu FmuError FmuRun Message open_fmu prepare_fmu run_fmu",
    "fmu.running.archive": "Fmu FmuError open_fmu",
    "fmu.running.instance": "CoSimulation FmiError FmuEndedError Instance",
    "fmu.running.log": "Message",
    "fmu.running.variables": "Variable variables_of",
    "fmu.setpoints": "with_setpoint_inputs",
    "fmu.units": "Unit parse_unit",
    "grid": "Grid",
    "history": "History",
    "hookspecs": "NAME hookimpl hookspec",
    "interfaces.command": "Command",
    "interfaces.exporter": "ExportSelection Exported Exporter",
    "interfaces.force": "Force Kinematics Loads",
    "interfaces.formulation": "Formulation",
    "interfaces.integrator": "InitialValueProblem Integrator Solver StepMap",
    "interfaces.joint_loads": "JointLoads",
    "interfaces.master": "Advance Bond Coupling Master Partner",
    "interfaces.model": "Model",
    "interfaces.plugin": "NoOptions Plugin",
    "interfaces.writer": "Writer",
    "joints": "JOINT_KINDS JointKind Quantity",
    "kernel": "Evaluator Kernel",
    "kinematics": "TreeKinematics",
    "linearize": "Linearisation Mode linearize",
    "loadframes": "COMPONENTS Frame Side",
    "loadhistory": "JointLoadHistory",
    "loads": "LoadRequest LoadsWanted derive_loads load_requests",
    "marine": "FLIP flip_angles flip_matrices flip_quaternions flip_rotations flip_screws flip_vectors reorder_matrices "
    "reorder_screws",
    "mechanism": "Mechanism",
    "metadata": "Metadata from_text to_text",
    "modelfile": "RunSettings read_model",
    "monitors": "monitored_run with_monitors",
    "newton": "ImplicitStepMap NewtonOptions",
    "plugins.formulations.directors": "DirectorOptions Directors",
    "plugins.formulations.kane": "Kane",
    "plugins.formulations.quaternions": "QuaternionOptions Quaternions",
    "pluginset": "PluginSet",
    "ports": "PortExpressions TRIANGLE TWIST inertia_unit with_ports",
    "readers": "read_history write_history",
    "registry": "Registry",
    "report": "Report write_report",
    "saddle": "Augmentation",
    "screws": "Pose hat shift_twist shift_wrench twist_to wrench_to",
    "sections": "cut",
    "selection": "Selection make select",
    "simulate": "prepare simulate",
    "simulation": "Simulation",
    "straightline": "solve_symmetric",
    "testing": "FORMULATION_CHECKS INTEGRATOR_CHECKS JOINT_LOAD_CHECKS check_formulation check_integrator "
    "check_joint_loads random_tree",
    "testing.fixtures": "kingpost_cli kingpost_plugins",
    "trajectories": "Constant RestToRest Sampled Sequence ThreePhase Trajectory read_trajectory",
    "urdf": "read_urdf",
    "values": "Values resolve_values",
    "version": "__version__",
    "waves": "jonswap jonswap_density transfer_at",
}
#: The public names of ``import kingpost`` in version 0.1.0.
AT_THE_DOOR = """
    Batch BatchHistory Body BodyName Closure Command CoordinateName ExportError ExportModel ExportSelection Exported
    Exporter Expression FileError Force ForceElement Formulation History InitialValueProblem Input Integrator Interrupted
    Joint JointLoadHistory JointLoads JointName Kinematics KingpostError LoadRequest Loads Mechanism MechanismError Model
    Output Parameter PluginError PluginSet Port Scalar Simulation Solver SolverError StepMap Vector3 Writer __version__ cut
    hookimpl prepare prepare_batch prepare_export read_history read_model read_urdf simulate simulate_batch write_history
"""


@pytest.mark.parametrize("module", PUBLIC)
def test_a_module_of_version_0_1_0_can_be_imported(module):
    found = importlib.import_module(f"kingpost.{module}")
    missing = [name for name in PUBLIC[module].split() if not hasattr(found, name)]
    assert not missing, f"kingpost.{module} lacks {missing}; say in core/base/earlier_names.py where they are now"


def test_the_public_names_of_version_0_1_0_are_still_there():
    assert set(AT_THE_DOOR.split()) <= {*kingpost.__all__, "__version__"}
    assert all(hasattr(kingpost, name) for name in AT_THE_DOOR.split())


@pytest.mark.parametrize("old", EARLIER_NAMES)
def test_every_row_of_the_table_leads_somewhere_and_hides_nothing(old):
    for place in EARLIER_NAMES[old]:
        spec = importlib.util.find_spec(f"kingpost.{place}")
        assert spec is not None and spec.origin, f"kingpost.{old} is now kingpost.{place}, which does not exist"
    spec = importlib.util.find_spec(f"kingpost.{old}")
    assert spec is not None and spec.origin is None, f"kingpost.{old} exists; take it out of the table"


def test_names_are_the_same_things_not_copies():
    from kingpost.elements import Body
    from kingpost.interfaces.force import Force

    assert Body is kingpost.Body and Force is kingpost.Force
    assert "Body" in dir(kingpost.elements) and "Body" in kingpost.elements.__all__


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        ("import kingpost; print(kingpost.interfaces.master.Master.__name__)", "Master"),
        ("import kingpost; print(kingpost.mechanism.Mechanism is kingpost.Mechanism)", "True"),
        (
            "import kingpost.simulate; from kingpost import simulate, prepare; print(callable(simulate), prepare.__name__)",
            "True prepare",
        ),
        ("from kingpost.elements import *; print(Body.__name__)", "Body"),
        (
            "import kingpost\ntry: kingpost.simulat\nexcept AttributeError as e: print(e)",
            "module 'kingpost' has no attribute 'simulat'",
        ),
        ("try: import kingpost.nothing\nexcept ImportError as e: print(e)", "No module named 'kingpost.nothing'"),
        (
            "try: import kingpost.interfaces.nothing\nexcept ImportError as e: print(e)",
            "No module named 'kingpost.interfaces.nothing'",
        ),
        (
            "import kingpost.errors\ntry: kingpost.errors.Nothing\nexcept AttributeError as e: print(e)",
            "module 'kingpost.errors' (now kingpost.base.errors) has no attribute 'Nothing'",
        ),
    ],
)
def test_earlier_names_in_a_fresh_interpreter(code, printed):
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == printed


def test_nothing_is_loaded_for_earlier_names_before_they_are_used():
    code = "import sys, kingpost; print([name for name in sys.modules if name.startswith('kingpost.') and 'base' not in name])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


@pytest.fixture(scope="module")
def earlier():
    return PluginSet([DROP_IN], entry_points=False)


def test_a_drop_in_file_of_version_0_1_0_runs(earlier):
    mast = earlier.models.get("earlier-mast")().build()
    ways = {"formulation": "earlier-newton", "integrator": "earlier-heun", "loads": "all", "load_method": "earlier-sum"}
    history = simulate(mast, 1.0, plugins=earlier, **ways)
    # As version 0.1.0 gave it; the angle grows by a factor of some ten, and so do differences of the last bit.
    assert history["foot.angle"][-1] == pytest.approx(1.1163414091867376, rel=1e-12)
    assert history["earlier-wind.force"].max() > 0
    assert len(simulate(mast, 0.1, plugins=earlier, integrator="earlier-euler")) > 1


def test_a_force_in_plain_python_of_version_0_1_0_runs(earlier):
    from dataclasses import replace

    from kingpost.testing.problems import pendulum

    machine = replace(pendulum(), forces=(*pendulum().forces, kingpost.ForceElement("earlier-stop", coordinate="pivot.angle")))
    history = simulate(machine, 0.1, plugins=earlier)
    assert history.provenance["backend"]["name"] == "vm"


def test_commands_writers_exporters_and_masters_of_version_0_1_0_work(kingpost_cli, tmp_path):
    assert kingpost_cli("earlier-twice", "21", "--plugin", DROP_IN).out == "42\n"
    outcome = kingpost_cli("run", "earlier-mast", "--plugin", DROP_IN, "--write", "earlier-shout", "--out", tmp_path / "out")
    assert outcome.status == 0, outcome.err
    assert "FOOT.ANGLE" in (tmp_path / "out" / "history.shout").read_text()
    outcome = kingpost_cli("export", "earlier-mast", "--plugin", DROP_IN, "--to", "earlier-listing", "-o", tmp_path / "x.txt")
    assert outcome.status == 0, outcome.err
    assert (tmp_path / "x.txt").read_text() == "length"
    assert "earlier-jacobi" in kingpost_cli("plugins", "--plugin", DROP_IN).out


@pytest.mark.slow
def test_it_travels_in_an_fmu_where_the_package_has_another_name(earlier, tmp_path):
    from kingpost.fmu.export.python.bundling import copy_package, copy_plugins

    mast = earlier.models.get("earlier-mast")().build()
    package = copy_package()
    model = kingpost.prepare_export(mast, integrator="earlier-heun", plugins=earlier)
    plugin = copy_plugins(model, package.name)
    for name, text in {**package.files, **plugin.files}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (copied,) = plugin.files
    code = (
        f"import sys; sys.modules['kingpost'] = None\nfrom {package.name} import PluginSet\n"
        f"plugins = PluginSet([{str(tmp_path / copied)!r}], entry_points=False)\n"
        "print(*plugins.forces, *plugins.masters)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {"earlier-wind", "earlier-stop", "earlier-jacobi"} <= set(done.stdout.split())
