"""Dense output: trajectories through the records of a simulation, with jumps of events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import cond, scan
from linkwork.expr.scalar.functions import lt
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.motion.splines.spline import spline_of
from linkwork.motion.trajectory.trajectory import Trajectory
from linkwork.simulation.algorithms import adaptive_segments
from linkwork.simulation.algorithms.adaptive_runge_kutta import AdaptiveState, begun
from linkwork.simulation.events import EventRecord
from linkwork.simulation.rollout.simulated_dynamics import SimulatedDynamics
from linkwork.simulation.simulation_spec import SimulationSetup

__all__ = ["DenseOutput", "recorded_forces", "trajectory_through"]

_PARTS = 8  # substeps of each step in a call
_SAME = 1e-9  # distance of coincident records, relative to that of neighbouring records

_KERNELS: LazyCache[Kernel] = LazyCache(16)


def recorded_forces(t: Any, q: Any, v: Any, tau: Any) -> Any:
    """Return the joint forces of a step, to be recorded."""
    return tau


class _Stretch(NamedTuple):
    """Smooth section of a motion: states at times (n,), and the index of the step of each interval (n − 1,)."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    step: np.ndarray


@dataclass(frozen=True)
class DenseOutput:
    """Dense output of a Dormand-Prince simulation that recorded all steps, with the forces (..., n, nv) of each."""

    setup: SimulationSetup
    tau: np.ndarray
    parameters: Mapping[str, Any]
    leading: tuple[int, ...]

    def trajectory(self, environment: tuple[int, ...], stretch: _Stretch) -> Trajectory:
        """Return the trajectory of a smooth section, from the dense output of the method's own steps.

        The steps are computed again.  Raises ValueError for a step that needs more than 1000 substeps.
        """
        setup, nv = self.setup, self.setup.robot.nv
        parameter_values = {}
        for (name, x), (_, shape) in zip(self.parameters.items(), setup.parameters, strict=True):
            whole = np.broadcast_to(x, (*self.leading, *shape))
            parameter_values[name] = whole[environment]
        width = np.diff(stretch.t)
        tau = self.tau[environment][stretch.step + 1]
        start = begun([*stretch.q[0]], [*stretch.v[0]], 0.0, 1.0)
        count = len(width)
        state: Any = {
            name: np.broadcast_to(np.asarray(x, dtype=float), (count, *np.shape(x))).copy()
            for name, x in start._asdict().items()
        }
        state |= {"q": stretch.q[:-1], "v": np.pad(stretch.v[:-1], ((0, 0), (0, 4 * nv)))}
        state |= {"width": width}
        rows: list[Any] = []
        while (state["time"] < width * (1.0 - 1e-12)).any():
            more = {"parameters": parameter_values} if parameter_values else {}
            result = _parts(setup)(state=state, tau=tau, until=width, **more)
            state = result["state"]
            rows.append(result["rows"])
            if (state["steps"] > 1e3).any():
                raise ValueError("trajectory: expected at most 1000 substeps of a step; simulate with a shorter dt")
        start_, end, base, phi = (np.concatenate([getattr(x, k) for x in rows], axis=1) for k in _ROW)
        end = np.minimum(end, width[:, None])
        is_used = end > start_  # the other substeps were not needed
        whole = np.concatenate([x.whole for x in rows], axis=1)[is_used][:, None]
        r = np.moveaxis(phi[is_used].reshape(-1, 5, nv), 1, 0)
        powers = [
            r[0],
            (r[1] + r[2]) / whole,
            (r[3] + r[4] - r[2]) / whole**2,
            -(r[3] + 2.0 * r[4]) / whole**3,
            r[4] / whole**4,
        ]
        times = np.append((stretch.t[:-1, None] + start_)[is_used], stretch.t[-1])
        return Trajectory.polynomial(times, np.stack(powers, axis=-1), robot=setup.robot, base=base[is_used])


_ROW = ("start", "end", "base", "phi")


class _Row(NamedTuple):
    start: Any
    end: Any
    base: Any
    phi: Any
    whole: Any


