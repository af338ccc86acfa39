"""Time bar of a live page with play, pause, step, speed and plots; and pause and speed of a user's loop."""

from __future__ import annotations

import bisect
import math
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork._util.messages import escaped
from linkwork.viewer.document import Plot, SceneDocument
from linkwork.viewer.live.worker import PERIOD, Worker, when_changed, when_clicked

__all__ = ["PaceControls", "TimeControls"]

_PLOT_PERIOD = 0.2  # [s] between two updates of the marks in plots
_PLOT_POINTS = 400  # most samples of a curve
_COLORS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#000000")
_SHADE = "rgba(136, 136, 136, 0.2)"  # outside of limits
_NEAR = 0.4  # share of the range of values within which a limit enters the plot
_ROUNDING = 1e-9  # relative range of values that count as constant
_LEGEND = 10  # most series with a legend
_SMALL = 0.02  # range of values, below which a power of ten stands beside the unit
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5", "10")


class TimeControls:
    """Controls that choose the frame of time to show; ``show(index)`` draws the frame."""

    def __init__(self, gui: Any, document: SceneDocument, worker: Worker, show: Callable[[int], None]) -> None:
        self._times = np.asarray(document.times, dtype=float)
        self._pace = document.pace
        self._show = show
        self.index = 0
        """Index of the frame that is shown."""
        self._playing_since: tuple[float, float] | None = None  # clock and time [s] where playing began
        first, last = float(self._times[0]), float(self._times[-1])
        step = max((last - first) / 1000.0, 1e-6)
        label = "Time [s]" if document.is_timed else f"{document.axis[:1].upper()}{document.axis[1:]}"
        self.bar = gui.add_slider(label, first, last, step, first)
        """Slider of the time."""
        self.play = gui.add_button("Play")
        """Button that plays and pauses."""
        self.back, self.forward = gui.add_button("Step back"), gui.add_button("Step forward")
        """Buttons that show the next frame."""
        self.speed = gui.add_dropdown("Speed", SPEEDS, initial_value="1")
        """Dropdown of the speed, relative to real time."""
        self.repeat = gui.add_checkbox("Repeat", True)
        """Checkbox to begin again at the end."""
        axis = "t [s]" if document.is_timed else document.axis
        self._marks = [_PlotMark(gui, self._times, plot, axis) for plot in document.plots]
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
        """Start playing, from the beginning if the end is shown; pause if it is playing."""
        if self.is_playing:
            self._pause()
            return
        if self.index == len(self._times) - 1:
            self._go(0)
        self._playing_since = time.perf_counter(), float(self._times[self.index])
        self.play.label = "Pause"

    def step(self, count: int) -> None:
        """Pause, and show the frame that is ``count`` frames later."""
        self._pause()
        self._go(min(max(self.index + count, 0), len(self._times) - 1))

    def go_to(self, t: float) -> None:
        """Show the last frame at or before a time [s]; playing continues from that frame."""
        self._go(self._frame_at(t))
        if self.is_playing:
            self._playing_since = time.perf_counter(), t

    def advance(self) -> float | None:
        """While playing, show the frame for the present time and return the seconds until the next; None if paused."""
        if self._playing_since is not None:
            clock, begin = self._playing_since
            t = begin + self._pace * float(self.speed.value) * (time.perf_counter() - clock)
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
        """Continue playing from the current time with the new speed."""
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
        """Move the time marks of the plots, but not too often.

        Return the time [s] to wait before the next move, or None if all marks are up to date.
        """
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
    """A plot with a vertical line at the current time, and with limits.

    If all curves have the same limits, the range outside is shaded; other limits are dashed lines.
    """

    def __init__(self, gui: Any, times: np.ndarray, plot: Plot, axis: str) -> None:
        import viser.uplot as uplot

        count = min(len(times), _PLOT_POINTS)
        samples = np.unique(np.round(np.linspace(0, len(times) - 1, count)).astype(int))
        limits = [_Limit(x, side) for side, x in (("lower", plot.lower), ("upper", plot.upper)) if x is not None]
        values = np.asarray(plot.values, dtype=float)[samples]
        low, high = _range(values, np.concatenate([limit.values for limit in limits] or [np.empty(0)]))
        power = math.floor(math.log10(high - low) / 3.0) * 3 if high - low < _SMALL else 0
        factor = 10.0**-power  # uPlot shows three decimals
        self._low, self._high = factor * low, factor * high
        self.index = 0
        self._times, self._curves = times.astype(float), [times[samples].astype(float), *factor * values.T]
        names = [escaped(name) for name in plot.names]
        series = [uplot.Series(label=axis)]
        series += [uplot.Series(label=name, stroke=_color(k), width=1.5) for k, name in enumerate(names)]
        for limit in limits:
            edge = self._low if limit.side == "lower" else self._high
            for k, value in limit.lines():
                name = limit.name if k is None else f"{limit.name} of {names[k]}"
                line = uplot.Series(label=name, stroke="#888888" if k is None else _color(k), width=1.0, dash=(4, 4))
                if k is None:
                    line["fill"], line["fillTo"] = _SHADE, edge
                series.append(line)
                self._curves.append(np.full(len(samples), factor * value))
        series.append(uplot.Series(label="now", stroke="#888888", width=1.0))
        for curve in series[1:]:
            curve["points"] = uplot.Series_Points(show=False)
        scale = f"10{str(power).translate(_SUPERSCRIPTS)} " if power else ""
        unit = f"{scale}{plot.unit}".strip()
        self._chart = gui.add_uplot(
            self._with_mark(0),
            tuple(series),
            title=escaped(f"{plot.title} [{unit}]" if unit else plot.title),
            scales={"x": uplot.Scale(time=False), "y": uplot.Scale(range=(self._low, self._high))},
            legend=uplot.Legend(show=len(series) <= _LEGEND),
            aspect=1.6,
        )

    def move(self, index: int) -> None:
        """Move the vertical line to a frame."""
        self.index = index
        self._chart.data = self._with_mark(index)

    def _with_mark(self, index: int) -> tuple[np.ndarray, ...]:
        """Return the arrays of the curves with three more samples at the time of a frame, and an array with a mark.

        The last array has a peak at that time, which appears as a vertical line.
        """
        x, t = self._curves[0], self._times[index]
        position = int(np.searchsorted(x, t))
        with_mark = [np.insert(y, position, [float(np.interp(t, x, y))] * 3) for y in self._curves]
        peak = np.full(len(x) + 3, self._low)
        peak[position + 1] = self._high
        return (*with_mark, peak)


