"""Damage at hot spots, as the page gets it."""

import pytest

from kingpost import KingpostError
from kingpost.fatigue import CountingOptions, HotSpot, assess_hot_spots
from kingpost.report import write_report
from kingpost.report.content import Options, make_content
from kingpost.report.hotspots import describe_hot_spots
from tests.core.report.synthetic import crane_history


def ring(count=8, **more):
    """Return hot spots around the slew ring, the stress growing with the angle."""
    return [
        HotSpot(f"ring-{k}", "D-air", {"slew.Fz": 3e5 * (1 + k)}, angle_deg=-360.0 * k / count, **more) for k in range(count)
    ]


def described(spots):
    content = make_content(crane_history(), Options(spots=tuple(spots), accept=("noise",)))
    return content["hotspots"]


def test_shares_lives_and_the_ring():
    spots = ring(4, dff=3.0)
    found = described(spots)
    truth = assess_hot_spots(crane_history(), spots, options=CountingOptions(accept=("noise",))).results
    assert [spot["damage"] for spot in found["spots"]] == pytest.approx([item.damage_per_year for item in truth])
    assert [spot["life"] for spot in found["spots"]] == pytest.approx([item.life_years for item in truth])
    assert sum(spot["share"] for spot in found["spots"]) == pytest.approx(1.0)
    # In the order of their angles: 0, 90 (that is -270), 180, 270.
    assert found["rings"] == [{"joints": ["slew"], "spots": [0, 3, 2, 1]}]
    assert any("verify it against the licensed edition" in note for note in found["notes"])


def test_hot_spots_without_angles_make_no_ring():
    spots = [HotSpot("a", "D-air", {"slew.Fz": 1e5}), *ring(2)]
    found = described(spots)
    assert found["rings"] == [] and len(found["spots"]) == 3
    assert make_content(crane_history(), Options())["hotspots"] is None
    assert describe_hot_spots(crane_history(), (), None, None) is None


def test_a_hot_spot_that_cannot_be_counted_is_refused(tmp_path):
    # The invented loads are not those of the motion.
    with pytest.raises(KingpostError, match="the loads are sampled too coarsely"):
        write_report(crane_history(), tmp_path / "page.html", spots=ring())
    bad = [HotSpot("bad", "D-air", {"slow.Mx": 1.0})]
    with pytest.raises(KingpostError, match="hot spot 'bad': no channel 'slow.Mx'"):
        write_report(crane_history(), tmp_path / "page.html", spots=bad, accept=("noise",))
    assert not (tmp_path / "page.html").exists()
