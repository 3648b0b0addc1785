"""Optimal tasks from TOML: by name, in files, with lines in messages."""

import pytest

from kingpost import MechanismError, OptimalTask, open_model, read_optimal_task

TASK = """
[optimal]
inputs = ["torque"]
horizon = 2.0
intervals = 10
[optimal.end]
"pivot.angle" = 1.5
"pivot.angle.rate" = 0.0
[optimal.bounds]
torque = [-inf, 5.0]
[[optimal.costs]]
term = "effort"
weight = 2.0
"""


@pytest.fixture(scope="module")
def pendulum(plugins):
    return open_model("mathematical-pendulum", plugins)


def test_tasks_of_models_by_name(pendulum, plugins):
    assert pendulum.optimal_task("001").inputs == ("torque",)
    assert pendulum.optimal_task().name == "001"
    assert list(open_model("three-link-manipulator", plugins).optimal_tasks) == ["001", "001-friction", "001-one-sided"]
    with pytest.raises(MechanismError, match="has no optimal task '002'.*001"):
        pendulum.optimal_task("002")
    with pytest.raises(MechanismError, match="has 3 optimal tasks; say which"):
        open_model("three-link-manipulator", plugins).optimal_task()
    with pytest.raises(MechanismError, match="brings no optimal task"):
        open_model("double-pendulum", plugins).optimal_task()


def test_a_task_in_a_file(tmp_path, pendulum):
    file = tmp_path / "task.toml"
    file.write_text(TASK)
    task = pendulum.optimal_task(str(file))
    assert task.intervals == 10
    assert task.bounds["torque"].high == 5.0
    assert task.costs[0].weight == 2.0
    assert read_optimal_task(task, pendulum) is task


def test_several_tasks_beside_a_model(tmp_path, plugins):
    file = tmp_path / "model.toml"
    named = TASK.replace("[optimal", "[optimal_tasks.down")
    file.write_text('model = "mathematical-pendulum"\n' + named)
    opened = open_model(str(file), plugins)
    assert list(opened.optimal_tasks) == ["001", "down"]
    assert opened.optimal_task("down").horizon.low == 2.0
    assert opened.optimal_task(f"{file}:down").name == "down"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[optimal]\nhorizon = 2.0\n", "lacks 'inputs'"),
        (TASK.replace("horizon = 2.0", "horizon = -2.0"), r":4: .*horizon from -2 to -2 s"),
        (TASK.replace("horizon = 2.0", f"horizon = 1{'0' * 400}"), r":4: .*horizon: 1000.* is not a number"),
        (TASK.replace('"torque"', '"tork"'), r":3: .*has no input 'tork'"),
        (TASK.replace("intervals", "interwals"), "has no 'interwals'; did you mean 'intervals'"),
        ("[servo]\n", "the file holds no optimal task"),
        (TASK + "[optimal_tasks]\noptimal = 3\n", "two optimal tasks are called 'optimal'"),
        ("optimal = 3\n", r"\[optimal\] must be a table, got 3"),
        (TASK + "[boddies]\n", "a task file has no 'boddies'"),
        (TASK.replace("[optimal]", '[optimal]\nmodel = "overhead-crane"'), "is for the model 'overhead-crane'"),
    ],
)
def test_messages_name_the_line(tmp_path, pendulum, text, message):
    file = tmp_path / "task.toml"
    file.write_text(text)
    with pytest.raises(MechanismError, match=message):
        pendulum.optimal_task(str(file))


def test_a_file_of_tasks_is_no_machine(tmp_path, plugins):
    file = tmp_path / "task.toml"
    file.write_text(TASK)
    with pytest.raises(MechanismError, match="the file holds optimal tasks and no machine"):
        open_model(str(file), plugins)


def test_plain_data_and_what_is_no_task(pendulum):
    task = read_optimal_task({"inputs": ["torque"], "horizon": 1.0}, pendulum)
    assert isinstance(task, OptimalTask)
    with pytest.raises(MechanismError, match="3 is no optimal task"):
        read_optimal_task(3, pendulum)
