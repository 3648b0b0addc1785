"""The machines of the documents with their tasks: index, steps, and which methods of inverse dynamics refuse them, and how."""

from __future__ import annotations

from dataclasses import dataclass, field

METHODS = (
    "flat",
    "minimal-extension",
    "minimal-extension:twice=true",
    "projection",
    "projection-dependent",
    "output-coordinates",
    "computed-torque",
    "output-input",
    "stable-inversion",
    "direct",
)
#: Methods that find inputs at each time by themselves, without an error of steps.
WITHOUT_STEPS = ("flat", "minimal-extension:twice=true")

NO_FREEDOM = r"needs as many measures as degrees of freedom.*the task has \d+ .* has \d+"
MIXED = r"the realisation is (mixed|tangential) \(rank \d of \d, singular values .*\), and the method is for orthogonal ones"
UNDEFINED = "how inputs act on accelerations is not defined, because the mass matrix is singular along"
FREE = r"the path leaves \d internal states? free"
HIDDEN = r"the matrix of its highest derivatives has rank \d+ of \d+ at t = 0 s"
TANGENTIAL = (
    r"no \d coordinates of .* can stay beside the measures at t = 0 s: det Ha = 0 or det Ba = 0 .* smallest singular value is"
)
MANY = r"needs fewer constraints than servo-constraints.* has \d constraints .* for \d measures"
UNSTABLE = r"the zero dynamics are unstable: 2\.44949 1/s at the end"
STOPPED = r"inverse dynamics stopped at t = .* did not solve the equations of the step in 30 iterations"
ORTHOGONAL_ONLY = {"output-input": MIXED, "stable-inversion": MIXED}
UNDERACTUATED = {"computed-torque": NO_FREEDOM}


@dataclass(frozen=True)
class Case:
    """A machine with a task, the steps at which it is looked at, and which methods refuse it."""

    model: str
    task: str
    index: int
    step: float
    refused: dict[str, str] = field(default_factory=dict)
    internal: int = 0
    values: tuple[tuple[str, float], ...] = ()
    #: Methods that hold places and accelerations alone, where moments on the load depend on speeds, as w x J w does, and as the
    #: angular acceleration does on rates of angles: these are differences, with errors of the steps, and so are coordinates
    #: that carry the load.
    turning: tuple[str, ...] = ()
    #: Other formulations that take it, or what the ones in natural coordinates say.
    others: tuple[str, ...] = ()
    no_other: str = ""

    @property
    def name(self) -> str:
        return " ".join([self.model, self.task, *(f"{name}={value:g}" for name, value in self.values)])

    @property
    def long(self) -> float:
        """The longest of steps of order two and three.

        0.25 s in 20 s would leave 1.4e-6 N of h^6 in 46 N on CABLEV, half of it a 64th of that. At index 7 rounding grows by
        h^-2 in coordinates and by h^-4 in inputs, and longer ones keep it small.
        """
        return min(self.step * (2 if self.index > 5 and self.internal == 0 else 1), 0.125)

    @property
    def exact(self) -> bool:
        """Whether coordinates have no error of steps."""
        return self.internal == 0 and self.index <= 5


def crane(model, task, refused, step=0.25, index=5, **more):
    """Return a case without internal states and with inputs that do not act on all measures."""
    return Case(model, task, index, step, {**UNDERACTUATED, **ORTHOGONAL_ONLY, **refused}, **more)


NATURAL = ("directors", "nullspace")
CABLEV = {"output-coordinates": TANGENTIAL}
ROPES = {"projection-dependent": MANY, "output-coordinates": TANGENTIAL}
MASSLESS = {**ROPES, "output-input": UNDEFINED, "stable-inversion": UNDEFINED, "minimal-extension:twice=true": HIDDEN}
INERTIA = "adds inertia to coordinate .*, which natural coordinates and quaternions of bodies cannot express"
LEFT_OPEN = {"flat": FREE, "minimal-extension:twice=true": FREE}
DAMPED = {**UNDERACTUATED, **ORTHOGONAL_ONLY, **LEFT_OPEN, "output-coordinates": TANGENTIAL}
FRICTION = (("trolley_damping", 50.0), ("winch_damping", 50.0))
CASES = (
    Case(
        "passive-joint-arm",
        "003",
        3,
        0.02,
        {**UNDERACTUATED, **LEFT_OPEN},
        internal=2,
        values=(("damping", 0.2),),
    ),
    Case(
        "passive-joint-arm",
        "003",
        3,
        0.02,
        {**UNDERACTUATED, **{name: UNSTABLE for name in METHODS if name not in ("computed-torque", "stable-inversion")}},
        internal=2,
        values=(("kappa", 0.5),),
    ),
    crane("overhead-crane", "003", {"minimal-extension:twice=true": HIDDEN, "direct": STOPPED}, 0.02, no_other=INERTIA),
    crane("overhead-crane", "003", {"minimal-extension:twice=true": HIDDEN, "direct": STOPPED}, 0.02, values=FRICTION),
    crane("overhead-crane:form=dependent", "003", {"output-coordinates": TANGENTIAL}, 0.02, others=NATURAL),
    crane("overhead-crane:form=elastic", "003", {"output-coordinates": TANGENTIAL}, 0.02),
    crane("mass-chain", "003", {"output-coordinates": TANGENTIAL}, 0.02, others=NATURAL),
    Case("mass-chain", "003", 4, 0.02, DAMPED, internal=1, values=(("damping", 10.0),)),
    crane("mass-chain:n=3", "003", {"output-coordinates": TANGENTIAL}, 0.02, index=7),
    Case("mass-chain:n=3", "003", 5, 0.02, DAMPED, internal=2, values=(("damping", 10.0),)),
    crane("rotary-crane", "000-4.4.2", {"minimal-extension:twice=true": HIDDEN, "direct": STOPPED}, 0.1),
    crane("rotary-crane", "000-5.3.2", {"minimal-extension:twice=true": HIDDEN, "direct": STOPPED}, 0.1),
    crane("rotary-crane:form=rope", "000-4.4.2", {"output-coordinates": TANGENTIAL}, 0.1),
    crane("rotary-crane-two-winches", "000-5.4.4", ROPES, no_other=INERTIA),
    crane("us-navy-crane-2d:pulley=massless", "000-6.1.1", MASSLESS, 0.02),
    crane("us-navy-crane-2d", "000-6.1.2", ROPES, 0.02),
    crane("us-navy-crane-3d:pulley=massless", "000-6.2.1", MASSLESS),
    crane("us-navy-crane-3d", "000-6.2.2-smooth", ROPES, index=7),
    crane("cablev", "000-6.3.7-rotation", CABLEV),
    crane("cablev", "000-6.3.7-translation", CABLEV),
    # A turn about an axis of the plate, as in the first task, has no such moment.
    crane("cablev", "000-6.3.7-both", CABLEV, turning=("projection",)),
)
#: The last one with a platform that needs no moments, however it turns.
LIKE_A_POINT = crane("cablev", "000-6.3.7-both", CABLEV, values=tuple((f"platform_inertia_{axis}", 1e-6) for axis in "xyz"))
QUICK = ("mass-chain 003", "mass-chain 003 damping=10")
BY_NAME = {case.name: case for case in (*CASES, LIKE_A_POINT)}
