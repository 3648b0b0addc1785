"""A model file."""

GOOD = """\
name = "pendulum"

[parameters]
length = { default = 1.0, unit = "m" }

[[bodies]]
name = "bob"
mass = 2.0
com = [0, 0, "-length"]
inertia = [
    0.1,  # Ixx
    0.1,
    0.1,
]

[[joints]]
name = "pivot"
kind = "revolute"
parent = "world"
child = "bob"
axis = [0, 1, 0]
start = 0.3

[[forces]]
kind = "gravity"
acceleration = [0, 0, -9.81]

[run]
t_end = 2
"""
