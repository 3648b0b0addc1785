"""The report in a real browser: it is silent, asks for nothing, moves, and answers to the mouse and to keys."""

import numpy as np
import pytest

from kingpost import History
from kingpost.report import write_report
from tests.core.report.optima import bounded_pendulum
from tests.core.report.synthetic import crane_history, foreign_history, monitored_history
from tests.core.report.test_hotspots import ring
from tests.core.report.test_sea import SEA

pytest.importorskip("websockets", reason="driving a browser needs the package websockets: pip install websockets")

from tests.core.report.browsers import fresh_tabs, in_a_browser
from tests.core.report.chromium import Page

pytestmark = in_a_browser
MACHINE = ".machine-canvas"
TIME = "document.querySelector('.time').textContent"
EVIL = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    histories = {
        "crane": crane_history(),
        "plain": crane_history(loads=False),
        "foreign": foreign_history(),
        "long": crane_history(samples=12_001, t_end=600.0),
        "monitored": monitored_history(),
        "optimal": bounded_pendulum(),
    }
    evil = crane_history(name=EVIL)
    channels = tuple(type(c)(c.name.replace("tip", EVIL), c.unit, c.frame, c.side, c.at) for c in evil.channels)
    histories["evil"] = History(evil.time, channels, evil.values, {**evil.provenance, "warnings": [EVIL]})
    crane = histories["crane"]
    histories["sea"] = History(crane.time, crane.channels, crane.values, {**crane.provenance, "sea": SEA})
    spots = {"sea": ring(8, dff=3.0)}
    return {
        name: write_report(history, folder / f"{name}.html", spots=spots.get(name, ()), accept=("noise",)).path
        for name, history in histories.items()
    }


@pytest.fixture
def show(browser, pages):
    """Open a report in a fresh tab; at the end, nothing may have been said or asked for."""

    def shown(name, **how):
        page = Page(browser, **how)
        page.open(pages[name])
        return page

    def asked_for(page, name):
        assert page.requests == [pages[name].as_uri()]

    with fresh_tabs(shown, asked_for) as show:
        yield show


def fires(selector, value):
    """Return JavaScript that sets an input or a select as a user would."""
    return (
        f"(() => {{ const e = document.querySelector({selector!r}); e.value = {value!r}; "
        "e.dispatchEvent(new Event('input')); e.dispatchEvent(new Event('change')); })()"
    )


def headings(page):
    return page.run("[...document.querySelectorAll('h2')].map(h => h.textContent)")


@pytest.mark.parametrize("name", ["crane", "plain", "foreign", "long", "evil", "monitored", "sea"])
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_every_kind_of_report_opens_in_silence(show, name, width, scheme):
    page = show(name, width=width, scheme=scheme)
    page.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    for share in (0.25, 0.5, 0.75, 1.0):
        page.run(f"window.scrollTo({{top: {share} * document.documentElement.scrollHeight, behavior: 'instant'}})")
        page.settle()
    assert page.run("document.documentElement.scrollWidth") <= width  # nothing sticks out
    assert page.run("document.documentElement.dataset.theme") == scheme
    names = page.run("[...document.querySelectorAll('canvas, button, select, input')].filter(e => "
                     "!(e.getAttribute('aria-label') || e.textContent.trim() || e.closest('label'))).length")  # fmt: skip
    assert names == 0  # everything has a name for those who do not see it


def test_sections_are_there_if_there_is_something_to_show(show):
    full = ["Motion", "Joint loads", "Load roses", "Spectra and cycles", "Extremes and equivalent loads", "Record of the run"]
    assert headings(show("crane")) == ["Animation", *full]
    page = show("plain")
    assert headings(page) == [title for title in full if title != "Load roses"]
    text = page.run("document.body.innerText")
    assert "No animation: this result holds no poses of bodies." in text
    assert "run the model again with its joint loads: loads = 'all'" in text


