"""Radiation of waves by a floating body that moves: Cummins' equation, with the memory as states.

W. E. Cummins, The impulse response function and ship motions, Schiffstechnik 9 (1962) 101-109: the wrench of radiation is
-(A_inf a + Int K(t - s) v(s) ds). Here K is a sum of decaying terms, so that the integral is a few linear states, which
formulations, integrators and FMUs carry like any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import casadi as ca
import numpy as np

from kingpost.base.channel_roles import MEMORY
from kingpost.base.errors import MechanismError, closest, listed
from kingpost.base.fields import BodyName
from kingpost.base.formulas import ZERO_VECTOR, Scalar, Vector3
from kingpost.mechanism.drawings import Drawing
from kingpost.mechanism.mechanism import Mechanism
from kingpost.multibody.force import Force, ForceState, Kinematics, Loads
from kingpost.plugins.forces.horizontal import horizontal_motion
from kingpost.plugins.forces.water import MOTIONS, Matrix6, check_semidefinite, check_symmetric

Number2 = tuple[float, float]
#: Frequencies at which passivity is looked at: for each decade, around each pole, and how far beyond them.
PER_DECADE, AROUND, BEYOND = 40, 41, 100.0
#: A real part of K that is negative by less than this part of the largest K is rounding of printed numbers.
PASSIVE = 1e-6


@dataclass(frozen=True)
class RadiationOptions:
    """A memory K(s) = sum R / (s - p): ``poles`` [Re p, Im p] (1/s), the ``motions`` that each couples, and ``residues``.

    A residue is the upper triangle of R row by row, as pairs [Re, Im] (N/m, N, N m/rad); a pole with Im p > 0 stands for its
    conjugate as well. ``added_mass`` is the limit of the added mass for infinite frequency (kg, kg m, kg m^2), surge to yaw.
    Both act on the velocity of the point ``at`` of the body frame (m) in horizontal axes: the world's, turned by the mean
    ``heading`` (rad), or, with ``follows_yaw``, turned with the body. ``source`` says where the numbers come from, for the
    record of a run.
    """

    body: BodyName
    poles: tuple[Number2, ...] = ()
    motions: tuple[tuple[str, ...], ...] = ()
    residues: tuple[tuple[Number2, ...], ...] = ()
    added_mass: Matrix6 | None = None
    at: Vector3 = ZERO_VECTOR
    heading: Scalar = 0.0
    follows_yaw: bool = False
    source: str = ""

    def __post_init__(self) -> None:
        what = f"radiation on '{self.body}'"
        if not len(self.poles) == len(self.motions) == len(self.residues):
            raise MechanismError(
                f"{what}: there are {len(self.poles)} poles, {len(self.motions)} lists of motions and {len(self.residues)} "
                "residues; give one of each for every term",
                path=("poles",),
            )
        for i, term in enumerate(self.terms()):
            self._check_term(what, i, term)
        if not self.poles and self.added_mass is None:
            raise MechanismError(f"{what} has neither a memory nor an added mass; give one, or remove the force")
        if self.added_mass is not None:
            check_symmetric(self.added_mass, what)
            check_semidefinite(self.added_mass, what, "the water would give energy away; check its signs and units")
        self._check_passive(what)

    def terms(self) -> Iterator[Term]:
        """Yield the terms of the memory."""
        for pole, motions, residue in zip(self.poles, self.motions, self.residues, strict=True):
            yield Term(pole, motions, residue)

    def _check_term(self, what: str, i: int, term: Term) -> None:
        for motion in term.motions:
            if motion not in MOTIONS:
                raise MechanismError(
                    f"{what}: term {i + 1} has the motion '{motion}'{closest(motion, MOTIONS)} Motions: {listed(MOTIONS)}.",
                    path=("motions", i),
                )
        entries, m = len(term.residue), len(term.motions)
        if entries != m * (m + 1) // 2 or len(set(term.motions)) < m or not m:
            raise MechanismError(
                f"{what}: term {i + 1} has {entries} residues for the motions {listed(term.motions)}; give the upper triangle "
                f"of their matrix, {m * (m + 1) // 2} pairs for {m} different motions",
                path=("residues", i),
            )
        if not term.pole[0] < 0 or term.pole[1] < 0:
            raise MechanismError(
                f"{what}: pole {i + 1} is {term.pole[0]:g} {term.pole[1]:+g}i 1/s; real parts must be negative, or the memory "
                "grows, and of a conjugate pair the pole with the positive imaginary part is given",
                path=("poles", i),
            )
        if term.pole[1] == 0 and any(imaginary != 0 for _, imaginary in term.residue):
            raise MechanismError(f"{what}: pole {i + 1} is real, so its residues must be real, too", path=("residues", i))

    def _check_passive(self, what: str) -> None:
        if not self.poles:
            return
        w = _frequencies(np.array([complex(*pole) for pole in self.poles]))
        K = sum(term.transfer(1j * w) for term in self.terms())
        size = np.sqrt(np.abs(np.diagonal(K, axis1=1, axis2=2)).max(axis=0))
        size[size == 0] = 1.0
        lowest = np.linalg.eigvalsh(K.real / np.outer(size, size))[:, 0]
        k = int(lowest.argmin())
        if lowest[k] < -PASSIVE:
            raise MechanismError(
                f"{what}: the memory is not passive: at {w[k]:.4g} rad/s the smallest eigenvalue of Re K is {lowest[k]:.3g} of "
                "its largest value, so it would drive the body; fit it again with the conditions of passivity",
                path=("residues",),
            )


@dataclass(frozen=True)
class Term:
    """One pole with its residues between some motions."""

    pole: Number2
    motions: tuple[str, ...]
    residue: tuple[Number2, ...]

    @property
    def paired(self) -> bool:
        """Whether the pole stands for its conjugate as well."""
        return self.pole[1] > 0

    @property
    def rows(self) -> list[int]:
        """The motions as numbers from 0 to 5."""
        return [MOTIONS.index(motion) for motion in self.motions]

    def parts(self, k: int) -> np.ndarray:
        """Return the real (0) or imaginary (1) part of the residue as a symmetric matrix (m, m)."""
        m = len(self.motions)
        whole = np.zeros((m, m))
        upper = np.triu_indices(m)
        whole[upper] = [pair[k] for pair in self.residue]
        return np.where(whole.T != 0, whole.T, whole)

    def transfer(self, s: np.ndarray) -> np.ndarray:
        """Return its part of K(s) for all six motions (k, 6, 6)."""
        p, R = complex(*self.pole), self.parts(0) + 1j * self.parts(1)
        own = R / (s[:, None, None] - p)
        if self.paired:
            own = own + R.conj() / (s[:, None, None] - p.conjugate())
        whole = np.zeros((len(s), 6, 6), complex)
        whole[np.ix_(range(len(s)), self.rows, self.rows)] = own
        return whole


class Radiation(Force):
    """Radiation of a floating body: added mass of infinite frequency, and a memory of earlier motion that is passive.

    Both are the linear theory's: constant in axes of the mean heading, in which they see the motion. So periodic motions have
    no mean force, which velocity terms of Kirchhoff's equations (added-mass has them) would give, a part of the drift only.

    States: for every pole and motion, z' = p z + v with the velocity v, so that a pair is two real states. Channel ``power`` is
    what the memory takes from the body (W); over any history from rest its integral is not negative.
    """

    name = "radiation"
    Options = RadiationOptions

    def drawing(self) -> Drawing:
        return Drawing(floats=(self.options.body,))

    def record(self) -> dict[str, str]:
        return {"source": self.options.source} if self.options.source else {}

    def states(self, mechanism: Mechanism) -> tuple[ForceState, ...]:
        return tuple(ForceState(name, "m" if row < 3 else "rad") for _, row, names in self._named() for name in names)

    def loads(self, kinematics: Kinematics) -> Loads:
        options, body = self.options, self.options.body
        heading = None if options.follows_yaw else options.heading
        to_H, velocity, bias, _ = horizontal_motion(kinematics, body, options.at, heading)
        A = self._added_mass(kinematics)
        rates, force = self._memory(kinematics, velocity)
        wrench = -to_H.T @ (force + A @ bias)
        return Loads(
            wrenches={body: ca.densify(wrench)},
            inertias={} if options.added_mass is None else {body: to_H.T @ A @ to_H},
            kinetic=ca.dot(velocity, A @ velocity) / 2,
            rates=rates,
            signals={"power": (ca.dot(force, velocity), "W")} if options.poles else {},
        )

    def _added_mass(self, kinematics: Kinematics) -> ca.SX:
        rows = self.options.added_mass
        if rows is None:
            return ca.SX(6, 6)
        A = ca.sparsify(ca.blockcat([[kinematics.value(entry) for entry in row] for row in rows]))
        return ca.triu2symm(ca.triu(A))

    def _named(self) -> Iterator[tuple[Term, int, tuple[str, ...]]]:
        """Yield every term with one of its motions and the names of the states of both; poles are counted for each motion."""
        counts = dict.fromkeys(MOTIONS, 0)
        for term in self.options.terms():
            for motion, row in zip(term.motions, term.rows, strict=True):
                wide = 2 if term.paired else 1
                names = tuple(f"{MEMORY}.{motion}{counts[motion] + k + 1}" for k in range(wide))
                counts[motion] += wide
                yield term, row, names

    def _memory(self, kinematics: Kinematics, velocity: ca.SX) -> tuple[dict[str, ca.SX], ca.SX]:
        """Return the rates of the states, and the force that the memory resists with, surge to yaw."""
        rates: dict[str, ca.SX] = {}
        force = ca.SX(6, 1)
        for term, row, names in self._named():
            a, b = term.pole
            column = term.rows.index(row)
            z = [kinematics.state(name) for name in names]
            if term.paired:
                rates[names[0]], rates[names[1]] = a * z[0] + b * z[1] + velocity[row], a * z[1] - b * z[0]
            else:
                rates[names[0]] = a * z[0] + velocity[row]
            factor = 2 if term.paired else 1
            for k, state in enumerate(z):
                for i, entry in zip(term.rows, factor * term.parts(k)[:, column], strict=True):
                    force[i] += entry * state
        return rates, ca.densify(force)


def _frequencies(poles: np.ndarray) -> np.ndarray:
    size = np.abs(poles)
    low, high = size.min() / BEYOND, size.max() * BEYOND
    even = np.geomspace(low, high, int(PER_DECADE * np.log10(high / low)))
    near = [abs(p.imag) + abs(p.real) * np.linspace(-3, 3, AROUND) for p in poles]
    every = np.concatenate([even, *near])
    return np.unique(every[every > 0])
