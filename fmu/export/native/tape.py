"""Computations as tables for C, over which c/sweeps.h goes for derivatives: along a direction, and back.

Derivatives as C code of their own are several times the size of what they are derivatives of, and take a compiler accordingly.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import casadi as ca

#: Entries of a table in a line of C.
PER_LINE = 20
#: The kinds of operations that c/sweeps.h knows, by their numbers in CasADi.
KINDS: dict[int, str] = {
    getattr(ca, f"OP_{name}"): name
    for name in (
        "ADD", "SUB", "MUL", "NEG", "SQ", "TWICE", "DIV", "POW", "CONSTPOW", "FMOD", "REMAINDER", "COPYSIGN", "FMIN",
        "FMAX", "ATAN2", "HYPOT", "INV", "SQRT", "EXP", "EXPM1", "LOG", "LOG1P", "SIN", "COS", "TAN", "ASIN", "ACOS",
        "ATAN", "SINH", "COSH", "TANH", "ASINH", "ACOSH", "ATANH", "ERF", "FABS", "LT", "LE", "EQ", "NE", "AND", "OR",
        "NOT", "FLOOR", "CEIL", "SIGN", "IF_ELSE_ZERO",
    )
}  # fmt: skip


@dataclass(frozen=True)
class Operation:
    """One operation: its kind in CasADi, and the places of its operands."""

    kind: int
    operands: tuple[int, ...]


@dataclass(frozen=True)
class Tape:
    """A computation with one operation per place; the places are those of the arguments, of constants, of operations."""

    sizes: tuple[int, ...]
    constants: tuple[float, ...]
    operations: tuple[Operation, ...]
    #: The places of the results.
    results: tuple[int, ...]

    @property
    def inputs(self) -> int:
        """How many numbers the arguments have together."""
        return sum(self.sizes)

    @property
    def places(self) -> int:
        """How many places there are."""
        return self.inputs + len(self.constants) + len(self.operations)


def recorded(function: ca.Function) -> Tape | None:
    """Return a function of SX, with dense vectors as arguments and result, as a tape; None if it has other operations."""
    sizes = tuple(function.numel_in(i) for i in range(function.n_in()))
    first = [sum(sizes[:i]) for i in range(len(sizes))]
    #: What is in each slot of CasADi's work vector at the moment, and the values of constants by their names.
    held: dict[int, int | str] = {}
    constants: dict[str, float] = {}
    operations: list[tuple[int, tuple[int | str, ...]]] = []
    results: list[int | str] = [""] * function.numel_out(0)
    for k in range(function.n_instructions()):
        kind, read, written = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if kind == ca.OP_OUTPUT:
            results[written[1]] = held[read[0]]
        elif kind == ca.OP_INPUT:
            held[written[0]] = first[read[0]] + read[1]
        elif kind == ca.OP_CONST:
            value = function.instruction_constant(k)
            constants[repr(value)] = value
            held[written[0]] = repr(value)
        elif kind in KINDS:
            operations.append((kind, tuple(held[slot] for slot in read)))
            held[written[0]] = sum(sizes) + len(operations) - 1
        else:
            return None
    return _in_runs(sizes, constants, operations, results)


def _in_runs(
    sizes: tuple[int, ...],
    constants: dict[str, float],
    operations: Sequence[tuple[int, tuple[int | str, ...]]],
    results: Sequence[int | str],
) -> Tape:
    """Return a tape with operations of one kind side by side as far as what they need allows.

    Before, places of operations follow those of the arguments, and constants are called by their names.
    """
    inputs = sum(sizes)
    missing = [sum(isinstance(place, int) and place >= inputs for place in set(operands)) for _, operands in operations]
    users: defaultdict[int, list[int]] = defaultdict(list)
    ready: defaultdict[int, deque[int]] = defaultdict(deque)
    for number, (kind, operands) in enumerate(operations):
        for place in set(operands):
            if isinstance(place, int) and place >= inputs:
                users[place - inputs].append(number)
        if missing[number] == 0:
            ready[kind].append(number)
    order: list[int] = []
    while len(order) < len(operations):
        kind = max(ready, key=lambda kind: (len(ready[kind]), -kind))
        while ready[kind]:
            number = ready[kind].popleft()
            order.append(number)
            for user in users[number]:
                missing[user] -= 1
                if missing[user] == 0:
                    ready[operations[user][0]].append(user)
    places: dict[int | str, int] = {place: place for place in range(inputs)}
    for i, name in enumerate(constants):
        places[name] = inputs + i
    for i, number in enumerate(order):
        places[inputs + number] = inputs + len(constants) + i
    return Tape(
        sizes,
        tuple(constants.values()),
        tuple(Operation(operations[n][0], tuple(places[place] for place in operations[n][1])) for n in order),
        tuple(places[place] for place in results),
    )


def tape_source(tapes: dict[str, Tape], functions: dict[str, tuple[str, str]]) -> str:
    """Return C code of some tapes by name, and of functions: for each the name of its tape, and of the sweep in c/sweeps.h."""
    widest = max(tape.places for tape in tapes.values())
    lines = [
        "/* What derivatives are taken of, operation by operation, written by Kingpost. */",
        f"#define KP_PLACE unsigned {'short' if widest <= 0xFFFF else 'int'}",
        '#include "sweeps.h"',
        *(_table(name, tape) for name, tape in tapes.items()),
        *(_functions(name, *taken) for name, taken in functions.items()),
    ]
    return "\n".join(lines) + "\n"


def _table(name: str, tape: Tape) -> str:
    operands = [place for operation in tape.operations for place in operation.operands]
    runs = [(kind, list(run)) for kind, run in groupby(tape.operations, lambda operation: operation.kind)]
    counts = (len(tape.sizes), tape.inputs, len(tape.constants), tape.places, len(runs), len(tape.results), len(operands))
    return "\n".join(
        [
            _array("size_t", f"{name}_sizes", map(str, tape.sizes)),
            _array("double", f"{name}_constant", map(_number, tape.constants)),
            _array("kp_run", f"{name}_run", (f"{{KP_OP_{KINDS[k]},{len(run)},{len(run[0].operands)}}}" for k, run in runs)),
            _array("kp_place", f"{name}_operand", map(str, operands)),
            _array("kp_place", f"{name}_result", map(str, tape.results)),
            f"static const kp_tape {name} = {{{name}_sizes, {', '.join(map(str, counts))},",
            f"  {name}_constant, {name}_run, {name}_operand, {name}_result}};",
        ]
    )


def _functions(name: str, tape: str, sweep: str) -> str:
    return f"""
int {name}(const double **arg, double **res, kp_int *iw, double *w, int mem) {{
  (void)mem;
  return {sweep}(&{tape}, arg, res, iw, w);
}}

int {name}_work(kp_int *arg, kp_int *res, kp_int *iw, kp_int *w) {{
  kp_tape_work(&{tape}, arg, res, iw, w);
  return 0;
}}"""


def _array(kind: str, name: str, entries: Iterable[str]) -> str:
    every = list(entries) or ["0"]
    lines = (",".join(every[first : first + PER_LINE]) for first in range(0, len(every), PER_LINE))
    text = ",\n".join(lines)
    return f"static const {kind} {name}[] = {{\n{text}}};"


def _number(value: float) -> str:
    """Return a number as C text that reads back to the same bits."""
    if math.isnan(value):
        return "NAN"
    return repr(value) if math.isfinite(value) else f"{'-' if value < 0 else ''}INFINITY"
