"""The formalisms of Kingpost."""

from __future__ import annotations

from kingpost.equations.formalism import Formalism
from kingpost.plugins.formalisms.accelerations import Gauss, GibbsAppell, UdwadiaSchutte
from kingpost.plugins.formalisms.boltzmann_hamel import BoltzmannHamel
from kingpost.plugins.formalisms.energies import Augmented, Hamilton, Lagrange, Maggi, UdwadiaPhohomsiri
from kingpost.plugins.formalisms.kane import KaneFormalism
from kingpost.plugins.formalisms.newton_euler import NewtonEuler, UdwadiaKalaba
from kingpost.plugins.formalisms.virtual_power import AugmentedLagrangian, Penalty, VirtualPower
from kingpost.registry.hookspecs import hookimpl


@hookimpl
def kingpost_register_formalisms() -> list[type[Formalism]]:
    return [
        *(NewtonEuler, VirtualPower, Gauss, Lagrange, Hamilton, GibbsAppell, Maggi, BoltzmannHamel, KaneFormalism),
        *(UdwadiaKalaba, UdwadiaPhohomsiri, UdwadiaSchutte, Augmented, Penalty, AugmentedLagrangian),
    ]
