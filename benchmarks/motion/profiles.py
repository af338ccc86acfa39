"""Profiles from state to state, compared with ruckig if it is installed."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.tables.figure_rows import MotionRow
from benchmarks.tables.targets import MOTION, Target
from linkwork.motion.profiles.profile_kinds import KINDS, profile_kernel

__all__ = ["profile_rows"]

JOINTS = 7
BATCH = 1024


def profile_rows(quick: bool) -> list[MotionRow]:
    """Seven joints, jerk-limited: from rest to rest, and between any states."""
    rows: list[MotionRow] = []
    for title, moving in (("rest to rest", False), ("any states at both ends", True)):
        rows += _beside(title, moving, quick)
    return rows + _as_short(2_000 if quick else 100_000)


def _cases(rng: np.random.Generator, count: int, n: int, moving: bool) -> list[np.ndarray]:
    """States (count, n) that are possible, some of their numbers 0 or at a limit, and limits."""
    size = 4 * count * n + 64
    results: list[np.ndarray] = []
    many = 0
    while many < count * n:
        V, V_down, A, B = rng.uniform(0.3, 3.0, (4, size))
        J = rng.uniform(0.3, 10.0, size)
        v, a = [], []
        for states, low, high in ((v, V_down, V), (a, B, A)):
            for _ in range(2):
                x = -low + (low + high) * rng.random(size)
                kind = rng.integers(0, 10, size)
                states.append(np.select([kind == 0, kind == 1, kind == 2], [0.0 * x, -low, high], x) * moving)
        after = [v[0] + 0.5 * a[0] * np.abs(a[0]) / J, v[1] - 0.5 * a[1] * np.abs(a[1]) / J]
        fine = np.all([(x <= V) & (x >= -V_down) for x in after], axis=0)
        distance = rng.choice([0.0, 0.05, 1.0, 10.0], size) * rng.uniform(-1.0, 1.0, size)
        rows = np.stack([0.0 * distance, distance, *v, *a, V, V_down, A, B, J, J])[:, fine]
        results.append(rows)
        many += rows.shape[1]
    joined = np.concatenate(results, axis=1)[:, : count * n]
    return [np.ascontiguousarray(x.reshape(count, n)) for x in joined]


def _ruckig() -> Any:
    try:
        import ruckig  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return None
    return ruckig


def _inputs(ruckig: Any, arrays: list[np.ndarray], count: int) -> list[Any]:
    results = []
    for k in range(count):
        q0, q1, v0, v1, a0, a1, V, V_down, A, B, J, _ = (x[k].tolist() for x in arrays)
        request = ruckig.InputParameter(len(q0))
        request.current_position, request.current_velocity, request.current_acceleration = q0, v0, a0
        request.target_position, request.target_velocity, request.target_acceleration = q1, v1, a1
        request.max_velocity, request.min_velocity = V, [-x for x in V_down]
        request.max_acceleration, request.min_acceleration, request.max_jerk = A, [-x for x in B], J
        results.append(request)
    return results


def _beside(title: str, moving: bool, quick: bool) -> list[MotionRow]:
    arrays = [*_cases(np.random.default_rng(1), BATCH, JOINTS, moving), np.zeros((BATCH, JOINTS))]
    kernel = profile_kernel(KINDS["jerk"], JOINTS, True, False)
    kernel(*arrays)
    few = 64 if quick else 256
    queries = [[x[k].copy() for x in arrays] for k in range(few)]
    peer = _ruckig()
    calls: dict[str, Callable[[], Any]] = {
        "one call": lambda: [kernel(*request) for request in queries],
        "batch": lambda: kernel(*arrays),
    }
    if peer is not None:
        otg, trajectory = peer.Ruckig(JOINTS), peer.Trajectory(JOINTS)
        requests = _inputs(peer, arrays[:-1], few)
        ours = kernel(*[x[:few] for x in arrays]).durations[:, 0]
        for request, T in zip(requests, ours, strict=True):
            if otg.calculate(request, trajectory) == peer.Result.Working:
                assert abs(T - trajectory.duration) <= 1e-9 * max(T, 1e-3), (T, trajectory.duration)
        calls["ruckig, one call"] = lambda: [otg.calculate(request, trajectory) for request in requests]
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(5 if quick else 25):
        for name, call in calls.items():
            begin = time.perf_counter()
            call()
            seconds[name].append((time.perf_counter() - begin) / (BATCH if name == "batch" else few))
    median = {name: statistics.median(x) for name, x in seconds.items()}
    theirs = median.get("ruckig, one call")
    return [
        MotionRow(f"7 joints, {title}: {name}", median[name], "s", MOTION["profiles", name], theirs, "ruckig")
        for name in ("one call", "batch")
    ]


def _as_short(count: int) -> list[MotionRow]:
    """Compare durations of one joint's profiles between random states with ruckig's, and check limits."""
    arrays = _cases(np.random.default_rng(2), count, 1, True)
    outputs = profile_kernel(KINDS["jerk"], 1, True, False)(*arrays, np.zeros(1))
    of = f"of {count} states of one joint"
    rows = [
        MotionRow(f"{of}, without a profile", float((outputs.status != 0).sum()), target=Target(0.0)),
        MotionRow(f"{of}, limits passed by", _passed(outputs, arrays), target=MOTION["profiles", "limits passed"]),
    ]
    peer = _ruckig()
    if peer is None:
        return rows
    otg, trajectory = peer.Ruckig(1), peer.Trajectory(1)
    longer = shorter = without = 0
    worst = 0.0
    for k, request in enumerate(_inputs(peer, arrays, count)):
        if otg.calculate(request, trajectory) != peer.Result.Working:
            without += 1
            continue
        apart = (outputs.durations[k, 0] - trajectory.duration) / max(trajectory.duration, 1e-3)
        worst = max(worst, apart)
        longer += apart > 1e-9
        shorter += apart < -1e-9
    return [
        *rows,
        MotionRow(f"{of}, longer than ruckig's by more than 1e-9", longer, target=MOTION["profiles", "longer"]),
        MotionRow(f"{of}, longer than ruckig's at most, relative", worst, target=Target(1e-9)),
        MotionRow(f"{of}, shorter than ruckig's by more than 1e-9", shorter),
        MotionRow(f"{of}, refused", 0.0, peer=without, peer_name="ruckig"),
    ]


def _passed(results: Any, arrays: list[np.ndarray]) -> float:
    """Return the maximum relative violation of limits and of final states."""
    _, q1, _, v1, _, _, V, V_down, A, B, J, _ = (x[:, 0] for x in arrays)
    c = results.coefficients[:, 0]
    h = np.diff(results.times[:, 0], axis=-1)
    worst = 0.0
    for order, low, high in ((1, -V_down, V), (2, -B, A), (3, -J, J)):
        p = c
        for _ in range(order):
            p = p[..., 1:] * np.arange(1.0, p.shape[-1])
        rate = p[..., 1:] * np.arange(1.0, p.shape[-1])
        at = [0.0 * h, h]
        if rate.shape[-1] == 2:  # velocity has an extreme where the acceleration is 0
            at.append(np.clip(-rate[..., 0] / np.where(rate[..., 1] == 0.0, 1e-300, rate[..., 1]), 0.0, h))
        for u in at:
            x = sum(p[..., k] * u**k for k in range(p.shape[-1]))
            beyond = np.maximum(x - high[:, None], low[:, None] - x) / np.maximum(high - low, 1e-9)[:, None]
            worst = max(worst, float(beyond.max()))
    u = h[:, -1]
    ends = [sum(c[:, -1, k] * u**k for k in range(4)), sum(k * c[:, -1, k] * u ** (k - 1) for k in range(1, 4))]
    scale = np.maximum(np.abs(q1), 1.0)
    return max(worst, float((np.abs(ends[0] - q1) / scale).max()), float((np.abs(ends[1] - v1) / (V + V_down)).max()))
