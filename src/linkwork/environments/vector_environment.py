"""Vector environments of a control task with gymnasium's interface, their kernels and rendered frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linkwork import Kernel
from linkwork._util.checked_arguments import public
from linkwork._util.file_search import Folders
from linkwork._util.pictures import Shown, show
from linkwork._util.plotting import pyplot, share_scale
from linkwork._util.validation import finite_array, integer
from linkwork.environments.control_tasks import TASKS, ControlTask
from linkwork.errors import UnknownNameError
from linkwork.expr import array, fmax, fmin, lt, or_, where
from linkwork.kernels import compile, real_array
from linkwork.simulation.initial_state_check import check_start
from linkwork.viewer.figures.robot_figures import draw_robot

__all__ = ["NAMESPACE", "VectorEnvironment", "register_tasks"]


try:
    import gymnasium
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError as error:  # pragma: no cover - depends on what is installed
    raise ImportError(
        'linkwork.environments needs gymnasium, which is not installed: pip install "linkwork[environments]"'
    ) from error
NAMESPACE = "linkwork"  # of the names registered with gymnasium
_UNBOUNDED = np.inf


@public
class VectorEnvironment(Shown, VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """A batch of environments of a `ControlTask`, or of one of `TASKS` by name, in one kernel.

    Actions (n, m) are limited to −1 and 1, observations (n, k) are float64.  An environment whose episode has ended is
    reset by the next step, which ignores its action: gymnasium's ``AutoresetMode.NEXT_STEP``.  Random values of an
    environment depend only on the ``seed`` of `reset` and its index, not on the number of environments.

    >>> from linkwork.environments import VectorEnvironment
    >>> envs = VectorEnvironment("cart_pole", num_envs=4)
    >>> observations, _ = envs.reset(seed=1)
    >>> observations, rewards, terminated, truncated, _ = envs.step(envs.action_space.sample())
    >>> observations.shape, rewards.shape, terminated.any()
    ((4, 4), (4,), np.False_)

    With ``render_mode="rgb_array"``, `render` draws them.  After `linkwork.environments` is imported,
    ``gymnasium.make_vec("linkwork/cart_pole-v0", num_envs=4)`` creates the same.

    Raises UnknownNameError for an unknown task or render mode, ValueError for actions of a wrong shape or that are not
    finite.
    """

    def __init__(self, task: str | ControlTask, num_envs: int = 1, render_mode: str | None = None) -> None:
        if isinstance(task, str):
            if task not in TASKS:
                raise UnknownNameError("task", task, TASKS)
            task = TASKS[task]()
        if not isinstance(task, ControlTask):
            raise TypeError(f"VectorEnvironment: task: expected a name or a ControlTask, got {task!r}")
        num_envs = integer("VectorEnvironment", "num_envs", num_envs, least=1)
        if render_mode is not None and render_mode not in MODES:
            raise UnknownNameError("render mode of VectorEnvironment", str(render_mode), MODES)
        self.task, self.num_envs, self.render_mode = task, num_envs, render_mode
        frames = round(1.0 / (task.dt * task.steps_per_action))  # [1/s]
        self.metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": [*MODES], "render_fps": frames}
        q, v, goal = initial_state(task, np.random.default_rng(0))
        self._observation_kernel, self._action_kernel = (
            observation_kernel(task, len(goal)),
            action_kernel(task, len(goal)),
        )
        observation = self._observation_kernel(q, v, goal)
        self.single_observation_space = gymnasium.spaces.Box(-_UNBOUNDED, _UNBOUNDED, observation.shape, np.float64)
        self.single_action_space = gymnasium.spaces.Box(-1.0, 1.0, (len(task.joints),), np.float64)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._q, self._v = np.zeros((num_envs, len(q))), np.zeros((num_envs, len(v)))
        self._goal = np.zeros((num_envs, len(goal)))
        self._count = np.zeros(num_envs, dtype=int)
        self._over = np.ones(num_envs, dtype=bool)
        self._generators: list[np.random.Generator] = []

    @property
    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """States q (n, nq) and v (n, nv) of the environments."""
        return self._q.copy(), self._v.copy()

    @public(seed=lambda caller, name, value: value)  # checked below: seeds exceed the counts of other arguments
    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Reset all environments; return observations (n, k) and an empty dict.

        ``seed`` restarts the random numbers, those of gymnasium's ``np_random``, too: a number for all environments, or
        one for each.  There are no ``options``.  Raises ValueError for seeds that are no integers from 0 on, another
        number of seeds than of environments, and options.
        """
        if options:
            raise ValueError(f"VectorEnvironment.reset: options: expected none, got {options!r}")
        if seed is not None or not self._generators:
            expected = f"VectorEnvironment.reset: seed: expected an integer from 0 on, or {self.num_envs} of them"
            whole = np.asarray(int(np.random.default_rng().integers(2**63)) if seed is None else seed)
            if whole.dtype.kind not in "iu" or whole.shape not in ((), (self.num_envs,)) or (whole < 0).any():
                raise ValueError(f"{expected}, got {seed!r}")
            super().reset(seed=int(whole.flat[0]))
            pairs = [[int(whole), k] for k in range(self.num_envs)] if whole.ndim == 0 else [[int(s), 0] for s in whole]
            self._generators = [np.random.default_rng(pair) for pair in pairs]
        self._begin(np.ones(self.num_envs, dtype=bool))
        return self._observations(), {}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Apply actions (n, m); return observations (n, k), rewards, terminated (failed) and truncated (n,), and {}."""
        expected = f"VectorEnvironment.step: actions: expected numbers of shape {self.action_space.shape}"
        values = np.asarray(real_array(expected, actions), dtype=float)
        if values.shape != self.action_space.shape:
            raise ValueError(f"{expected}, got shape {values.shape}")
        if not np.isfinite(values).all():
            k, joint = np.argwhere(~np.isfinite(values))[0]
            name = self.task.joints[joint]
            raise ValueError(
                f"VectorEnvironment.step: actions: expected finite numbers, got {values[k, joint]} for {name!r} of "
                f"environment {k}"
            )
        if not self._generators:
            raise RuntimeError("VectorEnvironment.step: call reset() first")
        restarted = self._over.copy()
        result = self._action_kernel(self._q, self._v, self._goal, values)
        self._q, self._v = np.array(result.q), np.array(result.v)
        self._count += 1
        observations, rewards = np.array(result.observation), np.where(restarted, 0.0, result.reward)
        if restarted.any():
            self._begin(restarted)
            observations[restarted] = self._observations()[restarted]
        terminated = (result.over > 0.5) & ~restarted
        truncated = (self._count >= self.task.horizon) & ~terminated
        self._over = terminated | truncated
        return observations, rewards, terminated, truncated, {}

    def render(self) -> tuple[np.ndarray, ...]:
        """Draw every environment; return images (height, width, 3) of uint8, with ``render_mode="rgb_array"``.

        Raises RuntimeError without a render mode, ImportError if matplotlib is not installed.
        """
        if self.render_mode is None:
            raise RuntimeError(
                'VectorEnvironment.render: render_mode: expected "rgb_array", got None: pass it to the constructor'
            )
        return robot_frames(self.task.robot, self._q)

    def show(
        self, *, spacing: float | None = None, meshes: Folders | None = None, title: str | None = None, **output: Any
    ) -> Any:
        """Show the robots of all environments in their present states.

        ``spacing`` [m] is their distance in a grid; by default it is a little more than the size of a robot. ``meshes``
        are folders of mesh files, and ``title`` is that of the page.  Returns the `linkwork.viewer.View` of a live
        page, whose ``update(envs.state[0])`` shows later states, or the path of a file; see `Robot.show` for the
        output, the other arguments and the errors.
        """
        return show(self, output, spacing=spacing, meshes=meshes, title=title)

    def _begin(self, which: np.ndarray) -> None:
        for k in np.flatnonzero(which):
            self._q[k], self._v[k], self._goal[k] = initial_state(self.task, self._generators[k])
        self._count[which] = 0
        self._over[which] = False

    def _observations(self) -> np.ndarray:
        return np.array(self._observation_kernel(self._q, self._v, self._goal))


def register_tasks() -> None:
    """Register each of `TASKS` with gymnasium, as ``linkwork/<name>-v0``."""
    for name in TASKS:
        result = f"{NAMESPACE}/{name}-v0"
        if result not in gymnasium.registry:
            single, vector = (f"linkwork.environments:{kind}Environment" for kind in ("Single", "Vector"))
            gymnasium.register(result, single, vector_entry_point=vector, kwargs={"task": name})


def initial_state(task: ControlTask, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return q, v and goal of a new episode.  Raises ValueError for an invalid state of the robot."""
    robot: Any = task.robot
    result = task.start(rng)
    if not isinstance(result, tuple | list) or len(result) != 2:
        raise ValueError(f"ControlTask: start: expected a pair (q, v), got {result!r}")
    q = finite_array("ControlTask", "start: q", result[0], shape=("...", robot.nq))
    v = finite_array("ControlTask", "start: v", result[1], shape=("...", robot.nv))
    check_start("ControlTask: start", robot, q, v, task.dt)
    goal = np.asarray(real_array("ControlTask: goal: expected finite numbers (k,)", task.goal(rng)), float)
    if goal.ndim != 1 or not np.isfinite(goal).all():
        raise ValueError(f"ControlTask: goal: expected finite numbers (k,), got {goal!r}")
    return q, v, goal


