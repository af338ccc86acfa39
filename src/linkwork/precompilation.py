"""Compilation ahead of the first use, for container images, services and caches that cannot be written to.

Functions of the reference are compiled from their requests.  Methods that compile several kernels, such as
`Robot.plan`, are called once with an example.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from linkwork import geometry
from linkwork._util.foreign_names import ROBOT
from linkwork._util.progress import Progress
from linkwork._util.thread_tasks import in_parallel
from linkwork._util.unknown_names import foreign_hint, option_hint
from linkwork.errors import UnknownNameError
from linkwork.kernels.compiler_api import make_ready, wait_for_compiler, wait_for_shared_state
from linkwork.kernels.function_request import Request, read_request
from linkwork.kernels.robot_base import RobotBase

__all__ = ["EXAMPLES", "PrecompilingMethods"]


class PrecompilingMethods(RobotBase):
    """The method of `Robot` that compiles functions before their first use."""

    __slots__ = ()

    def precompile(
        self,
        functions: Sequence[Any],
        *,
        scene: geometry.Scene | None = None,
        progress: bool | Callable[[Progress], Any] | None = None,
    ) -> None:
        """Compile functions ahead of their first use, and store their best code in the cache on disk.

        ``functions`` is a list with entries of three kinds:

        - functions of one kernel, requested as in `compile`: ``"inverse_dynamics"``, ``("jacobian", "hand")``.  They
          are compiled for one state and for batches, several in parallel.
        - methods that compile several kernels: ``"plan"``, ``"timed"`` (the time-optimal timing of a plan),
          ``"simulate"``, ``("inverse_kinematics", "hand")``, ``"distances"``, ``"minimum_distance"``,
          ``"nearest_pair"``, ``"in_collision"``, ``"is_motion_free"``.  Each is called once with an example, and with
          its options: ``("simulate", {"contacts": ground})``.
        - functions without arguments, which are called: ``lambda: problem.solve(q)``, ``lambda: law(0.0, q, v)``.

        ``scene`` is the scene of obstacles for the methods that accept one.  A later process with the same cache
        neither traces nor compiles what these calls need.  ``progress`` True shows a bar on standard error (the
        default on a terminal); a function receives a `linkwork.Progress`.

        >>> import linkwork as lw
        >>> robot = lw.load("double_pendulum")
        >>> robot.precompile(["inverse_dynamics", ("pose", "tip"), "simulate"], progress=False)

        Raises the errors of `compile` for unknown functions, before anything is compiled, and the errors of the calls.
        """
        if isinstance(functions, (str, Mapping)) or not isinstance(functions, Iterable):
            raise TypeError(f"precompile: functions: expected a list of functions, got {functions!r}")
        requests: dict[Request, None] = {}
        examples, calls = [], []
        for entry in functions:
            name, *values = entry if isinstance(entry, (tuple, list)) and entry else (entry,)
            if isinstance(name, str) and name in EXAMPLES:
                options = dict(values.pop()) if values and isinstance(values[-1], Mapping) else {}
                _check_options(self, name, options)
                examples.append(partial(EXAMPLES[name], self, scene, *values, **options))
            elif callable(entry) and getattr(entry, "__name__", "") not in self._subject.rows:
                calls.append(entry)
            elif isinstance(name, str) and name not in self._subject.rows:
                known = [*self._subject.rows, *EXAMPLES]
                raise UnknownNameError("function", name, known, foreign_hint(name, (ROBOT,), known))
            else:
                requests[read_request(self._subject, entry)] = None
        wait_for_shared_state()  # or later processes would not find this code
        tasks = [*(partial(self._compile_best, request) for request in requests), *examples]
        in_parallel("precompile", tasks, "compiling", progress, last=calls)
        wait_for_compiler()

    def _compile_best(self, request: Request) -> None:
        """Compile the best code of a request, both for single calls and for batches."""
        self._prepared(request)
        make_ready(self._kernel(request.label, {request.label: request}), best=True)


# -- methods that compile several kernels, called with an example


def _check_options(robot: RobotBase, name: str, options: Mapping[str, Any]) -> None:
    """Raise TypeError for an option that the method does not have."""
    if name == "timed":
        from linkwork.motion import time_optimal as method
    else:
        method = getattr(robot, name)
    known = [*inspect.signature(method).parameters]
    for option in options:
        if option not in known:
            raise TypeError(
                f"precompile: functions: {name}: no option named {option!r}; {option_hint(name, option, known)}"
            )


def _states(q: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return one state as a single state, as a batch of one, and as a batch of several: each has its own code."""
    return q, q[None], np.repeat(q[None], 4, axis=0)


