"""A pendulum in ten lines: describe it, run it, look at a number."""

from kingpost import Body, ForceElement, Joint, Mechanism, Parameter, simulate

length = Parameter("length", 1.0, "m")
pendulum = Mechanism(
    name="pendulum",
    parameters=[length],
    bodies=[Body("bob", mass=2.0, com=(0, 0, -length))],
    joints=[Joint("pivot", "revolute", parent="world", child="bob", axis=(0, 1, 0), start=0.3)],
    forces=[ForceElement("gravity")],
)
history = simulate(pendulum, t_end=10.0, settings={"length": 2.0})

angle, energy = history["pivot.angle"], history["energy.total"]
print(f"{len(history)} samples, angle between {angle.min():.4f} and {angle.max():.4f} rad")
print(f"energy drift {abs(energy[-1] - energy[0]):.1e} J")
