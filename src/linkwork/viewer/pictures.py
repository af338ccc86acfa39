"""Pictures (PNG) and films (MP4) of scene documents, drawn by the self-contained page in a browser without a window."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.file_access import replaced
from linkwork._util.validation import finite_array, finite_number, integer, one_of, positive
from linkwork.viewer.document import SceneDocument, check_document
from linkwork.viewer.html.page import page_text

__all__ = ["VIEWS", "encoder", "write_mp4", "write_png"]

VIEWS = ("perspective", "front", "back", "left", "right", "top")
"""Directions from which the camera shows the whole scene."""

Camera = str | tuple[Sequence[float], Sequence[float]]

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_FLAGS = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--force-color-profile=srgb", "--hide-scrollbars")
_LARGEST = 8192  # [pixels] WebGL draws no larger pictures on some machines
_TIMEOUT = 300_000.0  # [ms] for one step of the browser
_ROUNDING = 1e-9  # [s] beyond the last time, which a sum of time steps may pass
_INSTALL = 'pip install "linkwork[pictures]"'


@public
def write_png(
    document: SceneDocument,
    path: str | os.PathLike[str],
    *,
    time: float | None = None,
    camera: Camera = "perspective",
    size: tuple[int, int] = (1280, 800),
    theme: str = "light",
) -> Path:
    """Write a picture of the document at one time and return its path.

    The picture shows the last frame at or before ``time`` [s], by default the first.  ``camera`` is one of `VIEWS`,
    which shows the whole scene, or a pair (position, target) of points in the world [m].  ``size`` is (width, height)
    [pixels], ``theme`` "light" or "dark".  It needs Chromium and ``pip install "linkwork[pictures]"``.

    Raises ArgumentError and ValueError for unsuitable arguments, such as a time that the document does not have, and
    ImportError and RuntimeError without these tools.
    """
    caller = "write_png"
    check_document(caller, document)
    moment = _moment(caller, document, time)
    view, size = _camera(caller, camera), _size(caller, size)
    one_of(caller, "theme", theme, ("light", "dark"))
    _require_folder(path)
    [picture] = _drawn(caller, document, view, size, theme, [moment], "png")
    with replaced(path) as file:
        file.write(picture)
    return Path(path)


def _moment(caller: str, document: SceneDocument, time: float | None) -> float:
    """Return the time of a picture [s], by default the first.

    Raises ValueError if it is outside of the document's times.
    """
    first, last = float(document.times[0]), float(document.times[-1])
    if time is None:
        return first
    moment = float(finite_number(caller, "time", time))
    if not first - _ROUNDING <= moment <= last + _ROUNDING:
        raise ValueError(f"{caller}: time: expected a time from {first:g} to {last:g} s, got {moment:g}")
    return moment


@public
def write_mp4(
    document: SceneDocument,
    path: str | os.PathLike[str],
    *,
    fps: float = 30.0,
    speed: float = 1.0,
    camera: Camera = "perspective",
    size: tuple[int, int] = (1280, 720),
    theme: str = "light",
) -> Path:
    """Write a film of the document's whole time and return its path.

    ``fps`` is the number of pictures a second, and ``speed`` the seconds of motion shown in one second. ``camera``,
    ``size`` and ``theme`` are as in `write_png`; width and height are even. It also needs ffmpeg on PATH, or the
    package imageio-ffmpeg, which ``pip install "linkwork[pictures]"`` installs.

    Raises ArgumentError and ValueError for unsuitable arguments and for a document with one time, ImportError and
    RuntimeError without these tools.
    """
    caller = "write_mp4"
    check_document(caller, document)
    rate, pace = positive(caller, "fps", fps), positive(caller, "speed", speed) * document.pace
    view, size = _camera(caller, camera), _size(caller, size, even=True)
    one_of(caller, "theme", theme, ("light", "dark"))
    duration = float(document.times[-1] - document.times[0])
    if duration == 0.0:
        raise ValueError(f"{caller}: document: expected several times, got one; write a picture by write_png")
    _require_folder(path)
    program = encoder(caller)
    count = int(np.floor(duration / pace * rate + 1e-9)) + 1
    moments = [float(document.times[0] + k / rate * pace) for k in range(count)]
    with tempfile.TemporaryDirectory(prefix="linkwork-") as folder:
        film = Path(folder, "film.mp4")
        command = [
            program,
            "-loglevel",
            "error",
            "-f",
            "image2pipe",
            "-c:v",
            "mjpeg",
            "-framerate",
            f"{rate:g}",
            "-i",
            "-",
        ]
        command += ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "18", "-movflags", "+faststart", str(film)]
        with _fed(caller, command) as feed:
            _drawn(caller, document, view, size, theme, moments, "jpeg", feed)
        with replaced(path) as file, open(film, "rb") as source:
            shutil.copyfileobj(source, file)
    return Path(path)


def _camera(caller: str, camera: Any) -> Any:
    """Convert the option ``camera`` to the argument of the page's JavaScript function ``look``."""
    if isinstance(camera, str):
        return one_of(caller, "camera", camera, VIEWS).capitalize()
    points = finite_array(caller, "camera", camera, shape=(2, 3), unit="m")
    if np.linalg.norm(points[0] - points[1]) < 1e-9:
        raise ValueError(f"{caller}: camera: expected two different points, got {points.tolist()}")
    return {"position": points[0].tolist(), "target": points[1].tolist()}


