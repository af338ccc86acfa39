"""Fixture `browser`: a headless Chromium that opens pages, records their errors and requests, and takes screenshots.

Each test process starts Chromium once, when the first test asks for it.  Tests that use the fixture get the mark
`browser`: ``pytest -m browser`` runs these alone.  They are skipped, with the reason, where no browser is installed.
CONTRIBUTING.md describes the installation.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

__all__ = ["Browser", "Tab", "browser", "browser_process", "color_fraction", "is_blank", "is_browser_test"]

FIXTURE = "browser"
EXECUTABLES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--no-sandbox",  # for root, as in containers
    "--disable-gpu",
    "--use-angle=swiftshader",  # WebGL without a graphics card
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--force-device-scale-factor=1",
    "--hide-scrollbars",
    "--mute-audio",
    "--no-first-run",
)
TIMEOUT = 120_000.0  # [ms] bounds a hang on a busy machine
LOCAL_SCHEMES = ("data", "blob", "about")  # of addresses whose content is part of the page


def executable() -> str | None:
    """Return the path of Chromium or Chrome: LINKWORK_BROWSER, or the first on PATH; None if there is none."""
    chosen = os.environ.get("LINKWORK_BROWSER")
    return chosen or next(filter(None, map(shutil.which, EXECUTABLES)), None)


def is_browser_test(item: Any) -> bool:
    """Return True for a test that uses the fixture `browser`."""
    return FIXTURE in getattr(item, "fixturenames", ())


class Tab:
    """An open page, with its errors and requests since it was opened."""

    def __init__(self, context: Any, allowed: Sequence[str]) -> None:
        self.allowed = tuple(allowed)
        self.console_errors: list[str] = []
        self.page_errors: list[str] = []
        self.requests: list[str] = []
        """Addresses of all requests and sockets, without that of the page itself and its data: and blob: addresses."""
        self.address = ""
        self.page = context.new_page()
        self.page.set_default_timeout(TIMEOUT)
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.page_errors.append(str(error)))
        self.page.on("crash", lambda _: self.page_errors.append("the page crashed"))
        self.page.on("websocket", lambda socket: self._record(socket.url))
        context.route("**/*", self._pass)

    @property
    def outside(self) -> list[str]:
        """Addresses of requests to hosts and files that are neither the page itself nor allowed."""
        return [address for address in self.requests if not self._is_allowed(address)]

    def check(self) -> None:
        """Assert that the page had no error, wrote none to the console, and requested nothing outside of itself."""
        assert not self.page_errors, self.page_errors
        assert not self.console_errors, self.console_errors
        assert not self.outside, self.outside

    def evaluate(self, script: str, argument: Any = None) -> Any:
        """Return the value of a JavaScript expression, or of a function of ``argument``, in the page."""
        return self.page.evaluate(script, argument)

    def wait_until(self, script: str, argument: Any = None) -> None:
        """Wait until a JavaScript expression is true."""
        self.page.wait_for_function(script, arg=argument)

    def settle(self) -> None:
        """Wait until the page has drawn all earlier changes."""
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def screenshot(self, selector: str | None = None) -> np.ndarray:
        """Return the picture of the window, or of the element that ``selector`` finds: (height, width, 3) uint8."""
        from PIL import Image

        self.settle()
        target = self.page if selector is None else self.page.locator(selector)
        return np.asarray(Image.open(io.BytesIO(target.screenshot())).convert("RGB"))

    def _hear(self, message: Any) -> None:
        if message.type == "error":
            self.console_errors.append(message.text)

    def _record(self, address: str) -> None:
        if address != self.address and urlsplit(address).scheme not in LOCAL_SCHEMES:
            self.requests.append(address)

    def _is_allowed(self, address: str) -> bool:
        return any(address.startswith(start) for start in self.allowed)

    def _pass(self, route: Any) -> None:
        """Record a request, and stop it if it leaves the page: no test reaches the network."""
        address = route.request.url
        self._record(address)
        is_inside = address == self.address or urlsplit(address).scheme in LOCAL_SCHEMES or self._is_allowed(address)
        if is_inside:
            route.continue_()
        else:
            route.abort()


class Browser:
    """A running Chromium, for one test."""

    def __init__(self, chromium: Any) -> None:
        self._chromium = chromium
        self._contexts: list[Any] = []
        self.tabs: list[Tab] = []

    def open(
        self, page: str | Path, *, size: tuple[int, int] = (1000, 700), allowed: Sequence[str] = (), **options: Any
    ) -> Tab:
        """Open a page in a window of its own, and return it when it is loaded.

        ``page`` is a path, an address (``http://``), or HTML text that begins with "<".  ``allowed`` lists beginnings
        of addresses that the page may request; that of a server (``http://127.0.0.1:8080/``) is allowed with its page.
        ``options`` are those of Playwright's ``new_context``, such as ``color_scheme="dark"``.
        """
        context = self._chromium.new_context(viewport={"width": size[0], "height": size[1]}, **options)
        self._contexts.append(context)
        text = str(page)
        is_text, is_address = text.lstrip().startswith("<"), text.startswith(("http://", "https://"))
        if is_address:
            host = urlsplit(text).netloc
            allowed = (*allowed, f"http://{host}/", f"ws://{host}/")
        tab = Tab(context, allowed)
        self.tabs.append(tab)
        if is_text:
            tab.address = "about:blank"
            tab.page.set_content(text)
        else:
            tab.address = text if is_address else Path(page).resolve().as_uri()
            tab.page.goto(tab.address)
        return tab

    def close(self) -> None:
        """Close all pages of the test."""
        for context in self._contexts:
            context.close()
        self._contexts.clear()


@pytest.fixture(scope="session")
def browser_process() -> Iterator[tuple[Any, Any]]:
    """Return Chromium, started by Playwright, and Playwright's event loop.  Skips without one of the two."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="browser tests need playwright: pip install playwright"
    )
    driver = playwright.sync_playwright().start()
    loop = asyncio.events._get_running_loop()
    asyncio.events._set_running_loop(None)
    try:
        path = executable()
        with _running(loop):
            try:
                chromium = driver.chromium.launch(executable_path=path, args=[*FLAGS], timeout=TIMEOUT)
            except playwright.Error as error:
                if path is None and "Executable doesn't exist" in str(error):
                    chromium = None
                else:
                    raise
        if chromium is None:
            pytest.skip("browser tests need Chromium: apt-get install chromium, or playwright install chromium")
        yield chromium, loop
        with _running(loop):
            chromium.close()
    finally:
        with _running(loop):
            driver.stop()


@pytest.fixture
def browser(browser_process: tuple[Any, Any]) -> Iterator[Browser]:
    """Return a browser for one test; at its end, all pages are checked (`Tab.check`) and closed."""
    chromium, loop = browser_process
    with _running(loop):
        opened = Browser(chromium)
        try:
            yield opened
            for tab in opened.tabs:
                tab.check()
        finally:
            opened.close()


@contextlib.contextmanager
def _running(loop: Any) -> Iterator[None]:
    """Make Playwright's event loop that of this thread for a while: other tests may run loops of their own."""
    asyncio.events._set_running_loop(loop)
    try:
        yield
    finally:
        asyncio.events._set_running_loop(None)


def is_blank(image: np.ndarray) -> bool:
    """Return True if a picture (h, w, 3) has a single colour, up to compression: its values spread by at most 4."""
    flat = image.reshape(-1, image.shape[-1]).astype(int)
    return bool((flat.max(axis=0) - flat.min(axis=0)).max() <= 4)


def color_fraction(image: np.ndarray, color: Sequence[int], tolerance: int = 24) -> float:
    """Return the share of pixels (h, w, 3) whose channels differ from ``color`` by at most ``tolerance``."""
    return float((np.abs(image.astype(int) - np.asarray(color)).max(axis=-1) <= tolerance).mean())
