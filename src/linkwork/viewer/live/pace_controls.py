"""Pause, single steps and speed for a loop of the user that shows its robot in a live page."""

from __future__ import annotations

import threading
import time
from typing import Any

from linkwork.viewer.live.gui_events import when_changed, when_clicked
from linkwork.viewer.live.time_controls import SPEEDS

__all__ = ["PaceControls"]

_FASTEST = "as fast as possible"
_LATE = 0.25  # [s] behind the clock, above which the clock starts anew


class PaceControls:
    """Controls of a loop, which calls `wait` once for each of its steps."""

    def __init__(self, gui: Any) -> None:
        with gui.add_folder("Loop"):
            self.pause = gui.add_button("Pause")
            """Button that pauses and continues."""
            self.step = gui.add_button("Step")
            """Button that permits one step."""
            self.speed = gui.add_dropdown("Speed", (*SPEEDS, _FASTEST), initial_value="1")
            """Dropdown of the speed, relative to real time."""
        self._changed = threading.Condition()
        self._paused, self._steps, self._ended = False, 0, False
        self._due: float | None = None
        when_clicked(self.pause, self.toggle)
        when_clicked(self.step, self.permit_step)
        when_changed(self.speed, lambda _: self._wake())

    def toggle(self) -> None:
        """Pause or continue."""
        self._paused = not self._paused
        self.pause.label = "Continue" if self._paused else "Pause"
        self._wake()

    def permit_step(self) -> None:
        """Pause, and let one step pass."""
        if not self._paused:
            self.toggle()
        with self._changed:
            self._steps += 1
            self._changed.notify_all()

    def wait(self, dt: float) -> None:
        """Wait until a step of ``dt`` [s] is due, or until it is permitted while the loop is paused."""
        with self._changed:
            if self._paused and not self._ended:
                self._changed.wait_for(lambda: self._steps or not self._paused or self._ended)
                self._steps = max(self._steps - 1, 0)
                self._due = None
                return
        speed = self.speed.value
        if speed == _FASTEST:
            self._due = None
            return
        now = time.perf_counter()
        due = (now if self._due is None else self._due) + dt / float(speed)
        self._due = due if due > now - _LATE else now
        if due > now:
            with self._changed:
                self._changed.wait_for(lambda: self._ended or self._paused, due - now)

    def end(self) -> None:
        """Let all waiting loops continue, for good."""
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()
