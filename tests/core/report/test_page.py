"""The file that is written."""

import base64
import hashlib
import html
import json
import re
from pathlib import Path

import numpy as np
import pytest

from kingpost import FileError, History
from kingpost.base.channels import Channel
from kingpost.report import page, study_page, write_report
from tests.core.report.synthetic import crane_history, foreign_history

EVIL = "</script><img src=x onerror=alert(1)>"
FOLDER = Path(page.__file__).parent


def data_of(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, flags=re.S)[1])


def test_the_report_of_a_20_s_run_is_small(tmp_path):
    report = write_report(crane_history(samples=2001), tmp_path / "report.html")
    assert report.size == (tmp_path / "report.html").stat().st_size < 1.5e6
    assert report.notes == ()


@pytest.mark.slow
def test_the_report_of_an_hour_at_50_hz_is_below_6_megabytes(tmp_path):
    history = crane_history(samples=180_000, t_end=3600.0)
    noise = np.random.default_rng(1).normal(size=history.values.shape) * 0.01 * np.abs(history.values).max(axis=0)
    noisy = History(history.time, history.channels, history.values + noise, history.provenance)
    report = write_report(noisy, tmp_path / "report.html")
    assert report.size < 6e6
    content = data_of(report.path.read_text())
    entry = next(entry for entry in content["series"] if entry["name"] == "luff.Fy")
    assert entry["max"] == entry["high"] == noisy["luff.Fy"].max()


def test_many_channels_get_fewer_points_each(tmp_path):
    template = crane_history(samples=8001)
    channels = tuple(Channel(f"copy{k}.{channel.name}", channel.unit) for k in range(4) for channel in template.channels)
    report = write_report(History(template.time, channels, np.tile(template.values, 4)), tmp_path / "r.html")
    assert len(channels) > 600
    assert report.size < 6e6


def test_nothing_in_the_page_asks_for_anything_outside(tmp_path):
    text = write_report(crane_history(), tmp_path / "r.html").path.read_text()
    text = re.sub(r'"codes":"[^"]*"', "", text)  # base64, in which any word can occur
    assert not re.search(r"""(src|href)\s*=\s*["'](?!#|data:,)""", text)
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|import)\s*\(|@import|url\(", text)
    assert "http" not in re.sub(r"http-equiv", "", text)


def test_only_the_scripts_and_styles_of_the_page_may_run(tmp_path):
    text = write_report(crane_history(), tmp_path / "r.html").path.read_text()
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1])
    assert "default-src 'none'" in policy and "unsafe" not in policy
    for tag in ("script", "style"):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", text, flags=re.S)[1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_text_from_the_model_is_never_markup(tmp_path):
    history = crane_history(name=EVIL)
    record = json.loads(json.dumps(history.provenance).replace("m1", EVIL))
    channels = tuple(
        type(c)(c.name.replace("tip", f"{EVIL}{{{{script}}}}"), c.unit, c.frame, c.side, c.at) for c in history.channels
    )
    text = write_report(History(history.time, channels, history.values, record), tmp_path / "r.html").path.read_text()
    assert text.count("</script>") == 2 and "<img" not in text
    assert data_of(text)["title"] == EVIL  # and yet it arrives unharmed
    assert any(EVIL in entry["name"] for entry in data_of(text)["series"])
    assert html.escape(EVIL) in text


def test_strange_characters_survive(tmp_path):
    name = "Krån & <b>\u2028 \ud800 'x' \"y\""
    text = write_report(crane_history(name=name), tmp_path / "r.html").path.read_text(encoding="utf-8")
    assert data_of(text)["title"] == name


def test_a_title_replaces_the_name(tmp_path):
    text = write_report(foreign_history(), tmp_path / "r.html", title="Tests & trials").path.read_text()
    assert "<title>Tests &amp; trials</title>" in text


def test_every_asset_is_used_and_readable():
    used = {*page.SCRIPTS, *page.STYLES, *study_page.SCRIPTS, *study_page.STYLES, "template.html"}
    assert {path.name for path in FOLDER.iterdir() if path.suffix in (".js", ".css", ".html")} == used
    for name in used:
        lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
        assert len(lines) < 420 and max(map(len, lines)) <= 140, name


def test_modules_import_only_what_others_export_and_what_is_joined_before_them():
    exported = {
        path.name: set(re.findall(r"^export (?:const|let|class|function) (\w+)", path.read_text(), flags=re.M))
        for path in FOLDER.glob("*.js")
    }
    for scripts, whole in ((page.SCRIPTS, True), (study_page.SCRIPTS, False)):
        for i, name in enumerate(scripts):
            for names, source in re.findall(r'^import \{([^}]*)\} from "\./(\S+)";$', (FOLDER / name).read_text(), flags=re.M):
                assert {word.strip() for word in names.split(",") if word.strip()} <= exported[source], (name, source)
                assert source in scripts[:i] or not (whole or source in scripts), f"{name} stands before {source}"


def test_joined_modules_are_plain_script():
    module = 'import { a,\n  b } from "./x.js";\nexport const c = "export const d";\nexport class E {}\n'
    assert page.joined(module) == 'const c = "export const d";\nclass E {}\n'
    for scripts in (page.SCRIPTS, study_page.SCRIPTS):
        names = [
            name
            for script in scripts
            for name in re.findall(
                r"^(?:const|let|class|function) (\w+)", page.joined((FOLDER / script).read_text()), flags=re.M
            )
        ]
        assert len(names) == len(set(names))  # one script has one name for one thing


def test_what_was_left_out_is_said(tmp_path):
    report = write_report(foreign_history(), tmp_path / "r.html")
    assert [note.partition(":")[0] for note in report.notes] == ["No joint loads", "No animation"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError) as caught:
        write_report(foreign_history(), tmp_path / "file" / "r.html")
    assert "cannot be written" in str(caught.value) and "file" in str(caught.value)
