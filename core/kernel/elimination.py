"""C code that solves sparse equations in a fixed order, by tables: what is generated for CasADi's sparse QR, replaced.

Who writes equations in the order in which they are to be eliminated, so that no pivot has to be looked for, gives the function
around them a name that begins with :data:`.codegen.ORDERED`. Their factorisation is then a row-wise LU driven by index tables:
one multiplication and subtraction for each entry that can be there at all, and a few hundred bytes of code.

Where this fails, because a pivot vanishes or rounding has eaten the result, CasADi's QR stays: at once where equations are
linear, in the iteration that repeats a step where they are Newton's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files

import casadi as ca

from kingpost.kernel.codegen import MATRIX, ORDERED, RESIDUAL
from kingpost.kernel.compiler import CompilerError

#: Factors with more entries than this would not fit on the stack of a small thread; CasADi's QR stays.
LARGEST = 40_000
_RESIDUAL = re.compile(rf"^/\* {RESIDUAL}:(\(.*\))->\(.*\) \*/\nstatic int (casadi_f\d+)\(", re.MULTILINE)
#: Where there are no factors to keep.
_NONE = "(int *) 0"
_HEADING = re.compile(r"^/\* (\w+):\(.*\)->\(.*\) \*/$", re.MULTILINE)
_PATTERN = re.compile(r"^static const casadi_int (casadi_s\d+)\[\d+\] = \s*\{([^}]*)\};", re.MULTILINE)
_NEWTON = re.compile(r"  struct casadi_newton_mem m;\n(.*?)    if \(casadi_newton\(&m\)\) break;\n", re.DOTALL)
_LINEAR = re.compile(
    r"  casadi_qr\((casadi_s\d+), ss, [^;]*;\n  casadi_qr_solve\(rr, 1, 0, [^;]*;\n",
)


@dataclass(frozen=True)
class Elimination:
    """Where everything is in the factors of a matrix that is eliminated in the order of its rows."""

    #: Where each entry of the matrix, column by column, goes.
    places: tuple[int, ...]
    #: Where each row begins, and where the last one ends.
    starts: tuple[int, ...]
    #: Where the pivots are.
    pivots: tuple[int, ...]
    #: The column of each entry.
    columns: tuple[int, ...]

    @property
    def operations(self) -> int:
        """Multiplications of a factorisation."""
        above = [self.starts[i + 1] - self.pivots[i] - 1 for i in range(len(self.pivots))]
        below = (self.columns[k] for i, end in enumerate(self.pivots) for k in range(self.starts[i], end))
        return sum(1 + above[j] for j in below)


def elimination(pattern: ca.Sparsity) -> Elimination:
    """Return the tables for matrices of a pattern; entries that elimination fills are part of them."""
    rows: list[set[int]] = [set() for _ in range(pattern.size1())]
    entries = list(zip(*pattern.get_triplet(), strict=True))
    for i, j in entries:
        rows[i].add(j)
    above: list[list[int]] = []
    starts, pivots = [0], list[int]()
    columns: list[int] = []
    where: dict[tuple[int, int], int] = {}
    for i, row in enumerate(rows):
        row.add(i)
        left = sorted(j for j in row if j < i)
        while left:
            j = left.pop(0)
            new = set(above[j]) - row
            row |= new
            left = sorted({*left, *(k for k in new if k < i)})
        ordered = sorted(row)
        above.append([j for j in ordered if j > i])
        where.update({(i, j): len(columns) + k for k, j in enumerate(ordered)})
        pivots.append(len(columns) + ordered.index(i))
        columns += ordered
        starts.append(len(columns))
    return Elimination(tuple(where[entry] for entry in entries), tuple(starts), tuple(pivots), tuple(columns))


def with_eliminations(code: str) -> str:
    """Return generated code in which equations in functions of the right name are solved in their order."""
    names = [heading[1] for heading in _HEADING.finditer(code)]
    if not any(name.startswith(ORDERED) for name in names):
        return code
    # A call of the mathematical library for each comparison takes longer than what is around it.
    code = code.replace("  return fmax(x, y);\n", "  return x >= y || y != y ? x : y;\n")
    edges = [heading.start() for heading in _HEADING.finditer(code)]
    residuals = dict(_RESIDUAL.findall(code))
    if len(residuals) < len(_RESIDUAL.findall(code)):
        residuals = {}  # nobody knows which of two belongs to an iteration
    patterns = {name: [int(word) for word in numbers.split(",")] for name, numbers in _PATTERN.findall(code)}
    known: dict[str, Elimination] = {}
    written = [code[: edges[0]]]
    for name, begin, end in zip(names, edges, [*edges[1:], len(code)], strict=True):
        text = code[begin:end]
        if name.startswith(ORDERED):
            before = set(known)
            text = _with_elimination(name, text, patterns, known)
            text = _with_kept_factors(text, code, residuals)
            if known and not before:
                written.append("#define KP_ELIMINATED_NEWTON\n" if "casadi_newton(&m)" in code else "")
                written.append(files("kingpost.kernel").joinpath("elimination.c").read_text())
            written += [_tables(pattern, known[pattern]) for pattern in known if pattern not in before]
        written.append(text)
    return "".join(written)


def _with_kept_factors(text: str, code: str, residuals: dict[str, str]) -> str:
    """Return an iteration that goes on with the factors of its first matrix, where there is a function of the residual."""
    call = re.search(r"    if \((casadi_f\d+)(\(arg\+\d+, res\+1, [^;]*\)\)) return 1;\n    if \(kp_eliminated_newton", text)
    if call is None:
        return text
    heading = re.search(rf"^/\* {MATRIX}:(\(.*\))->\(.*\) \*/\nstatic int {call[1]}\(", code, re.MULTILINE)
    residual = residuals.get(heading[1]) if heading else None
    if residual is None:
        return text
    alone = f"      res[1] = m.g;\n      if ({residual}{call[2]} return 1;\n"
    both = f"    if (kept) {{\n{alone}    }} else if ({call[1]}{call[2]} return 1;\n"
    declared = (
        f"static int {residual}(const casadi_real** arg, casadi_real** res, casadi_int* iw, casadi_real* w, int mem);\n\n"
    )
    kept = call[0].replace(f"    if ({call[1]}{call[2]} return 1;\n", both)
    return declared + text.replace(call[0], kept).replace(f"{_NONE})) break;", "&kept)) break;")


def _with_elimination(name: str, text: str, patterns: dict[str, list[int]], known: dict[str, Elimination]) -> str:
    """Return one function with its equations solved in their order; ``known`` gets the tables of their patterns."""
    found = 0

    def tables(pattern: str) -> Elimination | None:
        nonlocal found
        found += 1
        made = known.get(pattern) or elimination(_sparsity(patterns[pattern]))
        if len(made.columns) > LARGEST:
            return None
        known[pattern] = made
        return made

    def newton(site: re.Match[str]) -> str:
        pattern = re.findall(r"m\.sp_a = (casadi_s\d+);", site[1])[0]
        made = tables(pattern)
        if made is None:
            return site[0]
        room = f"casadi_real factors[{len(made.columns)}], row[{len(made.pivots)}], moved = 0;"
        return (
            f"  struct casadi_newton_mem m;\n  {room}\n  int kept = 0;\n{site[1]}"
            f"    if (kp_eliminated_newton(&m, {_arguments(pattern)}, factors, row, &moved, {_NONE})) break;\n"
        )

    def linear(site: re.Match[str]) -> str:
        made = tables(site[1])
        if made is None:
            return site[0]
        room = f"casadi_real factors[{len(made.columns)}], row[{len(made.pivots)}], found[{len(made.pivots)}];"
        call = f"kp_eliminated({len(made.pivots)}, {_arguments(site[1])}, {site[1]}, ss, rr, factors, row, found)"
        return f"  {{\n  {room}\n  if ({call}) {{\n{site[0]}  }}\n  }}\n"

    mended = _LINEAR.sub(linear, _NEWTON.sub(newton, text))
    if found != text.count("casadi_newton(&m)") + text.count("casadi_qr("):
        raise CompilerError(
            f"CasADi {ca.CasadiMeta.version()} writes the solution of sparse equations, in '{name}', in a way in which it "
            "cannot be replaced"
        )
    return mended


def _sparsity(numbers: list[int]) -> ca.Sparsity:
    """Return a pattern as CasADi writes it: rows, columns, begins of columns and rows of entries, or 1 if it is full."""
    rows, columns, *rest = numbers
    if len(rest) <= 1:
        return ca.Sparsity.dense(rows, columns)
    return ca.Sparsity(rows, columns, rest[: columns + 1], rest[columns + 1 :])


def _arguments(pattern: str) -> str:
    return ", ".join(f"{pattern}_{name}" for name in ("count", "places", "starts", "pivots", "columns"))


def _tables(pattern: str, made: Elimination) -> str:
    def row(name: str, numbers: tuple[int, ...]) -> str:
        return f"static const int {pattern}_{name}[] = {{{', '.join(map(str, numbers))}}};\n"

    count = f"enum {{ {pattern}_count = {len(made.places)} }};\n"
    return count + "".join(row(name, getattr(made, name)) for name in ("places", "starts", "pivots", "columns")) + "\n"
