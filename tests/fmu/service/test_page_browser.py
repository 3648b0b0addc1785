"""The page in a real browser: from a first visit to results, by mouse and by keys alone; silent, and asking only its server."""

import json

import pytest

for package in ("websockets", "fastapi", "uvicorn"):
    pytest.importorskip(package, reason=f"the page needs a server and a browser; pip install {package}")

from tests.core.report.browsers import in_a_browser  # noqa: E402
from tests.fmu.building import needs_compiler, oscillator  # noqa: E402
from tests.fmu.service.browsing import PATIENCE, chosen  # noqa: E402

pytestmark = in_a_browser
#: A machine that is small, so that it is soon compiled.
SMALL = "mathematical-pendulum"
STUDY = """\
name = "deck lifts"
model = "small-crane-parked"
t_end = 6
skip = 1
step = 0.02
output_step = 0.1
[sea]
spectrum = "jonswap"
components = 6
scatter = "scatter.csv"
headings = [150]
seeds = 1
[keep]
loads = ["slew"]
statistics = ["max"]
histories = "worst:1"
[limits]
"hook.z" = { range = 0.6 }
"""
SCATTER = "Hs [m], Tp [s], probability\n0.5, 5, 0.4\n0.5, 6, 0.3\n1.5, 6, 0.3\n"


def names_lacking(page):
    return page.run(
        "[...document.querySelectorAll('canvas, button, select, input, [role=button]')].filter(e => "
        "!(e.getAttribute('aria-label') || e.textContent.trim() || e.closest('label')) && !e.closest('[aria-hidden]')).length"
    )


def submitting(job):
    headers = "{'Content-Type': 'application/json'}"
    body = json.dumps(json.dumps(job))
    return f"fetch('api/v1/jobs', {{method: 'POST', headers: {headers}, body: {body}}}).then(a => a.json()).then(a => a.id)"


def job_of(page):
    page.wait("/^#.jobs.\\d+$/.test(location.hash)", PATIENCE)
    return int(page.run("location.hash.split('/').at(-1)"))


def ended(page, state="done"):
    words = "['done', 'failed', 'cancelled']"
    page.wait(f"{words}.includes(document.querySelector('[data-state]')?.dataset.state)", 4 * PATIENCE)
    assert page.run("document.querySelector('[data-state]').dataset.state") == state, page.text()


def test_a_first_visit_shows_the_models_and_is_led_by_keys(visit):
    page = visit()
    page.wait("document.querySelectorAll('.model-card').length > 20", PATIENCE)
    page.focus("input[type=search]")
    page.type("mathematical")
    assert page.run("[...document.querySelectorAll('.model-card:not([hidden]) b')].map(e => e.textContent)") == [SMALL]
    page.focus("#theme")
    page.key("Enter")
    assert page.run("document.documentElement.dataset.theme") == "dark"
    assert names_lacking(page) == 0
    page.go("#/jobs")
    page.await_text("There is no job here yet.")


@pytest.mark.slow
def test_a_model_has_a_picture_and_every_page_is_silent_and_named(visit):
    page = visit()
    page.tab_to("Filter models")
    page.type("mathematical")
    page.tab_to(SMALL)
    page.key("Enter")
    page.wait(f"location.hash === '#/models/{SMALL}'", PATIENCE)
    page.await_text("A point mass on a massless rod")
    page.ready()
    assert page.run("document.querySelectorAll('.machine-canvas').length") == 1
    before = page.picture(".machine-canvas")
    page.focus(".machine-canvas")
    page.key("ArrowLeft")
    turned = page.picture(".machine-canvas")
    assert turned != before
    page.focus("#theme")
    page.key("Enter")
    page.settle()
    assert page.picture(".machine-canvas") != turned
    for place in ("#/jobs", "#/files", "#/live", "#/cosim", "#/plugins"):
        page.go(place)
        assert names_lacking(page) == 0, place
        assert page.run("document.documentElement.scrollWidth") <= 1280, place
    assert page.run("document.title").startswith("Plugins and versions ")


@pytest.mark.slow
def test_numbers_that_are_wrong_are_said_where_they_stand(visit):
    page = visit(f"#/models/{SMALL}")
    page.focus("input[name=t_end]")
    page.type("ten")
    page.key("Enter")
    page.await_text("not a number")
    assert page.focused() == "t_end"
    assert page.run("location.hash") == f"#/models/{SMALL}"


