"""Controls of a live page for one robot: sliders of its joints, configurations, and a handle on a frame."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from linkwork._util.messages import escaped
from linkwork.viewer.live.live_robot import LiveRobot
from linkwork.viewer.live.worker import Worker, when_changed, when_clicked
from linkwork.viewer.rotations import pose_of, quaternions

__all__ = ["FrameHandle", "JointSliders"]

_SLIDER_PERIOD = 0.1  # [s] between two updates of sliders that follow a motion
_STEPS = {"rad": 0.001, "m": 0.0001, "1": 0.001, "°": 0.1}
_DECIMALS = {"rad": 4, "m": 5, "1": 4, "°": 2}
_NO_FRAME = "(none)"


class JointSliders:
    """Sliders of all joint coordinates, and the choice of a configuration."""

    def __init__(self, gui: Any, live: LiveRobot, worker: Worker) -> None:
        self._live = live
        self._shown_at = -math.inf
        self._presets = _presets(live)
        names = [*self._presets]
        self.degrees = gui.add_checkbox("Degrees", False, hint="show angles in degrees")
        """Checkbox for the unit of angles."""
        self.sliders = [self._add_slider(gui, k) for k in range(len(live.coordinates))]
        """Sliders in the order of `LiveRobot.coordinates`."""
        self.preset = gui.add_dropdown("Configuration", names, initial_value=names[0])
        """Dropdown of configurations."""
        self.apply = gui.add_button("Go to configuration")
        self.random = gui.add_button("Random configuration")

        def apply(*_: Any) -> None:
            worker.post(("q", live.name), lambda: live.take(self._presets[self.preset.value]))

        when_changed(self.preset, apply)
        when_clicked(self.apply, apply)
        when_clicked(self.random, lambda: worker.post(("q", live.name), live.take_random))
        when_changed(self.degrees, lambda _: worker.post(("unit", live.name), self._change_unit))
        for k, slider in enumerate(self.sliders):
            self._listen(slider, k, worker)

    def follow(self) -> float | None:
        """Update the sliders to the current configuration.

        If the last update was too recent, return the time [s] to wait instead.
        """
        early = self._shown_at + _SLIDER_PERIOD - time.perf_counter()
        if early > 0.0:
            return early
        self._shown_at = time.perf_counter()
        q = self._live.q[0]
        for slider, coordinate in zip(self.sliders, self._live.coordinates, strict=True):
            unit = self._unit(coordinate.unit)
            value = coordinate.value(q) * _factor(unit)
            if abs(value - slider.value) > 0.51 * 10.0 ** -_DECIMALS[unit]:
                slider.value = round(value, _DECIMALS[unit])
        return None

    def _listen(self, slider: Any, k: int, worker: Worker) -> None:
        live, coordinate = self._live, self._live.coordinates[k]

        def moved(value: float) -> None:
            target = float(value) / _factor(self._unit(coordinate.unit))
            worker.post(("q", live.name), live.slide, coordinate, target)

        when_changed(slider, moved)

    def _add_slider(self, gui: Any, k: int) -> Any:
        coordinate = self._live.coordinates[k]
        value = coordinate.value(self._live.q[0])
        low, high = _range(coordinate.lower, coordinate.upper, value)
        return gui.add_slider(
            _label(coordinate.name, coordinate.unit),
            low,
            high,
            _STEPS[coordinate.unit],
            round(min(max(value, low), high), _DECIMALS[coordinate.unit]),
            hint=_limits_text(coordinate.limited, low, high, coordinate.unit),
        )

    def _change_unit(self) -> None:
        """Show angles in degrees or radians, as the checkbox says."""
        q = self._live.q[0]
        for slider, coordinate in zip(self.sliders, self._live.coordinates, strict=True):
            unit = self._unit(coordinate.unit)
            if coordinate.unit == "rad":
                low, high = _range(coordinate.lower, coordinate.upper, coordinate.value(q))
                factor = _factor(unit)
                slider.label = _label(coordinate.name, unit)
                slider.hint = _limits_text(coordinate.limited, factor * low, factor * high, unit)
                slider.min, slider.max, slider.step = factor * low, factor * high, _STEPS[unit]
                slider.value = round(factor * coordinate.value(q), _DECIMALS[unit])

    def _unit(self, unit: str) -> str:
        return "°" if unit == "rad" and self.degrees.value else unit


class FrameHandle:
    """Handle on a frame of one robot that can be dragged; inverse kinematics moves the robot after it."""

    def __init__(self, gui: Any, scene: Any, live: LiveRobot, worker: Worker, root: str, size: float) -> None:
        self._live = live
        robot = live.robot
        self._frames = {escaped(name): name for name in robot.frames if robot.moving_joints(name)}
        self.frame = gui.add_dropdown("Handle on frame", [_NO_FRAME, *self._frames], initial_value=_NO_FRAME)
        """Dropdown of the frames that joints move."""
        self.position_only = gui.add_checkbox(
            "Position only", robot.nv < 6, hint="the handle leaves the orientation free"
        )
        """Checkbox that leaves the orientation of the frame free."""
        self.control = scene.add_transform_controls(
            f"{root}/handle", scale=0.3 * size, depth_test=False, disable_sliders=True, visible=False
        )
        """Handle in the scene."""
        self._dragging = False
        when_changed(self.frame, lambda _: worker.post(("handle", live.name), self._attach))

        async def dragged(event: Any) -> None:
            X = pose_of(event.target.wxyz, event.target.position)
            is_end = event.phase == "end"
            self._dragging = not is_end
            worker.post(("q", live.name), self._drag, X, is_end)

        self.control.on_update(dragged)

    def follow(self) -> None:
        """Move the handle with the robot, unless it is being dragged."""
        if self.control.visible and not self._dragging:
            X = self._live.pose(self._frames[self.frame.value])
            self.control.wxyz, self.control.position = quaternions(X[:3, :3]), X[:3, 3]

    def _attach(self) -> None:
        self._dragging = False
        self.control.visible = self.frame.value != _NO_FRAME
        self.follow()

    def _drag(self, X: np.ndarray, is_end: bool) -> None:
        if self.frame.value != _NO_FRAME:
            self._live.drag(self._frames[self.frame.value], X, bool(self.position_only.value), is_end)


def _presets(live: LiveRobot) -> dict[str, np.ndarray]:
    """Return the configurations that the page offers, by name."""
    robot = live.robot
    presets = {"as shown first": np.array(live.q[0]), "neutral": np.asarray(robot.neutral())}
    limited = [coordinate for coordinate in live.coordinates if coordinate.limited]
    if limited:
        middle = np.array(live.q[0])
        for coordinate in limited:
            middle = coordinate.changed(middle, 0.5 * (coordinate.lower + coordinate.upper))
        presets["middle of the limits"] = middle
    for named in robot.named_configurations:
        name = escaped(named.name)
        presets[name if name not in presets else f"{name} (of the file)"] = np.asarray(named.q)
    return presets


def _range(low: float, high: float, value: float) -> tuple[float, float]:
    """Return the range of a slider from its limits, extended to include the current ``value``."""
    return min(low, value), max(high, value)


def _factor(unit: str) -> float:
    return 180.0 / math.pi if unit == "°" else 1.0


def _label(name: str, unit: str) -> str:
    return name if unit == "1" else f"{name} [{unit}]"


def _limits_text(limited: bool, low: float, high: float, unit: str) -> str:
    text = f"{low:.4g} to {high:.4g}" + ("" if unit == "1" else f" {unit}")
    return f"limits: {text}" if limited else f"no limits; slider: {text}"
