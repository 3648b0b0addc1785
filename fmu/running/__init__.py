"""Running FMUs, and what both running and checking need: reading the file, driving an instance."""

from kingpost.fmu.file.opened import Fmu, FmuError, open_fmu
from kingpost.fmu.instance.log import Message
from kingpost.fmu.running.run import FmuRun, prepare_fmu, run_fmu

__all__ = ["Fmu", "FmuError", "FmuRun", "Message", "open_fmu", "prepare_fmu", "run_fmu"]
