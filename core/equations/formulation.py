"""Formulation plugins: how the equations of motion of a mechanism are written."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable
from dataclasses import fields
from typing import ClassVar

from kingpost.base.errors import PluginError, closest, listed
from kingpost.base.fields import required
from kingpost.equations.equations import Equations
from kingpost.mechanism.closures import Closure
from kingpost.mechanism.elements import Joint
from kingpost.mechanism.free_motion import free_motions
from kingpost.mechanism.mechanism import Mechanism
from kingpost.multibody.assembly import Assembly
from kingpost.registry.plugin import Plugin
from kingpost.symbols.closure_kinds import CLOSURE_KINDS
from kingpost.symbols.joints import JOINT_KINDS


class Formulation(Plugin):
    """Base of formulation plugins.

    A formulation turns an :class:`~kingpost.multibody.assembly.Assembly` (a mechanism with symbols for its parameters and
    inputs) into :class:`~kingpost.equations.equations.Equations`. For trees, :class:`kingpost.multibody.tree.TreeKinematics`
    gives poses and twists of all bodies, and what each force needs to know. Coordinates and rates come in the order of
    ``mechanism.coordinates``. Check yours with :func:`kingpost.testing.check_formulation`.
    """

    kind = "formulation"

    #: The kinds of joints, and of closures, that it takes; a machine with others is refused with a sentence before it is asked.
    joint_kinds: ClassVar[tuple[str, ...]] = tuple(JOINT_KINDS)
    closure_kinds: ClassVar[tuple[str, ...]] = tuple(CLOSURE_KINDS)
    #: Whether it takes forces that depend on joint loads. Its equations are then derived with their efforts behind the inputs
    #: in ``assembly.u`` and must be linear in them; nothing but f, vdot, its road, outputs and energies may hold them.
    load_dependent: ClassVar[bool] = False

    @abstractmethod
    def derive(self, assembly: Assembly) -> Equations:
        """Return the equations of motion.

        Every closure owns some of the rows of ``constraints``, or is named in ``constraints.kept``.
        """

    def refusal(self, mechanism: Mechanism) -> str:
        """Return why it does not take a mechanism, as a sentence without its end, or an empty text if it does."""
        refused = self.other_kinds(mechanism)
        return f"formulation '{self.name}' takes no {listed(refused, 4)}" if refused else ""

    @classmethod
    def other_kinds(cls, mechanism: Mechanism) -> list[str]:
        """Return the joints and closures of a mechanism that are of no kind that it takes, whatever its options."""
        refused = cls._others("joint", mechanism.joints, cls.joint_kinds)
        return refused + cls._others("closure", mechanism.closures, cls.closure_kinds)

    @staticmethod
    def _others(what: str, items: Iterable[Joint | Closure], taken: tuple[str, ...]) -> list[str]:
        """Return the items of other kinds than those that are taken."""
        return [f"{item.kind} {what} ('{item.name}')" for item in items if item.kind not in taken]

    @classmethod
    def fault(cls) -> str:
        for attribute, known in (("joint_kinds", JOINT_KINDS), ("closure_kinds", CLOSURE_KINDS)):
            for kind in getattr(cls, attribute):
                if kind not in known:
                    return f"names '{kind}' in {attribute}, which is no kind{closest(kind, known)} Kinds: {listed(known)}."
        return ""

    @classmethod
    def limits(cls) -> str:
        """Return in one sentence which kinds of joints and closures it refuses."""
        joints, closures = _of("joint", cls.joint_kinds, JOINT_KINDS), _of("closure", cls.closure_kinds, CLOSURE_KINDS)
        return f"formulation '{cls.name}' takes {joints} and {closures}"


def formulations_that_take(mechanism: Mechanism, known: Iterable[type[Formulation]]) -> list[str]:
    """Return how to select those that take a mechanism; what one that must be given options says beyond kinds is not known."""
    names = []
    for cls in known:
        needed = [field.name for field in fields(cls.Options) if required(field)]
        if needed and not cls.other_kinds(mechanism):
            names.append(f"{cls.name}:{','.join(f'{name}=...' for name in needed)}")
        elif not needed and not cls().refusal(mechanism):
            names.append(cls.name)
    return names


def _of(word: str, taken: Collection[str], known: Iterable[str]) -> str:
    """Return which of the kinds of ``word`` that there are are taken, in the fewest words."""
    refused = [kind for kind in known if kind not in taken]
    if not taken:
        return f"no {word}s"
    if len(refused) > len(taken):
        return f"{word}s of no other kind than {listed(taken)}"
    return f"{word}s of every kind but {listed(refused)}" if refused else f"{word}s of every kind"


def check_closures_are_held(equations: Equations) -> None:
    """Refuse equations that leave a closure of their mechanism out, which would move as if its loop were open."""
    held = {*equations.constraints.owners, *equations.constraints.redundant, *equations.constraints.kept}
    missing = [closure.name for closure in equations.mechanism.closures if closure.name not in held]
    if missing:
        raise PluginError(
            f"formulation '{equations.formulation}' left closure {listed(missing)} out: none of its constraint rows belongs to "
            f"it, so '{equations.mechanism.name}' would move with that loop open. Its derive has to add the rows of every "
            "closure, or its closure_kinds has to say which kinds it takes; closures that its coordinates keep by themselves "
            "are named in constraints.kept"
        )


def check_measures_are_shown(equations: Equations) -> None:
    """Refuse equations whose outputs are not the rows that their channels name, or lack measures or motions of free joints."""
    rows, channels = int(equations.outputs.numel()), equations.output_channels
    mechanism = equations.mechanism
    needed = {*(measure.name for measure in mechanism.measures), *free_motions(mechanism)}
    missing = needed - {channel.name for channel in channels}
    if rows != len(channels) or missing:
        raise PluginError(
            f"formulation '{equations.formulation}' gives {rows} rows of outputs for {len(channels)} channels, and no channel "
            f"for {listed(sorted(missing))}. Its derive has to stack what outputs_and_measures(kinematics) returns and "
            "then the signals of forces; output_channels names them in that order"
        )