def _size(caller: str, size: Any, *, even: bool = False) -> tuple[int, int]:
    if not isinstance(size, (tuple, list)) or len(size) != 2:
        raise ValueError(f"{caller}: size: expected (width, height) [pixels], got {size!r}")
    width, height = (integer(caller, "size", value, least=16, most=_LARGEST) for value in size)
    if even and (width % 2 or height % 2):
        raise ValueError(f"{caller}: size: expected an even width and height, got {(width, height)}")
    return width, height


def _require_folder(path: str | os.PathLike[str]) -> None:
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise FileNotFoundError(f"{os.fspath(path)}: no directory {str(folder)!r}; create it first")


def _drawn(
    caller: str,
    document: SceneDocument,
    view: Any,
    size: tuple[int, int],
    theme: str,
    moments: list[float],
    kind: str,
    feed: Callable[[bytes], None] | None = None,
) -> list[bytes]:
    """Draw the page at the times ``moments``; return the pictures, or pass each of them to ``feed``.

    A separate thread drives the browser, because the caller's thread may run an event loop, as in a notebook.
    """
    html = page_text(document, caller=caller)
    stopped = threading.Event()

    def draw() -> list[bytes]:
        result: list[bytes] = []
        with _page(caller, size) as page:
            page.set_content(html)
            page.evaluate("window.linkwork.ready")
            page.evaluate("([theme, view]) => { linkwork.bare(theme); linkwork.look(view); }", [theme, view])
            options = {"type": kind} | ({"quality": 95} if kind == "jpeg" else {})
            for moment in moments:
                if stopped.is_set():
                    break
                page.evaluate("(time) => { linkwork.seek(time); linkwork.draw(); }", moment)
                (result.append if feed is None else feed)(page.screenshot(**options))
        return result

    with ThreadPoolExecutor(1, "linkwork-pictures") as pool:
        try:
            return pool.submit(draw).result()
        finally:
            stopped.set()


@contextlib.contextmanager
def _page(caller: str, size: tuple[int, int]) -> Iterator[Any]:
    """Yield a page of a headless browser without network."""
    try:
        from playwright.sync_api import Error, TimeoutError, sync_playwright
    except ImportError:
        raise ImportError(f"{caller} needs playwright, which is not installed: {_INSTALL}") from None
    path = os.environ.get("LINKWORK_BROWSER") or next(filter(None, map(shutil.which, _BROWSERS)), None)
    flags = [*_FLAGS, *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=path, args=flags, timeout=_TIMEOUT)
        except Error as error:
            remedy = "install it by: playwright install chromium, or set LINKWORK_BROWSER to the path of a Chromium"
            raise RuntimeError(f"{caller}: Chromium does not start; {remedy}\n{error}") from None
        try:
            context = browser.new_context(
                viewport={"width": size[0], "height": size[1]}, device_scale_factor=1.0, offline=True
            )
            page = context.new_page()
            page.set_default_timeout(_TIMEOUT)
            yield page
        except TimeoutError:
            raise RuntimeError(
                f"{caller}: Chromium did not draw the picture within {_TIMEOUT / 1e3:g} s; draw less: fewer ghosts, "
                "one time=, a smaller size=, or collision shapes in the place of large meshes"
            ) from None
        finally:
            browser.close()


def encoder(caller: str) -> str:
    """Return the path of ffmpeg.  Raises RuntimeError without it."""
    path = shutil.which("ffmpeg")
    if path is None:
        try:
            import imageio_ffmpeg

            path = str(imageio_ffmpeg.get_ffmpeg_exe())
        except (ImportError, RuntimeError):
            raise RuntimeError(f"{caller} needs ffmpeg, which is not on PATH: {_INSTALL}") from None
    return path


@contextlib.contextmanager
def _fed(caller: str, command: list[str]) -> Iterator[Callable[[bytes], None]]:
    """Run a program, and yield a function that writes to its standard input.

    Raises RuntimeError with the program's message.
    """
    with tempfile.TemporaryFile() as messages:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=messages)
        pipe = process.stdin
        assert pipe is not None
        broken = False

        def feed(data: bytes) -> None:
            pipe.write(data)

        try:
            with contextlib.suppress(BrokenPipeError):
                yield feed
                pipe.flush()
        except BaseException:
            broken = True
            process.kill()
            raise
        finally:
            with contextlib.suppress(OSError):
                pipe.close()
            status = process.wait()
        if status and not broken:
            messages.seek(0)
            raise RuntimeError(f"{caller}: ffmpeg failed: {messages.read().decode('utf-8', 'replace').strip()}")
