"""Whose plugin an exception went through, and in which line."""

import pytest

from kingpost import PluginSet
from kingpost.registry.failures import plugin_failure, plugin_place
from kingpost.registry.selection import select
from tests.core.registry.plugin_text import PLUGIN

RAISES = PLUGIN.replace("return x", "return helper(x)\n\ndef helper(x):\n    return 1 / 0 * x")


def raised(call):
    with pytest.raises(ZeroDivisionError) as caught:
        call()
    return caught.value


def test_an_installed_plugin_is_named_by_its_distribution(installed, tmp_path):
    installed(theirs=RAISES)
    integrator = select(PluginSet().integrators, "mine")
    error = raised(lambda: integrator.step(*range(6)))
    place = plugin_place(error)
    assert (place.what, place.owner, place.called_us) == ("integrator 'mine'", "kingpost-theirs 1.2.3", False)
    assert place.place.file == str(tmp_path / "theirs.py")
    assert str(plugin_failure(error)).startswith(
        "integrator 'mine' of kingpost-theirs 1.2.3 raised ZeroDivisionError: division by zero\n  in "
    )


def test_what_no_plugin_raised_is_nobodys(installed):
    installed(theirs=RAISES)
    error = raised(lambda: 1 / 0)
    assert plugin_place(error) is None
    assert plugin_failure(error) is None