def test_monitors_are_shown_over_powers_of_ten(show):
    page = show("monitored")
    assert "Monitors" in headings(page)
    lines = page.run("[...document.querySelectorAll('#monitors li')].map(e => e.textContent)")
    assert [line.split(" ")[0] for line in lines] == ["Energy", "Constraints", "Jacobian"]
    assert page.run("document.querySelectorAll('#monitors .badge.bad').length") == 2
    page.box("#monitors figure:nth-of-type(5)")
    axis = page.run("document.querySelector('#monitors figure:nth-of-type(5) canvas').chart.axes.y")
    assert (axis["low"], axis["high"], axis["log"]) == (pytest.approx(1e-16), pytest.approx(1e-4), True)
    box = page.box("#monitors figure:nth-of-type(5) canvas")
    page.move(box["x"] + (58 + box["width"] - 14) / 2, box["y"] + box["height"] / 2)  # half-way between the margins: 10 s
    shown = page.run("[...document.querySelectorAll('#monitors figure:nth-of-type(5) output')].map(e => e.textContent)")
    assert shown == ["0.000100"] * 3
    page.box("#monitors figure:nth-of-type(6)")
    rank = page.run("document.querySelector('#monitors figure:nth-of-type(6) canvas').chart.axes.y")
    assert (rank["low"], rank["high"]) == (0, 3)


def test_text_from_the_model_stays_text(show):
    page = show("evil")
    assert page.run("document.querySelectorAll('img').length") == 0
    assert page.run("document.querySelector('h1').textContent") == EVIL
    assert page.run(f"document.querySelector('.warning').textContent.includes({EVIL!r})")
    assert page.run("document.title") == EVIL


def test_no_foreign_script_may_run(browser, pages):
    page = Page(browser)
    page.open(pages["crane"])
    page.run("document.body.insertAdjacentHTML('beforeend', '<img src=\"data:,\" onerror=\"window.harmed = 1\">')")
    page.wait("true")
    page.settle()
    assert page.run("window.harmed === undefined")
    assert any("Content Security Policy" in message for message in page.messages)
    page.close()


def test_playing_moves_the_machine_and_the_cursor(show):
    page = show("crane")
    before = page.picture(MACHINE)
    page.press(".play")
    page.wait(f"parseFloat({TIME}) > 0.3")
    page.press(".play")
    stopped = page.run(TIME)
    assert page.picture(MACHINE) != before
    page.settle()
    assert page.run(TIME) == stopped
    assert float(page.run("document.querySelector('.slider').value")) > 0.3


def test_speed_is_obeyed(show):
    page = show("crane")
    page.run(fires(".transport select", "10"))
    page.press(".play")
    page.wait(f"parseFloat({TIME}) > 8", seconds=6)
    page.press(".play")


def test_the_slider_moves_the_machine(show):
    page = show("crane")
    before = page.picture(MACHINE)
    page.run(fires(".slider", "10"))
    page.settle()
    assert page.run(TIME) == "10.00\u202fs"
    assert page.picture(MACHINE) != before
    page.run(fires(".slider", "0"))
    page.settle()
    assert page.picture(MACHINE) == before


def test_dragging_turns_wheel_zooms_and_reset_goes_back(show):
    page = show("crane")
    box = page.box(MACHINE)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    pictures = [page.picture(MACHINE)]
    page.drag((x, y), (x + 90, y + 30))
    pictures.append(page.picture(MACHINE))
    page.wheel(x, y, -300)
    pictures.append(page.picture(MACHINE))
    for button in ("Front", "Side", "Top"):
        page.run(f"[...document.querySelectorAll('aside button')].find(b => b.textContent === '{button}').click()")
        page.settle()
        pictures.append(page.picture(MACHINE))
    assert len(set(pictures)) == len(pictures)
    page.run("[...document.querySelectorAll('aside button')].find(b => b.textContent === 'Reset').click()")
    page.settle()
    assert page.picture(MACHINE) == pictures[0]


def test_load_arrows_and_names_can_be_switched_on(show):
    page = show("crane")
    pictures = [page.picture(MACHINE)]
    for value in ("slew", "*"):
        page.run(fires("aside > .row:last-of-type select", value))
        page.settle()
        pictures.append(page.picture(MACHINE))
    for k in range(4):
        page.run(f"document.querySelectorAll('aside input[type=checkbox]')[{k}].click()")
        page.settle()
        pictures.append(page.picture(MACHINE))
    assert len(set(pictures)) == len(pictures)


