"""Runs of FMUs in other people's masters, each in a process of its own: ``python master_scripts.py NAME`` with JSON on stdin.

A crash inside a master must not take the tests with it, and what the masters print must not get in the way.
"""

from __future__ import annotations

import json
import sys
from typing import Any

NANO = 1e9


def libcosim(task: dict[str, Any]) -> dict[str, Any]:
    """Run models in libcosim with fixed steps; ``connections`` are [model, reference, model, reference]."""
    from libcosimpy.CosimEnums import CosimExecutionState
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimLogging import CosimLogLevel, log_output_level
    from libcosimpy.CosimManipulator import CosimManipulator
    from libcosimpy.CosimObserver import CosimObserver
    from libcosimpy.CosimSlave import CosimLocalSlave

    log_output_level(CosimLogLevel.FATAL)
    execution = CosimExecution.from_step_size(step_size=task["step"] * NANO)
    observer, manipulator = CosimObserver.create_last_value(), CosimManipulator.create_override()
    places = {}
    for name, model in task["models"].items():
        places[name] = execution.add_local_slave(CosimLocalSlave(fmu_path=model["path"], instance_name=name))
        for reference, value in model.get("start", []):
            assert execution.real_initial_value(places[name], reference, value)
    execution.add_observer(observer)
    execution.add_manipulator(manipulator)
    for source, output, target, entry in task.get("connections", []):
        assert execution.connect_real_variables(places[source], output, places[target], entry) == 0
    for name, model in task["models"].items():
        for reference, value in model.get("inputs", []):
            assert manipulator.slave_real_values(places[name], [reference], [value])
    done = execution.simulate_until(round(task["stop"] * NANO))
    return {
        "done": done,
        "failed": execution.status().state == CosimExecutionState.ERROR.value,
        **{name: observer.last_real_values(places[name], model["read"]) for name, model in task["models"].items()},
    }


def ecos(task: dict[str, Any]) -> dict[str, Any]:
    """Run models in Ecos with fixed steps, by names."""
    from ecospy.EcosParameterSet import EcosParameterSet
    from ecospy.EcosSimulation import EcosSimulation
    from ecospy.EcosSimulationStructure import EcosSimulationStructure
    from ecospy.lib import EcosLib

    EcosLib.set_log_level("off")
    with EcosSimulationStructure() as structure, EcosParameterSet() as parameters:
        for name, model in task["models"].items():
            structure.add_model(name, model["path"])
            for variable, value in model.get("start", []):
                parameters.add_real(f"{name}::{variable}", value)
        structure.add_parameter_set("start", parameters)
        for source, target in task.get("connections", []):
            structure.make_real_connection(source, target)
        with EcosSimulation(structure=structure, step_size=task["step"]) as simulation:
            assert simulation.init(parameter_set="start")
            for name, model in task["models"].items():
                for variable, value in model.get("inputs", []):
                    simulation.set_real(f"{name}::{variable}", value)
            simulation.step(round(task["stop"] / task["step"]))
            found: dict[str, Any] = {"time": simulation.get_time()}
            for name, model in task["models"].items():
                found[name] = [simulation.get_real(f"{name}::{variable}") for variable in model["read"]]
            simulation.terminate()
            return found


if __name__ == "__main__":
    answer = {"libcosim": libcosim, "ecos": ecos}[sys.argv[1]](json.load(sys.stdin))
    print("\nanswer " + json.dumps(answer))