def observation_kernel(task: ControlTask, goal_size: int) -> Kernel:
    """Return the kernel that computes the observation from q, v and goal."""

    def observation(q: Any, v: Any, goal: Any) -> Any:
        return array(list(task.observe(q, v, goal)))

    return compile(observation, name="observe", **_shapes(task, goal_size))


def action_kernel(task: ControlTask, goal_size: int) -> Kernel:
    """Return the kernel that computes the next q and v, observation, reward and failure from q, v, goal and action."""
    robot: Any = task.robot

    def act(q: Any, v: Any, goal: Any, action: Any) -> Any:
        action = array([fmin(fmax(u, -1.0), 1.0) for u in action])  # the reward, too, counts what acts
        tau = task.forces(action)
        result = robot.simulate(
            q,
            v,
            controller=lambda t, q, v: tau,
            duration=task.dt * task.steps_per_action,
            dt=task.dt,
            record_every=task.steps_per_action,
            contacts=task.contacts,
        )
        q, v = result.q[-1], result.v[-1]
        lost = lt(0.5, result.status)
        over = or_(lost, lt(0.0, where(lost, 1.0, task.failed(q, v, goal))))
        return {
            "q": q,
            "v": v,
            "observation": array(list(task.observe(q, v, goal))),
            "reward": where(lost, 0.0, task.reward(q, v, action, goal)),
            "over": where(over, 1.0, 0.0),
        }

    return compile(act, name="act", **_shapes(task, goal_size), action=(len(task.joints),))


def _shapes(task: ControlTask, goal_size: int) -> Mapping[str, Any]:
    robot: Any = task.robot
    return {"q": robot.configuration_space, "v": (robot.nv,), "goal": (goal_size,)}


MODES = ("rgb_array",)
_SIZE, _DOTS = 4.0, 80.0  # [inch], [1/inch]: 320 pixels a side


def robot_frames(robot: Any, q: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return images (height, width, 3) of uint8, one of the robot at each of the configurations q (n, nq)."""
    pyplot()  # raises ImportError with the install command if matplotlib is missing
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    frames = []
    for configuration in q:
        figure = Figure(figsize=(_SIZE, _SIZE), dpi=_DOTS)
        canvas: Any = FigureCanvasAgg(figure)
        axes = figure.add_subplot(projection="3d")
        draw_robot(axes, robot, configuration, alpha=0.5)
        axes.set_axis_off()
        share_scale([axes])
        canvas.draw()
        frames.append(np.array(canvas.buffer_rgba())[..., :3])
    return tuple(frames)
