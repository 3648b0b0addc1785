"""A program in stages as machine code: `stages.c` with the functions of an interval that were compiled before.

CasADi takes programs with derivatives of their own from libraries alone. This one knows nothing about a problem but what it is
told by numbers, so that it is compiled once, whatever the number of intervals is; only rows of the start and of the end are
compiled with it, where there are any. Each program loads a copy, for a library has its numbers once.
"""

from __future__ import annotations

import ctypes
import shutil
import tempfile
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError
from kingpost.kernel.codegen import generated
from kingpost.kernel.compiler import QUICK_LEVEL, CompilerError, build_cached, find_compiler
from kingpost.plugins.optimal_control.stages import Stages

#: Told of every iterate: its variables, the cost, the rows, and the widest gap between stages; it says whether to stop.
Listener = Callable[[FloatArray, float, FloatArray, float], bool]

_INTEGERS = (
    *("N", "local", "node", "stride", "own", "n", "m", "numbers"),
    *("cost_nnz", "slope_nnz", "curved_nnz", "first_nnz", "last_nnz", "first_curved_nnz", "last_curved_nnz"),
    *("first_rows", "last_rows", "first_at", "last_at", "held_count", "jac_nnz", "hess_nnz", "stop_at"),
)
_BLOCKS = ("value", "cost", "cost_slope", "slope", "curvature")
_EDGES = ("first", "first_slope", "first_curvature", "last", "last_slope", "last_curvature")
_ARRAYS = (
    *("at", "held", "held_rows", "cost_place", "slope_place", "first_place", "last_place"),
    *("curved_place", "curved_mirror", "first_curved_place", "first_curved_mirror", "last_curved_place", "last_curved_mirror"),
    "constant",
    *("x_pattern", "p_pattern", "scalar_pattern", "g_pattern", "jac_pattern", "hess_pattern"),
    *("iw", "w", "some", "jac_x", "jac_g", "jac"),
)
_WATCH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double), ctypes.c_double)


class _Told(ctypes.Structure):
    """kp_stages in stages.c."""

    _fields_ = (
        *((name, ctypes.c_longlong) for name in _INTEGERS),
        *((name, ctypes.c_void_p) for name in (*_BLOCKS, *_EDGES, *_ARRAYS)),
        ("known", ctypes.c_longlong),
        ("watch", _WATCH),
    )


class CompiledStages:
    """The functions of a program in stages, in a library; ``oracle`` is the program as CasADi takes it."""

    def __init__(self, stages: Stages) -> None:
        self._stages = stages
        self._blocks = ctypes.CDLL(stages.blocks.library)
        # A library has its numbers once, and stays what it was when its file is gone.
        with tempfile.TemporaryDirectory(prefix="kingpost-stages-") as folder:
            path = shutil.copy(_built(stages), Path(folder) / "stages.so")
            self._library = ctypes.CDLL(str(path))
            self._told = _Told.in_dll(self._library, "kp_program")
            #: Arrays that the library sees.
            self._kept = _arrays(stages)
            self._tell()
            self.oracle = ca.external("nlp", str(path))

    def _tell(self) -> None:
        for name, value in _integers(self._stages, self._kept).items():
            setattr(self._told, name, value)
        for name in _BLOCKS:
            setattr(self._told, name, _address(self._blocks, f"kp_{name}"))
        for name in _edges(self._stages):
            setattr(self._told, name, _address(self._library, f"kp_{name}"))
        for name in _ARRAYS:
            setattr(self._told, name, self._kept[name].ctypes.data)
        self._told.known = 0

    def listen(self, listener: Listener) -> None:
        """Let somebody be told of every iterate: its variables and rows are those of the program."""
        stages = self._stages
        gaps = stages.origin == -1

        def watch(x: Any, g: Any, f: float) -> int:
            found = np.ctypeslib.as_array(x, (stages.size,))
            rows = np.ctypeslib.as_array(g, (len(stages.origin),))
            away = float(np.abs(rows[gaps]).max(initial=0.0))
            return int(listener(stages.variables(found), f, stages.rows(rows), away))

        # Kept, for the library knows its address alone.
        self._watch = _WATCH(watch)
        self._told.watch = self._watch


def _address(library: ctypes.CDLL, name: str) -> int | None:
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value


def _edges(stages: Stages) -> list[str]:
    """Return the functions of the start and of the end that have rows."""
    b = stages.blocks
    return [name for name in _EDGES if (b.first_rows if name.startswith("first") else b.last_rows)]


def _built(stages: Stages) -> Path:
    """Return the library, which is compiled once for all programs without rows of the start and of the end."""
    compiler = find_compiler()
    if compiler is None:
        raise SolverError("the stages of a program were to be compiled, but no C compiler was found")
    edges = [getattr(stages.blocks, name) for name in _edges(stages)]
    source = files("kingpost.plugins.optimal_control").joinpath("stages.c").read_text()
    if edges:
        source = f"{generated('kp_edges', edges)}\n{source}"
    try:
        return build_cached(source, compiler, level=QUICK_LEVEL).library
    except CompilerError as error:
        raise SolverError(f"the stages of a program could not be compiled: {error}") from None


