"""The machines of Kingpost."""

from __future__ import annotations

from kingpost.mechanism.model import Model
from kingpost.plugins.models.barge import Barge, BargeCrane
from kingpost.plugins.models.cablev import Cablev
from kingpost.plugins.models.central_field import CentralFieldParticle
from kingpost.plugins.models.chain import Chain
from kingpost.plugins.models.crane_on_waves import OffshoreCraneOnWaves, SmallCraneOnWaves
from kingpost.plugins.models.delta import Delta
from kingpost.plugins.models.double_pendulum import DoublePendulum
from kingpost.plugins.models.five_bar import FiveBar
from kingpost.plugins.models.four_bar import FourBar
from kingpost.plugins.models.heavy_top import HeavyTop
from kingpost.plugins.models.knife_edge_disc import KnifeEdgeDisc
from kingpost.plugins.models.luffing_crane import LuffingCrane
from kingpost.plugins.models.mass_chain import MassChain
from kingpost.plugins.models.mathematical_pendulum import MathematicalPendulum
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
from kingpost.plugins.models.overhead_crane import OverheadCrane
from kingpost.plugins.models.passive_joint_arm import PassiveJointArm
from kingpost.plugins.models.ring_and_disc import RingAndDisc
from kingpost.plugins.models.rolling_crane import RollingCrane
from kingpost.plugins.models.rolling_sphere import RollingSphere
from kingpost.plugins.models.rotary_crane import RotaryCrane
from kingpost.plugins.models.rotary_crane_two_winches import RotaryCraneTwoWinches
from kingpost.plugins.models.rrr_parallel import RRRParallel
from kingpost.plugins.models.satellite import Satellite
from kingpost.plugins.models.slider_crank import SliderCrank
from kingpost.plugins.models.slider_pendulum import SliderPendulum
from kingpost.plugins.models.spatial_slider_crank import SpatialSliderCrank
from kingpost.plugins.models.spherical_pendulum import SphericalPendulum
from kingpost.plugins.models.squeezer import AndrewsSqueezer
from kingpost.plugins.models.subsystem_models import (
    FiveBarSubsystems,
    SphericalPendulumSubsystems,
    TwoRodSliderSubsystems,
)
from kingpost.plugins.models.tadpole_tricycle import TadpoleTricycle
from kingpost.plugins.models.three_link import ThreeLinkManipulator
from kingpost.plugins.models.trees import Branched, SixAxisArm, SpacecraftArm
from kingpost.plugins.models.two_rod_slider import TwoRodSlider
from kingpost.plugins.models.us_navy_crane import USNavyCrane2D, USNavyCrane3D
from kingpost.plugins.models.vessel_crane import VesselCrane
from kingpost.plugins.models.whipple_bicycle import WhippleBicycle
from kingpost.plugins.models.whitworth import Whitworth
from kingpost.registry.hookspecs import hookimpl


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
        FiveBar,
        SliderCrank,
        AndrewsSqueezer,
        RingAndDisc,
        Whitworth,
        RRRParallel,
        RotaryCrane,
        RotaryCraneTwoWinches,
        OverheadCrane,
        USNavyCrane2D,
        USNavyCrane3D,
        Cablev,
        PassiveJointArm,
        MassChain,
        LuffingCrane,
        ThreeLinkManipulator,
        Satellite,
        HeavyTop,
        OffshoreCrane,
        OffshoreCraneCylinder,
        OffshoreCraneOnBase,
        OffshoreCraneOnBaseNED,
        OffshoreCraneOnWaves,
        OffshoreVessel,
        OffshoreVesselPlain,
        SmallCrane,
        SmallCraneOnBase,
        SmallCraneOnWaves,
        SmallCraneParked,
        SmallCraneParkedOnBase,
        SmallVessel,
        SmallVesselPlain,
        Barge,
        BargeCrane,
        RollingCrane,
        RollingSphere,
        WhippleBicycle,
        SpatialSliderCrank,
        SphericalPendulum,
        KnifeEdgeDisc,
        TwoRodSlider,
        Delta,
        TadpoleTricycle,
        SphericalPendulumSubsystems,
        TwoRodSliderSubsystems,
        FiveBarSubsystems,
        MathematicalPendulum,
        CentralFieldParticle,
    ]
