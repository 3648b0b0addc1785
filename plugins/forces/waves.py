"""Forces of waves on a body that floats in them, from linear theory: a sum of harmonic components."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.channel_roles import MEMORY
from kingpost.base.errors import MechanismError
from kingpost.base.fields import BodyName
from kingpost.base.formulas import ZERO_VECTOR, Scalar, Vector3, as_scalar
from kingpost.marine.box_hull import BoxHull
from kingpost.marine.interpolation import TURN
from kingpost.marine.wave_tables import WaveTable, wave_number, wave_table
from kingpost.mechanism.drawings import Drawing, Waves
from kingpost.multibody.force import Force, ForceState, Kinematics, Loads
from kingpost.plugins.forces.horizontal import yaw_axes
from kingpost.plugins.forces.water import MOTIONS, SCREW_ORDER, Row
from kingpost.plugins.forces.wave_sums import cosine_and_sine, smooth_ramp, wave_sum

if TYPE_CHECKING:
    from kingpost.marine.components import WaveComponents
    from kingpost.mechanism.mechanism import Mechanism

Component = tuple[Scalar, Scalar, Scalar]
Follow = Literal["no", "position", "heading"]
ONES: Row = (1.0,) * 6
#: The slow motions that a force may follow, and their units.
SLOW = {"x": "m", "y": "m", "yaw": "rad"}
#: How names of states of the filter begin.
FILTER = f"{MEMORY}.slow_"
#: Of energy outside of a table's frequencies this much is worth a word.
WORTH_TELLING = 0.01


@dataclass(frozen=True)
class WaveExcitationOptions:
    """Wave ``components`` (amplitude in m, circular frequency in rad/s, phase in rad) and the wrench per metre of amplitude.

    ``transfer`` holds the magnitudes for surge, sway, heave (N/m), roll, pitch and yaw (N m/m), ``transfer_phase`` by how
    many radians each leads the crest at the reference point: a row for each component, or one for all. The wrench acts at the
    point ``at`` of the body frame (m), in axes that stay horizontal: world axes turned by ``heading`` (rad) about z. From t = 0
    it grows from nothing to full size over ``ramp`` seconds.

    With a ``table`` over frequencies and headings (:class:`kingpost.marine.wave_tables.WaveTable`), a ``file`` of hydrodynamic
    data, or a ``box`` (:class:`kingpost.marine.box_hull.BoxHull`) the body takes any sea, which then takes the place of the
    components. ``scale`` multiplies the six parts of what the table or box says. A sea with more than the part ``outside`` of
    its energy outside of the table's frequencies is refused. The force may ``follow`` the slow ``position`` of the body, by the
    phases of waves in water of a ``depth`` (m; deep without), or also its slow ``heading``, up to ``yaw_range`` (rad) from the
    mean one; slow is what passes a filter with the frequency ``cutoff`` (rad/s). With ``follows_yaw`` the axes of the wrench
    turn with the body, as the restoring of a hull does, and its size stays that of the mean heading; it has no states for that.
    """

    body: BodyName
    components: tuple[Component, ...] = ()
    transfer: tuple[Row, ...] = ()
    transfer_phase: tuple[Row, ...] = ()
    at: Vector3 = ZERO_VECTOR
    heading: Scalar = 0.0
    ramp: float = 0.0
    table: WaveTable | None = None
    file: str = ""
    box: BoxHull | None = None
    scale: Row = ONES
    outside: float = 0.05
    follow: Follow = "no"
    depth: float | None = None
    cutoff: float = 0.25
    yaw_range: float = math.radians(15.0)
    follows_yaw: bool = False

    def __post_init__(self) -> None:
        what, waves = f"wave-excitation on '{self.body}'", len(self.components)
        if self.file and self.table is None:
            object.__setattr__(self, "table", wave_table(_read(self.file), "excitation"))
        if self.table is not None and self.box is not None:
            raise MechanismError(f"{what} has a table, or file, and a box; give one of them", path=("box",))
        if not waves and self.hull is None:
            raise MechanismError(
                f"{what}: there is no wave component; a regular wave is [[amplitude, frequency, phase]]", path=("components",)
            )
        for name, rows, least in (("transfer", self.transfer, 1 if waves else 0), ("transfer_phase", self.transfer_phase, 0)):
            if len(rows) not in ((least, 1, waves) if waves else (0,)):
                raise MechanismError(
                    f"{what}: {name} has {len(rows)} rows, but there are {waves} wave components; give a row for each, or one "
                    "for all",
                    path=(name,),
                )
        for i, (_, frequency, _) in enumerate(self.components):
            number = as_scalar(frequency)
            if isinstance(number, float) and not number > 0:
                raise MechanismError(
                    f"{what}: the frequency of component {i + 1} is {number:g} rad/s; it must be positive", path=("components",)
                )
        if self.ramp < 0:
            raise MechanismError(f"{what}: ramp is {self.ramp:g} s; it must not be negative", path=("ramp",))
        self._check_table(what)

    def _check_table(self, what: str) -> None:
        if not 0 <= self.outside <= 1:
            raise MechanismError(f"{what}: outside is {self.outside:g}; it is a part of the energy, 0 to 1", path=("outside",))
        for name in ("depth", "cutoff", "yaw_range"):
            if getattr(self, name) is not None and not getattr(self, name) > 0:
                raise MechanismError(f"{what}: {name} is {getattr(self, name):g}; it must be positive", path=(name,))
        if self.follow != "no" and self.hull is None:
            raise MechanismError(f"{what}: to follow a {self.follow} it needs a 'table'", path=("follow",))
        if self.hull is not None and not isinstance(as_scalar(self.heading), float):
            raise MechanismError(
                f"{what}: heading is the formula '{self.heading}'; with a table it must be a number", path=("heading",)
            )

    @property
    def hull(self) -> WaveTable | BoxHull | None:
        """What says how waves of any frequency and heading act; None if its own components alone are known."""
        return self.box if self.table is None else self.table


class WaveExcitation(Force):
    """Wrench of regular or irregular waves on a body, from linear transfer functions.

    For the elevation sum a cos(w t + phase) at the reference point it is the real part of sum a H exp(i (w t + phase)) with
    H = transfer exp(i transfer_phase); data made with exp(-i w t) need the opposite phases. Unless it is told to follow the
    body's slow position, it depends on time only: the linear theory of small motions about a mean place and heading.
    """

    name = "wave-excitation"
    Options = WaveExcitationOptions

    def drawing(self) -> Drawing:
        options = self.options
        # Transfer functions do not say where waves go to.
        waves = Waves(tuple((*component, options.heading) for component in options.components), options.ramp)
        return Drawing(floats=(options.body,), waves=waves)

    def states(self, mechanism: Mechanism) -> Sequence[ForceState]:
        """Return the filtered motions and their rates, where the force follows them."""
        followed = {"no": (), "position": ("x", "y"), "heading": ("x", "y", "yaw")}[self.options.follow]
        return [
            state
            for name in followed
            for state in (ForceState(f"{FILTER}{name}", SLOW[name]), ForceState(f"{FILTER}{name}_rate", f"{SLOW[name]}/s"))
        ]

    @property
    def sea_rows(self) -> tuple[str, ...]:
        """Turns per second, and per metre if it follows the position; cosine and sine parts of elevation and wrench; slopes."""
        if self.options.hull is None:
            return ()
        wrench = [f"{motion}_{part}" for part in ("cos", "sin") for motion in ("elevation", *MOTIONS)]
        rows = ("turns", *(() if self.options.follow == "no" else ("kx", "ky")), *wrench)
        if self.options.follow != "heading":
            return rows
        return (*rows, *(f"{name}_{power}" for power in ("slope", "bend") for name in wrench if "elevation" not in name))

    def wave_rows(self, waves: WaveComponents) -> FloatArray:
        options, table = self.options, self.options.hull
        table.check(waves, options.outside)
        w, direction = waves.frequency, waves.direction - float(options.heading)
        wave = waves.amplitude * np.exp(1j * waves.phase)
        turned = [table.at(w, direction - angle) for angle in self._angles]
        sizes = [(wave[:, None] * values).T for values in turned]
        rows = [w[None, :] / TURN]
        if options.follow != "no":
            k = wave_number(w, options.depth or math.inf)[None, :] / TURN
            rows += [-k * np.cos(waves.direction), -k * np.sin(waves.direction)]
        # Re[A exp(i w t)] = Re A cos w t - Im A sin w t.
        here = np.vstack([wave[None, :], sizes[0]])
        rows += [here.real, -here.imag]
        if options.follow == "heading":
            step = options.yaw_range
            slope, bend = (sizes[1] - sizes[2]) / (2 * step), (sizes[1] + sizes[2] - 2 * sizes[0]) / (2 * step**2)
            rows += [slope.real, -slope.imag, bend.real, -bend.imag]
        return np.vstack(rows)

    @property
    def _angles(self) -> tuple[float, ...]:
        """The yaw angles at which the table is asked: a parabola through them serves those between."""
        return (0.0, self.options.yaw_range, -self.options.yaw_range) if self.options.follow == "heading" else (0.0,)

    def sea_record(self, waves: WaveComponents) -> Mapping[str, Any]:
        """Say which part of the sea's energy the table does not know."""
        return {"energy_outside_table_percent": 100 * self.options.hull.outside(waves)}

    def loads(self, kinematics: Kinematics) -> Loads:
        numbers = kinematics.sea()
        rates, slow = self._followed(kinematics)
        if numbers is not None:
            return self._at_sea(kinematics, numbers, rates, slow)
        if not self.options.components:
            return Loads(rates=rates)
        loads = self._acting(kinematics, self._own_waves(kinematics), ca.SX(0))
        return Loads(wrenches=loads, rates=rates)

    def _own_waves(self, kinematics: Kinematics) -> ca.SX:
        """Return the wrench of its own components, in horizontal axes."""
        options = self.options
        amplitude, frequency, phase = (
            ca.vertcat(*(kinematics.value(component[k]) for component in options.components)) for k in range(3)
        )
        angle = frequency * kinematics.t + phase
        crest, rise = amplitude * ca.cos(angle), -amplitude * ca.sin(angle)
        # One sine and one cosine for each component serve all six parts of the wrench.
        if len(options.transfer) == 1 and len(options.transfer_phase) < 2:
            crest, rise = ca.sum1(crest), ca.sum1(rise)
        real, imaginary = self._transfer(kinematics, crest.numel())
        return (real.T @ crest + imaginary.T @ rise) * smooth_ramp(kinematics.t, options.ramp)

    def _at_sea(self, kinematics: Kinematics, numbers: ca.SX, rates: Mapping[str, ca.SX], slow: Mapping[str, ca.SX]) -> Loads:
        grown = smooth_ramp(kinematics.t, self.options.ramp)
        limit = self.options.yaw_range
        known = [kinematics.t, *(slow[name] for name in ("x", "y") if name in slow)]
        if "yaw" in slow:
            known.append(ca.fmin(ca.fmax(slow["yaw"], -limit), limit))
        function = wave_sum(
            "kp_waves", *numbers.shape, ["t", "x", "y", "yaw"][: len(known)], _following(len(known), self.options.follow)
        )
        found = kinematics.call(function, *known, numbers, size=7)
        marine = found[1:] * kinematics.vector(self.options.scale) * grown
        wrenches = self._acting(kinematics, ca.vertcat(*(marine[i] for i in SCREW_ORDER)), slow.get("yaw", ca.SX(0)))
        return Loads(wrenches=wrenches, rates=rates, signals={"elevation": (found[0] * grown, "m")})

    def _acting(self, kinematics: Kinematics, wrench: ca.SX, yaw: ca.SX) -> dict[str, ca.SX]:
        """Return a wrench in horizontal axes, turned by the heading and a yaw, or with the body, as one on the body."""
        options = self.options
        R_BW = kinematics.pose(options.body).R.T
        if options.follows_yaw:
            c, s = yaw_axes(R_BW.T)
        else:
            heading = kinematics.value(options.heading) + yaw
            c, s = ca.cos(heading), ca.sin(heading)
        turn = ca.sparsify(ca.blockcat([[c, -s, 0], [s, c, 0], [0, 0, 1]]))
        moment_B, force_B = R_BW @ (turn @ wrench[:3]), R_BW @ (turn @ wrench[3:])
        at = kinematics.vector(options.at)
        return {options.body: ca.densify(ca.vertcat(moment_B + ca.cross(at, force_B), force_B))}

    def _followed(self, kinematics: Kinematics) -> tuple[dict[str, ca.SX], dict[str, ca.SX]]:
        """Return the rates of the filter's states, Butterworth's of second order, and the slow motions."""
        declared = [state.name for state in self.states(kinematics.mechanism)]
        if not declared:
            return {}, {}
        pose, cutoff = kinematics.pose(self.options.body), self.options.cutoff
        place = pose.p + pose.R @ kinematics.vector(self.options.at)
        ahead = pose.R[:, 0]
        c, s = math.cos(float(self.options.heading)), math.sin(float(self.options.heading))
        now = {"x": place[0], "y": place[1], "yaw": ca.atan2(c * ahead[1] - s * ahead[0], c * ahead[0] + s * ahead[1])}
        rates, slow = {}, {}
        for name in declared[::2]:
            own = name.removeprefix(FILTER)
            value, rate = kinematics.state(name), kinematics.state(f"{name}_rate")
            rates[name] = rate
            rates[f"{name}_rate"] = cutoff**2 * (now[own] - value) - math.sqrt(2) * cutoff * rate
            slow[own] = value
        return rates, slow

    def _transfer(self, kinematics: Kinematics, waves: int) -> tuple[ca.SX, ca.SX]:
        """Return real and imaginary part of H, a row for each wave, columns in the order [moment; force]."""

        def table(rows: tuple[Row, ...]) -> ca.SX:
            rows = rows or ((0.0,) * 6,)
            values = ca.vertcat(*(kinematics.vector(tuple(row[i] for i in SCREW_ORDER)).T for row in rows))
            return values if len(rows) == waves else ca.repmat(values, waves, 1)

        magnitude, lead = table(self.options.transfer), table(self.options.transfer_phase)
        return ca.sparsify(magnitude * ca.cos(lead)), ca.sparsify(magnitude * ca.sin(lead))


def _following(known: int, follow: str) -> Any:
    """Return what one wave adds to elevation and wrench, from its numbers and what is known."""

    def each(wave: ca.SX, t: ca.SX, x: Any = 0, y: Any = 0, yaw: Any = 0) -> ca.SX:
        first = 1 if known == 1 else 3
        c, s = cosine_and_sine(wave[0] * t + (0 if known == 1 else wave[1] * x + wave[2] * y))
        cosine, sine = wave[first : first + 7], wave[first + 7 : first + 14]
        if follow == "heading":
            slope, bend = wave[first + 14 : first + 26], wave[first + 26 : first + 38]
            cosine = cosine + ca.vertcat(0, slope[:6] * yaw + bend[:6] * yaw**2)
            sine = sine + ca.vertcat(0, slope[6:] * yaw + bend[6:] * yaw**2)
        return cosine * c + sine * s

    return each


def _read(path: str) -> Any:
    from kingpost.marine.hydro.reading import read_hydro

    return read_hydro(path)
