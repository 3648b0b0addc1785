"""Where an FMU runs: ``python -m kingpost.fmu.running.child FOLDER``.

The folder holds the job; samples, messages and how it ended are left there as they come, so that nothing is lost with the
process.
"""

from __future__ import annotations

import json
import pickle
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.files import write_json
from kingpost.fmu.file.opened import Fmu
from kingpost.fmu.instance.log import Log, Message
from kingpost.fmu.process.lifeline import end_with_starter
from kingpost.fmu.process.program import handed_over, leave
from kingpost.fmu.process.trail import Trail
from kingpost.fmu.running.job import Job
from kingpost.fmu.running.march import finish, march


def main(place: Path) -> None:
    """Run the job in a folder."""
    request = handed_over(place / "job.json")
    job = Job(**{**request["job"], "outputs": tuple(request["job"]["outputs"]), "inputs": tuple(request["job"]["inputs"])})

    def take(message: Message) -> None:
        # Opened for each: an FMU may close what it has not opened.
        with (place / "messages").open("ab", buffering=0) as messages:
            messages.write((json.dumps(asdict(message)) + "\n").encode("ascii"))

    count = np.memmap(place / "count", dtype=np.int64, mode="r+", shape=(1,))
    rows = np.memmap(place / "rows", dtype=float, mode="r+").reshape(job.steps + 1, -1)

    def keep(k: int, row: FloatArray) -> None:
        rows[k] = row
        count[0] = k + 1

    fmu: Fmu = pickle.loads((place / "used").read_bytes())
    inputs = np.load(place / "inputs.npy")
    ending, instance = march(fmu, Path(request["folder"]), job, inputs, Log(take), keep, Trail(place / "trail"))
    left: dict[str, Any] = {**asdict(ending), "finish": ""}
    write_json(place / "ending.json", left)
    if instance is not None:
        left["finish"] = finish(instance)
        write_json(place / "ending.json", left)


if __name__ == "__main__":
    end_with_starter()
    folder = Path(sys.argv[1])
    try:
        main(folder)
    except Exception as error:
        write_json(folder / "ending.json", {"fault": f"{type(error).__name__}: {error}"})
        raise
    leave()
