"""Many communication steps at once in machine code (steps.c), where all components and the master can be had there.

A step is then a row of operations: numbers that are moved, functions of FMUs that are called, time loops of compiled models.
They are those of the loop in Python, in their order, so that all numbers are the same bits. Where anything is not as in most
steps, the step goes on in Python from that place on: errors, discarded steps, values that are to be looked at.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from enum import IntEnum
from functools import cache
from importlib.resources import files
from itertools import chain

import numpy as np

from kingpost.base.interrupts import uninterrupted
from kingpost.fmu.cosim.components.described import Running
from kingpost.fmu.cosim.components.operations import Operation, Stopped, Why, added, move, replaced, scaled
from kingpost.fmu.cosim.masters.interface import Coupling, Turn
from kingpost.fmu.cosim.motion import Motion
from kingpost.fmu.cosim.samples import Samples
from kingpost.fmu.cosim.watch import WatchPart
from kingpost.kernel.compiler import CompilerError, build_cached, built_elsewhere, find_compiler

#: Runs with fewer steps are over before a compiler is found.
WORTH_COMPILING = 1000
#: Seconds after which machine code comes back, so that the user can interrupt, and is told how far it is.
LIMIT = 0.05
#: Numbers in the samples of one call.
MOST_NUMBERS = 2**17


class End(IntEnum):
    """How a call ended, as in steps.c."""

    GOES_ON = 0
    IN_STEP = 1
    LOOK_CLOSELY = 2
    JUDGE = 3
    IN_RECORD = 4
    LOOK_BESIDE = 5


class _Job(ctypes.Structure):
    """kp_job in steps.c."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("step", "record")),
        *((name, ctypes.c_int64) for name in ("steps", "records")),
        *((name, ctypes.c_double) for name in ("first", "h", "limit")),
        *((name, ctypes.c_int64) for name in ("count", "done", "most")),
        *((name, ctypes.c_void_p) for name in ("watch", "beside", "bonds")),
        ("n_bonds", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("inputs", "factors", "offsets", "energies")),
        *((name, ctypes.c_int64) for name in ("per_sample", "columns")),
        ("column", ctypes.c_void_p),
        ("samples", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("times", "rows")),
        *((name, ctypes.c_int64) for name in ("at", "status", "why")),
        *((name, ctypes.c_double) for name in ("begin", "length", "end", "last")),
    )


