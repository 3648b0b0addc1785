"""Machines cut at random into subsystems."""

import dataclasses

import numpy as np

from kingpost import Group


def random_groups(names, seed):
    """Return subsystems, some within others, that share out some of the bodies; parts of one may hang from parts of another."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, max(2, len(names))))
    owner = rng.integers(-1, count, len(names))
    groups = [
        Group(
            f"part{i}",
            [name for name, k in zip(names, owner, strict=True) if k == i],
            str(rng.choice(["", *(f"part{k}" for k in range(i))])),
        )
        for i in range(count)
    ]
    while True:
        used = {group.within for group in groups}
        filled = [group for group in groups if group.bodies or group.name in used]
        if len(filled) == len(groups):
            return groups
        groups = filled


def divided(machine, seed):
    """Return a machine cut at random."""
    return dataclasses.replace(machine, subsystems=random_groups([body.name for body in machine.bodies], seed))
