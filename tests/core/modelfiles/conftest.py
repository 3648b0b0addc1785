"""Files to read."""

import pytest


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "robot.urdf"
        path.write_text(text, encoding="utf-8")
        return path

    return write