@pytest.mark.slow
def test_keys_alone_lead_from_a_first_visit_to_a_finished_run(visit):
    page = visit(f"#/models/{SMALL}")
    page.tab_to("t_end")
    page.type("3")
    page.tab_to("Run")
    page.key("Enter")
    number = job_of(page)
    ended(page)
    page.wait("document.querySelectorAll('.plots canvas').length > 0", PATIENCE)
    page.wait("document.querySelector('iframe') !== null", PATIENCE)
    assert "history.csv" in page.text()
    # The history is asked for again, finer, where it is zoomed into.
    page.tab_to("Zoom in")
    page.key("Enter")
    page.await_text("0.75")
    page.wait(
        "performance.getEntriesByType('resource').some(e => e.name.includes('history') && e.name.includes('from='))", PATIENCE
    )
    # The report is there, in a frame that may do nothing but draw.
    assert page.run("document.querySelector('iframe').getAttribute('sandbox')") == "allow-scripts allow-downloads allow-modals"
    page.go("#/jobs")
    page.await_text("done 1")
    page.tab_to(SMALL)
    page.key("Enter")
    assert job_of(page) == number
    page.ready()


@pytest.mark.slow
def test_a_job_that_fails_has_the_words_of_the_command_line(visit):
    page = visit("#/models/vessel-crane")
    page.focus("input[aria-label='m4 in kg']")
    page.type("-5")
    page.press("button[type=submit]")
    job_of(page)
    ended(page, "failed")
    assert "parameter 'm4' is -5 kg, outside its range" in page.text(".error")
    page.press("a.button[href*='set=']")  # change and run
    page.await_text("All models", seconds=PATIENCE)
    page.ready()
    assert page.run("document.querySelector(\"input[aria-label='m4 in kg']\").value") == "-5"


@pytest.mark.slow
@needs_compiler
def test_an_fmu_is_dropped_checked_and_run(visit, tmp_path):
    page = visit("#/models")
    page.drop(oscillator(tmp_path, name="oscillator"))
    page.wait("location.hash.startsWith('#/files/')", PATIENCE)
    page.await_text("Variables (")
    page.ready()
    assert "position" in page.text() and page.text("h1") == "oscillator.fmu"
    page.focus(".run-form input")
    page.type("1")
    page.press(".form-foot button.primary")
    job_of(page)
    ended(page)
    page.wait("document.querySelectorAll('.plots canvas').length > 0", PATIENCE)


@pytest.mark.slow
@needs_compiler
def test_two_components_are_connected_and_run(visit, tmp_path):
    page = visit("#/cosim")
    page.drop(oscillator(tmp_path, name="oscillator"))  # in the editor, an FMU becomes a component
    page.await_text("oscillator", ".inspector")
    page.run(chosen(".toolbar select", f"model:{SMALL}"))
    page.press(".toolbar button.primary")
    page.await_text(SMALL, ".inspector")
    boxes = {
        end: page.run(
            f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])"
            f"(document.querySelector('[data-key=\"{end}\"] circle').getBoundingClientRect())"
        )
        for end in ("outputs oscillator.velocity", f"inputs {SMALL}.torque")
    }
    page.drag(*boxes.values())
    page.await_text(f"oscillator.velocity feeds {SMALL}.torque")
    assert "Their units differ" in page.text()
    # Undone by keys, and the other way round connected by keys.
    page.focus(f'[data-key="wire oscillator.velocity {SMALL}.torque"]')
    page.key("Delete")
    assert page.run("document.querySelectorAll('.wire').length") == 0
    page.focus(f'[data-key="outputs {SMALL}.torque"], [data-key^="outputs {SMALL}."]')
    page.key("Enter")
    page.await_text("is taken up")
    page.focus('[data-key="inputs oscillator.force"]')
    page.key("Enter")
    assert page.run("document.querySelectorAll('.wire').length") == 1
    page.press(".wires button")
    # The fields do the same.
    page.focus(".connector input")
    page.type(f"{SMALL}.energy.kinetic")
    page.key("Tab")
    page.type("oscillator.mass")
    page.key("Enter")
    assert page.run("document.querySelectorAll('.wire').length") == 1
    page.press(".wires button")
    page.focus(".run-bar input[name=t_end]")
    page.run("document.activeElement.select()")
    page.type("1")
    page.key("Tab")
    page.press(".run-bar button.primary")
    job_of(page)
    ended(page)
    assert "history.csv" in page.text()