def _integers(stages: Stages, arrays: dict[str, np.ndarray]) -> dict[str, int]:
    layout, b, node = stages.layout, stages.blocks, stages.layout.node
    return {
        "N": stages.count,
        "local": layout.local,
        "node": node,
        "stride": layout.stride,
        "own": b.rows,
        "n": stages.size,
        "m": len(stages.origin),
        "numbers": len(stages.program.theta),
        "cost_nnz": b.cost_pattern.nnz(),
        "slope_nnz": b.slope_pattern.nnz(),
        "curved_nnz": b.curvature_pattern.nnz(),
        "first_nnz": b.first_pattern.nnz(),
        "last_nnz": b.last_pattern.nnz(),
        "first_curved_nnz": b.first_curvature_pattern.nnz(),
        "last_curved_nnz": b.last_curvature_pattern.nnz(),
        "first_rows": b.first_rows,
        "last_rows": b.last_rows,
        "first_at": node + b.rows,
        "last_at": int(stages.starts[stages.count]),
        "held_count": len(stages.fixed),
        "jac_nnz": len(arrays["constant"]),
        "hess_nnz": int(arrays["hess_pattern"][2 + stages.size]),
        "stop_at": int(arrays["stop"][0]),
    }


def _arrays(stages: Stages) -> dict[str, np.ndarray]:
    """Return all arrays that the library sees."""
    b, n, m = stages.blocks, stages.size, len(stages.origin)
    functions = [getattr(b, name) for name in (*_BLOCKS, *_edges(stages))]
    most = max(function.nnz_out(i) for function in functions for i in range(function.n_out()))
    jacobian = _jacobian(stages)
    found = {
        "at": stages.starts,
        "held": stages.places[np.concatenate(stages.held)],
        "held_rows": np.flatnonzero(stages.origin == -2),
        "cost_place": b.cost_pattern.row(),
        **jacobian,
        **_hessian(stages),
        "x_pattern": [n, 1, 1],
        "p_pattern": [len(stages.program.theta), 1, 1],
        "scalar_pattern": [1, 1, 1],
        "g_pattern": [m, 1, 1],
        "iw": np.zeros(1 + max(function.sz_iw() for function in functions)),
    }
    whole = {name: np.ascontiguousarray(value, dtype=np.int64) for name, value in found.items() if name != "constant"}
    room = {"w": 1 + max(function.sz_w() for function in functions), "some": 1 + most, "jac_x": n, "jac_g": m}
    room["jac"] = len(jacobian["constant"])
    return {**whole, "constant": jacobian["constant"], **{name: np.zeros(size) for name, size in room.items()}}


def _jacobian(stages: Stages) -> dict[str, np.ndarray]:
    """Return the pattern of the Jacobian, where its entries go, and those that never change."""
    layout, b, N = stages.layout, stages.blocks, stages.count
    node, local, starts, shift = layout.node, layout.local, stages.starts, np.arange(N)[:, None]
    gap_rows = (starts[:N, None] + np.arange(node)).ravel()
    entries = {
        "slope": ((starts[:N, None] + node + b.slope_pattern.row()), (shift * local + b.slope_pattern.get_col())),
        "first": (node + b.rows + np.array(b.first_pattern.row()), np.array(b.first_pattern.get_col())),
        "last": (starts[N] + np.array(b.last_pattern.row()), N * local + np.array(b.last_pattern.get_col())),
        "next": (gap_rows, (shift * local + local + np.arange(node))),
        "copy": (gap_rows, (shift * local + layout.stride + np.arange(node))),
        "held": (np.flatnonzero(stages.origin == -2), stages.places[np.concatenate(stages.held)]),
    }
    i, j = (np.concatenate([np.ravel(pair[side]) for pair in entries.values()]).astype(int) for side in (0, 1))
    order = np.lexsort((i, j))
    places = np.empty(len(order), dtype=int)
    places[order] = np.arange(len(order))
    edges = np.cumsum([np.size(pair[0]) for pair in entries.values()])[:-1]
    where = dict(zip(entries, np.split(places, edges), strict=True))
    constant = np.zeros(len(order))
    for name, value in (("next", 1.0), ("copy", -1.0), ("held", 1.0)):
        constant[where[name]] = value
    found = {f"{name}_place": where[name] for name in ("slope", "first", "last")}
    pattern = _pattern(i[order], j[order], len(stages.origin), stages.size)
    return {**found, "constant": constant, "stop": where["next"][:1], "jac_pattern": pattern}


def _hessian(stages: Stages) -> dict[str, np.ndarray]:
    """Return the pattern of the Hessian, and where upper triangles go in it, and below."""
    layout, b, N, size = stages.layout, stages.blocks, stages.count, stages.size
    upper = {
        "curved": (b.curvature_pattern, np.arange(N)[:, None] * layout.local),
        "first_curved": (b.first_curvature_pattern, 0),
        "last_curved": (b.last_curvature_pattern, N * layout.local),
    }
    places = {
        name: tuple(np.ravel(shift + np.array(side, dtype=int)) for side in (pattern.row(), pattern.get_col()))
        for name, (pattern, shift) in upper.items()
    }
    keys = {f"{name}_place": j * size + i for name, (i, j) in places.items()}
    keys |= {f"{name}_mirror": i * size + j for name, (i, j) in places.items()}
    every = np.unique(np.concatenate(list(keys.values())))
    found = {name: np.searchsorted(every, key) for name, key in keys.items()}
    for name, (i, j) in places.items():
        found[f"{name}_mirror"][i == j] = -1
    return {**found, "hess_pattern": _pattern(every % size, every // size, size, size)}


def _pattern(rows: np.ndarray, columns: np.ndarray, height: int, width: int) -> np.ndarray:
    """Return a pattern as CasADi writes it, of entries in its order."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=width))])
    return np.concatenate([[height, width], starts, rows])
