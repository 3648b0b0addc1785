"""Functions inside the equations that are not expressions: tables in generated code, and plain Python.

A force obtains such a value with ``kinematics.call(function, *arguments, size=n)``. A CasADi function (an interpolation table,
say) is compiled with the rest. A Python function works, too, but then every evaluation goes through the interpreter, which
the run says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.errors import PluginError, PluginRaisedError
from kingpost.base.raised import in_words, path_of

#: Arguments with at least so many entries are looked at as stretches of an input.
LONG = 16


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
        return not isinstance(self.function, ca.Callback)


class PythonFunction(ca.Callback):
    """A Python function of arrays, as something CasADi's interpreter can call; derivatives by finite differences.

    Its ``name`` must be unique among the equations: CasADi takes two callbacks with one name for the same. A function that has
    raised is not called again before :func:`python_error` has asked why; until then its values are NaN.
    """

    def __init__(self, name: str, function: Callable[..., Any], shapes: Sequence[tuple[int, int]], size: int) -> None:
        ca.Callback.__init__(self)
        self._function, self._shapes, self._size = function, shapes, size
        #: What the Python function raised; CasADi would only pass on a part of its text.
        self.error: BaseException | None = None
        self.construct(name, {"enable_fd": True})

    def get_n_in(self) -> int:
        return len(self._shapes)

    def get_n_out(self) -> int:
        return 1

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        return ca.Sparsity.dense(*self._shapes[i])

    def get_sparsity_out(self, i: int) -> ca.Sparsity:
        return ca.Sparsity.dense(self._size, 1)

    def has_eval_buffer(self) -> bool:
        return True

    def eval_buffer(self, arguments: Sequence[memoryview], results: Sequence[memoryview]) -> int:
        result = np.frombuffer(results[0])
        if self.error is not None:
            result[:] = np.nan
            return 0
        # An exception that went through CasADi would be printed and then lost; a status ends the evaluation as well.
        try:
            given = self._function(*(_array(view, shape) for view, shape in zip(arguments, self._shapes, strict=True)))
            if given is None:
                raise PluginError(f"its Python function returned nothing, expected {self._size} values")
            numbers = np.asarray(given, dtype=float).ravel()
            if numbers.size != self._size:
                raise PluginError(f"its Python function returned {numbers.size} values, expected {self._size}")
        except BaseException as error:
            self.error = error
            return 1
        result[:] = numbers
        return 0


def _array(view: memoryview, shape: tuple[int, int]) -> Any:
    """Return a copy of CasADi's numbers: a vector, or a matrix if it has more than one column."""
    return np.array(np.frombuffer(view)).reshape(shape[0] if shape[1] == 1 else shape, order="F")


def make_external(owner: str, function: Any, arguments: Sequence[ca.SX], size: int, index: int) -> External:
    """Return fresh symbols for the values of ``function``."""
    if not arguments:
        raise PluginError(f"force '{owner}' calls a function without arguments; give it one, such as the time kinematics.t")
    dense = tuple(ca.densify(ca.SX(argument)) for argument in arguments)
    if not isinstance(function, ca.Function):
        function = PythonFunction(f"python{index}_{_identifier(owner)}", function, [item.shape for item in dense], size)
    if function.numel_out(0) != size:
        raise PluginError(f"force '{owner}' calls a function that gives {function.numel_out(0)} values, but asks for {size}")
    return External(owner, ca.SX.sym(f"external{index}", size), function, dense)


def with_externals(name: str, inputs: Sequence[ca.SX], outputs: Sequence[ca.SX], externals: Sequence[External]) -> ca.Function:
    """Return the function inputs -> outputs in which the external symbols are computed by their functions."""
    outputs = [ca.densify(output) for output in outputs]
    externals = _used(outputs, externals)
    if not externals:
        return ca.Function(name, list(inputs), ca.cse(outputs))
    symbols = [external.symbols for external in externals]
    core = ca.Function(f"{name}_core", [*inputs, *symbols], ca.cse(outputs))
    arguments = [ca.MX.sym(f"i{k}", item.numel()) for k, item in enumerate(inputs)]
    values: list[ca.MX] = []
    for k, external in enumerate(externals):
        # An external may use the values of those before it, never of those after it.
        earlier = symbols[:k]
        found = [stretch(argument, inputs) for argument in external.arguments]
        rest = [argument for argument, place in zip(external.arguments, found, strict=True) if place is None]
        prepare = ca.Function(f"{name}_arguments{k}", [*inputs, *earlier], rest)
        prepared = iter(prepare.call([*arguments, *values]) if rest else ())
        values.append(external.function(*(next(prepared) if place is None else place.of(arguments) for place in found)))
    return ca.Function(name, arguments, core.call([*arguments, *values]))


@dataclass(frozen=True)
class Stretch:
    """A matrix whose entries are consecutive ones of an input."""

    index: int
    first: int
    shape: tuple[int, int]

    def of(self, inputs: Sequence[ca.MX]) -> ca.MX:
        """Return it, without a line of code for each entry."""
        rows, columns = self.shape
        return ca.reshape(inputs[self.index][self.first : self.first + rows * columns], rows, columns)


def stretch(argument: ca.SX, inputs: Sequence[ca.SX]) -> Stretch | None:
    """Return which stretch of which input a long argument is, if it is one."""
    size = argument.numel()
    if size < LONG or not argument.is_dense() or not argument.nz[0].is_symbolic():
        return None
    begin = argument.nz[0].element_hash()
    for index, given in enumerate(inputs):
        for first in range(given.numel() - size + 1):
            if given.nz[first].element_hash() == begin:
                same = ca.is_equal(ca.vec(argument), given[first : first + size], 0)
                return Stretch(index, first, argument.shape) if same else None
    return None


def _used(outputs: Sequence[ca.SX], externals: Sequence[External]) -> list[External]:
    """Return the externals that the outputs need, directly or as arguments of others."""
    used: list[External] = []
    needed = list(outputs)
    for external in reversed(externals):
        if any(ca.depends_on(expression, external.symbols) for expression in needed):
            used.insert(0, external)
            needed += external.arguments
    return used


def python_error(externals: Sequence[External]) -> tuple[str, BaseException] | None:
    """Return which force's Python function raised, and what, and forget it."""
    for external in externals:
        if isinstance(external.function, PythonFunction) and external.function.error is not None:
            error, external.function.error = external.function.error, None
            return external.owner, error
    return None


@contextmanager
def python_forces_named(externals: Sequence[External]) -> Iterator[None]:
    """Say which force's Python function raised, what, and in which line, whatever became of it outside; pass interrupts on."""
    python_error(externals)
    try:
        yield
    except Exception:
        _refuse_raised(externals)
        raise
    _refuse_raised(externals)


def _refuse_raised(externals: Sequence[External]) -> None:
    raised = python_error(externals)
    if raised is None:
        return
    raise force_failure(*raised) from None


def force_failure(owner: str, error: BaseException) -> PluginRaisedError:
    """Return what is to be said of a force whose Python function raised; pass an interrupt on."""
    if isinstance(error, KeyboardInterrupt):
        raise error
    # The first line is our call of the function.
    where = "".join(f"\n  in {place}" for place, _ in path_of(error)[1:][-1:])
    return PluginRaisedError(f"force '{owner}' raised {in_words(error)}{where}")


def _identifier(name: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in name)