class CompiledSteps:
    """Whole runs of communication steps of a system in motion that has taken its first one."""

    def __init__(
        self, motion: Motion, turns: Sequence[Turn], steps: Sequence[Sequence[Operation]], record: Sequence[Operation],
        per_sample: int, library: ctypes.CDLL,
    ) -> None:  # fmt: skip
        self._motion, self._turns, self._record = motion, turns, list(record)
        #: All operations of a step, and the turn that each belongs to.
        self._step = list(chain.from_iterable(steps))
        self._turn = [k for k, operations in enumerate(steps) for _ in operations]
        self._go = library.kp_steps
        self._go.restype = ctypes.c_int64
        coupling, layout = motion.network, motion.layout
        self._watches: tuple[WatchPart, WatchPart] = motion.watch.in_machine_code(), motion.beside.in_machine_code()
        arrays = (Operation * len(self._step))(*self._step), (Operation * len(self._record))(*self._record)
        bonds = np.array(
            [(bond.effort_out, bond.effort_in, bond.flow_out, bond.flow_in) for bond in coupling.bonds], dtype=np.int64
        )
        columns = np.ascontiguousarray(layout.columns, dtype=np.int64)
        self._kept = arrays, bonds, columns
        self._job = _Job(
            step=ctypes.addressof(arrays[0]), record=ctypes.addressof(arrays[1]),
            steps=len(self._step), records=len(self._record), first=motion.system.t_start, h=motion.following, limit=LIMIT,
            watch=ctypes.addressof(self._watches[0]), beside=ctypes.addressof(self._watches[1]),
            bonds=bonds.ctypes.data, n_bonds=len(bonds), inputs=coupling.inputs.ctypes.data,
            factors=coupling.factors.ctypes.data, offsets=coupling.offsets.ctypes.data, energies=motion.energies.ctypes.data,
            per_sample=per_sample, columns=len(columns), column=columns.ctypes.data,
        )  # fmt: skip
        self._at = ctypes.c_void_p(ctypes.addressof(self._job))
        width = len(columns) + 2 * len(bonds)
        self._per_call = per_sample * max(1, MOST_NUMBERS // max(1, width))

    def take(self, most: int, samples: Samples) -> bool:
        """Take up to so many steps, and keep their samples; return whether the last one is still to be looked at for that."""
        job, motion = self._job, self._motion
        job.most, job.count = min(most, self._per_call), motion.count
        times, rows = samples.room(job.most // job.per_sample + 1)
        job.times, job.rows = times.ctypes.data, rows.ctypes.data
        motion.h = motion.following
        for part, watch in zip(self._watches, (motion.watch, motion.beside), strict=True):
            part.count = watch.looks
        # An interrupt would otherwise be raised in whatever Python an FMU runs, as in its messages, and be lost there.
        with uninterrupted(once=True):
            end = End(self._go(self._at))
            self._hear(samples)
        if end == End.IN_STEP:
            self._resume(self._turn[job.at], self._stopped(self._step[job.at]))
        elif end == End.LOOK_CLOSELY:
            motion.watch.look(motion.t)
        elif end == End.JUDGE:
            motion.watch.judge(motion.t)
        elif end != End.GOES_ON:
            motion.record()
        return end != End.GOES_ON

    def _hear(self, samples: Samples) -> None:
        """Tell everybody how far it has come."""
        job, motion = self._job, self._motion
        samples.filled(job.samples)
        for part, watch in zip(self._watches, (motion.watch, motion.beside), strict=True):
            watch.looked(part.count)
        if job.done:
            before = job.first + (job.count - 1) * job.h
            motion.count, motion.t = job.count, job.first + job.count * job.h
            for partner in motion.running.values():
                partner.arrived(before + job.h)

    def _stopped(self, operation: Operation) -> Stopped:
        job = self._job
        return Stopped(operation.name, job.status, Why(job.why), job.begin, job.length, job.end, job.last)

    def _resume(self, turn: int, stopped: Stopped) -> None:
        """Go on with a step in Python from the turn in which it was stopped."""
        motion, t, h = self._motion, self._motion.t, self._motion.h
        for k, (place, partner) in enumerate(self._turns):
            assert isinstance(partner, Running)
            if k < turn:
                partner.arrived(t + h)
            elif k == turn:
                partner.resume(t, h, stopped)
            else:
                motion.network.transfer_to(place)()
                partner.step(t, h)
        motion.arrive()


def compiled_steps(motion: Motion, per_sample: int, steps: int) -> CompiledSteps | str:
    """Return the loop in machine code for a system that has so many steps before it, or why there is none."""
    turns = motion.turns()
    if isinstance(turns, str):
        return turns
    parts = {}
    for name, partner in motion.running.items():
        part = partner.in_machine_code(motion.t, motion.following)
        if isinstance(part, str):
            return f"component '{name}': {part}"
        parts[name] = part
    if steps < WORTH_COMPILING:
        return f"there are fewer than {WORTH_COMPILING} steps"
    library = _library()
    if isinstance(library, str):
        return library
    operations = [[*_transfers(motion.network, place), *parts[partner.name].step] for place, partner in turns]
    record = [one for name in parts for one in parts[name].record if motion.layout.extra[name]]
    return CompiledSteps(motion, turns, operations, record, per_sample, library)


def _transfers(coupling: Coupling, place: slice) -> list[Operation]:
    """Return what puts the newest outputs into some of the inputs."""
    sources, inputs, outputs = coupling.sources[place], coupling.inputs[place], coupling.outputs
    if not len(inputs):
        return []
    found = move(outputs, sources, inputs, np.arange(len(inputs)))
    changes = coupling.changes(place)
    if changes is None:
        return found
    for i, table in changes.tables:
        found.append(replaced(inputs[i : i + 1], *(np.array(list(part), dtype=float) for part in (table, table.values()))))
    found.append(scaled(inputs, changes.factors, changes.offsets))
    if len(changes.rows):
        found.append(added(outputs, changes.columns, changes.weights, inputs, changes.rows))
    return found


@cache
def _library() -> ctypes.CDLL | str:
    """Return the loop as machine code, or why it cannot be had."""
    source, compiler = files("kingpost.fmu.cosim").joinpath("steps.c").read_text(), find_compiler()
    try:
        built = built_elsewhere(source) if compiler is None else build_cached(source, compiler)
        return "there is no C compiler" if built is None else ctypes.CDLL(str(built.library))
    except (CompilerError, OSError) as error:
        return f"the C compiler failed: {str(error).strip().splitlines()[0]}"
