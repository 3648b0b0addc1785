"""What a description says beside its variables."""

import pytest

from kingpost.fmu.file.head import read_head


def test_elements_are_known_by_their_place():
    """A vendor's element of the same name is not taken for FMI's."""
    head = read_head(
        b'<fmiModelDescription fmiVersion="2.0"><VendorAnnotations><Tool><CoSimulation modelIdentifier="other"/></Tool>'
        b'</VendorAnnotations><CoSimulation modelIdentifier="it"/><ModelVariables><CoSimulation/></ModelVariables>'
        b"</fmiModelDescription>"
    )
    assert head.version == "2.0" and head.found["CoSimulation"] == {"modelIdentifier": "it"}
    assert head.found["VendorAnnotations/Tool/CoSimulation"] == {"modelIdentifier": "other"}


def test_negated_aliases_of_fmi_1_are_found():
    head = read_head(
        b'<fmiModelDescription fmiVersion="1.0"><ModelVariables><ScalarVariable name="a" alias="alias"/>'
        b'<ScalarVariable name="b" alias="negatedAlias"/></ModelVariables><Implementation><CoSimulation_StandAlone/>'
        b"</Implementation></fmiModelDescription>"
    )
    assert head.negated == {"b"} and "Implementation/CoSimulation_StandAlone" in head.found


@pytest.mark.parametrize("text", [b"", b"<a><b></a>", b'<?xml version="1.0" encoding="nobody-knows"?><a/>', b"<a/>\x00"])
def test_what_is_not_xml_is_refused(text):
    with pytest.raises(ValueError, match="."):
        read_head(text)
