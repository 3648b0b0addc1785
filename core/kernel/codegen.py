"""C code of CasADi functions, with a failure where Newton's method has not converged."""

from __future__ import annotations

import re
from collections.abc import Iterable

import casadi as ca

from kingpost.kernel.compiler import CompilerError

#: The name of Newton iterations whose caller looks at the result itself; they may end without convergence.
WATCHED = "kp_newton"
#: How names of functions begin in which equations are in the order of their elimination.
ORDERED = "kp_ordered"
#: The names of functions of the matrix and the residual of an iteration, and of the residual alone, of the same arguments. The
#: second must need no more room than the first.
MATRIX, RESIDUAL = "kp_matrix", "kp_equations"
#: How names of functions end that are called seldom, if ever, and need not be fast: a step solved again, in another way.
SELDOM = "kp_otherwise"
#: What CasADi writes above a function: its name, arguments and results.
_HEADING = re.compile(r"^/\* (\w+):\(.*\)->\(.*\) \*/$", re.MULTILINE)
#: What is no failure of its own: a call of one generated function by another, and how many arguments or results there are.
_NO_FAILURE = re.compile(r"if \(casadi_f\d+\([^()]*\)\) return 1;|_n_(?:in|out)\(void\) \{ return 1;")
#: Where a function is defined, and where it is called.
_DEFINED = re.compile(r"^(?:CASADI_SYMBOL_EXPORT|static) int (\w+)\([^()]*\)\s*\{", re.MULTILINE)
_CALLED = re.compile(r"\b(casadi_f\d+)\(")
_UNPOLISHED = """#if defined(__clang__)
#define KP_UNPOLISHED __attribute__((optnone, noinline))
#elif defined(__GNUC__)
#define KP_UNPOLISHED __attribute__((optimize("O0"), noinline))
#else
#define KP_UNPOLISHED
#endif

"""
#: The loop of CasADi's 'fast_newton'.
_LOOP = re.compile(r"for \(iter=0; iter<(\d+); \+\+iter\) \{.*?if \(casadi_newton\(&m\)\) break;\n *\}\n", re.DOTALL)


def generated(name: str, functions: Iterable[ca.Function]) -> str:
    """Return the C code of some functions."""
    generator = ca.CodeGenerator(name, {"casadi_int": "long long int"})
    for function in functions:
        generator.add(function)
    code = with_newton_failures(generator.dump())
    if ORDERED in code:
        from kingpost.kernel.elimination import with_eliminations  # built on this, and seldom needed

        code = with_eliminations(code)
    return with_unpolished(code) if SELDOM in code else code


def with_unpolished(code: str) -> str:
    """Return generated code in which functions that are called seldom, and what they alone call, are not optimised.

    Straight-line code of some ten thousand lines takes a compiler many seconds to polish, and hardly one to translate.
    """
    defined = list(_DEFINED.finditer(code))
    ends = [*(found.start() for found in defined[1:]), len(code)]
    bodies = {found[1]: code[found.end() : end] for found, end in zip(defined, ends, strict=True)}
    seldom = set()
    for heading in _HEADING.finditer(code):
        if heading[1].endswith(SELDOM):
            seldom.add(next(found[1] for found in defined if found.start() > heading.end()))
    calls = {name: set(_CALLED.findall(body)) & bodies.keys() for name, body in bodies.items()}

    def reached(firsts: Iterable[str], barred: Iterable[str] = ()) -> set[str]:
        found, left = set(barred), [name for name in firsts if name not in set(barred)]
        while left:
            name = left.pop()
            if name not in found:
                found.add(name)
                left += calls[name] - found
        return found.difference(barred)

    often = reached((name for name in bodies if not name.startswith("casadi_f")), seldom)
    slow = reached(seldom) - often
    marked = _DEFINED.sub(lambda found: f"KP_UNPOLISHED {found[0]}" if found[1] in slow else found[0], code)
    return _UNPOLISHED + marked


def with_newton_failures(code: str) -> str:
    """Return generated code in which a function fails if Newton's method has not converged inside.

    CasADi's C code, unlike its interpreter, goes on with what it has then.
    """
    headings = [(heading.start(), heading[1]) for heading in _HEADING.finditer(code)]

    def mended(loop: re.Match[str]) -> str:
        owner = next((name for place, name in reversed(headings) if place < loop.start()), "")
        return loop[0] if owner == WATCHED or owner.startswith(ORDERED) else f"{loop[0]}  if (iter == {loop[1]}) return 1;\n"

    mended_code, found = _LOOP.subn(mended, code)
    if found != code.count("casadi_newton(&m)"):
        raise CompilerError(
            f"CasADi {ca.CasadiMeta.version()} writes Newton's method in a way in which its failures cannot be seen"
        )
    return mended_code


def can_fail(code: str) -> bool:
    """Say whether generated functions can fail: whether any of them does more than hand on the failures of others."""
    return "return 1;" in _NO_FAILURE.sub("", code)
