"""Steps that an FMU discards: what is tried, in which state, and when it is given up."""

import pytest

from kingpost.fmu.instance.instance import StepDiscardedError
from kingpost.fmu.instance.shorter_steps import step_in_parts


class Pretended:
    """An FMU that takes steps up to ``longest``, does not cross any of ``events``, and loses its state when it refuses."""

    def __init__(self, longest=1e9, events=(), unchanged=False, tells=True):
        self.longest, self.events, self.unchanged, self.tells = longest, events, unchanged, tells
        self.time, self.good, self.saved, self.taken = 0.0, True, 0, []

    def save(self):
        assert self.good
        self.saved += 1
        return self.time

    def restore(self, state):
        self.time, self.good = state, True

    def forget(self, state):
        self.saved -= 1

    def step(self, t, h):
        assert self.good and t == pytest.approx(self.time, abs=1e-15)
        ahead = [event for event in self.events if t + 1e-12 < event < t + h - 1e-12]
        reached = min([t + min(h, self.longest), *ahead])
        if reached < t + h:
            self.good = self.unchanged
            raise StepDiscardedError("fmi2DoStep", t, h, reached if self.tells else t, self.unchanged)
        self.time = t + h
        self.taken.append(h)


def taken(fmu, h=1.0):
    """Take a step that is discarded first, in parts; return these."""
    with pytest.raises(StepDiscardedError) as error:
        fmu.step(0.0, h)
    fmu.restore(0.0)
    step_in_parts(fmu.step, fmu, 0.0, h, error.value)
    assert fmu.time == pytest.approx(h, abs=1e-15) and fmu.saved == 0
    return fmu.taken


@pytest.mark.parametrize("unchanged", [True, False])
def test_parts_end_where_the_fmu_says_or_half_way(unchanged):
    assert taken(Pretended(events=[0.3, 0.4], unchanged=unchanged)) == pytest.approx([0.3, 0.1, 0.2, 0.4])
    parts = taken(Pretended(longest=0.3, unchanged=unchanged, tells=False))
    assert max(parts) <= 0.3 and sum(parts) == pytest.approx(1.0, abs=1e-15)
    assert len(parts) < 10  # after a good part a longer one is tried


def test_an_fmu_that_takes_nothing_is_given_up():
    fmu = Pretended(longest=0.0)
    with pytest.raises(StepDiscardedError, match=r"it took no part of it; parts down to .*e-10 s were tried in vain"):
        taken(fmu)
    assert fmu.saved == 0 and fmu.good
