"""What a fitted memory is worth, as data and as text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.marine.hydro.causality import added_mass_from_damping
from kingpost.marine.hydro.data import MOTIONS
from kingpost.marine.hydro.fitting.closed_loop import SOFT, ClosedLoop, damping_ratio, held
from kingpost.marine.hydro.fitting.fit import MemoryFit
from kingpost.marine.hydro.fitting.passivity import lowest
from kingpost.marine.hydro.fitting.retardation import decay_by_convolution, retardation
from kingpost.marine.hydro.fitting.rows import motions_of
from kingpost.marine.hydro.response import along_axis, restoring_with_weight

#: Damping that is left at the last frequency, relative to its largest value, beyond which a warning is due.
CUT_OFF = 0.05
#: Errors of motions, relative to the largest, beyond which a warning is due.
GOOD_MOTIONS = 0.01
#: The same for K, where data hold nothing to judge it by motions.
GOOD_MEMORY = 0.05
#: Steps and lengths of free decays (s): the convolution is taken with this step and its double, and extrapolated.
DECAY_STEP, DECAY_END, REMEMBERED = 0.05, 40.0, 30.0
#: What rounding may do to an eigenvalue of Re K, and to the real part of a root relative to its size.
ROUNDING = 1e-12
#: Motions that swing by themselves.
SWINGING = (2, 3, 4)


@dataclass(frozen=True)
class BlockReport:
    """A block: its motions, number of poles and of states, its largest error of K, and rounds of conditions of passivity."""

    motions: tuple[str, ...]
    order: int
    states: int
    memory_error: float
    rounds: int


@dataclass(frozen=True)
class DecayReport:
    """A free decay of one motion: largest differences between memories, relative to where it was let go."""

    motion: str
    #: States against a convolution with the fitted K(t): whether the system is the memory that was fitted.
    states_to_convolution: float
    #: States against a convolution with the K(t) that follows from the data's damping alone, which is cut off.
    states_to_data: float
    period: float
    damping: float


@dataclass(frozen=True)
class FitReport:
    """How good a memory is; numbers for surge to yaw are in that order, and None where the data do not tell."""

    name: str
    states: int
    blocks: tuple[BlockReport, ...]
    #: Largest errors of motions in waves over all frequencies and headings, relative to the largest motion.
    motion_errors: tuple[float, ...] | None
    #: The smallest eigenvalue of Re K over all frequencies, in units of the largest K of each motion, and where (rad/s).
    lowest_eigenvalue: float
    lowest_at: float
    #: By how much the limit of the added mass was changed, relative to itself.
    correction: tuple[float, ...]
    #: The rightmost root (1/s) of the hull with this memory, and its damping ratio.
    rightmost: complex | None
    rightmost_damping: float | None
    #: Differences between the added mass and what follows from the damping, relative to the largest added mass.
    kramers_kronig: tuple[float, ...]
    #: Damping at the last frequency relative to the largest.
    cut_off: tuple[float, ...]
    decays: tuple[DecayReport, ...] = ()

    @property
    def passive(self) -> bool:
        """Whether the memory gives no energy away."""
        return self.lowest_eigenvalue >= -ROUNDING

    @property
    def stable(self) -> bool | None:
        """Whether no motion of the hull grows with it; None where the data do not tell."""
        return None if self.rightmost is None else self.rightmost.real <= ROUNDING * max(1.0, abs(self.rightmost))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user should know before relying on it."""
        found = []
        if not self.passive:
            found.append(f"not passive: Re K has an eigenvalue of {self.lowest_eigenvalue:.2e} at {self.lowest_at:.3g} rad/s")
        if self.stable is False:
            found.append(f"the hull is unstable with it: a root at {self.rightmost:.3g} 1/s")
        large = [f"{name} {value:.1%}" for name, value in self._named(self.motion_errors) if value > GOOD_MOTIONS]
        if large:
            found.append(f"motions in waves are off by more than {GOOD_MOTIONS:.0%} of the largest one: {', '.join(large)}")
        rough = [
            f"{'+'.join(block.motions)} {block.memory_error:.0%}" for block in self.blocks if block.memory_error > GOOD_MEMORY
        ]
        if rough and self.motion_errors is None:
            found.append(
                f"K is off by more than {GOOD_MEMORY:.0%} of its largest value: {', '.join(rough)}; look at the data for "
                "irregular frequencies and steps between few rows"
            )
        cut = [f"{name} {value:.0%}" for name, value in self._named(self.cut_off) if value > CUT_OFF]
        if cut:
            found.append(
                f"the damping is cut off at the last frequency, where more than {CUT_OFF:.0%} of its largest value is left: "
                f"{', '.join(cut)}; data for higher frequencies make the memory surer there"
            )
        return tuple(found)

    def text(self) -> str:
        """Return the report in lines."""
        lines = [f"radiation memory of '{self.name}': {self.states} states"]
        for block in self.blocks:
            lines.append(
                f"  {' + '.join(block.motions):<14} order {block.order:<2} error of K {block.memory_error:.2%}, "
                f"{_rounds(block.rounds)}"
            )
        rows = [("motions in waves", self.motion_errors), ("A_inf corrected", self.correction)]
        rows += [("Kramers-Kronig", self.kramers_kronig), ("damping left at end", self.cut_off)]
        lines.append(f"  {'':<20}" + "".join(f"{name:>8}" for name in MOTIONS))
        lines += [f"  {label:<20}" + "".join(f"{value:>8.2%}" for value in values) for label, values in rows if values]
        where = f"(at {self.lowest_at:.3g} rad/s; 1 is the largest K)"
        lines.append(f"  smallest eigenvalue of Re K {self.lowest_eigenvalue:.1e} {where}")
        if self.rightmost is not None:
            lines.append(
                f"  rightmost root {self.rightmost.real:.2e} {self.rightmost.imag:+.3f}i 1/s, damping ratio "
                f"{self.rightmost_damping:.1e} (free motions on springs of {SOFT:g} s)"
            )
        for decay in self.decays:
            lines.append(
                f"  free {decay.motion:<6} period {decay.period:.2f} s, damping {decay.damping:.2%}; against convolution of "
                f"the fitted K(t) {decay.states_to_convolution:.1e}, of the data's {decay.states_to_data:.1e}"
            )
        return "\n".join([*lines, *(f"  warning: {warning}" for warning in self.warnings)])

    @staticmethod
    def _named(values: tuple[float, ...] | None) -> list[tuple[str, float]]:
        return [] if values is None else list(zip(MOTIONS, values, strict=True))


