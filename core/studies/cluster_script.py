"""A script that runs a study on a cluster with SLURM, by dask-jobqueue."""

from __future__ import annotations

import json
import re
from pathlib import PurePath

from kingpost.base.errors import KingpostError

SCRIPT = '''"""Run a study on SLURM: on the login node, or in a job of its own; with kingpost[cluster] and dask-jobqueue."""

import subprocess
import sys

from dask_jobqueue import SLURMCluster

if __name__ == "__main__":
    with SLURMCluster(
        queue={queue},
        account={account},
        cores=1,
        processes=1,
        memory={memory},
        walltime={walltime},
        # Whoever reaches the scheduler's port runs code: on a network that others share, read about TLS in Dask's manual.
        interface={interface},
        scheduler_options={{"dashboard": False}},
        # Workers end by themselves before SLURM ends them, and others take their place.
        worker_extra_args=["--lifetime", "{lifetime:.0f}s", "--lifetime-stagger", "{stagger:.0f}s", "--no-dashboard"],
    ) as cluster:
        cluster.scale(jobs={workers})
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        words = ["kingpost", "study", {study}, "--on", address, "--out", {out}, "--resume"]
        sys.exit(subprocess.run(words).returncode)
'''


def slurm_script(
    study: str,
    out: str = "",
    *,
    workers: int = 10,
    walltime: str = "01:00:00",
    memory: str = "2GB",
    queue: str | None = None,
    account: str | None = None,
    interface: str | None = None,
) -> str:
    """Return a Python script that asks SLURM for workers and runs a study on them.

    Parameters
    ----------
    study
        The study file, which all nodes see at the same place, as they do the model and its plugins.
    out
        The folder of the results; ``results/`` and the name of the study by default.
    workers
        Processes, each in a job of its own with one core.
    walltime, memory
        What each may take, in the words of SLURM and of Dask.
    queue, account, interface
        The partition, who pays, and the network interface of the nodes; those that the cluster takes by default.

    """
    found = re.fullmatch(r"(?:(\d+)-)?(\d+):(\d\d):(\d\d)", walltime)
    if found is None:
        raise KingpostError(f"walltime {walltime!r} is no time; write [days-]hours:minutes:seconds, such as 04:00:00")
    days, hours, minutes, seconds = (int(number or 0) for number in found.groups())
    total = 86400 * days + 3600 * hours + 60 * minutes + seconds
    if workers < 1 or total < 60:
        raise KingpostError(f"{workers} workers of {total} s can do nothing; give 1 or more, of a minute or more")
    texts = {"queue": queue, "account": account, "memory": memory, "walltime": walltime, "interface": interface}
    texts |= {"study": study, "out": out or f"results/{PurePath(study).stem}"}
    return SCRIPT.format(
        **{name: "None" if text is None else json.dumps(text, ensure_ascii=False) for name, text in texts.items()},
        lifetime=0.9 * total,
        stagger=0.05 * total,
        workers=workers,
    )
