"""Force plugins: what acts on the bodies and joints of a mechanism.

A force is written once, with CasADi operations on what a :class:`Kinematics` offers, and works with every formulation::

    @dataclass(frozen=True)
    class DragOptions:
        body: BodyName
        coefficient: Scalar = 1.0

    class LinearDrag(Force):
        \"\"\"Force against the velocity of a body's origin.\"\"\"

        name = "linear-drag"
        Options = DragOptions

        def loads(self, kinematics):
            velocity = kinematics.twist(self.options.body)[3:]
            force = -kinematics.value(self.options.coefficient) * velocity
            return Loads(wrenches={self.options.body: ca.vertcat(ca.SX(3, 1), force)})
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import casadi as ca
import numpy as np

from kingpost.base.arrays import FloatArray
from kingpost.base.formulas import Scalar
from kingpost.mechanism.drawings import Drawing
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.trajectories import Trajectory
from kingpost.registry.plugin import Plugin
from kingpost.symbols.screws import Pose

if TYPE_CHECKING:
    from kingpost.marine.components import WaveComponents


class Kinematics(Protocol):
    """What a formulation offers to forces: symbols for where everything is and how it moves."""

    mechanism: Mechanism

    @property
    def t(self) -> ca.SX:
        """The time."""

    def value(self, scalar: Scalar) -> ca.SX:
        """Return a field of the options as a symbol; it may use parameters, inputs and the time ``t``."""

    def vector(self, vector: tuple[Scalar, ...]) -> ca.SX:
        """Return a vector field of the options as a column of symbols."""

    def pose(self, body: str) -> Pose:
        """Return the pose X_WB of a body frame in the world."""

    def twist(self, body: str) -> ca.SX:
        """Return the twist [angular; linear] of a body frame against the world, about its origin, in body axes."""

    def coordinate(self, name: str) -> ca.SX:
        """Return a joint coordinate, e.g. ``"slew.angle"``."""

    def rate(self, name: str) -> ca.SX:
        """Return the rate of a joint coordinate, or a generalized speed, e.g. ``"ball.wx"``."""

    def state(self, name: str) -> ca.SX:
        """Return a state that the force declares in :meth:`Force.states`."""

    def load(self, joint: str) -> ca.SX:
        """Return the constraint part of the load of a joint: the wrench [moment; force] on its child about M's origin, in M.

        Efforts and signals alone may depend on it. Loads and efforts then depend on each other, and are solved for together
        (:mod:`kingpost.loads.load_dependent`).
        """

    def target(self, trajectory: Trajectory) -> tuple[ca.SX, ca.SX]:
        """Return the value and rate of a set-point at the time ``t``."""

    def sea(self) -> ca.SX | None:
        """Return the numbers of the waves for this force (:attr:`Force.sea_rows`), a column for each; None without a sea."""

    def call(self, function: Any, *arguments: ca.SX, size: int) -> ca.SX:
        """Return ``size`` values of a function that is not an expression.

        A CasADi function of the arguments (a table, say) is compiled with the rest. A plain Python function gets and
        returns NumPy arrays; the run then takes the slower door, and says so.
        """


@dataclass(frozen=True)
class Rotor:
    """Something with an ``inertia`` (kg m^2, or kg) that turns, or slides, with joint coordinates, each times its ratio.

    Its rate is the sum of ratio times rate of the coordinate. Both are numbers or parameters: neither moves.
    """

    inertia: ca.SX
    ratios: Mapping[str, ca.SX]


@dataclass(frozen=True)
class WaveMotion:
    """How waves move a given joint beyond its own pose: surge, sway, heave (m) and a rotation vector (rad), and their rates.

    The six numbers are along the axes of the joint's own pose, for the point ``at`` of the frame M (m). ``rate`` and
    ``acceleration`` are their first and second time derivatives.
    """

    position: ca.SX
    rate: ca.SX
    acceleration: ca.SX
    at: ca.SX


@dataclass(frozen=True)
class Loads:
    """What a force does.

    ``wrenches`` maps a body to a wrench [moment; force] about its frame origin in body axes; ``efforts`` maps a joint
    coordinate, or a generalized speed, to a generalized force (N m or N); ``potential`` is the potential energy (J) of
    whatever part of these derives from one, so that the energy balance of a run is right. A force that is gravity also says
    what acceleration (m/s^2, world axes) it gives to everything, so that load histories can state it.

    A wrench that depends on the acceleration of a body, such as that of the water around a hull, is split: its part
    ``- A a`` is given by ``inertias``, the symmetric 6 x 6 matrix A for the rate a of the body's twist (about its origin, in
    body axes), the rest by ``wrenches``. ``kinetic`` is the kinetic energy (J) of what is moved along.

    ``rotors`` are inertias along joint coordinates, such as those of drives. What they resist with is an effort of the joint.

    ``rates`` are the time derivatives of the states that the force declares, by their names. Where something must hold between
    these states, ``corrections`` are the changes that mend it to first order: one step of Newton's method. They are applied
    wherever errors of closures are taken away.

    ``signals`` are numbers to watch, with their units: ``{"tension": (tension, "N")}`` becomes the channel ``name.tension``.

    ``motions`` move given joints, by their names, along functions of the time and parameters.
    """

    wrenches: Mapping[str, ca.SX] = field(default_factory=dict)
    efforts: Mapping[str, ca.SX] = field(default_factory=dict)
    potential: Any = 0.0
    gravity: ca.SX | None = None
    inertias: Mapping[str, ca.SX] = field(default_factory=dict)
    rotors: Sequence[Rotor] = ()
    kinetic: Any = 0.0
    signals: Mapping[str, tuple[ca.SX, str]] = field(default_factory=dict)
    rates: Mapping[str, ca.SX] = field(default_factory=dict)
    corrections: Mapping[str, ca.SX] = field(default_factory=dict)
    motions: Mapping[str, WaveMotion] = field(default_factory=dict)


@dataclass(frozen=True)
class ForceState:
    """A state of a force's own, such as the pressure in a cylinder: it becomes the channel ``name of the force.name``.

    ``start`` is its value at the start of a run: a number, or a formula of parameters. States that are for the equations alone,
    such as those of filters, are called ``memory.NAME``: files hold them, pictures do not show them unasked.
    """

    name: str
    unit: str
    start: Scalar = 0.0


class Force(Plugin):
    """Base of force plugins."""

    kind = "force"
    #: As which part of a joint's load the efforts of this force are reported.
    part: ClassVar[Literal["actuator", "friction"]] = "actuator"
    #: Whether it may move given joints (:attr:`Loads.motions`).
    moves_joints: ClassVar[bool] = False

    def states(self, mechanism: Mechanism) -> Sequence[ForceState]:
        """Return the states that this force has in ``mechanism``; their rates are among its :class:`Loads`."""
        return ()

    def fitted_start(
        self, starts: Mapping[str, float], given: Collection[str], parameters: Mapping[str, float], inputs: Mapping[str, float]
    ) -> Mapping[str, float]:
        """Return start values of its states that fit each other, or raise; those that a user has ``given`` stay as they are."""
        return starts

    @property
    def fits_start(self) -> bool:
        """Whether start values of its states depend on each other."""
        return type(self).fitted_start is not Force.fitted_start

    def fitted_to(self) -> Collection[str]:
        """Return the names of parameters and inputs that start values of its states are fitted to."""
        return ()

    def record(self) -> Mapping[str, Any]:
        """Return what the record of a run should say of this force, as plain data; nothing unless there is something."""
        return {}

    @property
    def sea_rows(self) -> tuple[str, ...]:
        """The names of the numbers that this force needs of every wave of a sea; none if it knows of no seas.

        A machine at sea (:func:`kingpost.simulation.at_sea.at_sea`) has them as parameters, so that another sea is other
        numbers for the same code; :meth:`Kinematics.sea` gives their symbols.
        """
        return ()

    def wave_rows(self, waves: WaveComponents) -> FloatArray:
        """Return these numbers for some waves: a row for each of :attr:`sea_rows`, a column for each wave; or refuse them."""
        return np.zeros((0, len(waves.frequency)))

    def at_sea(self, waves: WaveComponents) -> Mapping[str, float]:
        """Return the values of its own parameters for a sea, by name, wave after wave: ``frequency_0``, ..."""
        table = self.wave_rows(waves)
        names = [f"{row}_{j}" for j in range(table.shape[1]) for row in self.sea_rows]
        return dict(zip(names, table.T.ravel().tolist(), strict=True))

    def sea_record(self, waves: WaveComponents) -> Mapping[str, Any]:
        """Return what the record of a run in a sea should say of this force; nothing unless there is something."""
        return {}

    def drawing(self) -> Drawing:
        """Return what pictures show of this force."""
        return Drawing()

    @abstractmethod
    def loads(self, kinematics: Kinematics) -> Loads:
        """Return the wrenches, generalized forces, potential energy and rates of states of this force."""
