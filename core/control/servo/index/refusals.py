"""What cannot work, said before a run with the number that decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kingpost.base.errors import MechanismError, listed
from kingpost.control.servo.index.array_index import HIGHEST
from kingpost.control.servo.index.realisation import MIXED, ORTHOGONAL, TANGENTIAL, NotDefined, Realisation
from kingpost.control.servo.index.report import IndexReport, shown_complex
from kingpost.control.servo.index.zero_dynamics import ZeroDynamics

#: Whatever the index, positions, speeds and accelerations of a machine are continuous.
LEAST_SMOOTH = 2


@dataclass(frozen=True)
class Demands:
    """What a method of inverse dynamics asks of a task.

    Parameters
    ----------
    name
        The method, for messages.
    realisation
        The kinds that it can do: some of "orthogonal", "mixed", "tangential".
    causal
        Whether it goes from the start to the end, so that internal states must not run away.
    internal_states
        Whether it can do with states that the path leaves free.
    redundant_inputs
        Whether it can share the work among more inputs than measures.

    """

    name: str
    realisation: tuple[str, ...] = (ORTHOGONAL, MIXED, TANGENTIAL)
    causal: bool = True
    internal_states: bool = True
    redundant_inputs: bool = False


def refusals(report: IndexReport, demands: Demands | None = None) -> tuple[str, ...]:
    """Return why a task cannot work, or cannot with a method; nothing if nothing is in the way."""
    return tuple(_reasons(report, demands))


def refuse_if_impossible(report: IndexReport, demands: Demands | None = None) -> None:
    """Refuse a task that cannot work, or cannot with a method.

    Raises
    ------
    MechanismError
        With all that is in the way.

    """
    found = refusals(report, demands)
    if found:
        what = f"task '{report.task}'" if report.task else "the servo task"
        method = f" with '{demands.name}'" if demands else ""
        raise MechanismError(f"{what} of '{report.model}' cannot work{method}: " + "; ".join(found))


def _reasons(report: IndexReport, demands: Demands | None) -> Iterator[str]:
    yield from _counts(report, demands)
    if len(report.inputs) != len(report.measures):
        return
    yield from _dependent(report)
    if report.stopped:
        yield from _stopped(report)
    elif report.index is None:
        yield _no_index(report)
    yield from _rank_changes(report)
    yield from _roughness(report)
    if demands:
        yield from _against_method(report, demands)


def _counts(report: IndexReport, demands: Demands | None) -> Iterator[str]:
    m, n = len(report.measures), len(report.inputs)
    if n < m:
        yield (
            f"{m} measures ({listed(report.measures)}) are to be led by {n} input{'s' if n > 1 else ''} "
            f"({listed(report.inputs)}); it takes as many inputs as measures"
        )
    elif n > m and not (demands and demands.redundant_inputs):
        yield (
            f"{n} inputs ({listed(report.inputs)}) for {m} measure{'s' if m > 1 else ''} ({listed(report.measures)}) leave "
            f"{n - m} of them open; name as many inputs as measures, or take a method that shares the work among inputs"
        )


def _dependent(report: IndexReport) -> Iterator[str]:
    found = report.realisation
    if not isinstance(found, Realisation):
        return
    if found.independent_measures < found.of:
        yield (
            f"only {found.independent_measures} of the {found.of} measures ({listed(report.measures)}) are independent at "
            f"{found.t:.6g} s: one of them follows from the others"
        )
    # Inputs that act independently meet this by themselves; document 003, section 2.
    if 2 * found.of > found.freedom + found.rank and report.index is None:
        yield (
            f"{found.of} servo-constraints are more than (f + p)/2 = {(found.freedom + found.rank) / 2:g} with f = "
            f"{found.freedom} degrees of freedom and rank p = {found.rank}: only {found.independent_inputs} of the inputs "
            f"{listed(report.inputs)} act independently"
        )


def _stopped(report: IndexReport) -> Iterator[str]:
    """Yield why no state meets the path, where that can be told, and which one was looked for."""
    there = report.smoothness_there or {}
    rough = {name: LEAST_SMOOTH for name, order in there.items() if order < LEAST_SMOOTH}
    if report.index is None and rough:
        yield (
            f"the path is not smooth enough for any index: {_orders(rough, there)}. Speeds or accelerations would jump; take a "
            "profile with more continuous derivatives, such as smooth:4"
        )
    found = report.realisation
    if report.index is None and isinstance(found, Realisation) and found.rank < found.of:
        yield (
            f"at {found.t:.6g} s the inputs {listed(report.inputs)} act on the accelerations of {found.rank} of {found.of} "
            f"measures ({listed(report.measures)}; singular values {listed(f'{value:.2e}' for value in found.cosines)}): the "
            "others can only be led through the motion of the rest, and here they are not"
        )
    yield report.stopped


def _no_index(report: IndexReport) -> str:
    last = report.levels[-1] if report.levels else None
    shown = ""
    if last:
        shown = (
            f" (at {last.t:.6g} s, order {last.order}: component {last.component:.1e}, gap {last.with_rates.above:.1e} to "
            f"{last.with_rates.below:.1e})"
        )
    return (
        f"no index was found up to {HIGHEST}{shown}: {listed(report.inputs)} cannot lead {listed(report.measures)}, since the "
        "path does not determine them however often it is differentiated"
    )


def _rank_changes(report: IndexReport) -> Iterator[str]:
    ranks = report.ranks
    if len({rank for _, rank in ranks}) > 1:
        at = _intervals(ranks)
        words = listed(f"{rank} {where}" for rank, where in at.items())
        yield (
            f"the rank of the realisation changes on the way: of {len(report.measures)} measures, inputs act directly on "
            f"{words}. Where the rank changes, inputs would have to be infinite, or are not determined"
        )
        return
    found = report.realisation
    if isinstance(found, Realisation) and found.kind == ORTHOGONAL and report.singular_times:
        yield (
            f"the rank of the realisation falls below {found.rank} on the way, at "
            f"{listed(f'{t:.6g}' for t in report.singular_times)} s, where inputs would have to be infinite"
        )
    # A start or an end at which ranks are lost can be left; a place in between cannot be passed.
    inside = report.indices[1:-1]
    if len({index for _, index in inside}) > 1:
        words = listed(f"{'none' if index is None else index} at {t:.6g} s" for t, index in inside)
        yield f"the index changes on the way: {words}"


def _intervals(ranks: tuple[tuple[float, int], ...]) -> dict[int, str]:
    """Return where each rank is, in words."""
    pieces: list[tuple[int, float, float]] = []
    for t, rank in ranks:
        if pieces and pieces[-1][0] == rank:
            pieces[-1] = (rank, pieces[-1][1], t)
        else:
            pieces.append((rank, t, t))
    words: dict[int, list[str]] = {}
    for rank, begin, end in pieces:
        words.setdefault(rank, []).append(f"at {begin:.6g} s" if begin == end else f"from {begin:.6g} s to {end:.6g} s")
    return {rank: listed(places) for rank, places in words.items()}


def _roughness(report: IndexReport) -> Iterator[str]:
    needed, there = report.smoothness_needed, report.smoothness_there
    if needed is None or there is None:
        return
    rough = {name: order for name, order in needed.items() if there[name] < order}
    if rough:
        yield (
            f"the path is not smooth enough for index {report.index}: {_orders(rough, there)}. Inputs would jump or be "
            f"infinite; take a profile with {max(rough.values())} continuous derivatives, such as smooth:{max(rough.values())}"
        )


def _orders(needed: Mapping[str, int], there: Mapping[str, int]) -> str:
    return listed(f"'{name}' needs C^{order} and is C^{there[name]}" for name, order in needed.items())


def _against_method(report: IndexReport, demands: Demands) -> Iterator[str]:
    found, zero = report.realisation, report.zero_dynamics
    if isinstance(found, NotDefined) and demands.realisation == (ORTHOGONAL,):
        yield found.sentence
    elif isinstance(found, Realisation) and found.kind not in demands.realisation:
        yield (
            f"the realisation is {found.kind} (rank {found.rank} of {found.of}, singular values "
            f"{listed(f'{value:.2e}' for value in found.cosines)}), and the method is for {listed(demands.realisation)} ones"
        )
    if report.internal_states and not demands.internal_states:
        yield (
            f"the path leaves {report.internal_states} internal state{'s' if report.internal_states > 1 else ''} free, and the "
            "method is for tasks that have none"
        )
    if demands.causal and isinstance(zero, ZeroDynamics) and zero.unstable:
        yield (
            f"the zero dynamics are unstable: {listed(shown_complex(value) for value in zero.unstable)} 1/s at the end, so "
            "that internal states grow without bound; 'stable-inversion' finds the motion that stays bounded"
        )
