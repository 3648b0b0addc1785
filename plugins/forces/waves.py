"""Forces of waves on a body that floats in them, from linear theory: a sum of harmonic components."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from kingpost.base.errors import MechanismError
from kingpost.base.fields import BodyName
from kingpost.base.formulas import ZERO_VECTOR, Scalar, Vector3, as_scalar
from kingpost.mechanism.drawings import Drawing
from kingpost.multibody.force import Force, Kinematics, Loads
from kingpost.plugins.forces.water import SCREW_ORDER, Row

Component = tuple[Scalar, Scalar, Scalar]


@dataclass(frozen=True)
class WaveExcitationOptions:
    """Wave ``components`` (amplitude in m, circular frequency in rad/s, phase in rad) and the wrench per metre of amplitude.

    ``transfer`` holds the magnitudes for surge, sway, heave (N/m), roll, pitch and yaw (N m/m), ``transfer_phase`` by how
    many radians each leads the crest at the reference point: a row for each component, or one for all. The wrench acts at the
    point ``at`` of the body frame (m), in axes that stay horizontal: world axes turned by ``heading`` (rad) about z. From t = 0
    it grows from nothing to full size over ``ramp`` seconds.
    """

    body: BodyName
    components: tuple[Component, ...]
    transfer: tuple[Row, ...]
    transfer_phase: tuple[Row, ...] = ()
    at: Vector3 = ZERO_VECTOR
    heading: Scalar = 0.0
    ramp: float = 0.0

    def __post_init__(self) -> None:
        what, waves = f"wave-excitation on '{self.body}'", len(self.components)
        if not waves:
            raise MechanismError(
                f"{what}: there is no wave component; a regular wave is [[amplitude, frequency, phase]]", path=("components",)
            )
        for name, rows, least in (("transfer", self.transfer, 1), ("transfer_phase", self.transfer_phase, 0)):
            if len(rows) not in (least, 1, waves):
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


class WaveExcitation(Force):
    """Wrench of regular or irregular waves on a body, from linear transfer functions.

    For the elevation sum a cos(w t + phase) at the reference point it is the real part of sum a H exp(i (w t + phase)) with
    H = transfer exp(i transfer_phase); data made with exp(-i w t) need the opposite phases. It depends on time only, not on
    where the body has drifted to: the linear theory of small motions about a mean place and heading.
    """

    name = "wave-excitation"
    Options = WaveExcitationOptions

    def drawing(self) -> Drawing:
        return Drawing(floats=(self.options.body,))

    def loads(self, kinematics: Kinematics) -> Loads:
        options, t = self.options, kinematics.t
        amplitude, frequency, phase = (
            ca.vertcat(*(kinematics.value(component[k]) for component in options.components)) for k in range(3)
        )
        angle = frequency * t + phase
        crest, rise = amplitude * ca.cos(angle), -amplitude * ca.sin(angle)
        # One sine and one cosine for each component serve all six parts of the wrench.
        if len(options.transfer) == 1 and len(options.transfer_phase) < 2:
            crest, rise = ca.sum1(crest), ca.sum1(rise)
        real, imaginary = self._transfer(kinematics, crest.numel())
        wrench = (real.T @ crest + imaginary.T @ rise) * self._grown(t)
        heading = kinematics.value(options.heading)
        c, s = ca.cos(heading), ca.sin(heading)
        turn = ca.sparsify(ca.blockcat([[c, -s, 0], [s, c, 0], [0, 0, 1]]))
        R_BW = kinematics.pose(options.body).R.T
        moment_B, force_B = R_BW @ (turn @ wrench[:3]), R_BW @ (turn @ wrench[3:])
        at = kinematics.vector(options.at)
        return Loads(wrenches={options.body: ca.densify(ca.vertcat(moment_B + ca.cross(at, force_B), force_B))})

    def _transfer(self, kinematics: Kinematics, waves: int) -> tuple[ca.SX, ca.SX]:
        """Return real and imaginary part of H, a row for each wave, columns in the order [moment; force]."""

        def table(rows: tuple[Row, ...]) -> ca.SX:
            rows = rows or ((0.0,) * 6,)
            values = ca.vertcat(*(kinematics.vector(tuple(row[i] for i in SCREW_ORDER)).T for row in rows))
            return values if len(rows) == waves else ca.repmat(values, waves, 1)

        magnitude, lead = table(self.options.transfer), table(self.options.transfer_phase)
        return ca.sparsify(magnitude * ca.cos(lead)), ca.sparsify(magnitude * ca.sin(lead))

    def _grown(self, t: ca.SX) -> ca.SX:
        """Return the part of the full size that is reached at ``t``, twice differentiable."""
        if self.options.ramp == 0:
            return ca.SX(1)
        s = ca.fmin(ca.fmax(t / self.options.ramp, 0), 1)
        return s**3 * (10 - 15 * s + 6 * s**2)