class _Limit:
    """Lower or upper limits of the curves of a plot."""

    def __init__(self, values: np.ndarray, side: str) -> None:
        self.values, self.side, self.name = np.asarray(values, dtype=float), side, f"{side} limit"

    def lines(self) -> list[tuple[int | None, float]]:
        """Return the lines to draw, as pairs of the index of a curve (None if all share the limit) and the value."""
        first = float(self.values[0])
        if np.isfinite(first) and (self.values == first).all():
            return [(None, first)]
        return [(k, float(x)) for k, x in enumerate(self.values) if np.isfinite(x)]


def _color(k: int) -> str:
    return _COLORS[k % len(_COLORS)]


def _range(values: np.ndarray, limits: np.ndarray) -> tuple[float, float]:
    """Return the vertical range of a plot: that of its values, extended by limits near them."""
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    near = _NEAR * (high - low)
    shown = limits[(limits > low - near) & (limits < high + near)].tolist()
    low, high = min([low, *shown]), max([high, *shown])
    is_constant = high - low <= _ROUNDING * max(abs(low), abs(high))
    margin = 1.0 if is_constant else 0.05 * (high - low)
    return low - margin, high + margin


_FASTEST = "as fast as possible"
_LATE = 0.25  # [s] behind the clock, above which the clock starts anew


class PaceControls:
    """Controls of a user's loop, which calls `wait` once in each step."""

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
        """Pause the loop, or continue it."""
        self._paused = not self._paused
        self.pause.label = "Continue" if self._paused else "Pause"
        self._wake()

    def permit_step(self) -> None:
        """Pause the loop, and let it do a single step."""
        if not self._paused:
            self.toggle()
        with self._changed:
            self._steps += 1
            self._changed.notify_all()

    def wait(self, dt: float) -> None:
        """Wait until a step of ``dt`` [s] is due; while paused, until a single step is permitted."""
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
        """Let all waiting loops continue, and never wait again."""
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()
