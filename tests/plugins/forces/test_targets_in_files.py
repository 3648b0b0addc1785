"""Targets of actuators in model files: the same as in Python, and errors with file and line."""

import dataclasses

import numpy as np
import pytest

from kingpost import (
    FileError,
    ForceElement,
    MechanismError,
    read_model,
    simulate,
)
from kingpost.mechanism.trajectories import RestToRest, Sampled, Sequence, ThreePhase
from kingpost.modelfiles.toml_model import mechanism_from_dict
from tests.plugins.forces.deriving import BUILT_IN, derive
from tests.plugins.forces.machines import crooked

RAILS = ("one", "two", "three", "four", "five", "six")
SAMPLES = "time, other, stroke\n0, 9, 0\n1, 9, 0.5\n2, 9, -0.5\n3, 9, 0.25\n"
FILE = "\n".join(
    [
        'name = "rails"',
        *(f'[[bodies]]\nname = "{name}"\nmass = 1.0' for name in RAILS),
        *(
            f'[[joints]]\nname = "{name}"\nkind = "prismatic"\nparent = "world"\nchild = "{name}"\naxis = [1, 0, 0]'
            for name in RAILS
        ),
        "[parameters]",
        'way = { default = 0.5, unit = "m" }',
        *(
            f'[[forces]]\nkind = "joint-actuator"\nname = "drive-{name}"\ncoordinate = "{name}.displacement"\nstiffness = 50\n'
            f"damping = 4\n{target}"
            for name, target in zip(
                RAILS,
                [
                    'target = { kind = "sequence", times = [0, 1, 2.5], values = [0, "way", "-way"] }',
                    'target = { kind = "rest-to-rest", start = 0, end = "way", t_start = 0.5, t_end = 2 }',
                    'target = { kind = "three-phase", start = 0, end = 2, t_start = 0, t_end = 3, t_blend = 0.5 }',
                    '[forces.target]\nkind = "sampled"\ntimes = [0, 1, 2, 3]\nvalues = [0, 1, 0, -1]\ninterpolation = "cubic"',
                    '[forces.target]\nkind = "sampled"\nfile = "data/stroke.csv"\ncolumn = "stroke"\ninterpolation = "cubic"',
                    'target = "way * sin(t)"',
                ],
                strict=True,
            )
        ),
    ]
)
IN_PYTHON = (
    Sequence((0, 1, 2.5), (0, "way", "-way")),
    RestToRest(0, "way", 0.5, 2),
    ThreePhase(0, 2, 0, 3, 0.5),
    Sampled((0, 1, 2, 3), (0, 1, 0, -1), "cubic"),
    Sampled((0, 1, 2, 3), (0, 0.5, -0.5, 0.25), "cubic"),
    "way * sin(t)",
)


@pytest.fixture
def model_file(tmp_path, monkeypatch):
    """A function that writes a model file and its samples in a folder that is not the current one."""
    (tmp_path / "model" / "data").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    def write(text=FILE, samples=SAMPLES):
        (tmp_path / "model" / "data" / "stroke.csv").write_text(samples)
        path = tmp_path / "model" / "rails.toml"
        path.write_text(text)
        return path

    return write


def test_trajectories_in_a_model_file_are_those_of_python(model_file):
    from_file = read_model(model_file(), BUILT_IN)
    in_python = dataclasses.replace(
        from_file,
        forces=[
            ForceElement(
                "joint-actuator", f"drive-{name}", coordinate=f"{name}.displacement", stiffness=50, damping=4, target=target
            )
            for name, target in zip(RAILS, IN_PYTHON, strict=True)
        ],
    )
    file, python = (derive(mechanism) for mechanism in (from_file, in_python))
    seen = []
    for t in np.linspace(-0.2, 3.3, 36):
        vdot, exact = (
            np.asarray(equations.accelerations(t, [0] * 6, [0] * 6, [], [0.7])).ravel() for equations in (file, python)
        )
        assert vdot.tolist() == exact.tolist()
        seen.append(vdot)
    assert (np.ptp(seen, axis=0) > 1.0).all()


