"""Run a folder with an OspSystemStructure.xml in libcosim: ``python osp_script.py FOLDER STOP SIMULATOR VARIABLE ...``.

In a process of its own, so that a crash costs no other test.
"""

import sys

if __name__ == "__main__":
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimLogging import CosimLogLevel, log_output_level
    from libcosimpy.CosimObserver import CosimObserver

    folder, stop, simulator, *variables = sys.argv[1:]
    log_output_level(CosimLogLevel.FATAL)
    execution = CosimExecution.from_osp_config_file(osp_path=folder)
    observer = CosimObserver.create_last_value()
    execution.add_observer(observer=observer)
    assert execution.simulate_until(round(float(stop) * 1e9))
    index = execution.slave_index_from_instance_name(simulator)
    references = {entry.name.decode(): entry.reference for entry in execution.slave_variables(slave_index=index)}
    for variable in variables:
        print("value", observer.last_real_values(slave_index=index, variable_references=[references[variable]])[0])
    print("time", execution.status().current_time * 1e-9)
