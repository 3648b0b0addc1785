"""Where the files of a structure may be, and which structures are understood."""

import zipfile

import pytest

from kingpost import FileError, KingpostError
from kingpost.fmu.cosim import CosimError, open_ssp, prepare_cosimulation, read_ssd
from kingpost.fmu.cosim.description.ssp.package import STRUCTURE
from tests.fmu.building import CO_SIMULATION, MODEL_EXCHANGE
from tests.fmu.cosim.description.ssp.structures import (
    binding,
    component,
    connection,
    connector,
    pack,
    parameter,
    structure,
    system,
)


def noted(kind, inner):
    return f'<ssd:Annotations><ssc:Annotation type="{kind}">{inner}</ssc:Annotation></ssd:Annotations>'


def read(path):
    with open_ssp(path) as found:
        return found


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "../outside.fmu",
            "is not read (a way out of its folder (..)); sources are relative paths of files inside the archive",
        ),
        ("resources/../../outside.fmu", "(a way out of its folder (..))"),
        ("%2e%2e/outside.fmu", "(a way out of its folder (..))"),
        ("..%5Coutside.fmu", "(a backslash)"),
        ("{folder}/outside.fmu", "(an absolute path)"),
        ("file://{folder}/outside.fmu", "(more than a path)"),
        ("http://example.org/outside.fmu", "(more than a path)"),
        ("resources/relay.fmu#part", "(more than a path)"),
        ("a%00b", "(no path of a file)"),
        ("resources/none.fmu", "the archive holds no 'resources/none.fmu'; in that folder there are relay.fmu"),
    ],
)
@pytest.mark.parametrize("kind", ["fmu", "ssv"])
def test_sources_stay_inside_the_archive(tmp_path, relays, source, message, kind):
    (tmp_path / "outside.fmu").write_bytes(relays().read_bytes())
    source = source.format(folder=tmp_path)
    inner = f'<ssd:ParameterBindings><ssd:ParameterBinding source="{source}"/></ssd:ParameterBindings>' if kind == "ssv" else ""
    own = "resources/relay.fmu" if kind == "ssv" else source
    path = pack(tmp_path / "x.ssp", structure(system(component("r", inner, own))), {"relay": relays()})
    with pytest.raises(KingpostError) as caught:
        read(path)
    assert message in str(caught.value)


def test_a_bare_structure_names_files_around_it(tmp_path, relays):
    (tmp_path / "fmus").mkdir()
    (tmp_path / "fmus" / "r 1.fmu").write_bytes(relays().read_bytes())
    (tmp_path / "systems").mkdir()
    path = tmp_path / "systems" / "x.ssd"
    path.write_text(structure(system(component("r", source="../fmus/r%201.fmu"))))
    assert read_ssd(path).components[0].fmu == (tmp_path / "fmus" / "r 1.fmu")
    with pytest.raises(FileError, match="there is no file"):
        read_ssd(tmp_path / "none.ssd")


@pytest.mark.parametrize(
    ("version", "root", "message"),
    [
        ("1.0", system(component("r")), ""),
        ("2.0", system(component("r")), ""),
        ("3.0", system(component("r")), "is of version '3.0'; SSP 1.0 and 2.0 are understood"),
        ("1.1", system(component("r")), "is of version '1.1'"),
        ("2.0", system(component("r"), connectors='<ssd:Connector name="c" kind="input"><ssc:Float64/></ssd:Connector>'), ""),
        ("2.0", system(component("r", '<ssc:MetaData kind="general" type="x"/>')), ""),
        (
            "2.0",
            system(component("r"), connectors='<ssd:Connector name="c" kind="input"><ssc:Clock/></ssd:Connector>'),
            "<Clock> is not understood",
        ),
        ("2.0", system('<ssd:Component name="r"/>'), "element 'r' has no source"),
        (
            "2.0",
            system(component("r", more='type="application/x-ssp-package"')),
            "is a Component of type application/x-ssp-package",
        ),
        (
            "2.0",
            system(component("r", more='implementation="ScheduledExecution"')),
            "is to be ScheduledExecution, but its FMU offers co-simulation",
        ),
        (
            "1.0",
            system(component("r", more='implementation="ModelExchange"')),
            "is to be ModelExchange, but its FMU offers co-simulation",
        ),
        ("1.0", system(component("r", more='implementation="CoSimulation"')), ""),
        (
            "1.0",
            system('<ssd:SignalDictionaryReference name="bus" dictionary="d"/>'),
            "element 'bus' is a SignalDictionaryReference",
        ),
        (
            "1.0",
            system(component("r")).replace("</ssd:System>", "<ssd:SignalDictionaries/></ssd:System>"),
            "has signal dictionaries",
        ),
        (
            "1.0",
            system(component("r")).replace("</ssd:System>", "<ssd:Events/></ssd:System>"),
            "<Events> is not understood here",
        ),
        ("1.0", system(component("r") + component("r")), "two of its elements are called 'r'"),
        ("1.0", system(component("")), "an element has an empty name"),
        ("1.0", system(component("r", source="")), "the source '' is not read (no path of a file)"),
        ("1.0", system(""), "holds no components"),
        ("1.0", "", "holds no System"),
        ("1.0", system(component("r"), connectors=connector("c", "sideways")), "is of kind 'sideways'"),
        ("1.0", system(component("a.b") + component("a_b")), "would both be called 'a_b' in results"),
    ],
)
def test_every_feature_is_read_or_refused_by_name(tmp_path, relays, version, root, message):
    path = pack(tmp_path / "x.ssp", structure(root, version=version), {"relay": relays()})
    if not message:
        assert [entry.name for entry in read(path).components] == ["r"]
        return
    with pytest.raises(CosimError) as caught:
        read(path)
    assert message in str(caught.value)


