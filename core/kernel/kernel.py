"""Chosen functions of some equations, as machine code or in CasADi's interpreter, behind one face."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import SolverError
from kingpost.kernel.backends import Backend as Backend
from kingpost.kernel.codegen import ORDERED, can_fail, generated
from kingpost.kernel.compiler import (
    QUICK_LEVEL,
    USUAL_LEVEL,
    CompilerError,
    anything_kept,
    build_cached,
    built_elsewhere,
    find_compiler,
    source_hash,
)
from kingpost.kernel.loops import InterpretedLoop as InterpretedLoop
from kingpost.kernel.loops import Loop as Loop
from kingpost.kernel.loops import Portion
from kingpost.kernel.loops import Status as Status
from kingpost.kernel.loops import Stop as Stop
from kingpost.kernel.loops import Trail as Trail

if TYPE_CHECKING:
    from kingpost.kernel.lanes import Lanes

#: C sources beyond this many characters are interpreted unless machine code is demanded: a compiler would take hours and many
#: gigabytes for them. The longest one that is known to be worth its minutes has a third of it.
LONGEST_SOURCE = 60_000_000
#: Seconds of waiting for another process that are worth a word.
WORTH_TELLING = 0.5


class Evaluator:
    """One function, called with arrays through CasADi's buffer interface (its ordinary call costs 100 times more).

    ``fallible`` says whether it can fail: it has a solver inside, or is interpreted. What cannot is not asked whether it did,
    which takes longer than many functions do.
    """

    def __init__(self, function: ca.Function, fallible: bool = True) -> None:
        self._function = function
        self._arguments = [np.zeros(function.numel_in(i)) for i in range(function.n_in())]
        self._results = [np.zeros(function.numel_out(i)) for i in range(function.n_out())]
        self._shape = function.size_out(0)
        buffer, trigger = _connected(function, self._arguments, self._results)
        scalars = [(i, array) for i, array in enumerate(self._arguments) if array.size == 1]
        vectors = [(i, array) for i, array in enumerate(self._arguments) if array.size > 1]
        go = partial(_asked, buffer, trigger) if fallible else trigger
        self._prepared = len(self._arguments), scalars, vectors, go, self._results[0]
        self._kept = buffer

    def __call__(self, *arguments: Any) -> FloatArray:
        """Return the first result as a new vector."""
        count, scalars, vectors, go, result = self._prepared
        if len(arguments) != count:
            raise TypeError(f"'{self._function.name()}' takes {count} arguments, got {len(arguments)}")
        for i, own in scalars:
            given = arguments[i]
            own[0 if type(given) is float else ...] = given  # the usual case is three times as fast as the general one
        for i, own in vectors:
            own[...] = arguments[i]
        go()
        return result.copy()

    @property
    def told(self) -> int:
        """The second result of the last call, a number; 0 if there is none."""
        return int(self._results[1][0]) if len(self._results) > 1 else 0

    def matrix(self, *arguments: Any) -> FloatArray:
        """Return the first result as a new matrix."""
        self(*arguments)
        return self._results[0].reshape(self._shape, order="F").copy()

    def bind(self, *arguments: FloatArray) -> tuple[Callable[[], None], FloatArray]:
        """Return a function without arguments that reads from the given arrays, and the vector it puts its result in.

        The fastest way into machine code from Python, for a loop that changes its arrays in place. They must be contiguous
        float64 of the right sizes, and are kept.
        """
        for i, (array, own) in enumerate(zip(arguments, self._arguments, strict=True)):
            if array.dtype != np.float64 or not array.flags.c_contiguous or array.size != own.size:
                raise SolverError(
                    f"argument {i} of '{self._function.name()}' must be a contiguous float64 array of {own.size} numbers, got "
                    f"{array.dtype} of shape {array.shape}"
                )
        results = [np.zeros_like(own) for own in self._results]
        buffer, trigger = _connected(self._function, arguments, results)
        kept = (buffer, arguments, results)

        def evaluate(_: Any = kept) -> None:
            trigger()

        return evaluate, results[0]


def _asked(buffer: Any, trigger: Callable[[], None]) -> None:
    """Evaluate, and find out whether that went well."""
    try:
        trigger()
        failed = bool(buffer.ret())
    except RuntimeError:  # CasADi's interpreter raises where its C code answers with a status
        failed = True
    if failed:
        raise SolverError("a compiled function could not be evaluated; its internal solver did not converge")


def _connected(function: ca.Function, arguments: Sequence[FloatArray], results: Sequence[FloatArray]) -> tuple[Any, Any]:
    """Return a buffer of ``function`` that reads and writes the given arrays, and what sets it going."""
    buffer, trigger = function.buffer()
    for i, array in enumerate(arguments):
        if array.size:
            buffer.set_arg(i, memoryview(array))  # type: ignore[call-arg, arg-type]  # the stub describes the C interface
    for i, array in enumerate(results):
        if array.size:
            buffer.set_res(i, memoryview(array))  # type: ignore[call-arg, arg-type]
    return buffer, trigger


class Kernel:
    """Functions ready to be called.

    Parameters
    ----------
    functions
        CasADi functions. ``kp_observe`` makes :meth:`sample` work; ``kp_step`` as well makes :meth:`march` work.
    backend
        ``"c"`` demands machine code, ``"vm"`` the interpreter; ``"auto"`` takes machine code where it can be had.

    untraceable
        The forces of which no C code can be made.

    """

    def __init__(self, functions: Sequence[ca.Function], backend: Backend = "auto", untraceable: Sequence[str] = ()) -> None:
        self._functions = {function.name(): function for function in functions}
        self._library: ctypes.CDLL | None = None
        self._path: Path | None = None
        self._fallible = True
        #: What happened, for the user: cache hit, compilation, or why the interpreter is used.
        self.note = "interpreter, as asked"
        self.compiler = ""
        self.key = ""
        #: What tells the C source, and how it is compiled, from others; empty in the interpreter.
        self.source_hash = ""
        #: Why kernels are not kept for the next process, if they are not.
        self.cache_obstacle = ""
        self.cached = False
        if untraceable:
            self.note = (
                f"interpreter: plain Python inside, in {', '.join(untraceable)}; write it with CasADi operations for speed"
            )
            if backend == "c":
                raise SolverError(
                    f"backend 'c' was asked for, but these forces are plain Python: {', '.join(untraceable)}. Write them with "
                    "CasADi operations, or use backend 'vm'"
                )
        elif backend != "vm":
            self._compile(demanded=backend == "c")
        self.backend: Literal["c", "vm"] = "vm" if self._library is None else "c"

    def evaluator(self, name: str) -> Evaluator:
        """Return a function of this kernel as something to call."""
        function = self._functions[name]
        if self._path is None:
            return Evaluator(function)
        return Evaluator(ca.external(name, str(self._path)), self._fallible)

    def _compile(self, demanded: bool) -> None:
        compiler = find_compiler()
        if compiler is None and not anything_kept():
            self._do_without_compiler(demanded)
            return
        started = time.perf_counter()
        source = self._source()
        # Tables drive what takes time there, and the rest is long straight-line code that polishing makes no faster.
        level = QUICK_LEVEL if ORDERED in source else USUAL_LEVEL
        if len(source) > LONGEST_SOURCE and not demanded:
            self.note = (
                f"interpreter: the C source has {len(source) / 1e6:.0f} MB, for which a compiler takes hours; backend 'c' has "
                "it compiled all the same, and another integrator or formulation may need far less"
            )
            return
        try:
            built = built_elsewhere(source, level=level) if compiler is None else build_cached(source, compiler, level=level)
            if built is None:
                self._do_without_compiler(demanded)
                return
            self._library = ctypes.CDLL(str(built.library))
        except (CompilerError, OSError) as error:
            self.note = f"interpreter: the C compiler failed: {error}"
            if demanded:
                raise SolverError(
                    f"backend 'c' was asked for, but the C compiler failed: {error}\n"
                    "Set CC to a working compiler, or use backend 'vm'"
                ) from None
            return
        self._path, self.key, self.cached, self.compiler = built.library, built.key, built.cached, built.compiler
        self.source_hash = source_hash(source, level)
        seconds = time.perf_counter() - started
        self.note = (
            f"cache hit {built.key}" if built.cached else f"compiled in {seconds:.2f} s by {built.compiler} ({built.key})"
        )
        if compiler is None:
            self.note += f", compiled elsewhere by {built.compiler}; there is no C compiler here"
        if built.waited > WORTH_TELLING:
            self.note += f", after {built.waited:.1f} s of waiting for another process that compiled it"
        self.cache_obstacle = built.obstacle
        if built.obstacle:
            self.note += f"; {built.obstacle}"

    def _do_without_compiler(self, demanded: bool) -> None:
        self.note = "interpreter: no C compiler was found (set CC, or install gcc or clang, for speed)"
        if demanded:
            raise SolverError(f"backend 'c' was asked for, but {self.note.partition(': ')[2]}; or use backend 'vm'")

    @property
    def library(self) -> Path | None:
        """The compiled library; None in the interpreter."""
        return self._path

    def _source(self) -> str:
        code = generated("kernel", self._functions.values())
        self._fallible = can_fail(code)
        return self._with_loop(code, "march.c")

    def _with_loop(self, code: str, loop: str) -> str:
        """Return generated code followed by a loop of ours, which is told what there is."""
        has = "".join(
            f"#define KP_HAS_{name.upper()} {self._functions[f'kp_{name}'].numel_out(0)}\n"
            for name in ("observe", "step", "guard")
            if f"kp_{name}" in self._functions
        )
        if "kp_step" in self._functions and self._functions["kp_step"].n_out() > 1:
            has += "#define KP_STEP_TELLS\n"
        return f"{code}\n{has}{files('kingpost.kernel').joinpath(loop).read_text()}"

    @cached_property
    def side_by_side(self) -> Lanes | str:
        """The time loop that advances several runs at once, compiled when it is first asked for; or why there is none."""
        if self._library is None:
            return self.note
        if self._fallible:
            return "a step has a solver inside, which takes more rounds in one run than in another"
        compiler = find_compiler()
        if compiler is None:
            return "no C compiler was found"
        from kingpost.kernel.lanes import LOOP, Lanes, in_lanes  # for batches alone

        source = self._with_loop(in_lanes(generated("kernel", self._functions.values())), LOOP)
        try:
            return Lanes(ctypes.CDLL(str(build_cached(source, compiler).library)))
        except (CompilerError, OSError) as error:
            said = next((line for line in str(error).splitlines() if "error:" in line), str(error))
            return f"the C code has parts without a form for several runs at once ({said.strip()})"

    def sample(self, t: FloatArray, x: FloatArray, u: FloatArray, p: FloatArray) -> FloatArray:
        """Return the outputs at ``t`` (n), states ``x`` (n, nx), inputs ``u`` (n, nu), parameters ``p`` (np) or (n, np)."""
        y = np.empty((len(t), self._functions["kp_observe"].numel_out(0)))
        if self._library is None:
            observe = self.evaluator("kp_observe")
            for i in range(len(t)):
                y[i] = observe(t[i], x[i], u[i], p[i] if p.ndim == 2 else p)
            return y
        t, x, u, p = (np.ascontiguousarray(array, dtype=float) for array in (t, x, u, p))
        p_stride = p.shape[1] if p.ndim == 2 else 0
        status = self._library.kp_sample(
            _int(len(t)), _at(t), _at(x), _int(x.shape[1]), _at(u), _int(u.shape[1]), _at(p), _int(p_stride),
            _at(y), _int(y.shape[1]),
        )  # fmt: skip
        if status != Status.OK:
            raise SolverError("the outputs could not be evaluated")
        return y

    def march(
        self,
        y: FloatArray,
        substeps: int,
        t0: float,
        h: float,
        x0: FloatArray,
        u: FloatArray,
        p: FloatArray,
        progress: Callable[[int], None] = lambda done: None,
        at_once: bool = False,
        every: int | None = None,
        trail: Trail | None = None,
    ) -> Stop:
        """Advance by ``substeps`` steps of length ``h`` for each row of ``y`` and put the outputs there.

        The loop runs in machine code, in portions of some 50 ms, between which ``progress`` is called with the number of
        finished steps and the user can interrupt (``at_once``: in one go). Row k of ``u`` holds over
        steps k ``every`` to (k + 1) ``every``, by default over sample k; there is one for the end, too. States on the way go
        into ``trail``.
        """
        x = np.array(x0, dtype=float)
        u, p = input_rows_in_memory(u), np.ascontiguousarray(p, dtype=float)
        total = len(y) * substeps
        loop = self.loop(x, u, p, y, every, trail)
        portion = Portion(total if at_once else 1 if self._library is None else 64)
        first, status = portion.taken(loop, t0, h, substeps, 0, total, progress)
        return Stop(status, first, loop.t_stop if total else t0, x, loop.told)

    def march_in_parts(
        self,
        y: FloatArray,
        samples: int,
        substeps: int,
        t0: float,
        h: float,
        x0: FloatArray,
        u: FloatArray,
        p: FloatArray,
        every: int | None = None,
    ) -> Iterator[Stop]:
        """Advance over ``samples`` samples as :meth:`march` does, to the same bits, with room for but some of them.

        The rows of ``y`` are filled again and again: each time a :class:`Stop` is given, by which all but the last have
        ``len(y)`` new rows. The last is that of the end, or of a failure. A single row of ``u`` holds for good.
        """
        x = np.array(x0, dtype=float)
        u, p = input_rows_in_memory(u), np.ascontiguousarray(p, dtype=float)
        loop = self.loop(x, u, p, y, every)
        portion = Portion(1 if self._library is None else 64)
        first, status = 0, Status.OK
        for begin in range(0, samples, len(y)):
            loop.first_row = begin
            end = min(begin + len(y), samples) * substeps
            first, status = portion.taken(loop, t0, h, substeps, first, end)
            yield Stop(status, first, loop.t_stop, x, loop.told)
            if status != Status.OK:
                return

    def loop(
        self,
        x: FloatArray,
        u: FloatArray,
        p: FloatArray,
        y: FloatArray,
        every: int | None = None,
        trail: Trail | None = None,
    ) -> Loop | InterpretedLoop:
        """Return the time loop on some arrays, which it changes in place: made once, then called at little cost.

        Row k of ``u`` holds over sample k, or over ``every`` so many steps, and, the last, at the end; a single row holds for
        good. The arrays must be contiguous float64.
        """
        for array in (x, u, p, y, *([] if trail is None else [trail.states])):
            if array.dtype != np.float64 or not array.flags.c_contiguous:
                raise SolverError(f"a time loop needs contiguous float64 arrays, got {array.dtype} of shape {array.shape}")
        if self._library is not None:
            return Loop(self._library, x, u, p, y, every, trail)
        guard = self.evaluator("kp_guard") if "kp_guard" in self._functions else None
        return InterpretedLoop(self.evaluator("kp_step"), self.evaluator("kp_observe"), guard, x, u, p, y, every, trail)


def input_rows_in_memory(u: FloatArray) -> FloatArray:
    """Return rows of inputs as a time loop takes them: a single one, if all are the same one."""
    return np.ascontiguousarray(u[:1] if len(u) > 1 and u.strides[0] == 0 else u, dtype=float)


def _int(value: int) -> ctypes.c_longlong:
    return ctypes.c_longlong(value)


def _at(array: FloatArray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