def test_keys_play_and_step(show):
    page = show("crane")
    page.key("ArrowRight")
    assert page.run(TIME) == "0.05\u202fs"  # one sample
    page.key("ArrowLeft")
    assert page.run(TIME) == "0.00\u202fs"
    page.key(" ")
    page.wait(f"parseFloat({TIME}) > 0.1")
    page.key(" ")
    assert page.run("document.querySelector('.play').getAttribute('aria-label')") == "Play"
    page.run(fires(".slider", "5"))
    page.press("#motion .chip")  # now a button has the focus
    page.key("ArrowRight")
    assert page.run(TIME) == "5.05\u202fs"
    page.key(" ")
    assert page.run("document.querySelector('#motion .chip').getAttribute('aria-pressed')") == "true"
    assert page.run(TIME) == "5.05\u202fs"  # the key was the button's


def test_pointing_at_a_plot_moves_every_cursor_and_the_machine(show):
    page = show("crane", height=1400)
    machine = page.picture(MACHINE)
    box = page.box("#motion .chart")
    left, right = box["x"] + 58, box["x"] + box["width"] - 14  # the axes
    page.move(left + (right - left) / 2, box["y"] + 50)
    assert page.run(f"parseFloat({TIME})") == pytest.approx(10.0, abs=20 / (right - left))  # a pixel
    assert page.picture(MACHINE) != machine
    page.box("#motion .plot:nth-child(2) .chart")
    shown = page.run("document.querySelector('#motion .plot:nth-child(2) output').textContent")
    # The slewing angle half way: half of 90 degrees, and a pixel of time at its greatest rate of 6.75 degrees per second.
    assert float(shown) == pytest.approx(45.0, abs=6.75 * 20 / (right - left) + 0.1)


def test_dragging_zooms_all_plots_and_a_double_click_resets(show):
    page = show("crane")
    other = "#motion .plot:nth-child(2) .chart"
    before = page.picture(other)
    box = page.box("#motion .chart")
    left, right = box["x"] + 58, box["x"] + box["width"] - 14
    page.drag((left + 0.25 * (right - left), box["y"] + 60), (left + 0.5 * (right - left), box["y"] + 80))
    text = page.run("document.querySelector('#zoom-bar').innerText")
    low, high = (
        float(word)
        for word in text.replace("\u202fs", "").replace("All plots show ", "").split(".\n")[0].split(". ")[0].split(" to ")
    )
    assert (low, high) == pytest.approx((5.0, 10.0), abs=20 / (right - left))
    zoomed = page.picture(other)
    assert zoomed != before
    box = page.box("#motion .chart")
    page.click(box["x"] + 200, box["y"] + 60, count=2)
    assert page.run("document.querySelector('#zoom-bar').hidden")
    assert page.picture(other) != zoomed


def test_a_press_on_the_legend_hides_a_channel(show):
    page = show("crane")
    before = page.picture("#motion .chart")
    page.press("#motion .chip")
    assert page.run("document.querySelector('#motion .chip').getAttribute('aria-pressed')") == "false"
    assert page.picture("#motion .chart") != before
    page.press("#motion .chip")
    page.move(5, 5)
    assert page.picture("#motion .chart") == before


def test_parts_of_a_load_can_be_chosen(show):
    page = show("crane")
    assert page.run("document.querySelector('#loads .card .chip').innerText").startswith("hull.Mx")
    page.press("#loads .segments button:nth-child(3)")
    assert page.run("document.querySelector('#loads .card .chip').innerText").startswith("hull.actuator.Mx")


def test_the_drop_down_changes_matrix_spectrum_and_curve(show):
    page = show("crane")
    canvases = [f"#cycles .plots > :nth-child({k}) canvas" for k in (1, 2, 3)]
    before = [page.picture(canvas) for canvas in canvases]
    page.run(fires("#cycles select", "knuckle.Fx"))
    page.settle()
    assert all(page.picture(canvas) != old for canvas, old in zip(canvases, before, strict=True))
    titles = page.run("[...document.querySelectorAll('#cycles h4')].map(h => h.textContent)")
    assert titles == ["Spectrum of knuckle.Fx", "Rainflow matrix of knuckle.Fx", "Exceedance of ranges of knuckle.Fx"]
    page.run(fires("#cycles select", "hull.roll"))
    page.settle()
    assert "Cycles are counted for forces, moments and stresses; hull.roll is none" in page.run(
        "document.querySelector('#cycles').innerText"
    )
    box = page.box(canvases[0])
    page.move(box["x"] + box["width"] / 2, box["y"] + 60)
    assert " Hz (period " in page.run("document.querySelector('#cycles .readout').textContent")


