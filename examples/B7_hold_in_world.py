"""A load that stays in the world while the vessel under its crane rolls in an irregular sea (JONSWAP, Hs 2 m, Tp 8 s).

A controller FMU moves slew, luff, knuckle and winch within their bounds so that the hook stays where it was. How much of its
motion is left, against the crane whose drives hold their angles, is printed for 'kingpost cosim' and for the engine of the Open
Simulation Platform (needs libcosimpy). With --study also for other communication steps, for drives that are too slow, and for a
load that moves on a line. The system is that of B7_hold_in_world.toml, which 'kingpost cosim' runs beside the FMU that is
written here. Run it in any folder:

    python B7_hold_in_world.py
"""

import argparse
from pathlib import Path

import numpy as np

from kingpost import ExportSelection, PluginSet, prepare_export
from kingpost.fmu.blocks import export_controller
from kingpost.fmu.cosim import Component, Connection, System, cosimulate
from kingpost.fmu.export import NativeFmu
from kingpost.registry.selection import select

MODEL, VESSEL = "offshore-crane-on-base", "offshore-vessel:hs=2.0,tp=8.0,seed=1"
END, SETTLED = 120.0, 30.0
#: What the drives can do: rates in rad/s, ends of their ranges in rad.
RATES = {"slew": 0.06, "luff": 0.14, "knuckle": 0.14, "winch": 2.0}
RANGES = {
    "minimum": {"slew": -4.0, "luff": 0.0, "knuckle": -2.6, "winch": -40.0},
    "maximum": {"slew": 1.0, "luff": 1.4, "knuckle": 0.0, "winch": 40.0},
}
HOOK = [f"crane.hook.{axis}" for axis in "xyz"]

plugins = PluginSet()
crane_model = plugins.models.get(MODEL)()


def controller(path, step, task="hold-in-world", rates=None, **options):
    """Write the controller FMU and return its file; the same as 'kingpost export-controller' does."""
    chosen = {"sample_time": step, "rates": rates or RATES, **RANGES, **options}
    feedback = select(plugins.of("feedback"), "hold-in-world", chosen)
    return export_controller(crane_model.build(), crane_model.tasks()[task], path, feedback=feedback, plugins=plugins).path


def machine(folder, name, model, outputs):
    """Write the crane or the vessel as an FMU, once, and return its file."""
    path = folder / f"{name}.fmu"
    if not path.exists():
        NativeFmu().export(
            prepare_export(select(plugins.models, model).build(), plugins=plugins), ExportSelection(outputs), path
        )
    return path


def coupled(folder, step, controller_fmu=None, t_end=END):
    """Return vessel, crane and perhaps the controller as a system of FMUs."""
    shown = ["hook*", "load.*", "*.angle", "foot.*"]
    crane = Component("crane", fmu=machine(folder, "crane", MODEL, shown))
    vessel = Component("vessel", fmu=machine(folder, "vessel", VESSEL, ["hull.*", "mount.*"]), ports={"motion": "mount.*"})
    components, connections = [vessel, crane], [Connection("crane.foot", "vessel.mount")]
    if controller_fmu is not None:
        drives = [f"{name}{end}" for name in RATES for end in ("_target", "_target_rate", ".angle")]
        control = ["targets_t", *drives, *(f"hook{end}.{axis}" for end in ("", "-velocity") for axis in "xyz")]
        components[1] = Component("crane", fmu=crane.fmu, ports={"control": control})
        components.append(Component("controller", fmu=controller_fmu, ports={"base": "base_*", "control": control}))
        connections += [Connection("vessel.motion", "controller.base"), Connection("crane.control", "controller.control")]
    return System("hold-in-world", components, connections, step=step, t_end=t_end, master="jacobi", record=["*"])


def by_kingpost(system):
    """Return times and the hook's places, by 'kingpost cosim'."""
    history = cosimulate(system, plugins=plugins)
    return history.time, history.select(HOOK)