def test_samples_from_a_file_belong_to_the_description(model_file):
    path = model_file()
    mechanism = read_model(path, BUILT_IN)
    (path.parent / "data" / "stroke.csv").unlink()
    assert len(simulate(mechanism, 0.1, backend="vm", plugins=BUILT_IN)) == 11
    assert mechanism_from_dict(mechanism.to_dict()).digest() == mechanism.digest()
    other = read_model(model_file(samples=SAMPLES.replace("-0.5", "-0.6")), BUILT_IN)
    assert other.digest() != mechanism.digest()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2, 9, -0.5", "0.5, 9, -0.5", "stroke.csv: times must rise: line 4 has 0.5 s after 1.0 s; sort the lines"),
        ("1, 9, 0.5", "1, 9", "stroke.csv: line 3 has 2 entries, but the header names 3 columns"),
        ("stroke\n", "stroking\n", "stroke.csv has no column 'stroke'; did you mean 'stroking'? Columns: other, stroking."),
    ],
)
def test_samples_that_cannot_be_used_are_refused_with_force_file_and_line(model_file, old, new, message):
    path = model_file(samples=SAMPLES.replace(old, new))
    with pytest.raises(FileError) as error:
        read_model(path, BUILT_IN)
    assert str(error.value).startswith(f"force 'drive-five' (joint-actuator): target: {path.parent}/data/{message}")


def test_a_missing_file_of_samples_is_looked_for_beside_the_model(model_file):
    path = model_file(FILE.replace("stroke.csv", "strike.csv"))
    with pytest.raises(FileError) as error:
        read_model(path, BUILT_IN)
    missing = path.parent / "data" / "strike.csv"
    assert str(error.value) == f"force 'drive-five' (joint-actuator): target: there is no file '{missing}'"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'kind = "three-phase"',
            'kind = "three-phases"',
            "target: there is no trajectory of kind 'three-phases'; did you mean",
        ),
        (
            "times = [0, 1, 2.5]",
            "times = [0, 3, 2.5]",
            "target: sequence trajectory: times must rise: times[2] is 2.5 s after 3.0 s",
        ),
        ("t_blend = 0.5", "t_blend = 2", "t_blend is 2.0 s, more than half of the 3.0 s"),
        ('"-way"', '"-ways"', "target = '-ways' uses 'ways', which is not declared; did you mean 'way'?"),
        (
            'column = "stroke"',
            'columm = "stroke"',
            "target: a sampled trajectory from a file has no 'columm'; did you mean 'column'?",
        ),
        ('data/stroke.csv"', 'data/stroke.csv"\ntimes = [0, 1]', "target: a sampled trajectory from a file has no 'times'"),
        (
            'column = "stroke"\ninterpolation = "cubic"',
            'column = "stroke"\ninterpolation = "quintic"',
            "sampled trajectory: quintic interpolation needs 6 samples, got 4",
        ),
    ],
)
def test_a_trajectory_that_breaks_a_rule_is_refused_with_the_line_of_its_table(model_file, old, new, message):
    assert FILE.count(old) == 1
    text = FILE.replace(old, new)
    path = model_file(text)
    with pytest.raises(MechanismError) as error:
        read_model(path, BUILT_IN)
    lines = text.split("\n")
    wrong = next(i for i, line in enumerate(lines) if new.split("\n")[0] in line)
    table = max(i for i, line in enumerate(lines) if line.startswith(("target =", "[forces.target]")) and i <= wrong)
    assert str(error.value).startswith(f"{path}:{table + 1}: force 'drive-")
    assert message in str(error.value)


def test_an_unsymmetric_matrix_in_a_model_file_is_refused_with_its_line(model_file):
    text = FILE + f'\n[[forces]]\nkind = "hydrostatic"\nbody = "one"\nmatrix = {crooked()}\n'
    path = model_file(text)
    with pytest.raises(MechanismError) as error:
        read_model(path, BUILT_IN)
    line = text[: text.index("matrix =")].count("\n") + 1
    assert str(error.value).startswith(f"{path}:{line}: hydrostatic on 'one': the matrix is not symmetric: entry (5, 2) is")