def test_roses_follow_the_joint_and_the_way(show):
    page = show("crane")
    canvas = "#roses canvas"
    pictures = [page.picture(canvas)]
    for selector, value in (("#roses label:nth-child(1) select", "luff"), ("#roses label:nth-child(2) select", "share")):
        page.run(fires(selector, value))
        page.settle()
        pictures.append(page.picture(canvas))
    assert len(set(pictures)) == 3


def test_the_table_sorts_and_downloads(show):
    page = show("crane")
    rows = "[...document.querySelectorAll('#numbers tbody tr')]"
    assert page.run(f"{rows}.length") == 24
    page.press("#numbers thead th:nth-child(3) button")
    greatest = page.run(f"{rows}[0].innerText.split('\\t').map(t => t.trim())")
    history = crane_history()
    loads = [c.name for c in history.channels if c.side and c.name.count(".") == 1]
    assert greatest[0] == max(loads, key=lambda name: history[name].max())
    assert float(greatest[2]) == pytest.approx(history[greatest[0]].max() / 1e3, rel=5e-4)  # kN, four digits
    page.press("#numbers thead th:nth-child(3) button")
    assert page.run("document.querySelector('#numbers thead th:nth-child(3)').getAttribute('aria-sort')") == "ascending"
    page.run(
        "window.saved = []; const make = URL.createObjectURL; URL.createObjectURL = b => { saved.push(b); return make(b); }"
    )
    page.call("Browser.setDownloadBehavior", behavior="deny")
    page.press("#numbers .row button")
    lines = page.run("saved[0].text()").split("\r\n")
    assert lines[0] == "channel,unit,max,max_time_s,min,min_time_s,mean,std,del_m3_neq20,del_m4_neq20,del_m5_neq20"
    cells = next(line for line in lines if line.startswith("slew.Fz,")).split(",")
    assert float(cells[2]) == history["slew.Fz"].max() and cells[1] == "N"


def test_angles_can_be_shown_in_radians(show):
    page = show("crane")
    unit = "document.querySelector('#motion h4 .unit').textContent"
    assert page.run(unit) == "[°]"
    page.press("#angle-unit")
    assert page.run(unit) == "[rad]"


def test_colours_can_be_changed(show):
    page = show("crane")
    light = page.picture("#motion .chart")
    page.press("#theme")
    assert page.run("document.documentElement.dataset.theme") == "dark"
    assert page.picture("#motion .chart") != light


def test_the_machine_can_fill_the_window_and_escape_brings_it_back(show):
    page = show("crane")
    page.press(".enlarge")
    assert page.run("document.querySelector('aside').getBoundingClientRect().width") == 1280
    page.key("Escape")
    assert page.run("document.querySelector('aside').getBoundingClientRect().width") < 700
    box = page.box("#motion .chart")
    page.drag((box["x"] + 200, box["y"] + 60), (box["x"] + 300, box["y"] + 60))
    assert not page.run("document.querySelector('#zoom-bar').hidden")
    page.key("Escape")
    assert page.run("document.querySelector('#zoom-bar').hidden")


def test_it_prints(show):
    page = show("crane", scheme="dark")
    printed = page.call("Page.printToPDF", printBackground=True)["data"]
    assert len(printed) > 100_000  # base64 of a file with all its pictures
    page.settle()
    assert page.run("document.documentElement.dataset.theme") == "dark"
    assert not page.run("document.documentElement.classList.contains('printing')")


def test_a_long_run_says_that_it_was_thinned(show):
    page = show("long")
    text = page.run("document.querySelector('#motion').innerText")
    assert "of the 12001 samples the least and the greatest are drawn" in text
    assert "of 12001 samples are shown." in page.run("document.querySelector('aside').innerText")