def report_fit(fit: MemoryFit, *, decays: bool = True) -> FitReport:
    """Return the report on a fit; ``decays`` adds free decays by states and by convolution, which take the longest."""
    data, memory, moving = fit.data, fit.memory, motions_of(fit.data)
    errors = None
    if moving is not None:
        errors = _numbers(np.abs(moving.errors(memory.radiation(data.frequencies))).max(axis=(0, 1)))
    smallest, where = smallest_eigenvalue(fit)
    loop = closed_loop(fit)
    worst = None if loop is None else max(loop.roots, key=lambda root: (root.real, abs(root.imag)))
    size = np.abs(np.diagonal(data.added_mass, axis1=1, axis2=2)).max(axis=0)
    asked = memory.added_mass_inf + added_mass_from_damping(data.frequencies, data.damping)
    related = np.diagonal(asked - data.added_mass, axis1=1, axis2=2)
    return FitReport(
        name=data.name,
        states=memory.states,
        blocks=tuple(
            BlockReport(b.block.names, b.block.order, b.block.order * len(b.block.motions), b.memory_error, b.rounds)
            for b in fit.blocks
        ),
        motion_errors=errors,
        lowest_eigenvalue=smallest,
        lowest_at=where,
        correction=_relative(
            np.diag(memory.added_mass_inf - fit.target.added_mass_inf), np.diag(fit.target.added_mass_inf), fit
        ),
        rightmost=None if worst is None else complex(worst),
        rightmost_damping=None if worst is None else damping_ratio(worst),
        kramers_kronig=_relative(np.abs(related).max(axis=0), size, fit),
        cut_off=_cut_off(fit),
        decays=tuple(_decays(fit, loop)) if decays and loop is not None else (),
    )


