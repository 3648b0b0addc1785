"""The transcriptions pass the kit that plugin authors use; and the kit finds what it should."""

import pytest

from kingpost import PluginSet
from kingpost.plugins.optimal_control.step import Step
from kingpost.testing import TRANSCRIPTION_CHECKS, check_transcription
from kingpost.testing.optimal_control import TranscriptionSubject

NAMES = list(PluginSet(entry_points=False).of("optimal_control"))


@pytest.fixture(scope="module")
def subjects():
    return {}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("check", TRANSCRIPTION_CHECKS, ids=lambda check: check.__name__)
def test_transcription(name, check, plugins, subjects):
    integrator = "rk4" if name == "multiple-shooting" else "midpoint"
    check(subjects.setdefault(name, TranscriptionSubject(name, plugins, integrator)))


class Boastful(Step):
    """Steps of first order that promise the second."""

    name = "boastful"


def test_the_kit_finds_an_order_that_is_not_kept(plugins):
    with pytest.raises(AssertionError, match="do not shrink|away from the end"):
        check_transcription(Boastful, plugins, "backward-euler")
