"""The formulations of Kingpost."""

from __future__ import annotations

from kingpost.equations.formulation import Formulation
from kingpost.plugins.formulations.directors.formulation import Directors
from kingpost.plugins.formulations.kane import Kane
from kingpost.plugins.formulations.modular.formulation import Modular
from kingpost.plugins.formulations.nullspace import Nullspace
from kingpost.plugins.formulations.quaternions.formulation import Quaternions
from kingpost.plugins.formulations.recursive import Recursive
from kingpost.registry.hookspecs import hookimpl


@hookimpl
def kingpost_register_formulations() -> list[type[Formulation]]:
    return [Kane, Recursive, Directors, Nullspace, Quaternions, Modular]
