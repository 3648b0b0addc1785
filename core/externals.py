"""Functions inside the equations that are not expressions: tables in generated code, and plain Python.

A force obtains such a value with ``kinematics.call(function, *arguments, size=n)``. A CasADi function (an interpolation table,
say) is compiled with the rest. A Python function works, too, but then every evaluation goes through the interpreter, which the run
says; it needs no more than NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from kingpost.errors import PluginError


@dataclass(frozen=True, eq=False)
class External:
    """The values ``symbols`` = function(arguments), asked for by the force called ``owner``."""

    owner: str
    symbols: ca.SX
    function: ca.Function
    arguments: tuple[ca.SX, ...]

    @property
    def traceable(self) -> bool:
        """Whether C code can be made of it."""
        return not isinstance(self.function, PythonFunction)


class PythonFunction(ca.Callback):
    """A Python function of vectors, as something CasADi's interpreter can call; derivatives by finite differences."""

    def __init__(self, owner: str, function: Callable[..., Any], sizes: Sequence[int], size: int) -> None:
        ca.Callback.__init__(self)
        self._owner, self._function, self._sizes, self._size = owner, function, sizes, size
        #: What the Python function raised; CasADi would only pass on a part of its text.
        self.error: BaseException | None = None
        self.construct(f"python_{_identifier(owner)}", {"enable_fd": True})

    def get_n_in(self) -> int:
        return len(self._sizes)

    def get_n_out(self) -> int:
        return 1

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        return ca.Sparsity.dense(self._sizes[i], 1)

    def get_sparsity_out(self, i: int) -> ca.Sparsity:
        return ca.Sparsity.dense(self._size, 1)

    def eval(self, arguments: Sequence[ca.DM]) -> list[ca.DM]:
        try:
            result = np.asarray(self._function(*(np.asarray(argument).ravel() for argument in arguments)), dtype=float).ravel()
            if result.size != self._size:
                raise PluginError(f"its Python function returned {result.size} values, expected {self._size}")
        except BaseException as error:
            self.error = error
            raise
        return [ca.DM(result)]


def make_external(owner: str, function: Any, arguments: Sequence[ca.SX], size: int, index: int) -> External:
    """Return fresh symbols for the values of ``function``."""
    columns = tuple(ca.densify(ca.SX(argument)) for argument in arguments)
    if not isinstance(function, ca.Function):
        function = PythonFunction(owner, function, [column.numel() for column in columns], size)
    if function.numel_out(0) != size:
        raise PluginError(f"force '{owner}' calls a function that gives {function.numel_out(0)} values, but asks for {size}")
    return External(owner, ca.SX.sym(f"external{index}", size), function, columns)


def with_externals(name: str, inputs: Sequence[ca.SX], outputs: Sequence[ca.SX], externals: Sequence[External]) -> ca.Function:
    """Return the function inputs -> outputs in which the external symbols are computed by their functions."""
    outputs = [ca.densify(output) for output in outputs]
    if not externals:
        return ca.Function(name, list(inputs), ca.cse(outputs))
    symbols = [external.symbols for external in externals]
    core = ca.Function(f"{name}_core", [*inputs, *symbols], ca.cse(outputs))
    arguments = [ca.MX.sym(f"i{k}", item.numel()) for k, item in enumerate(inputs)]
    values: list[ca.MX] = []
    for k, external in enumerate(externals):
        # An external may use the values of those before it, never of those after it.
        earlier = symbols[:k]
        prepare = ca.Function(f"{name}_arguments{k}", [*inputs, *earlier], list(external.arguments))
        prepared = prepare.call([*arguments, *values])
        values.append(external.function(*prepared))
    return ca.Function(name, arguments, core.call([*arguments, *values]))


def python_error(externals: Sequence[External]) -> tuple[str, BaseException] | None:
    """Return which force's Python function raised, and what, and forget it."""
    for external in externals:
        if isinstance(external.function, PythonFunction) and external.function.error is not None:
            error, external.function.error = external.function.error, None
            return external.owner, error
    return None


def _identifier(name: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in name)
