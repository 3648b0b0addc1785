"""Efforts that depend on joint loads: friction of bearings and slides, solved for inside the accelerations.

Accelerations and multipliers are linear in efforts e, and so are the loads w of joints, w = w0 + W e, where only constraint
parts are meant. With the laws of the forces, e = g(w), there remains the small system

    e - g(w0 + W e) = 0,

which a few steps of Newton's method solve, always as many, in compiled code. It has one solution, whatever w0 is, if the
spectral radius of K is less than one, where K_ik is the size of g_i(W_k) - g_i(0): the friction in i that a unit of friction k
causes by the loads it causes. For one bearing this is necessary, too (Painleve's paradox, self-locking). Laws are taken to grow
in proportion to loads, as mu r N does. Where the number is not less than one, accelerations are NaN and the run says why.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.errors import MechanismError, listed
from kingpost.equations.equations import Equations
from kingpost.equations.parts import Structure
from kingpost.equations.treatment import Treatment
from kingpost.loads.loaded_road import LoadedRoad
from kingpost.loads.loops import open_loads
from kingpost.loads.sharing import close_loops
from kingpost.multibody.newton_euler import TreeDynamics
from kingpost.multibody.opened import OpenedAssembly
from kingpost.symbols.externals import External
from kingpost.symbols.linear_solvers import householder
from kingpost.symbols.straightline import FUSED, fused

#: Newton steps from zero efforts: as many as leave nothing but round-off up to a coupling of 0.99; at 0.1 three would do.
STEPS = 8
#: Squarings of K for its spectral radius, which they overestimate by the factor n^(1/64) at most, for n efforts.
SQUARINGS = 6


@dataclass(frozen=True, eq=False)
class LoadDependence:
    """How load-dependent efforts of some equations were found, kept to find them anew, and to explain where they cannot be."""

    opened: Equations
    assembly: OpenedAssembly
    #: The function (t, q, v, u, p) -> efforts, loads and coupling; and accelerations where there are no multipliers. None while
    #: redundant constraints have not been left out.
    solution: ca.Function | None = None

    def explain(self, t: float, q: FloatArray, v: FloatArray, u: FloatArray, p: FloatArray) -> str:
        """Return why there is no unique solution at a state, or nothing if there is one; ``u`` holds inputs, then states."""
        coupling = 0.0 if self.solution is None else float(np.asarray(self.solution(t, q, v, u, p)[0]).ravel()[-1])
        if not coupling >= 1:
            return ""
        return jam(self.assembly, t, coupling)


def jam(assembly: OpenedAssembly, t: float, coupling: float) -> str:
    """Return what it means that a unit of friction causes so much friction, as a sentence without its end."""
    owners = listed(dict.fromkeys(effort.force for effort in assembly.efforts))
    return (
        f"friction that depends on loads has no unique solution at t = {t:.6g} s ({owners}): a unit of friction causes "
        f"loads that cause {coupling:.6g} units of friction, and this number must be less than 1. The joints would jam, or "
        "lock themselves (Painleve's paradox); take a smaller mu or radius, a longer span, or a stiff contact instead of a "
        "rigid joint"
    )


def with_load_dependence(assembly: OpenedAssembly, opened: Equations) -> Equations:
    """Return equations in the inputs and states alone, from those in which load-dependent efforts are unknowns.

    With closures, which constraints are redundant must be known first: until :func:`with_judged_loads`, efforts are NaN.
    """
    if not opened.constraints.count:
        return _solved(assembly, opened)
    unknown = [math.nan] * assembly.unknowns
    u: Any = opened.u[: opened.u.numel() - assembly.unknowns]
    if isinstance(opened.u, ca.MX):
        u = ca.MX.sym("u", u.numel())
    return _substituted(replace(opened, u=u), opened.u, ca.vertcat(u, ca.DM(unknown)), None, LoadDependence(opened, assembly))


def with_judged_loads(equations: Equations) -> Equations:
    """Return equations of closed loops, whose constraints were judged, with their load-dependent efforts.

    Raises
    ------
    MechanismError
        When a load that an effort depends on is not unique.

    """
    kept = equations.loaded
    if kept is None or not equations.constraints.count:
        return equations
    opened = replace(kept.opened, constraints=equations.constraints)
    _refuse_open_loads(kept.assembly, opened)
    solved = _solved(kept.assembly, opened)
    names = ("treatment", "states", "observed")
    return replace(solved, **{name: getattr(equations, name) for name in names})


def _solved(assembly: OpenedAssembly, opened: Equations) -> Equations:
    system = _System(assembly, replace(opened, treatment=Treatment()))
    solution = system.solution
    small = opened.nv <= FUSED and not opened.all_externals and len(assembly.efforts) <= FUSED
    if small:
        solution = fused(solution)
        small = solution.is_a("SXFunction")  # a road may solve a sparse system, of which there is no straight-line code
    kept = LoadDependence(opened, assembly, solution)
    count = system.inputs
    if isinstance(opened.q, ca.MX):
        u: Any = ca.MX.sym("u", count)
        values: Any = solution(opened.t, opened.q, opened.v, u, opened.p)
        return _substituted(replace(opened, u=u), opened.u, ca.vertcat(u, values[0]), values[1], kept)
    u, unknown = opened.u[:count], opened.u[count:]
    arguments = (opened.t, opened.q, opened.v, u, opened.p)
    if small:
        values = solution.call(list(arguments))
        return _substituted(replace(opened, u=u), unknown, values[0], values[1], kept)
    vdot = ca.SX.sym("vdot", opened.nv if system.free else 0)
    symbols = [ca.MX.sym("i", item.numel()) for item in arguments]
    joined = ca.Function("kp_load_dependent", symbols, [ca.densify(ca.vertcat(*solution.call(symbols)))])
    owner = next(applied.name for applied in assembly.applied if applied.loaded)
    external = External(owner, ca.vertcat(unknown, vdot), joined, arguments)
    closed = replace(opened, u=u, vdot=vdot if system.free else None, externals=(external, *opened.externals), loaded=kept)
    return replace(closed, structure=_structure(kept))


def _substituted(equations: Equations, old: Any, new: Any, vdot: Any, kept: LoadDependence) -> Equations:
    """Return equations with the solution in the place of the unknowns."""
    names = ("N", "M", "f", "outputs", "potential", "kinetic")
    there = [getattr(equations, name) for name in names]
    # In matrix expressions functions take all of u, even where they use nothing of it.
    here = dict(zip(names, ca.substitute(there, [old], [new]), strict=True))
    vdot = None if equations.constraints.count else vdot
    return replace(equations, **here, vdot=vdot, loaded=kept, structure=_structure(kept))


def _structure(kept: LoadDependence) -> Structure:
    """Return the structure of equations whose road, if they have one of their own, is taken with the efforts."""
    structure = kept.opened.structure
    if structure.road is None:
        return structure
    return replace(structure, road=LoadedRoad(structure.road, kept.opened, kept.assembly.unknowns, kept.solution))


def _refuse_open_loads(assembly: OpenedAssembly, equations: Equations) -> None:
    """Refuse joints whose loads rigid bodies leave open: friction would be whatever it is taken for."""
    found = open_loads(assembly, equations)
    if found is None:
        return
    for loops in found.loops:
        for joint in loops.joints:
            if joint.name in assembly.joints:
                owners = [applied.name for applied in assembly.applied if joint.name in applied.loaded]
                raise MechanismError(
                    f"force {listed(owners)} depends on the load of joint '{joint.name}', which is not unique: "
                    f"{len(loops.following)} of the constraints of closure "
                    f"{listed([closure.name for closure in loops.closures])} "
                    "follow from others, so rigid bodies leave the loads in this loop open. Use closures that hold no motion "
                    "twice ('point-on-line' in a plane loop, say), or friction with a given load ('joint-friction')"
                )


class LoadLaws:
    """The laws e = g(w) of an opened machine and the loads w in them, and how e - g(w0 + W e) = 0 is solved.

    Who knows how the loads depend on the efforts, w = w0 + W e, gets the efforts.
    """

    def __init__(self, assembly: OpenedAssembly, equations: Equations) -> None:
        self.equations = equations
        self.size, self.rows = len(assembly.efforts), 6 * len(assembly.joints)
        self.inputs = int(equations.u.numel()) - assembly.unknowns
        dynamics = TreeDynamics(assembly, equations.constraints.count, equations.coordinates.joint_state)
        close_loops(dynamics, equations)
        joints = {joint.name: joint for joint in assembly.mechanism.joints}
        loads = ca.vertcat(*(dynamics.constraint_load(joints[name]) for name in assembly.joints))
        #: The function (t, q, v, vdot, lam, u with unknowns, p) -> w.
        self.loads = ca.Function("kp_loads_looked_at", dynamics.symbols, [ca.densify(loads)])
        every = ca.vertcat(ca.SX(0, 1), *(effort.law for effort in assembly.efforts))
        laws = dynamics.space.lower("laws", every, dynamics.space.mx)
        known = [dynamics.t, dynamics.q, dynamics.v, dynamics.u, dynamics.p]
        self._laws = ca.Function("kp_laws", known, [ca.densify(laws)])
        self._externals = dynamics.externals  # CasADi does not keep them alive

    def efforts(self, symbols: list[ca.MX], w0: ca.MX, W: ca.MX) -> tuple[ca.MX, ca.MX]:
        """Return the efforts at t, q, v, u, p, or NaN where they are not unique, and the coupling that decides it."""
        step = self._newton_step()
        e = ca.MX.zeros(self.size)
        for _ in range(STEPS):
            e = step(*symbols, w0, W, e)
        coupling = self.coupling(symbols, W)
        return ca.if_else(coupling < 1, e, ca.MX.nan(self.size)), coupling

    def coupling(self, symbols: list[ca.MX], W: ca.MX) -> ca.MX:
        """Return how much friction a unit of friction causes by the loads W that it causes."""
        still = self.law(*symbols, ca.DM.zeros(self.rows))
        columns = [ca.fabs(self.law(*symbols, W[:, k]) - still) for k in range(self.size)]
        return spectral_radius(ca.horzcat(*columns))

    @cached_property
    def law(self) -> ca.Function:
        """The function (t, q, v, u, p, w) -> g."""
        sizes = (1, self.equations.nq, self.equations.nv, self.inputs, self.equations.np, self.rows)
        t, q, v, u, p, w = symbols = [ca.MX.sym(name, size) for name, size in zip("tqvupw", sizes, strict=True)]
        full = ca.vertcat(u, ca.MX.zeros(self.size), w, ca.MX.zeros(1))
        return ca.Function("kp_law_of_loads", symbols, [self._laws(t, q, v, full, p)])

    def _newton_step(self) -> ca.Function:
        """Return the function (t, q, v, u, p, w0, W, e) -> the next e."""
        equations, n = self.equations, self.size
        sizes = (1, equations.nq, equations.nv, self.inputs, equations.np)
        symbols = [ca.MX.sym(name, size) for name, size in zip("tqvup", sizes, strict=True)]
        w0, W, e, w = (ca.MX.sym("m", *shape) for shape in ((self.rows, 1), (self.rows, n), (n, 1), (self.rows, 1)))
        law = self.law(*symbols, w)
        both = ca.Function("kp_law_and_slope", [*symbols, w], [law, ca.densify(ca.jacobian(law, w))])
        g, slope = both(*symbols, w0 + W @ e)
        J, F = ca.MX.eye(n) - slope @ W, e - g
        change = householder(n, 1)(J, F)[0] if n <= FUSED else ca.solve(ca.densify(J), F, "qr")
        return ca.Function("kp_newton_step", [*symbols, w0, W, e], [e - change])


class _System(LoadLaws):
    """The small system e - g(w0 + W e) = 0 of a machine that moves as forces make it."""

    @property
    def free(self) -> bool:
        """Whether there are no multipliers, so that accelerations are known with the efforts."""
        return not self.equations.constraints.count

    @cached_property
    def solution(self) -> ca.Function:
        """The function (t, q, v, u, p) -> [e; w; coupling], vdot."""
        sizes = (1, self.equations.nq, self.equations.nv, self.inputs, self.equations.np)
        symbols = [ca.MX.sym(name, size) for name, size in zip("tqvup", sizes, strict=True)]
        w0, W, vdot, slopes = self._linear()(*symbols, ca.DM.zeros(self.size))
        if not self.size:  # loads are looked at, and nothing depends on them
            return ca.Function("kp_load_dependent", symbols, [ca.vertcat(w0, ca.MX.zeros(1)), vdot])
        e, coupling = self.efforts(symbols, w0, W)
        found = ca.vertcat(e, w0 + W @ e, coupling)
        return ca.Function("kp_load_dependent", symbols, [found, vdot + slopes @ e])

    def _linear(self) -> ca.Function:
        """Return the function (t, q, v, u, p, e) -> w, dw/de, vdot, dvdot/de."""
        equations = self.equations
        sizes = (1, equations.nq, equations.nv, self.inputs, equations.np, self.size)
        t, q, v, u, p, e = symbols = [ca.MX.sym(name, size) for name, size in zip("tqvupe", sizes, strict=True)]
        full = ca.vertcat(u, e, ca.MX.zeros(self.rows + 1))
        vdot = equations.accelerations(t, q, v, full, p)
        lam = ca.MX(0, 1) if self.free else equations.multipliers(t, q, v, full, p)
        w = self.loads(t, q, v, vdot, lam, full, p)
        shown = vdot if self.free else ca.MX(0, 1)
        slopes = [ca.densify(ca.jacobian(item, e)) for item in (w, shown)]
        return ca.Function("kp_linear_loads", symbols, [w, slopes[0], shown, slopes[1]])


def spectral_radius(K: ca.MX) -> ca.MX:
    """Return the spectral radius of a matrix without negative entries, or at most n^(1/64) times it; of a number, itself."""
    if K.shape[0] == 1:
        return K
    scale = ca.mmax(K) + np.finfo(float).tiny
    power: Any = K / scale
    for _ in range(SQUARINGS):
        power = power @ power
    rows = ca.mmax(ca.sum2(power))  # the largest sum of a row is a norm
    return ca.MX(scale * rows ** (1 / 2**SQUARINGS))
