"""Model plugins: machines that can be run by name."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.optimal_tasks import OptimalTask
from kingpost.mechanism.tasks import ServoTask
from kingpost.registry.plugin import Plugin


class Model(Plugin):
    """Base of model plugins.

    Numbers that a user may want to change belong into the mechanism's parameters; options are for what changes the
    construction itself, such as the number of links.
    """

    kind = "model"
    #: What ``kingpost run`` does when the user does not say: end time and fixed step in s.
    t_end: ClassVar[float] = 10.0
    step: ClassVar[float] = 0.001

    @abstractmethod
    def build(self) -> Mechanism:
        """Return the mechanism."""

    def tasks(self) -> Mapping[str, ServoTask]:
        """Return the servo tasks that can be asked for by name, such as that of the document a machine comes from."""
        return {}

    def optimal_tasks(self) -> Mapping[str, OptimalTask]:
        """Return the optimal tasks that can be asked for by name."""
        return {}