def test_an_optimum_shows_inputs_as_steps_bounds_that_bite_and_the_search(show):
    page = show("optimal")
    heads = page.run("[...document.querySelectorAll('#optimal h3')].map(e => e.textContent)")
    assert heads == ["Inputs", "Path", "Bounds that bite", "Costates", "Starts and convergence"]
    titles = page.run("[...document.querySelectorAll('#optimal h4')].map(e => e.textContent)")
    assert titles[0].startswith("torque")
    assert "When they bite" in titles
    assert any(title.startswith("Discrete Hamiltonian") for title in titles)
    # An input that is held reads the same all over an interval of 0.15 s, and in the next one something else.
    box = page.box("#optimal figure canvas")
    read = "document.querySelector('#optimal .chip output').textContent"

    def at(time):
        left, right = box["x"] + 58, box["x"] + box["width"] - 14
        page.move(left + (right - left) * time / 3.0, box["y"] + 40)
        return page.run(read)

    assert at(1.36) == at(1.42) == at(1.49)
    assert at(1.52) != at(1.49)
    rows = page.run("[...document.querySelectorAll('#optimal table')].map(e => e.rows.length)")
    assert rows[0] >= 3  # at least the torque at both limits
    assert rows[1] == 3
    before = page.run("[...document.querySelectorAll('#optimal .halves h4')].map(e => e.textContent)")
    page.run(fires("#optimal select", "1" if "constant" in before[0] else "0"))
    after = page.run("[...document.querySelectorAll('#optimal .halves h4')].map(e => e.textContent)")
    assert before != after


def test_the_water_is_the_sum_of_its_waves_at_the_time_of_the_cursor(show):
    page = show("sea")
    assert "Water" in page.run("document.querySelector('#machine').innerText")
    w, e, a = (np.array(SEA[key]) for key in ("frequency", "phase", "amplitude"))
    kx, ky = w**2 / 9.81 * np.cos(SEA["direction"]), w**2 / 9.81 * np.sin(SEA["direction"])
    view = f"document.querySelector({MACHINE!r}).chart.water"
    x, y = (np.array(page.run(f"{view}.{axis}")) for axis in "xy")
    for t in (0.0, 4.0, 15.0):
        s = min(t / 10.0, 1.0)
        found = np.array(page.run(f"[...{view}.at({t})]")).reshape(len(x), len(y))
        angle = w * t + e - kx * x[:, None, None] - ky * y[None, :, None]
        told = s**3 * (10 - 15 * s + 6 * s**2) * (a * np.cos(angle)).sum(axis=2)
        assert np.abs(found - told).max() < 2e-6  # tables of 32-bit numbers


def test_the_water_moves_and_can_be_taken_away(show):
    page = show("sea")
    picture = f"document.querySelector({MACHINE!r}).toDataURL()"
    first = page.run(picture)
    page.run(fires(".slider", "15"))
    page.settle()
    wet = page.run(picture)
    assert wet != first
    page.run("[...document.querySelectorAll('#machine label')].find(l => l.textContent.includes('Water')).firstChild.click()")
    page.settle()
    assert page.run(picture) != wet
    assert page.run("document.querySelector('.machine-canvas').chart.shows.water") is False


def test_hot_spots_are_shown_around_their_ring(show):
    page = show("sea")
    assert "Fatigue at hot spots" in headings(page)
    assert page.run("document.querySelectorAll('#hotspots canvas').length") == 2
    labels = page.run("[...document.querySelectorAll('#hotspots canvas')].map(c => c.getAttribute('aria-label'))")
    assert labels[0].startswith("Damage around slew: most at 45° (ring-7): ")
    rows = page.run("[...document.querySelectorAll('#hotspots tbody tr')].map(r => [...r.children].map(c => c.textContent))")
    assert [row[0] for row in rows] == [f"ring-{k}" for k in range(8)]
    assert sum(float(row[4].removesuffix(" %")) for row in rows) == pytest.approx(100.0, abs=0.1)
    readout = "document.querySelector('#hotspots .readout').textContent"
    box = page.box("#hotspots figure:first-of-type canvas")
    at = page.run("document.querySelector('#hotspots canvas').chart.points[0]")
    page.move(box["x"] + at[0], box["y"] + at[1])
    assert page.run(readout).startswith("ring-0, 0°: ") and "(DFF 3)" in page.run(readout)
    page.move(5, 5)
    assert page.run(readout).startswith("most at 45° (ring-7)")