def _distances(name: str, robot: Any, scene: Any, **options: Any) -> None:
    q = robot.neutral()
    for state in _states(q):
        getattr(robot, name)(state, scene, **options)


def _is_motion_free(robot: Any, scene: Any, **options: Any) -> None:
    q = robot.neutral()
    for state in _states(q):
        robot.is_motion_free(state, state, scene, **options)


def _inverse_kinematics(robot: Any, scene: Any, *frames: str, **options: Any) -> None:
    if len(frames) != 1:
        raise TypeError(
            f'precompile: inverse_kinematics: expected ("inverse_kinematics", frame), or with a dict of options, got '
            f"{('inverse_kinematics', *frames)!r}"
        )
    q = robot.neutral()
    for state in _states(q):
        robot.inverse_kinematics(robot.pose(state, frames[0]), frames[0], **options)


def _plan(robot: Any, scene: Any, **options: Any) -> Any:
    """Plan between two equal collision-free configurations, and compile the kernels that other plans need."""
    from linkwork.planning.search.kernel_planner import compile_searches

    margin = options.get("margin", 0.0)
    margin = margin if isinstance(margin, (int, float)) else 0.0
    start = options.pop("start", None)
    if start is None:
        candidates = np.concatenate([robot.neutral()[None], robot.random_configuration(seed=0, size=_NUM_CANDIDATES)])
        inside = ((candidates >= robot.lower) & (candidates <= robot.upper)).all(axis=1)
        free = inside & ~np.asarray(robot.in_collision(candidates, scene, margin=margin))
        if not free.any():
            raise ValueError(
                f"precompile: plan: expected a collision-free configuration among {len(candidates)}, got none; pass "
                f'one, as in ("plan", {{"start": q}})'
            )
        start = candidates[int(np.flatnonzero(free)[0])]
    goal = options.pop("goal", start)
    result = robot.plan(start, goal, scene, **options)
    compile_searches(result._space, np.atleast_2d(start)[0])
    return result


def _timed(robot: Any, scene: Any, **options: Any) -> None:
    """Time a short plan within the robot's limits and those of the options, by default 1 rad/s² for accelerations."""
    if not {"acceleration", "torque"} & options.keys():
        options["acceleration"] = 1.0
    start = _plan(robot, scene).path[0]
    goal = robot.integrate(start, np.full(robot.nv, _SHORT))
    _plan(robot, scene, start=start, goal=np.clip(goal, robot.lower, robot.upper)).timed(**options)


def _simulate(robot: Any, scene: Any, **options: Any) -> None:
    """Simulate with steps of negligible motion: the compiled code is that of any step."""
    start = options.pop("q", robot.neutral())
    if "duration" in options:
        robot.simulate(start, **options)
        return
    step = options["dt"] = _STEP
    for records in _RECORDS:
        robot.simulate(start, duration=records * step * options.get("record_every", 1), **options)


_NUM_CANDIDATES = 256  # random configurations among which one is free of collisions
_SHORT = 0.01  # [rad, m] length of a plan by joint
_STEP = 1e-9  # [s]
_RECORDS = (20, 50, 200)  # of simulations, for which there are three kernels
_DISTANCES = ("distances", "minimum_distance", "nearest_pair", "in_collision")

EXAMPLES: Mapping[str, Callable[..., Any]] = {
    **{name: partial(_distances, name) for name in _DISTANCES},
    "is_motion_free": _is_motion_free,
    "inverse_kinematics": _inverse_kinematics,
    "plan": _plan,
    "timed": _timed,
    "simulate": _simulate,
}
"""Methods that compile several kernels: functions of a robot, a scene, further arguments and options."""