@pytest.mark.slow
def test_a_system_is_saved_as_toml_that_can_be_loaded(visit, tmp_path):
    page = visit("#/cosim")
    for model in (SMALL, "slider-pendulum"):
        page.run(chosen(".toolbar select", f"model:{model}"))
        page.press(".toolbar button.primary")
        page.await_text(model, ".inspector")
    page.focus(".connector input")
    page.type("slider-pendulum.hook.x")
    page.key("Tab")
    page.type(f"{SMALL}.torque")
    page.key("Enter")
    page.focus('[data-key^="wire"]')
    page.key("Enter")
    page.run("document.querySelector('.inspector input').focus()")
    page.type("2.5")
    page.key("Tab")
    keep = "blob.text().then((text) => (window.saved = text)); return 'blob:none';"
    page.run(f"window.saved = null; URL.createObjectURL = (blob) => {{ {keep} }}")
    page.run("HTMLAnchorElement.prototype.click = () => {}")
    page.run("[...document.querySelectorAll('.toolbar button')].find(b => b.textContent === 'Save as TOML').click()")
    page.wait("window.saved", PATIENCE)
    text = page.run("window.saved")
    assert f'[components.{SMALL}]\nmodel = "{SMALL}"' in text and "factor = 2.5" in text
    (tmp_path / "pair.toml").write_text(text)
    page.run("void sessionStorage.clear()")
    page.go("#/models")
    page.go("#/cosim")
    assert page.run("document.querySelectorAll('.box').length") == 0
    page.drop(tmp_path / "pair.toml")
    page.wait("document.querySelectorAll('.box').length === 2", PATIENCE)
    assert page.run("document.querySelectorAll('.wire').length") == 1
    assert "2.5" in page.text(".wires")


@pytest.mark.slow
def test_the_map_of_a_study_shows_the_runs_of_a_cell(visit, tmp_path):
    (tmp_path / "scatter.csv").write_text(SCATTER)
    (tmp_path / "sea.toml").write_text(STUDY)
    page = visit("#/models")
    page.drop(tmp_path / "scatter.csv")
    page.wait("location.hash.startsWith('#/files/')", PATIENCE)
    page.ready()
    page.drop(tmp_path / "sea.toml")
    page.await_text("Run the study")
    page.ready()
    page.press(".form-foot button.primary")
    number = job_of(page)
    page.ready()
    # While it runs, the map fills; at the end it is the finished one, without a press.
    page.go(f"#/studies/{number}")
    page.wait("document.querySelectorAll('.map button').length === 3", 4 * PATIENCE)
    page.wait("document.querySelector('#main h2') !== null", 4 * PATIENCE)
    page.go(f"#/jobs/{number}")
    ended(page)
    page.press("a.button.primary")
    page.wait(f"location.hash === '#/studies/{number}'", PATIENCE)
    page.ready()
    assert page.run("document.querySelectorAll('.map button').length") == 3
    page.focus(".map button")
    first = page.focused()
    page.key("ArrowDown")
    assert page.focused() != first
    page.key("Enter")
    page.await_text("Runs in Hs 0.5 m, Tp 6 s: 1")
    page.run("document.querySelector('#contents a:last-child').click()")
    assert page.run("location.hash") == f"#/studies/{number}"  # sections are scrolled to; the page stays


@pytest.mark.slow
def test_curves_of_a_running_job_grow_and_become_the_history(visit, served):
    page = visit("#/models")
    # Forty million steps: it is still running when everything was looked at.
    options = {"t_end": 40000, "step": 0.001, "output_step": 0.5, "loads": "none", "report": False, "write": "npz"}
    job = page.run(submitting({"kind": "run", "model": "double-pendulum", "options": options}))
    page.go(f"#/jobs/{job}")
    page.wait("document.querySelectorAll('.plots canvas').length > 0", PATIENCE)
    page.await_text("Samples so far")
    times = []
    for _ in range(3):
        history = f"fetch('api/v1/jobs/{job}/history?points=2').then(a => a.json()).then(a => a.time.at(-1))"
        times.append(page.run(history))
        page.wait(f"{history}.then(time => time > {times[-1]})", PATIENCE)
    assert times == sorted(set(times))
    assert page.run("document.querySelector('[data-state]').dataset.state") == "running"
    page.press(".page-head .actions button")  # cancel; what was computed is kept
    ended(page, "cancelled")
    page.wait("document.querySelector('.note').hidden", PATIENCE)
    assert "interrupted-history.npz" in page.text()


@pytest.mark.slow
def test_narrow_pages_stay_within_the_screen(visit, served):
    page = visit("#/models", width=380, height=780, scheme="dark")
    assert page.run("document.documentElement.dataset.theme") == "dark"
    for place in ("#/models", f"#/models/{SMALL}", "#/jobs", "#/cosim", "#/files", "#/plugins", "#/live"):
        if place != "#/models":
            page.go(place)
        assert page.run("document.documentElement.scrollWidth") <= 380, place
        assert names_lacking(page) == 0, place
