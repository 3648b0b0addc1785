"""Values of an FMU that are read or written together, in one call for each type."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.fmu.cosim.components import operations
from kingpost.fmu.cosim.components.fmu import FmuComponent
from kingpost.fmu.file.variables import Variable
from kingpost.fmu.instance.instance import C_TYPES, FmiError, Instance, Negation
from kingpost.fmu.instance.log import status_name


class Row:
    """Signals of an FMU that are read or written together, straight from and into a row of numbers where they are doubles."""

    def __init__(self, component: FmuComponent, instance: Instance, labels: Sequence[str], row: FloatArray, verb: str) -> None:
        self._calls: list[tuple[Any, tuple[Any, ...], FloatArray | None, Any, str]] = []
        self._row, self._writes = row, verb == "Set"
        self._negated = Negation([component.variable_of(label) for label in labels], one_each=True)
        self.references: list[int] = [component.variable_of(label).reference for label in labels]
        major = instance.fmu.major
        kinds = dict.fromkeys(component.variable_of(label).access for label in labels)
        for access in kinds:
            places = [i for i, label in enumerate(labels) if component.variable_of(label).access == access]
            variables = list(dict.fromkeys(component.variable_of(labels[i]) for i in places))
            references = (ctypes.c_uint * len(variables))(*(variable.reference for variable in variables))
            kind = C_TYPES.get(access, ctypes.c_int if major == 2 else ctypes.c_bool)
            elements = [label for variable in variables for label in variable.labels]
            straight = (
                kind is ctypes.c_double and not self._negated.needed
                and places == list(range(places[0], places[0] + len(elements)))
                and elements == [labels[i] for i in places]
            )  # fmt: skip
            buffer: Any = None
            if straight:
                part = row[places[0] : places[0] + len(elements)]
                pointer: Any = ctypes.c_void_p(part.ctypes.data)
                order: Any = None
            else:
                pointer = (kind * len(elements))(*_starts(component, variables, verb))
                buffer = np.frombuffer(pointer, dtype=kind)
                order = (np.array(places), np.array([elements.index(labels[i]) for i in places]))
            sizes: tuple[Any, ...] = (ctypes.c_size_t(len(variables)), pointer)
            if major == 3:
                sizes = (*sizes, ctypes.c_size_t(len(elements)))
            # A function object of our own: fmpy's have argument types, whose checks take longer than the call.
            function = instance.function(f"{verb}{access}")
            self._calls.append((function, (instance.handle, references, *sizes), buffer, order, f"fmi{major}{verb}{access}"))

    def operations(self) -> list[operations.Operation] | None:
        """Return what reading or writing consists of, for the loop in machine code; None if that does not know how."""
        if self._negated.needed:
            return None
        found = []
        for function, arguments, buffer, order, name in self._calls:
            if buffer is not None and self._writes:
                found.append(operations.pack(self._row, order[0], buffer, order[1]))
            found.append(operations.called(name, function, arguments))
            if buffer is not None and not self._writes:
                found.append(operations.unpack(buffer, order[1], self._row, order[0]))
        return found

    def read(self) -> None:
        """Fill the row from the FMU."""
        for function, arguments, buffer, order, name in self._calls:
            status = function(*arguments)
            if status > 1:
                raise FmiError(f"{name} ended with status '{status_name(status)}'", status)
            if buffer is not None:
                self._row[order[0]] = buffer[order[1]]
        if self._negated.needed:
            self._row[:] = self._negated(self._row)

    def write(self) -> None:
        """Hand the row to the FMU."""
        row = self._negated(self._row)
        for function, arguments, buffer, order, name in self._calls:
            if buffer is not None:
                buffer[order[1]] = row[order[0]]
            status = function(*arguments)
            if status > 1:
                raise FmiError(f"{name} ended with status '{status_name(status)}'", status)


def _starts(component: FmuComponent, variables: Sequence[Variable], verb: str) -> list[Any]:
    """Return start values for a buffer, of which perhaps only some elements are written."""
    if verb == "Get":
        return []
    return [
        value
        for variable in variables
        for value in (component.starts.get(variable.name) or variable.start() or [0] * variable.elements)
    ]
