"""Taylor series through expressions: all total derivatives of a function along a curve, up to some order.

A function that is differentiated with respect to time again and again grows by a factor each time. Its Taylor series, found
operation by operation, grows with the square of the order: what eight derivatives of the equations of a crane need. The
coefficients are those of ``x(t + s) = x_0 + x_1 s + x_2 s^2 + ...``, so that x_k is the k-th derivative over k!.

The same rules serve symbols (:func:`taylor`, for compiled code) and numbers (:class:`TaylorSeries`, at once, without any code).
Operations of the same kind that do not need each other are done together: the equations of a machine are a thousand operations,
but no more than about a dozen of them follow one from the other.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import KingpostError
from kingpost.symbols.taylor_rules import RULES, Series, inner

#: Series whose coefficients stay in the cache of a processor are found together, of more the next ones afterwards.
IN_CACHE = 2**20


def taylor(function: ca.Function, order: int) -> ca.Function:
    """Return the function of Taylor coefficients that belongs to a function of SX expressions.

    Each argument and result of n entries becomes an n x (order + 1) matrix whose column k holds the coefficients of s^k.
    Comparisons are decided at s = 0: beside a jump the series is that of the side on which the argument is.
    """
    tape = _Tape(function)
    arguments = [ca.SX.sym(name, size, order + 1) for name, size in tape.arguments]
    columns = [[argument[:, j] for j in range(order + 1)] for argument in arguments]
    results = [ca.horzcat(*column) for column in tape.run(_Symbols(), order, columns)]
    return ca.Function(f"{function.name()}_taylor_{order}", arguments, ca.cse([ca.densify(result) for result in results]))


class TaylorSeries:
    """The function of Taylor coefficients that belongs to a function of SX expressions, for numbers.

    >>> x = ca.SX.sym("x")
    >>> TaylorSeries(ca.Function("f", [x], [x**2]))(np.array([[3.0, 1.0, 0.0]]))[0].tolist()
    [[9.0, 6.0, 1.0]]
    """

    def __init__(self, function: ca.Function) -> None:
        self._tape = _Tape(function)

    def __call__(self, *arguments: FloatArray, orders: Sequence[tuple[int, ...]] | None = None) -> list[FloatArray]:
        """Return the coefficients of all results: entries x orders, as the arguments, or entries x orders x many series.

        The first argument has all orders and series. One that does not move may have its first coefficient alone, and one that
        is the same in all series may have one of them. ``orders`` says up to which order each entry of each result is wanted;
        further coefficients are zero.
        """
        given = [np.asarray(argument, dtype=float) for argument in arguments]
        if given[0].ndim == 2:
            return [result[:, :, 0] for result in self(*(argument[:, :, None] for argument in given), orders=orders)]
        _, count, many = given[0].shape
        together = max(1, IN_CACHE // (self._tape.size * count))
        if many > together:
            parts = [
                self(*(part if part.shape[2] == 1 else part[:, :, first : first + together] for part in given), orders=orders)
                for first in range(0, many, together)
            ]
            return [np.concatenate(results, axis=2) for results in zip(*parts, strict=True)]
        with np.errstate(all="ignore"):
            results = self._tape.run(_Numbers(many), count - 1, [part.transpose(1, 0, 2) for part in given], orders)
        return [result.transpose(1, 0, 2) for result in results]


# --- operations of a function -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Group:
    """Operations of one kind, none of which needs another of them."""

    rule: Callable[..., Series]
    #: The coefficients that are wanted of them.
    count: int
    #: Of each operand, whether it stands still, and the places of its entries; or the exponent that all of them have.
    operands: tuple[tuple[bool, NDArray[np.intp]] | float, ...]
    still: bool
    places: slice


@dataclass(frozen=True, eq=False)
class _Plan:
    """In which groups operations are done, where constants and arguments are, and where results are found."""

    sizes: dict[bool, int]
    constants: FloatArray
    #: Of each argument, whether it stands still, and its place.
    arguments: tuple[tuple[bool, slice], ...]
    groups: tuple[_Group, ...]
    #: Of each result, by whether they stand still: entries of the result, and their places.
    results: tuple[dict[bool, tuple[NDArray[np.intp], NDArray[np.intp]]], ...]


class _Tape:
    """The operations of a function, each as its code and the numbers of those that it needs."""

    def __init__(self, function: ca.Function) -> None:
        expanded = function.expand(f"{function.name()}_expanded")
        self.name = function.name()
        self.arguments = [(expanded.name_in(i), expanded.numel_in(i)) for i in range(expanded.n_in())]
        self._sizes = [expanded.numel_out(i) for i in range(expanded.n_out())]
        # Sparse arguments and results are indexed by their nonzeros.
        places = [expanded.sparsity_in(i).find() for i in range(expanded.n_in())]
        outputs = [expanded.sparsity_out(i).find() for i in range(expanded.n_out())]
        self._nodes: list[tuple[int, tuple[Any, ...]]] = []
        self._results: list[tuple[int, int, int]] = []
        now: dict[int, int] = {}
        for k in range(expanded.n_instructions()):
            code = expanded.instruction_id(k)
            into, of = expanded.instruction_output(k), expanded.instruction_input(k)
            if code == ca.OP_OUTPUT:
                self._results.append((into[0], outputs[into[0]][into[1]], now[of[0]]))
                continue
            if code == ca.OP_INPUT:
                needed: tuple[Any, ...] = (of[0], places[of[0]][of[1]])
            elif code == ca.OP_CONST:
                needed = (float(expanded.instruction_constant(k)),)
            elif code in RULES:
                needed = tuple(now[i] for i in of)
            else:
                raise KingpostError(f"operation number {code} of CasADi in '{self.name}' has no Taylor series here")
            now[into[0]] = len(self._nodes)
            self._nodes.append((code, needed))
        self._plans: dict[Any, _Plan] = {}

    @property
    def size(self) -> int:
        """The number of operations."""
        return max(1, len(self._nodes))

    def run(self, ops: Any, order: int, arguments: Sequence[Any], orders: Sequence[tuple[int, ...]] | None = None) -> list[Any]:
        """Return the series of all results, up to the orders that are wanted; an argument of one coefficient stands still."""
        still = tuple(order > 0 and len(argument) == 1 for argument in arguments)
        key = still, order, None if orders is None else tuple(orders)
        if key not in self._plans:
            wanted = [(order,) * size for size in self._sizes] if orders is None else orders
            self._plans[key] = self._plan(still, self._wanted(wanted))
        plan = self._plans[key]
        room = {True: ops.room(1, plan.sizes[True]), False: ops.room(order + 1, plan.sizes[False])}
        ops.put(room[True], slice(0, len(plan.constants)), [ops.constants(plan.constants)])
        for argument, (rests, places) in zip(arguments, plan.arguments, strict=True):
            ops.put(room[rests], places, argument)
        for group in plan.groups:
            operands = [[of] if isinstance(of, float) else ops.take(room[of[0]][: group.count], of[1]) for of in group.operands]
            ops.put(room[group.still], group.places, group.rule(ops, *operands))
        found = []
        for size, parts in zip(self._sizes, plan.results, strict=True):
            result = ops.room(order + 1, size)
            for rests, (entries, found_at) in parts.items():
                ops.put(result, entries, ops.take(room[rests], found_at))
            found.append(result)
        return found

    def _wanted(self, orders: Sequence[tuple[int, ...]]) -> NDArray[np.intp]:
        """Return up to which order each operation is wanted, for the results and for those that need it; -1 if it is not."""
        wanted = np.full(len(self._nodes), -1)
        for result, entry, node in self._results:
            wanted[node] = max(wanted[node], orders[result][entry])
        for i in range(len(self._nodes) - 1, -1, -1):
            code, needed = self._nodes[i]
            if code not in (ca.OP_INPUT, ca.OP_CONST):
                for j in needed:
                    wanted[j] = max(wanted[j], wanted[i])
        return wanted

    def _plan(self, still: tuple[bool, ...], wanted: NDArray[np.intp]) -> _Plan:
        """Return the groups of operations where some arguments stand still, and results are wanted up to some orders."""
        constants = [needed[0] for code, needed in self._nodes if code == ca.OP_CONST]
        sizes = {True: len(constants), False: 0}
        arguments = []
        for (_, size), rests in zip(self.arguments, still, strict=True):
            arguments.append((rests, slice(sizes[rests], sizes[rests] + size)))
            sizes[rests] += size
        levels, rest, place = (np.zeros(len(self._nodes), dtype=int) for _ in range(3))
        groups: dict[Any, list[int]] = defaultdict(list)
        constant = 0
        for i, (code, needed) in enumerate(self._nodes):
            if code == ca.OP_INPUT:
                rest[i], place[i] = still[needed[0]], arguments[needed[0]][1].start + needed[1]
            elif code == ca.OP_CONST:
                rest[i], place[i] = True, constant
                constant += 1
            elif wanted[i] >= 0:
                levels[i] = 1 + max(levels[j] for j in needed)
                rest[i] = all(rest[j] for j in needed)
                groups[levels[i], code, wanted[i], self._exponent(i), tuple(bool(rest[j]) for j in needed)].append(i)
        made = []
        for (_, code, order, exponent, rests), members in sorted(groups.items(), key=lambda item: item[0][0]):
            quiet = all(rests)
            places = slice(sizes[quiet], sizes[quiet] + len(members))
            place[members] = np.arange(places.start, places.stop)
            sizes[quiet] = places.stop
            columns = zip(*(self._nodes[i][1] for i in members), strict=True)
            operands: list[Any] = [(rests[k], place[list(column)]) for k, column in enumerate(columns)]
            if exponent is not None:
                operands[1] = exponent
            made.append(_Group(RULES[code], int(order) + 1, tuple(operands), quiet, places))
        return _Plan(sizes, np.array(constants), tuple(arguments), tuple(made), self._found(rest, place, wanted))

    def _exponent(self, node: int) -> float | None:
        """Return the exponent of a power, if it is a constant: such powers are done apart from others."""
        code, needed = self._nodes[node]
        if code not in (ca.OP_POW, ca.OP_CONSTPOW) or self._nodes[needed[1]][0] != ca.OP_CONST:
            return None
        return float(self._nodes[needed[1]][1][0])

    def _found(self, rest: NDArray[np.intp], place: NDArray[np.intp], wanted: NDArray[np.intp]) -> tuple[Any, ...]:
        found: list[dict[bool, tuple[list[int], list[int]]]] = [{} for _ in self._sizes]
        for result, entry, node in self._results:
            if wanted[node] < 0:
                continue
            entries, places = found[result].setdefault(bool(rest[node]), ([], []))
            entries.append(entry)
            places.append(int(place[node]))
        return tuple({rests: (np.array(a), np.array(b)) for rests, (a, b) in parts.items()} for parts in found)


# --- symbols and numbers ------------------------------------------------------------------------------------------------------


class _Symbols:
    """Series of symbols: lists of columns."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(ca, name)
        return function

    def room(self, count: int, size: int) -> list[ca.SX]:
        return [ca.SX.zeros(size) for _ in range(count)]

    def constants(self, values: FloatArray) -> ca.SX:
        return ca.SX(ca.DM(values))

    def take(self, room: list[ca.SX], places: NDArray[np.intp]) -> Series:
        at = places.tolist()
        return [column[at, 0] for column in room]

    def put(self, room: list[ca.SX], places: slice | NDArray[np.intp], values: Series) -> None:
        at: Any = places if isinstance(places, slice) else places.tolist()
        for column, value in zip(room, values, strict=False):
            column[at, 0] = value

    def add(self, u: Series, v: Series) -> Series:
        short, long = sorted((u, v), key=len)
        return [*(a + b for a, b in zip(short, long, strict=False)), *long[len(short) :]]

    def subtract(self, u: Series, v: Series) -> Series:
        both = [a - b for a, b in zip(u, v, strict=False)]
        return [*both, *u[len(v) :], *(-b for b in v[len(u) :])]

    def scaled(self, factor: Any, u: Series) -> Series:
        return [factor * a for a in u]

    def multiply(self, u: Series, v: Series) -> Series:
        if len(u) == 1 or len(v) == 1:
            return self.scaled(u[0], v) if len(u) == 1 else self.scaled(v[0], u)
        return [inner(u[: n + 1], v[n::-1]) for n in range(len(u))]

    def over(self, a: Any, b: Any) -> Any:
        return a / b


