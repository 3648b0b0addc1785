"""Arrays that an FMU is handed: what it may only read must stay as it is, and what it fills has an end."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from typing import Any

from kingpost.fmu.checks.check import Verdict, finding, passed
from kingpost.fmu.checks.fmu_under_test import FmuUnderTest, Run, listed_few
from kingpost.fmu.file.variables import Variable, settable
from kingpost.fmu.instance.instance import C_TYPES, Instance
from kingpost.fmu.instance.modelexchange import ModelExchange

ARRAY_STEPS = 3
#: Bytes of a pattern before and after each array.
MARGIN = 256
PATTERN = bytes(range(1, 256)) + b"\xa5"
WORSE_THAN_WARNING = 1


class Guarded:
    """An array in the middle of memory that is known."""

    def __init__(self, content: bytes) -> None:
        self._memory = ctypes.create_string_buffer(PATTERN + content + PATTERN, 2 * MARGIN + len(content))
        self._content = content
        self.pointer = ctypes.c_void_p(ctypes.addressof(self._memory) + MARGIN)

    def changed(self) -> bool:
        """Say whether the array is not what it was."""
        return self._memory.raw[MARGIN:-MARGIN] != self._content

    def overrun(self) -> bool:
        """Say whether anything beside the array is not what it was."""
        return self._memory.raw[:MARGIN] != PATTERN or self._memory.raw[-MARGIN:] != PATTERN


def const_arrays(subject: FmuUnderTest) -> Verdict:
    """Hand arrays of references and values over, and look at them, and at what is beside them, afterwards."""
    instance = subject.load()
    faults: list[str] = []
    starts = {v: value for v in subject.variables.values() if _plain(v) and settable(v) and (value := v.start()) is not None}
    faults += _set_all(instance, starts)
    instance.enter_initialization(subject.times.t_start, subject.times.t_stop)
    instance.exit_initialization()
    run = Run(subject, instance)
    inputs = {v: v.start() or [0.0] * v.elements for v in subject.inputs} if subject.manners.takes_inputs else {}
    shown = [v for v in subject.observed if _plain(v)]
    for _ in range(subject.steps(ARRAY_STEPS)):
        faults += _set_all(instance, inputs)
        run.step(feed=False)
        faults += _get_all(instance, shown)
        if isinstance(instance, ModelExchange):
            faults += _states(instance)
    run.finish()
    if faults:
        first, *others = dict.fromkeys(faults)
        return finding(first, *others[:5])
    return passed(f"{len(starts)} start values, {len(inputs)} inputs and {len(shown)} outputs: arrays stay as they are")


def _plain(variable: Variable) -> bool:
    return variable.numeric and variable.elements > 0


def _kind(instance: Instance, access: str) -> Any:
    return C_TYPES.get(access, ctypes.c_int if instance.fmu.major == 2 else ctypes.c_bool)


def _grouped(variables: Iterable[Variable]) -> dict[str, list[Variable]]:
    groups: dict[str, list[Variable]] = {}
    for variable in variables:
        groups.setdefault(variable.access, []).append(variable)
    return groups


def _references(variables: Sequence[Variable]) -> Guarded:
    return Guarded(bytes((ctypes.c_uint * len(variables))(*(variable.reference for variable in variables))))


def _sizes(instance: Instance, variables: Sequence[Variable], values: Guarded) -> tuple[Any, ...]:
    count = ctypes.c_size_t(len(variables))
    if instance.fmu.major == 2:
        return count, values.pointer
    return count, values.pointer, ctypes.c_size_t(sum(variable.elements for variable in variables))


def _set_all(instance: Instance, values: dict[Variable, list[Any]]) -> list[str]:
    faults = []
    for access, variables in _grouped(values).items():
        numbers = [number for variable in variables for number in values[variable]]
        references, given = _references(variables), Guarded(bytes((_kind(instance, access) * len(numbers))(*numbers)))
        name = f"fmi{instance.fmu.major}Set{access}"
        instance.trail(f"calling {name}")
        arguments = instance.handle, references.pointer, *_sizes(instance, variables, given)
        if instance.function(f"Set{access}")(*arguments) > WORSE_THAN_WARNING:
            continue  # 'set-values' says more
        faults += _told(name, variables, references, given, const=True)
    return faults


def _get_all(instance: Instance, variables: Sequence[Variable]) -> list[str]:
    faults = []
    for access, group in _grouped(variables).items():
        count = sum(variable.elements for variable in group)
        references, taken = _references(group), Guarded(bytes(ctypes.sizeof(_kind(instance, access)) * count))
        name = f"fmi{instance.fmu.major}Get{access}"
        instance.trail(f"calling {name}")
        instance.function(f"Get{access}")(instance.handle, references.pointer, *_sizes(instance, group, taken))
        faults += _told(name, group, references, taken, const=False)
    return faults


def _states(instance: ModelExchange) -> list[str]:
    states = instance.states()
    given = Guarded(states.tobytes())
    name = f"fmi{instance.fmu.major}SetContinuousStates"
    instance.trail(f"calling {name}")
    instance.function("SetContinuousStates")(instance.handle, given.pointer, ctypes.c_size_t(len(states)))
    return [f"{name} writes into the states that it is given"] if given.changed() or given.overrun() else []


def _told(name: str, variables: Sequence[Variable], references: Guarded, values: Guarded, const: bool) -> list[str]:
    where = f"({listed_few([variable.name for variable in variables])})"
    faults = []
    if references.changed() or references.overrun():
        faults.append(f"{name} writes into the references that it is given {where}")
    if const and values.changed():
        faults.append(f"{name} writes into the values that it is given, which are const {where}")
    if values.overrun():
        faults.append(f"{name} writes beyond the {len(variables)} value(s) that it is asked for {where}")
    return faults
