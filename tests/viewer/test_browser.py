"""Fixture `browser`: WebGL pictures, recorded errors and requests, and isolation of later tests."""

import asyncio

import pytest

from helpers.browser import color_fraction, is_blank

CANVAS = """<!doctype html><meta charset="utf-8"><title>t</title><canvas width="200" height="100"></canvas><script>
const gl = document.querySelector("canvas").getContext("webgl2", {preserveDrawingBuffer: true});
gl.clearColor(0, 0.25, 0.5, 1); gl.clear(gl.COLOR_BUFFER_BIT);
window.version = gl.getParameter(gl.VERSION);
</script>"""


@pytest.mark.slow(every=3)
def test_test_browser_renders_webgl_pictures_of_a_file(browser, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(CANVAS, encoding="utf-8")
    tab = browser.open(path, size=(400, 300))
    assert tab.evaluate("window.version").startswith("WebGL 2.0")
    assert tab.screenshot().shape == (300, 400, 3)
    canvas = tab.screenshot("canvas")
    assert canvas.shape == (100, 200, 3)
    assert color_fraction(canvas, (0, 64, 128)) == 1.0
    assert is_blank(canvas) and not is_blank(tab.screenshot())
    assert tab.requests == []


def test_test_browser_records_errors_and_requests(browser):
    page = """<p>x</p><img src="http://192.0.2.1/picture.png"><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">
    <script>console.error("said"); console.log("fine"); setTimeout(() => { throw new Error("thrown"); });</script>"""
    tab = browser.open(page)
    tab.page.wait_for_timeout(50)
    assert tab.outside == ["http://192.0.2.1/picture.png"]
    assert any("said" in text for text in tab.console_errors) and not any("fine" in t for t in tab.console_errors)
    assert any("thrown" in text for text in tab.page_errors)
    for errors in (tab.page_errors, tab.console_errors, tab.requests):
        with pytest.raises(AssertionError, match=r"thrown|said|192.0.2.1"):
            tab.check()
        errors.clear()
    tab.check()


def test_tests_after_a_browser_test_may_run_event_loops(browser_process):
    assert asyncio.run(asyncio.sleep(0.0, "done")) == "done"