#: Functions that NumPy has by another name.
_OTHERWISE: dict[str, Callable[..., Any]] = {
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "atan2": np.arctan2, "erf": np.vectorize(math.erf, otypes=[float]),
    "logic_not": np.logical_not, "logic_and": np.logical_and, "logic_or": np.logical_or,
    "lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal, "if_else": np.where,
}  # fmt: skip


class _Numbers:
    """Series of numbers: arrays of orders x entries x many series."""

    def __init__(self, many: int) -> None:
        self._many = many

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function: Callable[..., Any] = _OTHERWISE.get(name) or getattr(np, name)
        return function

    def room(self, count: int, size: int) -> FloatArray:
        return np.zeros((count, size, self._many))

    def constants(self, values: FloatArray) -> FloatArray:
        return values[:, None]

    def take(self, room: FloatArray, places: NDArray[np.intp]) -> FloatArray:
        return room.take(places, axis=1)

    def put(self, room: FloatArray, places: slice | NDArray[np.intp], values: Series) -> None:
        if isinstance(values, np.ndarray):
            room[: len(values), places] = values
        else:
            for coefficients, value in zip(room, values, strict=False):
                coefficients[places] = value

    def add(self, of: Series | FloatArray, and_of: Series | FloatArray) -> FloatArray:
        u, v = _array(of), _array(and_of)
        if len(u) == len(v):
            return np.asarray(u + v)
        long, short = (u, v) if len(u) > len(v) else (v, u)
        result = long.copy()
        result[0] += short[0]
        return result

    def subtract(self, of: Series, and_of: Series) -> FloatArray:
        u, v = _array(of), _array(and_of)
        return np.asarray(u - v) if len(u) == len(v) else self.add(u, -v)

    def scaled(self, factor: Any, u: Series) -> FloatArray:
        return np.asarray(factor * _array(u))

    def multiply(self, of: Series, and_of: Series) -> FloatArray:
        u, v = _array(of), _array(and_of)
        if len(u) == 1 or len(v) == 1:
            return np.asarray(u[0] * v if len(u) == 1 else v[0] * u)
        result = u[0] * v
        for j in range(1, len(u)):
            result[j:] += u[j] * v[:-j]
        return np.asarray(result)

    def over(self, a: Any, b: Any) -> FloatArray:
        """Return a / b, which is zero where a is: nothing stays nothing, whatever it is divided by."""
        a, b = np.broadcast_arrays(a, b)
        return np.divide(a, b, out=np.zeros(a.shape), where=a != 0.0)


def _array(u: Series | FloatArray) -> FloatArray:
    return u if isinstance(u, np.ndarray) else np.stack(np.broadcast_arrays(*u))


def scaled_powers(tau: float, order: int) -> Sequence[float]:
    """Return tau^k / k! for k from 0 to ``order``: what turns derivatives into Taylor coefficients of t / tau."""
    return [tau**k / math.factorial(k) for k in range(order + 1)]