def smallest_eigenvalue(fit: MemoryFit) -> tuple[float, float]:
    """Return the smallest eigenvalue of Re K(i w), scaled to the largest K of each motion, and its frequency.

    Looked for on a grid that no other part uses, a hundredth of a decade wide, and finer around every pole.
    """
    found = (np.inf, 0.0)
    for block in fit.memory.blocks:
        poles = block.poles
        w = np.geomspace(1e-3 * np.abs(poles).min(), 1e3 * np.abs(poles).max(), 1001)
        w = np.concatenate([w, *(np.abs(p.imag + p.real * np.linspace(-5, 5, 201)) for p in poles)])
        scale = fit.target.scale[np.ix_(block.motions, block.motions)]
        numbers = lowest(block.transfer(along_axis(w[w > 0])).real / scale)[0]
        k = int(numbers.argmin())
        found = min(found, (float(numbers[k]), float(w[w > 0][k])))
    return found


def closed_loop(fit: MemoryFit) -> ClosedLoop | None:
    """Return the hull with its memory, free horizontal motions on soft springs; None where its inertia is not known."""
    data = fit.data
    if data.inertia is None or data.restoring is None:
        return None
    stiffness = held(data.inertia + fit.memory.added_mass_inf, restoring_with_weight(data))
    return ClosedLoop(fit.memory, data.inertia, stiffness, np.zeros((6, 6)))


def _decays(fit: MemoryFit, loop: ClosedLoop) -> list[DecayReport]:
    times = np.arange(0.0, DECAY_END, DECAY_STEP)
    short = times[times <= REMEMBERED]
    kernels = fit.memory.kernel(short), retardation(fit.data, short)
    found = []
    for motion in SWINGING:
        start = np.zeros(6)
        start[motion] = 1.0
        by_states = loop.decay(start, times)[::2]
        apart = [float(np.abs(_by_convolution(loop, K, start, len(times)) - by_states)[:, motion].max()) for K in kernels]
        root = _mode(loop, motion)
        period = 2 * np.pi / abs(root.imag)
        found.append(DecayReport(MOTIONS[motion], apart[0], apart[1], period, damping_ratio(root)))
    return found


def _by_convolution(loop: ClosedLoop, kernel: FloatArray, start: FloatArray, count: int) -> FloatArray:
    """Return a free decay at every second step, its error of second order removed by Richardson's extrapolation."""
    total = loop.mass + loop.memory.added_mass_inf
    fine, coarse = (
        decay_by_convolution(
            total, loop.stiffness, loop.damping, kernel[::every], start, every * DECAY_STEP, -(-count // every)
        )[:: 2 // every]
        for every in (1, 2)
    )  # fmt: skip
    return (4 * fine - coarse) / 3


def _mode(loop: ClosedLoop, motion: int) -> complex:
    """Return the root whose shape holds most of a motion, by energy, among those that swing."""
    values, vectors = np.linalg.eig(loop.matrix)
    total = loop.mass + loop.memory.added_mass_inf
    speeds = np.sqrt(np.abs(np.diag(total)))[:, None] * np.abs(vectors[6:12])
    share = speeds[motion] / np.maximum(np.linalg.norm(speeds, axis=0), 1e-300)
    # Modes of the memory itself move the hull little, and are damped heavily.
    light = np.where(values.imag > 1e-6, share * np.abs(values.imag) / np.abs(values), 0.0)
    return complex(values[int(light.argmax())])


def _cut_off(fit: MemoryFit) -> tuple[float, ...]:
    B = np.abs(np.diagonal(fit.data.damping, axis1=1, axis2=2))
    return _relative(B[-1], B.max(axis=0), fit)


def _relative(values: FloatArray, sizes: FloatArray, fit: MemoryFit) -> tuple[float, ...]:
    """Return values over sizes for the motions that radiate, zero for others."""
    radiates = fit.target.size > 0
    return _numbers(np.where(radiates, values, 0.0) / np.where(radiates & (sizes != 0), sizes, 1.0))


def _numbers(values: FloatArray) -> tuple[float, ...]:
    return tuple(map(float, values))


def _rounds(count: int) -> str:
    if count == 0:
        return "passive by itself"
    return f"passive by {count} round{'s' if count > 1 else ''} of conditions"
