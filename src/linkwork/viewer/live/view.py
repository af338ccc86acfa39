"""Class `View`, a live page that is open, and the function that opens it in the browser."""

from __future__ import annotations

import html as html_text
import os
import sys
import weakref
import webbrowser
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.validation import finite_array, finite_number, integer, non_negative, positive
from linkwork.errors import UnknownNameError
from linkwork.kernels import read_configuration
from linkwork.viewer.document import SceneDocument, check_document
from linkwork.viewer.live.live_robot import LiveRobot
from linkwork.viewer.live.page_state import LivePage

__all__ = ["View", "open_view"]

_FORCE_COLOR = (0.85, 0.2, 0.15, 1.0)
_FORCE_LENGTH = 1.6  # length of the arrow of the robot's weight, in units of the scene's radius


@public
class View:
    """Live page of robots, open in a browser: the result of `Robot.show` and the other ``show`` methods.

    `update` moves a robot. `close` ends the page. The page also ends when the ``with`` block ends, with the last
    reference to the view, with the program, and five seconds after its window in the browser was closed.

    ``document`` is the scene document of the page, and ``port`` is the page's port on 127.0.0.1.

    >>> import linkwork as lw
    >>> arm = lw.load("arm7")
    >>> with arm.show() as view:                              # doctest: +SKIP
    ...     for angle in np.linspace(0.0, 1.0, 1000):
    ...         view.update({"elbow": -angle})
    ...         view.pace(0.001)
    """

    def __init__(self, document: SceneDocument, *, port: int | None = None) -> None:
        page = LivePage(document, port)
        self._page = page
        self._end = weakref.finalize(self, page.close)

    # -- state

    @property
    def url(self) -> str:
        """Address of the page, on 127.0.0.1."""
        return self._page.url

    @property
    def is_open(self) -> bool:
        """True until the page is closed, by `close` or in the browser."""
        return self._page.worker.is_running

    @property
    def robots(self) -> tuple[str, ...]:
        """Names of the robots that `update` moves."""
        return tuple(live.name for live in self._page.robots)

    @property
    def q(self) -> np.ndarray:
        """Configuration (nq,) of the first robot as it is shown, or (n, nq) of several instances [rad, m].

        Raises ValueError for a page without a robot that can move.
        """
        live = self._live("q", None)
        return np.array(live.q[0] if live.is_single else live.q)

    # -- motion

    def update(self, q: Any, *, robot: str | None = None, time: float | None = None) -> None:
        """Show a configuration, or the state of a simulator, soon, and return at once.

        ``q`` (nq,) [rad, m], or a dict by joint; (n, nq) for n instances.  A `linkwork.Simulator` is shown with its
        configuration and time, and with the forces of its `linkwork.simulation.ContactSensor` as arrows.  A page shows
        at most 60 configurations a second: earlier ones are dropped, so a loop may call this at any rate.  ``robot`` is
        the name of the robot, by default the first one.  ``time`` [s] is the time of the configuration in a recording,
        by default the time of the simulator or of the clock.  A call after the page was closed has no effect.

        Raises ValueError for an invalid configuration, and for a recording, whose motion is fixed; UnknownNameError
        for an unknown robot.
        """
        page, live = self._page, self._live("update", robot)
        contacts: np.ndarray | None = None
        if hasattr(q, "_view_state"):
            q, own_time, contacts = q._view_state()
            time = own_time if time is None else time
        values = read_configuration(live.robot, "update", "q", q)
        expected = live.q.shape
        if values.shape != expected and (values.shape != expected[1:] or not live.is_single):
            shape = expected[1:] if live.is_single else expected
            raise ValueError(f"update: q: expected an array of shape {shape}, got shape {values.shape}")
        values = values.reshape(expected)
        t = None if time is None else finite_number("update", "time", time)
        if contacts is not None:
            points = live.in_picture_of_each(contacts[..., :3]) + page.origin
            name = "contact forces" if live is page.robots[0] else f"contact forces of {live.name}"
            self.show_forces(points.reshape(-1, 3), contacts[..., 3:].reshape(-1, 3), name=name)
        page.worker.post(("q", live.name), live.set, values)
        if page.recorder is not None:
            page.record(t, {live.name: values})

    def show_forces(
        self,
        points: ArrayLike,
        forces: ArrayLike,
        *,
        name: str = "forces",
        scale: float | None = None,
        color: tuple[float, float, float] = _FORCE_COLOR[:3],
    ) -> None:
        """Show arrows, such as contact forces, instead of the arrows of the same name, and return at once.

        ``points`` (k, 3) [m] are where the arrows start, and ``forces`` (k, 3) [N] their vectors, in world axes.
        ``scale`` [m/N] is the length of an arrow for each newton; by default the robot's weight has a length of 1.6
        times the radius of the picture.  ``color`` has red, green and blue in [0, 1].
        Empty arrays remove the arrows.

        Raises ValueError for arrays of other shapes, and values that are not finite.
        """
        starts = finite_array("show_forces", "points", points, shape=(None, 3))
        vectors = finite_array("show_forces", "forces", forces, shape=(len(starts), 3))
        red, green, blue = finite_array("show_forces", "color", color, shape=(3,)).tolist()
        page = self._page
        length = self._force_scale() if scale is None else positive("show_forces", "scale", scale)
        page.arrow_styles[name] = (red, green, blue, 1.0), length
        page.shown_arrows = page.shown_arrows | {name: (starts, vectors)}
        page.worker.post(("arrows", name), page.draw_arrows, name, starts, vectors, length, (red, green, blue, 1.0))

    def pace(self, dt: float) -> None:
        """Wait until the next step of a loop is due, ``dt`` [s] after the last call divided by the speed of the page.

        The page gets buttons for pause and single steps, and a choice of speed. While it is paused, the call waits. It
        returns at once after the page was closed.
        """
        step = non_negative("pace", "dt", dt)
        if self.is_open:
            self._page.pace_controls().wait(step)

    # -- recording

    def start_recording(self) -> None:
        """Record the content of the page from now on, at most 60 frames each second of time.

        Raises ValueError for a page without a robot that can move.
        """
        self._live("start_recording", None)
        self._page.start_recording()

    def stop_recording(self) -> SceneDocument:
        """End the recording, and return it as a document with all frames of time.

        Raises ValueError if nothing was recorded.
        """
        document = self._page.stop_recording()
        if document is None:
            raise ValueError("stop_recording: nothing was recorded; call start_recording first")
        return document

    # -- end

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the window in the browser is closed, or until Ctrl-C, which closes the page.

        Returns True if the page is closed, and False if it is open after ``timeout`` [s].
        """
        limit = None if timeout is None else non_negative("wait", "timeout", timeout)
        try:
            return self._page.worker.wait(limit)
        except KeyboardInterrupt:
            self.close()
            return True

    def close(self) -> None:
        """Close the page: its threads and its socket end."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = f"at {self.url}" if self.is_open else "closed"
        return f"<View of {self._page.document.title!r} {state}>"

    def _repr_html_(self) -> str:
        """Return an HTML iframe with the page, for notebooks on this machine."""
        if not self.is_open:
            return html_text.escape(repr(self))
        return f'<iframe src="{html_text.escape(self.url)}" width="100%" height="600" style="border:0"></iframe>'

    def _live(self, caller: str, name: str | None) -> LiveRobot:
        page = self._page
        live = page.robot(name)
        if live is None:
            if not page.robots:
                raise ValueError(f"{caller}: expected a page with a robot that can move, got {page.document.title!r}")
            raise UnknownNameError("robot", name, self.robots, where=f"{caller}: robot")
        return live

    def _force_scale(self) -> float:
        """Return the length of arrows per force [m/N], with which the robot's weight is clearly visible."""
        for live in self._page.robots:
            try:
                weight = float(live.robot.mass) * float(np.linalg.norm(live.robot.gravity))
            except ValueError:
                continue
            if weight > 0.0:
                return _FORCE_LENGTH * self._page.size / weight
        return 0.01 * self._page.size


_MAX_PORT = 65535


@public
def open_view(document: SceneDocument, *, port: int | None = None, open_browser: bool = True) -> View:
    """Serve a live page of a document on 127.0.0.1, open it in the browser, and return its `View`.

    ``port`` is by default, and for 0, the first free one from 8080 on.  ``open_browser=False`` opens no window:
    `View.url` is the address.  On Linux without a display, none is opened either.

    Raises ImportError, with the installation command, without viser; OSError for a port that is in use; ValueError
    for a port outside of 0 to 65535, and for a document with invalid arrays.
    """
    if port is not None:
        port = integer("show", "port", port, least=0, most=_MAX_PORT) or None
    check_document("show", document)
    view = View(document, port=port)
    if open_browser and _has_display():
        webbrowser.open(view.url)
    return view


def _has_display() -> bool:
    """Return False on Linux without a display, where a browser in the terminal would stop the program."""
    if sys.platform.startswith(("win", "darwin")):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
