"""The hook implementations of Kingpost's own plugins."""

from __future__ import annotations

from kingpost.hookspecs import hookimpl
from kingpost.interfaces.force import Force
from kingpost.interfaces.formulation import Formulation
from kingpost.interfaces.integrator import Integrator
from kingpost.interfaces.joint_loads import JointLoads
from kingpost.interfaces.model import Model
from kingpost.interfaces.writer import Writer
from kingpost.plugins.forces.bodies import BodyWrench, Hydrostatic, PointSpring
from kingpost.plugins.forces.carried import CarriedLoad
from kingpost.plugins.forces.contact import PlaneContact
from kingpost.plugins.forces.gravity import Gravity
from kingpost.plugins.forces.joint import JointActuator, JointEffort, JointFriction, JointSpring
from kingpost.plugins.forces.rope import Rope
from kingpost.plugins.forces.water import AddedMass, BodyDamping
from kingpost.plugins.forces.waves import WaveExcitation
from kingpost.plugins.formulations.directors import Directors
from kingpost.plugins.formulations.kane import Kane
from kingpost.plugins.formulations.nullspace import Nullspace
from kingpost.plugins.formulations.quaternions import Quaternions
from kingpost.plugins.formulations.recursive import Recursive
from kingpost.plugins.integrators.backward_euler import BackwardEuler
from kingpost.plugins.integrators.bdf2 import BDF2
from kingpost.plugins.integrators.energy_momentum import EnergyMomentum
from kingpost.plugins.integrators.euler_symplectic import EulerSymplectic
from kingpost.plugins.integrators.generalized_alpha import GeneralizedAlpha
from kingpost.plugins.integrators.lie_midpoint import LieMidpoint
from kingpost.plugins.integrators.lie_rk4 import LieRK4
from kingpost.plugins.integrators.midpoint import Midpoint
from kingpost.plugins.integrators.quaternion_energy_momentum import QuaternionEnergyMomentum
from kingpost.plugins.integrators.radau2 import Radau2
from kingpost.plugins.integrators.rk4 import RK4
from kingpost.plugins.integrators.scipy_solvers import BDF, DOP853, LSODA, Radau
from kingpost.plugins.integrators.variational import Variational
from kingpost.plugins.joint_loads.auxiliary_speeds import AuxiliarySpeeds
from kingpost.plugins.joint_loads.multipliers import MultiplierLoads
from kingpost.plugins.joint_loads.recursive import RecursiveLoads
from kingpost.plugins.models.chain import Chain
from kingpost.plugins.models.double_pendulum import DoublePendulum
from kingpost.plugins.models.four_bar import FourBar
from kingpost.plugins.models.heavy_top import HeavyTop
from kingpost.plugins.models.luffing_crane import LuffingCrane
from kingpost.plugins.models.offshore_crane import (
    OffshoreCrane,
    OffshoreCraneCylinder,
    OffshoreCraneOnBase,
    OffshoreCraneOnBaseNED,
    SmallCrane,
    SmallCraneOnBase,
    SmallCraneParked,
    SmallCraneParkedOnBase,
)
from kingpost.plugins.models.offshore_vessel import OffshoreVessel, OffshoreVesselPlain, SmallVessel, SmallVesselPlain
from kingpost.plugins.models.rotary_crane import RotaryCrane
from kingpost.plugins.models.satellite import Satellite
from kingpost.plugins.models.slider_crank import SliderCrank
from kingpost.plugins.models.slider_pendulum import SliderPendulum
from kingpost.plugins.models.squeezer import AndrewsSqueezer
from kingpost.plugins.models.three_link import ThreeLinkManipulator
from kingpost.plugins.models.trees import Branched, SixAxisArm, SpacecraftArm
from kingpost.plugins.models.vessel_crane import VesselCrane
from kingpost.plugins.writers.csv import CsvWriter
from kingpost.plugins.writers.hdf5 import Hdf5Writer
from kingpost.plugins.writers.mat import MatWriter
from kingpost.plugins.writers.npz import NpzWriter
from kingpost.plugins.writers.parquet import ParquetWriter
from kingpost.plugins.writers.png import PngWriter


@hookimpl
def kingpost_register_formulations() -> list[type[Formulation]]:
    return [Kane, Recursive, Directors, Nullspace, Quaternions]


@hookimpl
def kingpost_register_integrators() -> list[type[Integrator]]:
    return [
        RK4,
        LieRK4,
        EulerSymplectic,
        BackwardEuler,
        Midpoint,
        LieMidpoint,
        EnergyMomentum,
        QuaternionEnergyMomentum,
        Variational,
        GeneralizedAlpha,
        BDF2,
        Radau2,
        DOP853,
        LSODA,
        Radau,
        BDF,
    ]


@hookimpl
def kingpost_register_joint_loads() -> list[type[JointLoads]]:
    return [AuxiliarySpeeds, RecursiveLoads, MultiplierLoads]


@hookimpl
def kingpost_register_forces() -> list[type[Force]]:
    return [
        Gravity,
        JointSpring,
        JointEffort,
        JointActuator,
        JointFriction,
        PointSpring,
        BodyWrench,
        CarriedLoad,
        Hydrostatic,
        AddedMass,
        BodyDamping,
        WaveExcitation,
        Rope,
        PlaneContact,
    ]


@hookimpl
def kingpost_register_models() -> list[type[Model]]:
    return [
        VesselCrane,
        DoublePendulum,
        SliderPendulum,
        SixAxisArm,
        Chain,
        Branched,
        SpacecraftArm,
        FourBar,
        SliderCrank,
        AndrewsSqueezer,
        RotaryCrane,
        LuffingCrane,
        ThreeLinkManipulator,
        Satellite,
        HeavyTop,
        OffshoreCrane,
        OffshoreCraneCylinder,
        OffshoreCraneOnBase,
        OffshoreCraneOnBaseNED,
        OffshoreVessel,
        OffshoreVesselPlain,
        SmallCrane,
        SmallCraneOnBase,
        SmallCraneParked,
        SmallCraneParkedOnBase,
        SmallVessel,
        SmallVesselPlain,
    ]


@hookimpl
def kingpost_register_writers() -> list[type[Writer]]:
    return [CsvWriter, NpzWriter, MatWriter, Hdf5Writer, ParquetWriter, PngWriter]
