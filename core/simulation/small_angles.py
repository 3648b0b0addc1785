"""Whether floating bodies stay within the small angles of linear theory.

Hydrostatics, radiation and wave forces are linear in the motions of a hull. What they leave out grows with the square of its
tilt. The lever arm of a hull with upright sides is sin(a) (GM + BM/2 tan(a)^2): at 20 degrees it is 6.6 % longer than the
linear one where BM = GM, 20 % where BM = 3 GM, as of barges and workboats, whose deck edge is in the water by then; from there
on the true arm falls, and the linear one goes on growing. Rotations as vectors are 6 % off, too (1 - cos). A linear hull that
goes farther may capsize and turn over and over, which says nothing about the true one. So 20 degrees is the limit unless a run
says otherwise (``tilt_limit``).

The tilt is the angle between the z axis of the body and that of the world: roll and pitch together, and no yaw. Motion RAOs are
as linear: of a given joint that waves move, it is the tilt away from the joint's own pose.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.formulas import ZERO_VECTOR
from kingpost.mechanism.elements import WORLD
from kingpost.mechanism.free_motion import free_motions
from kingpost.mechanism.mechanism import Mechanism
from kingpost.multibody.assembly import assembled
from kingpost.multibody.tree import TreePlaces

if TYPE_CHECKING:
    from kingpost.multibody.force import Force
    from kingpost.simulation.run import Simulation

#: Tilt (deg) up to which linear theory is taken to hold, where nobody says.
TILT_LIMIT = 20.0
#: The name of the entry in the record of a run.
OUTSIDE = "outside_linear_theory"


@dataclass(frozen=True)
class Tilt:
    """How far a body has tilted (deg), when it did so most (s), and when it first went beyond the limit (s)."""

    body: str
    largest: float
    at: float
    first: float

    @property
    def words(self) -> str:
        """The same in words."""
        return f"'{self.body}' tilts by up to {self.largest:.3g} deg (at t = {self.at:.4g} s, from {self.first:.4g} s on)"


def floating_bodies(mechanism: Mechanism, forces: Mapping[str, Force]) -> tuple[str, ...]:
    """Return the bodies that forces let float, in the order of the mechanism."""
    afloat = {body for force in forces.values() for body in force.drawing().floats}
    return tuple(body.name for body in mechanism.bodies if body.name in afloat)


class Tilts:
    """What tells the tilts of the floating bodies of a machine from samples of its runs, whatever their numbers are.

    Roll and pitch of an unturned free joint on the world tell it at once, and so does the rotation vector by which waves move a
    given joint. Elsewhere it is a function of the joints that carry the body. What is carried by a given joint that no waves
    move goes as somebody says, and is not looked at.
    """

    def __init__(self, simulation: Simulation) -> None:
        mechanism, equations = simulation.mechanism, simulation.equations
        columns = {channel.name: column for column, channel in enumerate(simulation.channels)}
        motions = free_motions(mechanism)
        self._by_angles: list[tuple[str, int, int]] = []
        others = []
        for body in floating_bodies(mechanism, simulation.problem.assembly.forces):
            joint = next(joint for joint in mechanism.joints if joint.child == body)
            angles = [f"{joint.name}.{word}" for word in ("roll", "pitch")]
            unturned = joint.parent == WORLD and joint.rotation == joint.child_rotation == ZERO_VECTOR
            if unturned and all(name in motions and name in columns for name in angles):
                self._by_angles.append((body, columns[angles[0]], columns[angles[1]]))
            elif not _given(mechanism, body):
                others.append(body)
        self._by_waves = _moved_by_waves(simulation, columns)
        known = equations.joint_coordinates or equations.coordinates.joint_state is not None
        self._by_joints = tuple(others) if known else ()
        self._function = _cosines(simulation, self._by_joints) if self._by_joints else None

    @property
    def bodies(self) -> tuple[str, ...]:
        """The bodies that are looked at."""
        return (*(body for body, _, _ in self._by_angles), *self._by_waves, *self._by_joints)

    @property
    def symbolic(self) -> bool:
        """Whether looking takes CasADi's symbols, which two threads must not touch at once."""
        return self._function is not None

    def cosines(self, values: FloatArray, p: FloatArray) -> FloatArray:
        """Return the cosine of the tilt of each body (a column) in samples of a run with parameters p."""
        found = [np.cos(values[:, roll]) * np.cos(values[:, pitch]) for _, roll, pitch in self._by_angles]
        found += [_upright(np.sum([values[:, vector] for vector in vectors], axis=0)) for vectors in self._by_waves.values()]
        if self._function is not None:
            count, nq = len(values), self._function.numel_in(0)
            given = values[:, :nq].T, np.repeat(p[:, None], count, axis=1)
            found += list(np.asarray(self._function.map(count)(*given)).reshape(-1, count))
        return np.column_stack(found) if found else np.zeros((len(values), 0))