def by_libcosim(system, folder):
    """Return the same by the engine of the Open Simulation Platform."""
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimLogging import CosimLogLevel, log_output_level
    from libcosimpy.CosimObserver import CosimObserver

    log_output_level(CosimLogLevel.FATAL)
    system.write_osp(folder, plugins)
    execution = CosimExecution.from_osp_config_file(osp_path=str(folder))
    observer = CosimObserver.create_last_value()
    execution.add_observer(observer=observer)
    index = execution.slave_index_from_instance_name("crane")
    known = {entry.name.decode(): entry.reference for entry in execution.slave_variables(slave_index=index)}
    references = [known[name.partition(".")[2]] for name in HOOK]
    steps, rows = round(system.t_end / system.step), []
    for _ in range(steps):
        assert execution.step(), "the engine could not take a step"
        rows.append(observer.last_real_values(slave_index=index, variable_references=references))
    return system.step * np.arange(1, steps + 1), np.array(rows)


def spread(times, places, task="hold-in-world", settled=SETTLED):
    """Return the standard deviations of the hook's distance from its path, after the beginning."""
    late = times >= settled
    scope = {parameter.name: parameter.default for parameter in crane_model.build().parameters}
    path = [trajectory.jets_at(times[late], 0, scope)[:, 0] for trajectory in crane_model.tasks()[task].path.values()]
    return (places[late] - np.transpose(path)).std(axis=0)


def told(what, left, uncontrolled):
    """Return a line with what is left in each direction and of all three."""
    parts = "  ".join(f"{1000 * value:8.2f}" for value in left)
    return f"{what:44}{parts}  {100 * np.linalg.norm(left) / np.linalg.norm(uncontrolled):7.3f} %"


def draw(path, runs):
    """Draw how far the hook is from where it should be, over time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    for axes, (name, (times, places)) in zip(figure.subplots(2, 1, sharex=True), runs.items(), strict=True):
        axes.plot(times, 1000 * (places - places[times >= SETTLED].mean(axis=0)), linewidth=0.9, label=["x", "y", "z"])
        axes.set_title(name, loc="left")
        axes.set_ylabel("hook in the world, mm")
        axes.grid(alpha=0.3)
    axes.set_ylim(-20, 20)
    axes.set_xlabel("t, s")
    axes.legend(ncols=3)
    figure.savefig(path, dpi=90)


def study(folder):
    """Print what is left with other communication steps and slower drives, and of a load that moves."""

    def left(step, task="hold-in-world", **options):
        fmu = controller(folder / "studied.fmu", step, task, **options)
        return spread(*by_libcosim(coupled(folder, step, fmu), folder / "osp"), task)

    still = {}
    for step in (0.005, 0.01, 0.02, 0.05):
        # The engine couples crane and vessel to first order, so that the vessel itself moves less with longer steps.
        still[step] = spread(*by_libcosim(coupled(folder, step), folder / "osp"))
        print(told(f"{1000 * step:g} ms, drives hold their angles", still[step], still[step]))
        print(told(f"{1000 * step:g} ms, hold-in-world", left(step), still[step]))
        print(told(f"{1000 * step:g} ms, delay not made up for", left(step, lead=0.0), still[step]))
    for part in (0.8, 0.6, 0.4, 0.2):
        slower = {name: part * rate for name, rate in RATES.items()}
        print(told(f"10 ms, {100 * part:g} % of the rates", left(0.01, rates=slower), still[0.01]))
    print(told("10 ms, on a line", left(0.01, "move-in-world"), still[0.01]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--study", action="store_true", help="other steps, slower drives, and a load that moves, too")
    parser.add_argument("--t-end", type=float, default=END, help="end time in s")
    parser.add_argument("--picture", type=Path, help="draw the hook's motion into a file")
    arguments = parser.parse_args()
    folder = Path("hold-in-world")
    folder.mkdir(exist_ok=True)
    END = arguments.t_end
    uncontrolled = by_kingpost(coupled(folder, 0.01, t_end=END))
    still = spread(*uncontrolled)
    print(f"{'standard deviation, mm':44}{'x':>8}  {'y':>8}  {'z':>8}    of all")
    print(told("drives hold their angles", still, still))
    fmu = controller(Path("hold-in-world.fmu"), 0.01)
    system = coupled(folder, 0.01, fmu, t_end=END)
    controlled = by_kingpost(system)
    print(told("hold-in-world, kingpost cosim", spread(*controlled), still))
    print(told("hold-in-world, libcosim", spread(*by_libcosim(system, folder / "osp")), still))
    if arguments.picture:
        draw(arguments.picture, {"drives hold their angles": uncontrolled, "hold-in-world": controlled})
    if arguments.study:
        study(folder)
