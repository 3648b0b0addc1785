"""Live sessions in a real browser: led by keys, sliders and a gamepad, taken back in time, saved and opened again."""

import pytest

for package in ("websockets", "fastapi", "uvicorn"):
    pytest.importorskip(package, reason=f"the page needs a server and a browser; pip install {package}")

from tests.core.report.browsers import in_a_browser  # noqa: E402
from tests.fmu.service.browsing import PATIENCE, chosen  # noqa: E402

pytestmark = in_a_browser


def held(page, key, down):
    kind, number = ("keyDown" if down else "keyUp"), ord(key.upper())
    page.call("Input.dispatchKeyEvent", type=kind, key=key, code=f"Key{key.upper()}", windowsVirtualKeyCode=number)


@pytest.mark.slow
def test_a_live_session_is_paused_changed_and_taken_back(visit, tmp_path):
    page = visit("#/models/slider-pendulum")
    page.run("[...document.querySelectorAll('button')].find(b => b.textContent === 'Go live').click()")
    page.wait("location.hash.startsWith('#/live/')", 4 * PATIENCE)
    page.ready()
    time = "Number(document.querySelector('.live').dataset.time)"
    still = page.picture(".machine-canvas")
    page.run("document.activeElement.blur()")
    page.key(" ")  # plays
    page.wait(f"{time} > 1", PATIENCE)
    page.wait("document.querySelectorAll('.live-plots canvas').length > 0", PATIENCE)
    page.key(" ")  # pauses
    page.wait("document.querySelector('.live').dataset.playing === 'false'", PATIENCE)
    assert page.picture(".machine-canvas") != still
    stopped = page.run(time)
    page.key(".")  # a step
    page.wait(f"{time} > {stopped}", PATIENCE)
    # Changed by keys: a slider that has the focus, and a number.
    page.focus("[data-input=drive]")
    page.key("ArrowRight")
    page.wait("Number(document.querySelector('.live-input input[type=number]').value) > 0", PATIENCE)
    page.run("document.querySelector('.live-input input[type=number]').select()")
    page.type("7")
    page.key("Tab")
    page.wait("document.querySelector('[data-input=drive]').getAttribute('aria-valuetext').startsWith('7')", PATIENCE)
    # Back in time, where the input was another one.
    page.run("document.activeElement.blur()")
    page.key("Home")
    page.wait(f"{time} === 0", PATIENCE)
    page.wait("document.querySelector('[data-input=drive]').getAttribute('aria-valuetext').startsWith('0')", PATIENCE)
    page.key(" ")
    page.wait(f"{time} > 0.2", PATIENCE)
    page.key(" ")
    page.wait("document.querySelector('.live').dataset.playing === 'false'", PATIENCE)
    # What was done is a file, which opens as another session.
    text = page.run("fetch('api/v1/live/' + location.hash.split('/')[2] + '/scenario').then(answer => answer.text())")
    assert 'model = "slider-pendulum"' in text and "drive = 7" in text
    first = page.run("location.hash")
    (tmp_path / "swing.toml").write_text(text)
    page.drop(tmp_path / "swing.toml")
    page.await_text("Open as a live session")
    page.ready()
    page.press(".form-foot button")
    page.wait(f"location.hash.startsWith('#/live/') && location.hash !== '{first}'", 4 * PATIENCE)
    page.ready()
    page.go("#/live")
    for left in (1, 0):
        page.press(".wide-table button")
        page.wait(f"document.querySelectorAll('.wide-table button').length === {left}", PATIENCE)
        page.ready()
    page.await_text("No session is open.")


@pytest.mark.slow
def test_held_keys_and_the_stick_of_a_gamepad_move_an_input(visit):
    page = visit("#/models/slider-pendulum")
    page.run("[...document.querySelectorAll('button')].find(b => b.textContent === 'Go live').click()")
    page.wait("location.hash.startsWith('#/live/')", 4 * PATIENCE)
    page.ready()
    # What the session itself says, not the page.
    session = "fetch('api/v1/live/' + location.hash.split('/')[2]).then(a => a.json())"
    drive = f"{session}.then(s => s.values.drive)"
    page.run("document.activeElement.blur()")
    held(page, "d", True)
    page.wait(f"{drive}.then(value => value > 0)", PATIENCE)
    held(page, "d", False)
    # Other keys may be chosen; those of before are then free.
    page.run("document.querySelector('details').open = true")
    page.focus('[aria-label="Key for less of drive"]')
    page.run("document.activeElement.select()")
    page.type("j")
    page.run("document.activeElement.blur()")
    held(page, "j", True)
    page.wait(f"{drive}.then(value => value < 0)", PATIENCE)
    # A tab that is left does not go on moving what was held.
    page.run("void window.dispatchEvent(new Event('blur'))")
    page.settle()
    still = "new Promise(done => setTimeout(done, 300))"
    page.run(still)
    before = page.run(drive)
    page.run(still)
    assert page.run(drive) == before
    held(page, "j", False)
    # There is no gamepad here: the browser is told of one. A stick near its middle is at rest.
    stick = "navigator.getGamepads = () => [null, {axes: [%s, 0, 0, 0]}]"
    page.run(f"void ({stick % 0.1})")
    page.run(still)
    assert page.run(drive) == before
    page.run(f"void ({stick % 0.9})")
    page.wait(f"{drive}.then(value => value > 0)", PATIENCE)
    page.run(chosen('[aria-label="Gamepad axis for drive"]', "-0"))  # turned round
    page.wait(f"{drive}.then(value => value < 0)", PATIENCE)
    page.run(f"void ({stick % 0})")
    page.run("[...document.querySelectorAll('button')].find(b => b.textContent === 'End session').click()")
    page.wait("location.hash === '#/live'", PATIENCE)
