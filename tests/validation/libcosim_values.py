"""Run a system in libcosim: ``python libcosim_values.py FILE STOP NAMES OUT`` writes the last values of what is real, as JSON.

FILE is an OspSystemStructure.xml or an SSP archive, NAMES a list of "simulator.variable". In a process of its own, so that a
crash costs no other test; into a file, since FMUs may print.
"""

import json
import sys
from pathlib import Path

if __name__ == "__main__":
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimLogging import CosimLogLevel, log_output_level
    from libcosimpy.CosimObserver import CosimObserver

    path, stop, names = Path(sys.argv[1]), float(sys.argv[2]), json.loads(sys.argv[3])
    log_output_level(CosimLogLevel.FATAL)
    if path.suffix == ".xml":
        execution = CosimExecution.from_osp_config_file(osp_path=str(path))
    else:
        execution = CosimExecution.from_ssp_file(ssp_path=str(path))
    observer = CosimObserver.create_last_value()
    execution.add_observer(observer=observer)
    assert execution.simulate_until(round(stop * 1e9))
    values = {}
    for name in names:
        simulator, _, variable = name.partition(".")
        index = execution.slave_index_from_instance_name(simulator)
        reference = next(v.reference for v in execution.slave_variables(slave_index=index) if v.name.decode() == variable)
        values[name] = observer.last_real_values(slave_index=index, variable_references=[reference])[0]
    Path(sys.argv[4]).write_text(json.dumps({"time": execution.status().current_time * 1e-9, "values": values}))