def _parts(setup: SimulationSetup) -> Kernel:
    """Return the kernel that computes several of the method's adaptive substeps, each as one row of results."""

    def traced(state: Any, tau: Any, until: Any, parameters: Any = None) -> Any:
        dynamics = SimulatedDynamics.of(setup, parameters, until)
        segments = adaptive_segments(dynamics.system(list(tau)), 0.0, until, lambda x: array(list(x)))

        def further(state: AdaptiveState, _: Any) -> Any:
            def one(state: AdaptiveState) -> AdaptiveState:
                begun = segments.begun(0.0, state.q, state.v[: setup.robot.nv])
                return segments.further(begun._replace(inside=state)).inside  # type: ignore[no-any-return]

            needed = lt(state.time, until * (1.0 - 1e-12))
            start = state.time
            state = cond(needed, one, lambda s: s, state)
            row = _Row(start, state.time, state.q, state.phi, state.time - state.start)
            return state, row

        end, rows = scan(further, AdaptiveState(**state), None, length=_PARTS)
        return {"state": end._asdict(), "rows": rows}

    def compiled() -> Kernel:
        robot: Any = setup.robot
        n = robot.nv
        state = {"start": (), "time": (), "q": robot.configuration_space, "phi": (5 * n,), "v": (5 * n,)}
        shapes: dict[str, Any] = {"state": state | {"width": (), "steps": (), "near": ()}, "tau": (n,), "until": ()}
        if setup.parameters:
            shapes["parameters"] = dict(setup.parameters)
        return compile(traced, name="between", **shapes)

    key = (setup.robot, setup.passive, setup.friction, setup.contacts, setup.parameters, setup.parameter_names)
    return _KERNELS.get(key, compiled)


def trajectory_through(
    robot: Any,
    t: np.ndarray,
    q: np.ndarray,
    v: np.ndarray,
    events: Sequence[EventRecord],
    end: float | None,
    dense: DenseOutput | None,
    environment: tuple[int, ...],
) -> Trajectory:
    """Return the trajectory through the records (n, ...), in sections between jumps of events.

    It ends at the time ``end``, or at the last record.  ``dense`` is the method's dense output; without it the
    trajectory is cubic.  Raises ValueError for fewer than two records.
    """
    sections: list[Any] = []
    for stretch in _stretches(t, q, v, events, end):
        if dense is not None:
            section = dense.trajectory(environment, stretch)
        else:
            section = spline_of(robot, stretch.t, stretch.q, "hermite", None, {"velocity": stretch.v})
        sections += section.sections
    if not sections:
        raise ValueError(
            "trajectory: expected at least two records, got one: the environment stopped before its second"
        )
    return Trajectory(sections, robot)


def _stretches(t: Any, q: Any, v: Any, events: Sequence[EventRecord], end: float | None) -> list[_Stretch]:
    last = t[-1] if end is None else end
    near = _SAME * float(np.diff(t).min()) if len(t) > 1 else 0.0
    result: list[_Stretch] = []
    nodes: list[Any] = []

    def closed() -> None:
        if len(nodes) > 1:
            at, qs, vs, steps = (np.array(x) for x in zip(*nodes, strict=True))
            result.append(_Stretch(at, qs, vs, steps[:-1]))

    marks = [(float(x), k, None) for k, x in enumerate(t) if x <= last + near]
    jumps = [e for e in events if not (np.array_equal(e.q, e.next_q) and np.array_equal(e.v, e.next_v))]
    ends = [e for e in events if end is not None and abs(e.time - end) <= near]
    every: list[Any] = [*marks, *((e.time, 0, e) for e in {id(e): e for e in (*jumps, *ends)}.values())]
    for time, k, event in sorted(every, key=lambda x: (x[0], x[2] is not None)):
        step = int(np.searchsorted(t, time + near, side="right")) - 1
        if event is None:
            if not nodes or time > nodes[-1][0] + near:
                nodes.append((time, q[k], v[k], step))
            continue
        if nodes and time > nodes[-1][0] + near:
            nodes.append((time, event.q, event.v, step))
        closed()
        nodes = [(time, event.next_q, event.next_v, step)]
    closed()
    return result
