"""Whatever a file or a command line says that cannot be: a sentence and a status of its own, never a traceback."""

import zipfile

import pytest

MODEL = """
name = "pendulum"
[[bodies]]
name = "bob"
mass = {mass}
inertia = [0.1, 0.1, 0.1]
[[joints]]
name = "hinge"
kind = "revolute"
parent = "world"
child = "bob"
axis = [0, 1, 0]
[run]
t_end = 0.1
{run}
"""
ZEROS = "0" * 400


def shortened(value):
    """Return the beginning of what may be very long, for the name of a test."""
    return str(value)[:30]


def refused(outcome, status, message):
    assert outcome.status == status, outcome.err
    assert message in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    ("mass", "message"),
    [
        ('"10**400"', "'10 ** 400' is too large for a number"),
        ('"2**2**2**2**2**2"', "is too large for a number"),
        ('"1e308**3"', "is too large for a number"),
        ('"1e308*10"', "mass: expected a finite number, but '1e+308 * 10' is inf"),
        ('"(-1)**0.5"', "'(-1) ** 0.5' has no real value"),
        ('"log(-1)"', "'log(-1)' is nan"),
        (f'"{"+".join("1" * 1000)}"', "is nested too deep for a formula"),
        (f'"{"-" * 3000}1"', "is nested too deep for a formula"),
        (f'"{"1+" * 20000}1"', "a formula has 40001 characters"),
        (f"1{ZEROS}", "mass: expected a finite number, got 1000"),
        (f'"1{ZEROS}"', "which is not finite, or too large"),
    ],
    ids=shortened,
)
def test_numbers_that_are_none(kingpost_cli, tmp_path, mass, message):
    (tmp_path / "model.toml").write_text(MODEL.format(mass=mass, run=""))
    outcome = kingpost_cli("run", str(tmp_path / "model.toml"))
    refused(outcome, 3, message)
    assert "model.toml:5: body 'bob': mass: " in outcome.err


@pytest.mark.parametrize(
    ("run", "status", "message"),
    [
        ('step = "(-1)**0.5"', 3, "step: '(-1) ** 0.5' has no real value"),
        ("integrator = 3", 4, "3 does not select a integrator"),
        ("integrator = [1]", 4, "[1] does not select a integrator"),
        ("integrator = { name = [1] }", 4, "[1] does not select a integrator"),
        ("formulation = true", 4, "True does not select a formulation"),
        (f"step = 1{ZEROS}", 3, "step: expected a finite number, got 1000"),
    ],
    ids=shortened,
)
def test_wrong_types_under_run(kingpost_cli, tmp_path, run, status, message):
    (tmp_path / "model.toml").write_text(MODEL.format(mass=1, run=run))
    refused(kingpost_cli("run", str(tmp_path / "model.toml")), status, message)


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ("a = " + "[" * 5000, 6, "nested too deep"),
        (f"a = 1{'0' * 5000}", 6, "is not valid TOML"),
        (f'model = "{"a" * 300}.toml"', 6, "name too long"),
        ('model = "a\\u0000b.toml"', 6, "cannot be the path of a file"),
        (f'model = "double-pendulum"\nplugins = ["{"a" * 5000}"]', 3, ":2: plugin file"),
        ('model = "double-pendulum"\nplugins = ["a\\u0000b.py"]', 3, "cannot be the path of a file"),
        (f'model = "double-pendulum"\n[set]\nmass1 = 1{ZEROS}', 3, ":3: set: mass1 = 1000"),
    ],
    ids=shortened,
)
def test_files_that_cannot_be_read(kingpost_cli, tmp_path, text, status, message):
    (tmp_path / "model.toml").write_text(text)
    refused(kingpost_cli("run", str(tmp_path / "model.toml")), status, message)


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        ("radau:rtol=sqrt(-1)", "rtol: expected a finite number, but 'sqrt(-1)' is nan"),
        (f"radau:rtol=1{ZEROS}", "rtol: expected a finite number, got 1000"),
        (f"radau:rtol={'(' * 500}", "is not a formula"),
    ],
    ids=shortened,
)
def test_options_of_integrators_that_are_no_numbers(kingpost_cli, selection, message):
    refused(kingpost_cli("run", "double-pendulum", "--integrator", selection), 4, message)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ("[" * 100_000, "nested too deep"),
        (f'{{"q": [1{ZEROS}, 0]}}', "q[0] = 1000"),
        (f'{{"q": [1{"0" * 5000}, 0]}}', "state.json: "),
        (f'{{"t": 1{ZEROS}}}', "t = 1000"),
        (f'{{"parameters": {{"mass1": 1{ZEROS}}}}}', "'mass1' was set to 1000"),
    ],
    ids=shortened,
)
def test_states_that_cannot_be_read(kingpost_cli, tmp_path, state, message):
    (tmp_path / "state.json").write_text(state)
    outcome = kingpost_cli("eval", "double-pendulum", "--at", str(tmp_path / "state.json"))
    refused(outcome, outcome.status if outcome.status in (3, 6) else 6, message)


DESCRIPTION = '<?xml version="1.0" encoding="ENCODING"?>\n<fmiModelDescription fmiVersion="2.0"/>'


def test_an_fmu_with_a_damaged_stream(kingpost_cli, tmp_path):
    path = tmp_path / "damaged.fmu"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("modelDescription.xml", DESCRIPTION.replace("ENCODING", "UTF-8") * 20)
        start = archive.infolist()[0].header_offset + 30 + len("modelDescription.xml")
    content = bytearray(path.read_bytes())
    content[start] ^= 0xFF
    path.write_bytes(content)
    for verb in ("fmu-run", "fmu-check"):
        outcome = kingpost_cli(verb, str(path))
        assert outcome.status in (6, 8)
        assert "Traceback" not in outcome.err
        assert "decompressing" in outcome.err + outcome.out


def test_an_fmu_in_an_unknown_encoding(kingpost_cli, tmp_path):
    path = tmp_path / "strange.fmu"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("modelDescription.xml", DESCRIPTION.replace("ENCODING", "UTFm8"))
    refused(kingpost_cli("fmu-run", str(path)), 6, "modelDescription.xml is not XML")
