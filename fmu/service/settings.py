"""How a server works: what ``kingpost serve`` was told, and what its executors must know of that."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from kingpost.fmu.service.folder import LEAST_FREE


@dataclass(frozen=True)
class JobLimits:
    """What one job may use; 0 is no limit."""

    memory: float = 0.0
    cpu_seconds: float = 0.0
    file_bytes: float = 50e9
    #: How much nicer than the server jobs are, so that pages answer while they compute.
    nice: int = 10

    @property
    def words(self) -> str:
        return f"{self.memory:.0f} {self.cpu_seconds:.0f} {self.file_bytes:.0f} {self.nice}"


@dataclass(frozen=True)
class ServiceSettings:
    """How a server works."""

    workers: int = 1
    #: Where studies run: on this machine, or ``dask://ADDRESS``.
    on: str = "local"
    #: Whether uploaded FMUs may run without a sandbox.
    trust_fmus: bool = False
    #: The most bytes of one upload.
    upload_bytes: float = 200e6
    #: Free bytes of the disk below which new jobs are refused.
    least_free: float = LEAST_FREE
    #: Seconds that a command has to keep what it computed when it is cancelled.
    grace: float = 10.0
    limits: JobLimits = JobLimits()

    def text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str) -> ServiceSettings:
        data = json.loads(text)
        return cls(**{**data, "limits": JobLimits(**data["limits"])})
