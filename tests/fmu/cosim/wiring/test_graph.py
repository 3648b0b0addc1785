"""Orders and layers of components."""

from kingpost.fmu.cosim.wiring.graph import layers, stepping_order, strong_components
from kingpost.fmu.cosim.wiring.wires import Wire


def wires(*pairs):
    return [Wire(a, "y", b, "u") for a, b in pairs]


def test_orders_and_layers():
    names = ["sea", "hull", "crane", "log"]
    straight = wires(("sea", "hull"), ("hull", "crane"), ("crane", "log"))
    assert stepping_order(list(reversed(names)), straight) == tuple(names)
    circle = [*straight, *wires(("crane", "hull"))]
    assert stepping_order(names, circle) == tuple(names)
    assert layers(names, circle) == [["sea"], ["hull"], ["crane"], ["log"]]
    groups = strong_components(names, {"sea": ["hull"], "hull": ["crane"], "crane": ["hull", "log"]})
    assert [sorted(group) for group in groups] == [["sea"], ["crane", "hull"], ["log"]]
