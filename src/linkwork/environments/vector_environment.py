"""Vector environments of a control task with gymnasium's interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.file_search import Folders
from linkwork._util.foreign_names import WithForeignNames, add_foreign_names
from linkwork._util.pictures import Shown, show
from linkwork._util.validation import finite_array, integer
from linkwork.environments.control_task import ControlTask
from linkwork.environments.environment_kernels import (
    EnvironmentKernel,
    action_kernel,
    logged_names,
    observation_kernel,
    reading_kernel,
)
from linkwork.environments.episodes import EpisodeMemory, EpisodeStarts, masked_values, warn_of_divergence
from linkwork.environments.example_tasks import TASKS
from linkwork.environments.goal_observations import GoalObservations
from linkwork.environments.randomization import Randomization, RandomizedTask
from linkwork.environments.rendered_frames import MODES, RENDER_SIZE, read_rendering, require_rendering, robot_frames
from linkwork.errors import UnknownNameError
from linkwork.kernels import real_array

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


@public
class VectorEnvironment(Shown, VectorEnv[Any, np.ndarray, np.ndarray], metaclass=WithForeignNames):
    """A batch of environments of a `ControlTask`, or of one of `TASKS` by name, in one kernel.

    Actions (n, m) are limited to −1 and 1, observations (n, k) are float64.  A goal-conditioned task
    (``ControlTask.achieved``) has dicts of observations, with ``"observation"``, ``"achieved_goal"`` and
    ``"desired_goal"``.

    ``autoreset_mode`` is gymnasium's.  With
    ``AutoresetMode.NEXT_STEP`` the next step resets an environment whose episode has ended, and ignores its action.
    With ``SAME_STEP`` the same step resets it, and returns the last observation as ``info["final_obs"]``. With
    ``DISABLED`` the user resets it, by ``reset(options={"reset_mask": mask})``.
    Random values of an environment depend only on the ``seed`` of `reset` and its index, not on the number of
    environments.

    >>> from linkwork.environments import VectorEnvironment
    >>> envs = VectorEnvironment("cart_pole", num_envs=4)
    >>> observations, _ = envs.reset(seed=1)
    >>> observations, rewards, terminated, truncated, _ = envs.step(envs.action_space.sample())
    >>> observations.shape, rewards.shape, terminated.any()
    ((4, 4), (4,), np.False_)

    A ``randomization`` draws parameters, noise, delays and pushes for each environment and episode; `reset` and `step`
    return its values in their ``info``.  With ``render_mode="rgb_array"``, `render` draws the environments in
    images of ``render_size``, width and height [pixels].

    After `linkwork.environments` is imported, ``gymnasium.make_vec("linkwork/cart_pole-v0", num_envs=4)`` creates the
    same.

    Raises UnknownNameError for an unknown task or render mode, ValueError for actions of a wrong shape or that are not
    finite.
    """

    def __init__(
        self,
        task: str | ControlTask,
        num_envs: int = 1,
        render_mode: str | None = None,
        randomization: Randomization | None = None,
        autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
        render_size: tuple[int, int] = RENDER_SIZE,
    ) -> None:
        if isinstance(task, str):
            if task not in TASKS:
                raise UnknownNameError("task", task, TASKS)
            task = TASKS[task]()
        if not isinstance(task, ControlTask):
            raise TypeError(f"VectorEnvironment: task: expected a name or a ControlTask, got {task!r}")
        num_envs = integer("VectorEnvironment", "num_envs", num_envs, least=1)
        self._image_size = read_rendering("VectorEnvironment", render_mode, render_size)
        if not isinstance(randomization, Randomization | None):
            raise TypeError(f"VectorEnvironment: randomization: expected a Randomization, got {randomization!r:.80}")
        if autoreset_mode not in (*AutoresetMode,):
            expected = "gymnasium.vector.AutoresetMode.NEXT_STEP, SAME_STEP or DISABLED"
            raise ValueError(f"VectorEnvironment: autoreset_mode: expected {expected}, got {autoreset_mode!r}")
        self._resets_at_once = autoreset_mode == AutoresetMode.SAME_STEP
        self._is_reset_by_mask = autoreset_mode == AutoresetMode.DISABLED
        self.task, self.num_envs, self.render_mode, self.randomization = task, num_envs, render_mode, randomization
        frames = round(1.0 / (task.dt * task.steps_per_action))  # [1/s]
        self.metadata = {"autoreset_mode": autoreset_mode, "render_modes": [*MODES], "render_fps": frames}
        varied = RandomizedTask(task, randomization or Randomization())
        self._starts = EpisodeStarts(task)
        rng = np.random.default_rng(0)
        drawn = {name: x[None] for name, x in varied.draw_parameters(np.random.default_rng(0)).items()}
        (q,), (v,), (goal,) = self._starts.draw([rng], drawn)
        self._observation_kernel = observation_kernel(task, len(goal), varied.shapes)
        (size,) = self._observation_kernel.kernel.outputs[0].shape
        self._memory = EpisodeMemory(task, varied, num_envs, size)
        memory = self._memory
        self._action_kernel = action_kernel(task, len(goal), varied.shapes, memory.pushed, memory.is_immediate)
        self._reading_kernel = reading_kernel(task, varied.shapes) if task.sensors else None
        self._logged = logged_names(self._action_kernel)
        box: Any = gymnasium.spaces.Box
        self._goals = None if task.achieved is None else GoalObservations(task, len(goal), varied.shapes)
        space = box(*varied.bounds, (size,), np.float64)
        self.single_observation_space = space if self._goals is None else self._goals.space(space)
        self.single_action_space = box(-1.0, 1.0, (task.action_size,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._q, self._v = np.zeros((num_envs, len(q))), np.zeros((num_envs, len(v)))
        self._goal = np.zeros((num_envs, len(goal)))
        start = getattr(task.controller, "start", None)
        self._z = None if start is None else np.zeros((num_envs, *np.shape(start)))
        self._count = np.zeros(num_envs, dtype=int)
        self._over = np.ones(num_envs, dtype=bool)
        self._has_warned = False  # of a simulation that diverged
        self._generators: list[np.random.Generator] = []
        self._last = np.zeros((num_envs, size))  # observations, and random samples of those of a masked reset
        self._spare: tuple[np.ndarray | None, dict[str, np.ndarray]] = (None, {})

    @property
    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """States q (n, nq) and v (n, nv) of the environments."""
        return self._q.copy(), self._v.copy()

    @public(seed=lambda caller, name, value: value)  # checked below: seeds exceed the counts of other arguments
    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Reset all environments; return observations (n, k), and the random values of the episodes by name.

        ``seed`` restarts the random numbers, also gymnasium's ``np_random``: a number for all environments, or a
        number for each.  ``options`` is a dict with

        - ``"q"`` (nq,) or (n, nq), or a dict by joint, and ``"v"`` (nv,) or (n, nv): initial states that replace
          those of ``ControlTask.start``.  Without ``"v"`` they are at rest.
        - ``"goal"`` (k,) or (n, k): goals that replace those of ``ControlTask.goal``.
        - ``"reset_mask"`` (n,) of bool, with ``AutoresetMode.DISABLED``: the environments that are reset.  The others
          keep their states, and their last observations are returned.

        Without a randomization the returned dict is empty; with one it has the entry ``"randomization"``, in the form
        of gymnasium's vector environments.  Raises ValueError for seeds that are not integers >= 0, another number of
        seeds than of environments, and invalid options, UnknownNameError for unknown ones.
        """
        caller, everywhere = "VectorEnvironment.reset", np.ones(self.num_envs, dtype=bool)
        known = self._starts.read_options(caller, options, self.num_envs, self._goal.shape[1])
        is_masked = self._is_reset_by_mask and "reset_mask" in known and bool(self._generators) and seed is None
        which = known.pop("reset_mask", everywhere)
        self._check_mask(caller, which, seed)
        if seed is not None or not self._generators:
            expected = f"{caller}: seed: expected an integer from 0 on, or {self.num_envs} of them"
            whole = np.asarray(int(np.random.default_rng().integers(2**63)) if seed is None else seed)
            if whole.dtype.kind not in "iu" or whole.shape not in ((), (self.num_envs,)) or (whole < 0).any():
                raise ValueError(f"{expected}, got {seed!r}")
            super().reset(seed=int(whole.flat[0]))
            pairs = [[int(whole), k] for k in range(self.num_envs)] if whole.ndim == 0 else [[int(s), 0] for s in whole]
            self._generators = [np.random.default_rng(pair) for pair in pairs]
            self._memory.seed(pairs)
        self._begin(which, known)
        if is_masked:
            self._last = np.where(which[:, None], self._first_observations(which, self._spare), self._last)
        else:
            self._memory.see(self._q, self._v, self._first_readings(which), which)
            self._last = self._observations()
            self._spare = self._memory.samples() if self._is_reset_by_mask else self._spare
        return self._offered(self._last.copy()), self._info(which)

    def _check_mask(self, caller: str, which: np.ndarray, seed: Any) -> None:
        """Raise ValueError or RuntimeError if a reset of only the environments ``which`` is not possible."""
        if which.all():
            return
        if not self._is_reset_by_mask:
            raise ValueError(f"{caller}: options: reset_mask: expected autoreset_mode=AutoresetMode.DISABLED")
        if seed is not None:
            raise ValueError(f"{caller}: seed: expected None with a reset_mask, got {seed!r}")
        if not self._generators:
            raise RuntimeError(f"{caller}: options: reset_mask: call reset() without a mask first")

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Apply actions (n, m); return observations (n, k), rewards, terminated (failed) and truncated (n,), and info.

        ``info`` is a dict with the values of ``ControlTask.info`` by name, each with a mask of the environments that
        have them, such as ``"_distance"``, and the random values of environments whose episode begins, as `reset`
        returns them. If simulations diverge, ``"diverged"`` (n,) marks their environments: the episode ends, and
        reward and values are those of the last state, 0 if not finite.  The first divergence issues a
        SimulationWarning. With ``AutoresetMode.SAME_STEP`` ``info`` also has ``"final_obs"`` (n,), arrays (k,) or
        None, the mask ``"_final_obs"``, and ``"final_info"`` with the values of ``ControlTask.info``, if episodes have
        ended.

        Raises RuntimeError before the first `reset`, and with ``AutoresetMode.DISABLED`` after the end of an episode.
        """
        expected = f"VectorEnvironment.step: actions: expected numbers of shape {self.action_space.shape}"
        values = np.asarray(real_array(expected, actions), dtype=float)
        if values.shape != self.action_space.shape:
            raise ValueError(f"{expected}, got shape {values.shape}")
        if not np.isfinite(values).all():
            k, element = np.argwhere(~np.isfinite(values))[0]
            name = repr(self.task.joints[element]) if self.task.joints else f"element {element}"
            raise ValueError(
                f"VectorEnvironment.step: actions: expected finite numbers, got {values[k, element]} for {name} of "
                f"environment {k}"
            )
        if not self._generators:
            raise RuntimeError("VectorEnvironment.step: call reset() first")
        if self._is_reset_by_mask and self._over.any():
            raise RuntimeError(
                f"VectorEnvironment.step: the episodes of the environments {np.flatnonzero(self._over).tolist()} have "
                "ended; call reset(options={'reset_mask': terminated | truncated}) first"
            )
        memory, restarted = self._memory, self._over.copy()
        acting = memory.issue(np.clip(values, -1.0, 1.0))
        result = self._call(self._action_kernel, q=self._q, v=self._v, action=acting)
        memory.acted = acting
        self._q, self._v = np.array(result["q"]), np.array(result["v"])
        if self._z is not None:
            self._z = np.array(result["z"])
        readings = {name: np.array(result["readings"][name]) for name in self.task.sensors}
        self._count += 1
        if restarted.any():
            self._begin(restarted)
            for name, x in self._first_readings(restarted).items():
                readings[name][restarted] = x[restarted]
        memory.see(self._q, self._v, readings, restarted)
        now = np.array(result["observation"]) if memory.is_immediate else None
        if now is not None and restarted.any():
            now[restarted] = self._observed({})[restarted]
        terminated = (result["over"] > 0.5) & ~restarted
        truncated = (self._count >= self.task.horizon) & ~terminated
        self._over = terminated | truncated
        ended = self._over.copy()
        rewards = np.where(restarted, 0.0, result["reward"] if self._goals is None else self._reward_of_goals())
        diverged = (result["lost"] > 0.5) & ~restarted
        observations, info = self._observations(now), self._info(restarted)
        logged = {name: np.array(result["info"][name]) for name in self._logged}
        if diverged.any():
            logged.setdefault("diverged", diverged)
            self._has_warned = self._has_warned or warn_of_divergence(int(np.argmax(diverged)))
        if self._resets_at_once:
            observations, info = self._begin_at_once(observations, ended, logged)
        elif self._is_reset_by_mask:
            self._last, self._spare = observations.copy(), memory.samples()
        info |= masked_values(logged, ~(restarted | (ended & self._resets_at_once)))
        return self._offered(observations), rewards, terminated, truncated, info

    @property
    def compute_reward(self) -> Callable[[Any, Any, Any], np.ndarray]:
        """Function (achieved_goal, desired_goal, info) of goals (..., k) that returns the rewards (...) of the task.

        ``info`` is not used; gymnasium-robotics and algorithms with hindsight pass it. Raises AttributeError for a
        task without ``ControlTask.achieved``.
        """
        if self._goals is None:
            raise AttributeError(
                "compute_reward: expected a task with achieved=, a function (q, v) of the achieved goal"
            )
        return self._goals.compute_reward

    def _reward_of_goals(self) -> np.ndarray:
        """Return the rewards (n,) of the present states of a goal-conditioned task; 0 if they are not finite."""
        assert self._goals is not None
        rewards = self._goals.rewards(self._achieved(), self._goal)
        return np.where(np.isfinite(rewards), rewards, 0.0)

    def _achieved(self) -> np.ndarray:
        """Return the achieved goals (n, k) of the present states of a goal-conditioned task."""
        assert self._goals is not None
        return np.array(self._call(self._goals.achieved, q=self._q, v=self._v))

    def _offered(self, observations: np.ndarray) -> Any:
        """Return observations in the form for users: the array (n, k), or a dict for a goal-conditioned task."""
        if self._goals is None:
            return observations
        return self._goals.observations(observations, self._achieved(), self._goal.copy())

    def render(self) -> tuple[np.ndarray, ...]:
        """Draw every environment; return images (height, width, 3) of uint8, with ``render_mode="rgb_array"``.

        The images show the robot, the ground and obstacles of `ControlTask.contacts`, and the goal at its ``marker``.

        Raises RuntimeError without a render mode, ImportError if matplotlib is not installed.
        """
        require_rendering("VectorEnvironment.render", self.render_mode)
        marks: list[np.ndarray | None] = [None] * len(self._q)
        if self.task.marker is not None:
            positions = (self.task.marker(goal) for goal in self._goal)
            marks = [finite_array("ControlTask", "marker", x, shape=(3,), unit="m") for x in positions]
        return robot_frames(self.task.robot, self._q, self.task.contacts, marks, self._image_size)

    def show(
        self, *, spacing: float | None = None, meshes: Folders | None = None, title: str | None = None, **output: Any
    ) -> Any:
        """Show the robots of all environments in their present states.

        ``spacing`` [m] is the distance of robots in a grid; by default it is a little more than the size of a robot.
        ``meshes`` are folders of mesh files, and ``title`` is the title of the page.  Returns the
        `linkwork.viewer.View` of a live page, whose ``update(envs.state[0])`` shows later states, or the path of a
        file; see `Robot.show` for the output, the other arguments and the errors.
        """
        return show(self, output, spacing=spacing, meshes=meshes, title=title)

    def _begin(self, which: np.ndarray, stated: Mapping[str, np.ndarray] | None = None) -> None:
        """Begin episodes where ``which`` (n,) is True; ``stated`` q, v and goals (n, size) replace drawn values."""
        begun = np.flatnonzero(which)
        self._memory.begin(begun)
        parameters = {name: x[begun] for name, x in self._memory.parameters.items()}
        known = {name: x[begun] for name, x in (stated or {}).items()}
        starts = self._starts.draw([self._generators[k] for k in begun], parameters, known)
        self._q[begun], self._v[begun], self._goal[begun] = starts
        if self._z is not None:
            self._z[which] = getattr(self.task.controller, "start", 0.0)
        self._count[which] = 0
        self._over[which] = False

    def _begin_at_once(
        self, final: np.ndarray, ended: np.ndarray, logged: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin new episodes where ``ended`` (n,) is True; return observations (n, k) and ``info``.

        ``final`` (n, k) are the last observations of the ended episodes, and ``logged`` the values of
        `ControlTask.info`.
        """
        samples = self._memory.samples()  # in each step, so that those of an environment are its own
        if not ended.any():
            return final, {}
        offered = self._offered(final)
        self._begin(ended)
        first = self._first_observations(ended, samples)
        last = np.full(self.num_envs, None, dtype=object)
        for k in np.flatnonzero(ended).tolist():
            last[k] = final[k].copy() if self._goals is None else {name: x[k].copy() for name, x in offered.items()}
        values = masked_values(logged, ended)
        info = {"final_obs": last, "_final_obs": ended.copy(), "final_info": values, "_final_info": ended.copy()}
        return np.where(ended[:, None], first, final), info | self._info(ended)

    def _first_observations(
        self, which: np.ndarray, samples: tuple[np.ndarray | None, dict[str, np.ndarray]]
    ) -> np.ndarray:
        """Return observations (n, k); where ``which`` (n,) is True those of the start of an episode."""
        self._memory.see_starts(self._q, self._v, self._first_readings(which), which)
        return self._memory.disturbed(self._observed(samples[1]), samples[0])

    def _first_readings(self, which: np.ndarray) -> dict[str, np.ndarray]:
        """Return exact readings (n, size) by name; where ``which`` (n,) is True those of the start of an episode."""
        if self._reading_kernel is None or not which.any():
            return {}
        result = self._call(self._reading_kernel, q=self._q, v=self._v)
        return {name: np.array(result["readings"][name]) for name in self.task.sensors}

    def _call(self, called: EnvironmentKernel, **inputs: Any) -> Any:
        """Call a kernel with those of the ``inputs`` that it takes."""
        known: dict[str, Callable[[], Any]] = {
            "goal": lambda: self._goal,
            "previous_action": lambda: self._memory.acted,
            "last_action": lambda: self._memory.last_action,
            "time": lambda: self._count * (self.task.dt * self.task.steps_per_action),
            "z": lambda: self._z,
            "parameters": lambda: self._memory.parameters,
            "pushes": lambda: self._memory.wrenches(self._count),
        }
        arrays = [inputs[name] if name in inputs else known[name]() for name in called.names]
        result: Any = called.kernel(*arrays)
        return result._asdict() if hasattr(result, "_asdict") else result

    def _observed(self, samples: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the observations of the stored states; ``samples`` are standard normal samples for sensor noise."""
        q, v, readings = self._memory.observed()
        return np.array(self._call(self._observation_kernel, q=q, v=v, readings=readings, samples=samples))

    def _observations(self, exact: np.ndarray | None = None) -> np.ndarray:
        """Return observations with noise and bias; ``exact`` are observations without them, if already computed."""
        samples, of_sensors = self._memory.samples()
        return self._memory.disturbed(self._observed(of_sensors) if exact is None else exact, samples)

    def _info(self, which: np.ndarray) -> dict[str, Any]:
        return self._memory.shown(which) if self.randomization is not None and which.any() else {}


add_foreign_names(VectorEnvironment, "environments.VectorEnvironment")


def register_tasks() -> None:
    """Register each of `TASKS` with gymnasium, as ``linkwork/<name>-v0``."""
    for name in TASKS:
        result = f"{NAMESPACE}/{name}-v0"
        if result not in gymnasium.registry:
            single, vector = (f"linkwork.environments:{kind}Environment" for kind in ("Single", "Vector"))
            gymnasium.register(result, single, vector_entry_point=vector, kwargs={"task": name})
