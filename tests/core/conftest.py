"""Machines for tests of several rooms."""

import pytest

from kingpost import Mechanism, PluginSet


@pytest.fixture(scope="session")
def crane(plugins: PluginSet) -> Mechanism:
    return plugins.models.get("vessel-crane")().build()
