"""The other end of :mod:`kingpost.fmu.checks.child`: starts it, hands it stages of checks, and understands how they ended."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from kingpost.base.errors import InternalError
from kingpost.fmu.checks.check import Check, Verdict
from kingpost.fmu.process.endings import describe_ending
from kingpost.fmu.process.program import last_printed, start_program
from kingpost.fmu.process.trail import read_trail


class Nursery:
    """Processes for checks. One nursery can serve any number of FMUs; use it in a ``with`` statement."""

    def __init__(self) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed by close()
        self._process = process = start_program(
            "kingpost.fmu.checks.child",
            # Threads of a numerical library would not survive a fork.
            environment={"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            session=False,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            encoding="utf-8",
        )
        assert process.stdin is not None
        assert process.stdout is not None
        self._requests, self._answers = process.stdin, process.stdout

    def __enter__(self) -> Nursery:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the processes."""
        if self._process.poll() is None:
            self._process.terminate()
        self._requests.close()
        self._answers.close()
        self._process.wait()
        self._errors.close()

    def run(self, check: Check, request: Mapping[str, Any], scratch: Path) -> Verdict:
        """Run all stages of a check."""
        verdict = Verdict("fault", "the check has no stages")
        for number, stage in enumerate(check.stages):
            verdict = self._stage(check, stage, request, scratch, number)
            if verdict.outcome != "pass":
                break
        return verdict

    def _stage(
        self, check: Check, stage: Callable[..., Verdict], request: Mapping[str, Any], scratch: Path, number: int
    ) -> Verdict:
        leaves = check.leaves_normally and request["manners"].get("survives_exit", True)
        files = {name: scratch / f"{check.name}-{number}.{name}" for name in ("verdict", "trail", "printed")}
        answer = self._ask(
            {
                **request,
                **{name: str(path) for name, path in files.items()},
                "function": f"{stage.__module__}:{stage.__qualname__}",
                "scratch": str(scratch),
                "leaves_normally": leaves,
                "poisoned": check.poisoned and request["python_inside"],
                "watched": check.watched,
                "sys_path": sys.path,
            }
        )
        verdict, final = _stored(files["verdict"])
        if verdict is not None and final and (answer["code"] == 0 or not leaves) and not answer["timed_out"]:
            ended = "; the process ended normally" if leaves and verdict.outcome == "pass" else ""
            return dataclasses.replace(verdict, summary=verdict.summary + ended)
        under_way, reached = read_trail(files["trail"])
        how = f"did not end within {request['limit']:g} s" if answer["timed_out"] else describe_ending(answer["code"])
        before = () if verdict is None else (f"before that: {verdict.summary}", *verdict.details)
        details = (*before, *(f"printed: {line}" for line in last_printed(files["printed"])))
        data = {"exit_code": answer["code"], "timed_out": answer["timed_out"], "while": under_way, "reached": reached}
        # What a check was about to try may not be asked of an FMU; then a crash weighs no more than the check said.
        severity = "error" if verdict is None or verdict.severity is None else verdict.severity
        return Verdict("finding", f"the process {how} while {under_way}", details, data, severity)

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        try:
            self._requests.write(json.dumps(request) + "\n")
            self._requests.flush()
            line = self._answers.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._errors.seek(0)
            told = self._errors.read().decode("utf-8", errors="replace").strip().splitlines()[-10:]
            raise InternalError("\n".join(["the process that runs the checks ended itself; it said:", *told]))
        answer: dict[str, Any] = json.loads(line)
        return answer


def _stored(path: Path) -> tuple[Verdict | None, bool]:
    if not path.is_file():
        return None, False
    record = json.loads(path.read_text(encoding="utf-8"))
    final = record.pop("final")
    return Verdict(**{**record, "details": tuple(record["details"])}), final