def test_systems_without_end_are_refused(tmp_path, relays):
    root = component("r")
    for i in range(2000):
        root = f'<ssd:System name="s{i}"><ssd:Elements>{root}</ssd:Elements></ssd:System>'
    with pytest.raises(CosimError, match="is a system in 51 others"):
        read(pack(tmp_path / "x.ssp", structure(system(root)), {"relay": relays()}))


@pytest.mark.parametrize(
    ("experiment", "expected"),
    [
        ('<ssd:DefaultExperiment startTime="1" stopTime="3"/>', (1.0, 3.0, 0.01, "jacobi")),
        (
            "<ssd:DefaultExperiment>"
            + noted("com.opensimulationplatform", '<Algorithm><FixedStepAlgorithm baseStepSize="1e-4"/></Algorithm>')
            + "</ssd:DefaultExperiment>",
            (0.0, 10.0, 1e-4, "jacobi"),
        ),
        (
            noted("org.openmodelica", '<o:Run xmlns:o="oms"><o:FixedStepMaster stepSize="0.002"/></o:Run>'),
            (0.0, 10.0, 0.002, "jacobi"),
        ),
    ],
)
def test_times_and_steps_of_others_are_taken_over(tmp_path, relays, experiment, expected):
    found = read(pack(tmp_path / "x.ssp", structure(system(component("r")), experiment), {"relay": relays()}))
    assert (found.t_start, found.t_end, found.step, found.master) == expected


@pytest.mark.parametrize(
    ("experiment", "message"),
    [
        ('<ssd:DefaultExperiment stopTime="half"/>', "DefaultExperiment: stopTime: 'half' is not a finite number"),
        ('<ssd:DefaultExperiment stepSize="1"/>', 'the attribute stepSize="1" of <DefaultExperiment> is not understood'),
        (
            noted("kingpost.cosim", '<run step="x"/>'),
            "annotation kingpost.cosim: step: 'x' is not a finite number",
        ),
        (
            noted("com.opensimulationplatform", "<Algorithm><Magic/></Algorithm>"),
            "Magic is not known; FixedStepAlgorithm is",
        ),
    ],
)
def test_times_and_steps_that_are_none_are_refused(tmp_path, relays, experiment, message):
    with pytest.raises(CosimError) as caught:
        read(pack(tmp_path / "x.ssp", structure(system(component("r")), experiment), {"relay": relays()}))
    assert message in str(caught.value)


def test_files_that_are_no_structures(tmp_path, relays):
    good = structure(system(component("r", f"<ssd:ParameterBindings>{binding(parameter('k', 1))}</ssd:ParameterBindings>")))
    for text in ("<a", good.replace("<ssd:System ", '<?xml version="1.0" encoding="UTFm8"?><ssd:System '), "<a/>"):
        with pytest.raises(FileError, match="cannot be read as XML|not a <SystemStructureDescription>"):
            read(pack(tmp_path / "x.ssp", text, {"relay": relays()}))
    with pytest.raises(FileError, match="cannot be read as XML: unknown encoding"):
        read(pack(tmp_path / "x.ssp", f'<?xml version="1.0" encoding="UTFm8"?>{good}', {"relay": relays()}))
    path = pack(tmp_path / "x.ssp", good, {"relay": relays()})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(STRUCTURE, good * 3)
    damaged = bytearray(path.read_bytes())
    for i in range(60, 120):
        damaged[i] = 0xFF
    path.write_bytes(damaged)
    with pytest.raises(FileError, match="is not an SSP archive"):
        read(path)


def test_one_connection_of_a_text(tmp_path, relays):
    """Texts exist, and cannot be connected."""
    root = system(component("a") + component("b"), connection("a.msg", "b.word"))
    path = pack(tmp_path / "x.ssp", structure(root), {"relay": relays()})
    said = "'a.msg' is a String; only numbers and truth values can be connected, not texts"
    with open_ssp(path) as found, pytest.raises(CosimError, match=said):
        prepare_cosimulation(found)


def test_the_interface_that_a_structure_asks_for_is_taken(tmp_path, broken, plugins):
    """Of an FMU that offers both; and it is written again."""
    both = broken(interfaces=(MODEL_EXCHANGE, CO_SIMULATION), name="both")
    for wanted, interface in (("ModelExchange", "model-exchange"), ("CoSimulation", "co-simulation"), ("any", None)):
        text = structure(system(component("r", more=f'implementation="{wanted}"')))
        with open_ssp(pack(tmp_path / "x.ssp", text, {"relay": both})) as found:
            assert found.components[0].interface == interface
            with open_ssp(found.write_ssp(tmp_path / "y.ssp", plugins)) as again:
                assert again.components[0].interface == (interface if wanted == "ModelExchange" else None)
