"""The phase plane (s, ṡ) of a time-optimal path: its speed, the greatest possible speed, and the active limits.

At a point of the path limits of second order are l ≤ A s̈ + B ṡ² + C ≤ h, half planes of (s̈, ṡ²).  The greatest ṡ at
which any s̈ obeys them all is where one of the lines that bound s̈ from above crosses one that bounds it from below.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork._util.plotting import COLORS, new_axes
from linkwork.motion.timing.limits import PathNumbers, PathRows

__all__ = ["fastest_speeds", "plot_phase_plane"]

_ACTIVE = 0.98  # of a limit
_STILL = 1e-6  # of the greatest speed: below it nothing is known of the path
_NONE = 1e29


def plot_phase_plane(timed: Any, asked: Any, axes: Any) -> Any:
    """Speed by place; with limits that were read, the greatest speed that they allow, and which is active by colour."""
    axes = new_axes(1, (8.0, 4.0)) if axes is None else axes
    axes.plot(timed.s, timed.speed, color="0.5", linewidth=1.0)
    top = 1.15 * float(timed.speed.max())
    if asked is not None:
        s, speed, rate, path = _along(timed)
        rows = asked.rows("plot", path)
        fastest = fastest_speeds(path, rows, asked.velocity)
        finite = np.where(fastest < _NONE, fastest, np.nan)
        axes.plot(s, finite, color="black", linewidth=0.8, linestyle="--", label="greatest speed")
        shares, names = _shares(path, rows, asked, speed, rate)
        active = np.where(shares.max(axis=-1) >= _ACTIVE, shares.argmax(axis=-1), -1)
        for place, k in enumerate(np.unique(active[active >= 0])):
            held = np.where(active == k, speed, np.nan)
            axes.plot(s, held, color=f"C{place}" if place > 9 else COLORS[place], linewidth=2.5, label=names[k])
        if np.isfinite(finite).any():
            top = max(top, min(1.15 * float(np.nanmax(finite)), 2.0 * top))
        axes.legend(fontsize="small", ncols=2)
    axes.set_xlabel("place on the path, s")
    axes.set_ylabel("ds/dt")
    axes.set_ylim(0.0, top)
    return axes


def _along(timed: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, PathNumbers]:
    """In the middle of segments, where it moves: s (n,), ṡ and s̈, and the path (n, 1, ...)."""
    h = np.diff(timed.t)
    u = timed.acceleration
    first, last = (u, u) if len(u) == len(h) else (u[:-1], u[1:])
    rate = 0.5 * (first + last)
    speed = timed.speed[:-1] + h * (0.5 * first + 0.125 * (last - first))
    s = timed.s[:-1] + h * (0.5 * timed.speed[:-1] + h * (0.125 * first + (last - first) / 48.0))
    moving = speed > _STILL * timed.speed.max()
    s, speed, rate = s[moving], speed[moving], rate[moving]
    q, v, a = timed.trajectory(timed.t[:-1][moving] + 0.5 * h[moving])
    once = v / speed[:, None]
    twice = (a - once * rate[:, None]) / speed[:, None] ** 2
    return s, speed, rate, PathNumbers(q[:, None], once[:, None], twice[:, None])


def fastest_speeds(path: PathNumbers, rows: PathRows, velocity: Any) -> np.ndarray:
    """By place (n,): the greatest ṡ that limits allow, whatever s̈ is."""
    once = path.first[:, 0]
    low, high = velocity
    with np.errstate(divide="ignore"):
        most = np.where(once > 0.0, high / once, np.where(once < 0.0, low / once, np.inf)).min(axis=-1, initial=np.inf)
        if rows.speeds is not None:
            lengths = np.linalg.norm(rows.speeds[:, 0], axis=-1)
            most = np.minimum(most, (rows.fastest / lengths).min(axis=-1))
    A, B = rows.first[:, 0], rows.second[:, 0]
    C = np.zeros_like(A) if rows.rest is None else rows.rest[:, 0]
    # a u + b x <= c
    a, b = np.concatenate([A, -A], axis=-1), np.concatenate([B, -B], axis=-1)
    c = np.concatenate([rows.upper - C, C - rows.lower], axis=-1)
    c = np.where(c < _NONE, c, np.inf)
    small = np.abs(a) <= 1e-12 * np.maximum(np.abs(a).max(axis=-1, keepdims=True), 1e-300)
    with np.errstate(divide="ignore", invalid="ignore"):
        square = np.where(small & (b > 0.0), c / b, np.inf).min(axis=-1)
        slope, side = np.where(small, 0.0, b / a), c / a
        up, down = ~small & (a > 0.0), ~small & (a < 0.0)
        steep = slope[:, :, None] - slope[:, None, :]
        room = side[:, :, None] - side[:, None, :]
        crossing = np.where(up[:, :, None] & down[:, None, :] & (steep > 0.0), room / steep, np.inf)
    square = np.minimum(square, crossing.min(axis=(1, 2)))
    result: np.ndarray = np.minimum(most, np.sqrt(np.maximum(square, 0.0)))
    return result


def _shares(
    path: PathNumbers, rows: PathRows, asked: Any, speed: np.ndarray, rate: np.ndarray
) -> tuple[np.ndarray, list[str]]:
    """How much of each limit is used (n, limits), and what they are called."""
    v = path.first[:, 0] * speed[:, None]
    parts, names = [_share(v, *asked.velocity)], [f"velocity of {name}" for name in asked.names]
    value = rows.first[:, 0] * rate[:, None] + rows.second[:, 0] * speed[:, None] ** 2
    if rows.rest is not None:
        value = value + rows.rest[:, 0]
    parts.append(_share(value, rows.lower, rows.upper))
    if asked.acceleration is not None:
        names += [f"acceleration of {name}" for name in asked.names]
    left = value.shape[-1] - (len(asked.names) if asked.acceleration is not None else 0)
    for limit in asked.own:
        own = asked.names if limit.name == "torque" else None
        count = np.size(limit.upper) if len(asked.own) > 1 else left
        names += [f"{limit.name} of {name}" for name in own] if own is not None else [limit.name] * int(count)
    count = sum(part.shape[-1] for part in parts)
    names = [*names, *["limit"] * (count - len(names))][:count]
    if rows.speeds is not None:
        parts.append(np.linalg.norm(rows.speeds[:, 0], axis=-1) * speed[:, None] / rows.fastest)
        names += [f"speed of {frame}" for frame in asked.speed]
    return np.concatenate(parts, axis=-1), names


def _share(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.where(high > 0.0, x / np.where(high > 0.0, high, 1.0), 0.0)
        down = np.where(low < 0.0, x / np.where(low < 0.0, low, -1.0), 0.0)
    result: np.ndarray = np.maximum(up, down)
    return result
