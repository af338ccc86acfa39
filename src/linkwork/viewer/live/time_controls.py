"""Bar of time of a live page: play, pause, step, speed, repeat, and plots with a mark at the current time."""

from __future__ import annotations

import bisect
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.viewer.document import Plot, SceneDocument
from linkwork.viewer.live.gui_events import when_changed, when_clicked
from linkwork.viewer.live.worker import PERIOD, Worker

__all__ = ["TimeControls"]

_PLOT_PERIOD = 0.2  # [s] between two updates of the marks in plots
_PLOT_POINTS = 400  # most samples of a curve
_COLORS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#000000")
SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5", "10")


class TimeControls:
    """Controls that choose the frame of time of a recording; ``show(index)`` draws it."""

    def __init__(self, gui: Any, document: SceneDocument, worker: Worker, show: Callable[[int], None]) -> None:
        self._times = np.asarray(document.times, dtype=float)
        self._show = show
        self.index = 0
        """Index of the frame that is shown."""
        self._playing_since: tuple[float, float] | None = None  # clock and time [s] where playing began
        first, last = float(self._times[0]), float(self._times[-1])
        step = max((last - first) / 1000.0, 1e-6)
        self.bar = gui.add_slider("Time [s]", first, last, step, first)
        """Slider of the time."""
        self.play = gui.add_button("Play")
        """Button that plays and pauses."""
        self.back, self.forward = gui.add_button("Step back"), gui.add_button("Step forward")
        """Buttons that show the next frame."""
        self.speed = gui.add_dropdown("Speed", SPEEDS, initial_value="1")
        """Dropdown of the speed, relative to real time."""
        self.repeat = gui.add_checkbox("Repeat", True)
        """Checkbox to begin again at the end."""
        self._marks = [_PlotMark(gui, self._times, plot) for plot in document.plots]
        self._marked_at = -math.inf
        when_changed(self.bar, lambda value: worker.post("time", self.go_to, float(value)))
        when_changed(self.speed, lambda _: worker.post("speed", self._restart))
        when_clicked(self.play, lambda: worker.post("play", self.toggle))
        when_clicked(self.back, lambda: worker.post("step", self.step, -1))
        when_clicked(self.forward, lambda: worker.post("step", self.step, 1))

    @property
    def is_playing(self) -> bool:
        """True while the time runs."""
        return self._playing_since is not None

    def toggle(self) -> None:
        """Play, from the begin if the end is shown; or pause."""
        if self.is_playing:
            self._pause()
            return
        if self.index == len(self._times) - 1:
            self._go(0)
        self._playing_since = time.perf_counter(), float(self._times[self.index])
        self.play.label = "Pause"

    def step(self, count: int) -> None:
        """Pause, and show the frame ``count`` frames later."""
        self._pause()
        self._go(min(max(self.index + count, 0), len(self._times) - 1))

    def go_to(self, t: float) -> None:
        """Show the last frame at or before a time [s]; playing goes on from there."""
        self._go(self._frame_at(t))
        if self.is_playing:
            self._playing_since = time.perf_counter(), t

    def advance(self) -> float | None:
        """Show the frame of now while playing; return the time [s] until the next one, or None if paused."""
        if self._playing_since is not None:
            clock, begin = self._playing_since
            t = begin + float(self.speed.value) * (time.perf_counter() - clock)
            if t <= self._times[-1]:
                self._go(self._frame_at(t))
            elif self.repeat.value:
                self.go_to(float(self._times[0]))
            else:
                self._go(len(self._times) - 1)
                self._pause()
        wait = self._mark()
        return PERIOD if self.is_playing else wait

    def _restart(self) -> None:
        """Continue at the current time with another speed."""
        if self.is_playing:
            self._playing_since = time.perf_counter(), float(self._times[self.index])

    def _pause(self) -> None:
        self._playing_since = None
        self.play.label = "Play"

    def _frame_at(self, t: float) -> int:
        return min(max(bisect.bisect_right(self._times, t + 1e-9) - 1, 0), len(self._times) - 1)

    def _go(self, index: int) -> None:
        if index != self.index:
            self.index = index
            self._show(index)
            self.bar.value = float(self._times[index])

    def _mark(self) -> float | None:
        """Move the marks of plots, not too often; return the time [s] to wait, or None if all are up to date."""
        if all(mark.index == self.index for mark in self._marks):
            return None
        early = self._marked_at + _PLOT_PERIOD - time.perf_counter()
        if early > 0.0:
            return early
        self._marked_at = time.perf_counter()
        for mark in self._marks:
            mark.move(self.index)
        return None


class _PlotMark:
    """A plot with a peak at the current time."""

    def __init__(self, gui: Any, times: np.ndarray, plot: Plot) -> None:
        import viser.uplot as uplot

        count = min(len(times), _PLOT_POINTS)
        self._samples = np.unique(np.round(np.linspace(0, len(times) - 1, count)).astype(int))
        values = np.asarray(plot.values, dtype=float)[self._samples]
        finite = values[np.isfinite(values)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
        margin = 0.05 * (high - low) or 1.0
        self._low, self._high = low - margin, high + margin
        self.index = -1
        self._data = (times[self._samples].astype(float), *np.ascontiguousarray(values.T))
        label = f"{plot.title} [{plot.unit}]" if plot.unit else plot.title
        series = [uplot.Series(label="t [s]")]
        series += [
            uplot.Series(label=name, stroke=_COLORS[k % len(_COLORS)], width=1.5) for k, name in enumerate(plot.names)
        ]
        series.append(uplot.Series(label="now", stroke="#888888", width=1.0))
        self._chart = gui.add_uplot(
            self._with_peak(0),
            tuple(series),
            title=label,
            scales={"x": uplot.Scale(time=False), "y": uplot.Scale(range=(self._low, self._high))},
            legend=uplot.Legend(show=len(plot.names) <= 8),
            aspect=1.6,
        )
        self.index = 0

    def move(self, index: int) -> None:
        """Move the peak to a frame."""
        self.index = index
        self._chart.data = self._with_peak(index)

    def _with_peak(self, index: int) -> tuple[np.ndarray, ...]:
        peak = np.full(len(self._samples), self._low)
        peak[int(np.abs(self._samples - index).argmin())] = self._high
        return (*self._data, peak)
