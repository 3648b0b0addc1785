"""Calls of native FMUs that are refused, and the references of the rig."""

import pytest
from fmpy.fmi1 import FMICallException
from fmpy.fmi3 import FMU3Model, FMU3Slave

both = pytest.mark.parametrize("fmi", [2, 3])
TIME, LENGTH, TORQUE = 0, 1, 5  # references of the rig: time, four parameters, torque, two states


def refused(status, call, *arguments):
    """Make a call that must come back with a status worse than a warning; what an error ends in FMI 3 is brought back."""
    raw = getattr(call.__self__, "raw", call.__self__)
    ends = status == 3 and isinstance(raw, (FMU3Slave, FMU3Model))
    state = raw.getFMUState() if ends else None
    with pytest.raises(FMICallException) as caught:
        call(*arguments)
    assert caught.value.status == status
    if ends:
        raw.setFMUState(state)
        raw.freeFMUState(state)
