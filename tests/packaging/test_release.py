"""What is uploaded for a release: its metadata, and that tools which read it find nothing to complain about."""

import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import kingpost
from kingpost.base.toml import tomllib

ROOT = Path(__file__).parents[2]


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_changelog_begins_with_this_version():
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)
    assert headings[0] in (kingpost.__version__, "Unreleased")
    assert kingpost.__version__ in headings


def test_classifiers_name_every_python_that_is_tried():
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(project()["classifiers"]))
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert named == ["3.10", "3.11", "3.12", "3.13"]
    assert all(f'"{version}"' in workflow or f"'{version}'" in workflow for version in named)
    assert f">={named[0]}" == project()["requires-python"]


def test_no_address_is_a_placeholder():
    """Addresses stand in the metadata only where they are known."""
    for address in project().get("urls", {}).values():
        assert not re.search(r"example\.|TODO|your-|<|placeholder", address)


@pytest.mark.slow
def test_wheel_and_source_archive_pass_twine(wheel, checkout, tmp_path):
    build = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(tmp_path), str(checkout)]
    subprocess.run(build, check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    done = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", wheel, archive], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    with tarfile.open(archive) as opened:
        inside = opened.getnames()
    top = f"kingpost-{kingpost.__version__}"
    for needed in (
        "docs/README.md",
        "tools/build_docs.py",
        "tools/docsite/stage.py",
        "core/cli/starts/model.toml",
        "CHANGELOG.md",
    ):
        assert f"{top}/{needed}" in inside