def _moved_by_waves(simulation: Simulation, columns: Mapping[str, int]) -> dict[str, list[list[int]]]:
    """Return the bodies on given joints that waves move, each with the columns of the rotation vectors that turn it."""
    found: dict[str, list[list[int]]] = {}
    assembly = simulation.problem.assembly
    if not assembly.motions:
        return {}
    for applied in assembly.applied:
        names = [f"{applied.name}.{word}" for word in ("roll", "pitch", "yaw")]
        if applied.loads.motions and all(name in columns for name in names):
            for joint in applied.loads.motions:
                found.setdefault(simulation.mechanism.joint(joint).child, []).append([columns[name] for name in names])
    return found


def _upright(turned: FloatArray) -> FloatArray:
    """Return the cosine of the tilt of rotation vectors (rows): the entry zz of their matrices."""
    angle = np.linalg.norm(turned, axis=1)
    return np.asarray(1.0 - (turned[:, 0] ** 2 + turned[:, 1] ** 2) / 2 * np.sinc(angle / (2 * math.pi)) ** 2)


def _given(mechanism: Mechanism, body: str) -> bool:
    """Say whether some joint that carries a body is given."""
    carriers = {joint.child: joint for joint in mechanism.joints}
    while body != WORLD:
        if carriers[body].kind == "given":
            return True
        body = carriers[body].parent
    return False


def _cosines(simulation: Simulation, bodies: tuple[str, ...]) -> ca.Function:
    """Return the function (q, p) -> cosines of tilts."""
    equations = simulation.equations
    bare = assembled(simulation.mechanism, {}, ())
    places = TreePlaces(bare)
    upright = ca.vertcat(*(places.relative_pose(WORLD, body).R[2, 2] for body in bodies))
    of_joints = ca.Function("upright", [places.q, bare.p], [ca.densify(upright)])
    if equations.joint_coordinates:
        return of_joints
    assert equations.coordinates.joint_state is not None
    q, p = ca.MX.sym("q", equations.nq), ca.MX.sym("p", equations.np)
    at_rest = [ca.MX.zeros(equations.nv)] * 2
    return ca.Function("upright", [q, p], [of_joints(equations.coordinates.joint_state(q, *at_rest, p)[0], p)])


class TiltWatch:
    """Looks at the floating bodies of a run on its way, and keeps how far they tilt: memory does not grow with its length."""

    def __init__(self, simulation: Simulation, tilts: Tilts | None = None, p: FloatArray | None = None) -> None:
        self._p = simulation.p if p is None else p
        self._tilts = Tilts(simulation) if tilts is None else tilts
        #: In degrees.
        self.limit = TILT_LIMIT if (given := simulation.problem.how.tilt_limit) is None else given
        count = len(self._tilts.bodies)
        self._least, self._at, self._first = np.full(count, np.inf), np.full(count, np.nan), np.full(count, np.nan)

    def look(self, time: FloatArray, values: FloatArray) -> None:
        """Look at the next samples: their times, and all channels of the run."""
        if not self._tilts.bodies or not len(time):
            return
        cosines = self._tilts.cosines(values, self._p)
        cosines = np.where(np.isfinite(cosines), cosines, np.inf)
        least = cosines.argmin(axis=0)
        for i, k in enumerate(least.tolist()):
            if cosines[k, i] < self._least[i]:
                self._least[i], self._at[i] = cosines[k, i], time[k]
            if math.isnan(self._first[i]) and cosines[k, i] < math.cos(math.radians(self.limit)):
                beyond = cosines[:, i] < math.cos(math.radians(self.limit))
                self._first[i] = time[int(beyond.argmax())]

    @property
    def beyond(self) -> tuple[Tilt, ...]:
        """The bodies that tilted beyond the limit."""
        found = zip(self._tilts.bodies, self._least.tolist(), self._at.tolist(), self._first.tolist(), strict=True)
        return tuple(
            Tilt(body, math.degrees(math.acos(max(-1.0, least))), at, first)
            for body, least, at, first in found
            if not math.isnan(first)
        )

    def record(self) -> dict[str, Any]:
        """Return what the record of a run says of it: nothing if all bodies stayed within the limit."""
        if not self.beyond:
            return {}
        entries = {
            tilt.body: {"largest_tilt_deg": tilt.largest, "at_s": tilt.at, "first_s": tilt.first, "limit_deg": self.limit}
            for tilt in self.beyond
        }
        return {OUTSIDE: entries}

    def warnings(self) -> list[str]:
        """Return the same in words."""
        if not self.beyond:
            return []
        said = "; ".join(tilt.words for tilt in self.beyond)
        return [
            f"outside linear theory: {said}, beyond the {self.limit:g} deg up to which linear restoring, wave forces and "
            "motion RAOs hold. What comes from there on says nothing about the true vessel: take a calmer sea, more stability, "
            "or say how far your data hold (tilt_limit)"
        ]
