"""A problem of optimal motion as arrays: what its kernel takes besides what comes with each call."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from linkwork.errors import UnknownNameError
from linkwork.model.kernel_parameters import Parameter
from linkwork.optimal.algorithms.path_nlp import PathProgram
from linkwork.optimal.arguments import ByStep, nothing_aimed_at, read_velocity, target_shape
from linkwork.optimal.constraint_scaling import even_scales
from linkwork.optimal.features import ContactStays, VelocityConstraint
from linkwork.optimal.kernels import TOLD, numbers_of, search_kernel, shapes_of, state_shapes

__all__ = ["PENALTY", "PreparedProblem", "prepared"]

PENALTY = 1e3  # to begin with
_OF_ITSELF = (VelocityConstraint, ContactStays)  # what says nothing of a path of one configuration


@dataclass(eq=False)
class PreparedProblem:
    """A problem as arrays, but for what comes with each call."""

    problem: Any
    started: bool
    launched: bool = False  # whether it moves at the start, and durations are free
    robot_numbers: tuple[Parameter, ...] = ()  # those that come with a call

    @cached_property
    def program(self) -> PathProgram:
        found: PathProgram = self.problem.program(self.started, self.launched, self.robot_numbers)
        return found

    @cached_property
    def kernel(self) -> Any:
        """What searches."""
        return search_kernel(self.program)

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of what comes with each call, in order."""
        return shapes_of(self.program)

    @cached_property
    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        """Of a search's state, in order."""
        return state_shapes(self.program)

    @cached_property
    def constants(self) -> dict[str, np.ndarray]:
        """What is the same in all calls, by name, besides targets."""
        problem, program = self.problem, self.program
        T = program.steps
        weights = np.zeros((T, len(problem.entries)))
        scales, lower, upper = (np.zeros(program.rows) for _ in range(3))
        for k, (entry, rows) in enumerate(zip(problem.entries, program.rows_of, strict=True)):
            without = self.started or entry.feature.early > 0  # some rows look at no step before
            early = [] if without else [t for t in entry.steps if t < entry.feature.depth]
            some = len(entry.steps) < T or (entry.kind == "equality" and not isinstance(entry.feature, _OF_ITSELF))
            if early and some and len(early) == len(entry.steps):
                raise ValueError(
                    f"Problem.solve: {entry.name!r} looks at {entry.feature.depth} steps before step {early[0]}, and "
                    f"without start= there are none"
                )
            for t in entry.steps:
                weights[t, k] = 0.0 if t in early else 1.0
            scales[rows] = entry.scale
            if entry.lower is not None:
                lower[rows], upper[rows] = entry.lower, entry.upper
        parameters = problem.parameters.values()
        floor = np.concatenate([x.lower for x in parameters]) if parameters else np.zeros(0)
        ceiling = np.concatenate([x.upper for x in parameters]) if parameters else np.zeros(0)
        step, rates = self._clock
        found = {"step": step, "step_rates": rates, "weights": weights, "scales": scales, "lower": lower}
        found |= {"upper": upper, "floor": floor, "ceiling": ceiling}
        return found

    @cached_property
    def even(self) -> dict[str, np.ndarray]:
        """The same with scales as the search has them, whatever constraints are measured in: see `scaling`."""
        problem, program, begin = self.problem, self.program, self.begin
        numbers = numbers_of(program, {**self.constants, **self.some_targets})
        u = begin["u"][0] if "u" in begin else np.zeros(0)
        places = problem.robot.random_configuration(seed=0, size=4)
        factors = even_scales(program, numbers, places, u, begin.get("p", np.zeros(0)), PENALTY)
        return self.constants | {"scales": self.constants["scales"] * factors}

    @cached_property
    def some_targets(self) -> dict[str, np.ndarray]:
        """What entries aim at by themselves, and nothing where that comes with each call, by input."""
        problem, found = self.problem, dict(self.own_targets)
        for port, k, shape in self.targets.values():
            if port not in found:
                found[port] = np.reshape(nothing_aimed_at(problem.robot, problem.entries[k].feature), math.prod(shape))
        return found

    @property
    def _clock(self) -> tuple[np.ndarray, np.ndarray]:
        """τ by step, less what free durations make of it, and what these make of it."""
        problem, T = self.problem, self.program.steps
        free = self.program.durations
        base, rates, column = np.zeros(T), np.zeros((T, free)), 0
        for phase, x in problem.durations.items():
            own = problem.phases[phase] if phase else range(T)
            for t in own:
                if isinstance(x, tuple):
                    rates[t, column] = 1.0 / len(own)
                else:
                    base[t] = x / len(own)
            column += isinstance(x, tuple)
        return (np.array(base[0]), rates[0]) if self.program.uniform else (base, rates)

    def shares_of(self, phase: str) -> np.ndarray:
        """What the duration of a phase, or of the whole path (""), makes of τ (T,)."""
        own = self.problem.phases[phase] if phase else range(self.program.steps)
        found = np.zeros(self.program.steps)
        found[list(own)] = 1.0 / len(own)
        return found

    def steps_of(self, p: np.ndarray) -> np.ndarray:
        """τ (..., T) [s] with parameters (..., many)."""
        base, rates = self._clock
        free = self.program.durations
        T = self.program.steps
        made = np.asarray(p)[..., :free] @ np.broadcast_to(rates, (T, free)).T
        return np.asarray(np.broadcast_to(base, (T,)) + made)

    @cached_property
    def begin(self) -> dict[str, np.ndarray]:
        """The state of a search before it has begun, by name, besides the path."""
        problem, program = self.problem, self.program
        hard = len(program.hard)
        found = {name: np.zeros(shape) for name, shape in state_shapes(program).items()}
        if "u" in found:
            found["u"][:] = np.concatenate([x.guess for x in problem.variables.values()])
        if "p" in found:
            found["p"][:] = np.concatenate([x.guess for x in problem.parameters.values()])
        if "penalties" in found:
            found["penalties"][:] = PENALTY
        told = found["told"]
        told[0], told[TOLD.index("share")], told[len(TOLD) :] = 1e-12, 1.0, 1e300
        told[[TOLD.index("length"), TOLD.index("former")]] = 1e300
        assert len(told) == len(TOLD) + 2 * hard
        return found

    def beyond(self, k: int, values: np.ndarray) -> np.ndarray:
        """By how much an entry's values (..., rows) violate it, with their sign: 0 where they keep it."""
        entry, rows = self.program.entries[k], self.program.rows_of[k]
        if entry.bounded:
            found: np.ndarray = values - np.clip(values, self.constants["lower"][rows], self.constants["upper"][rows])
            return found
        return values if entry.kind == "equality" else values.clip(0.0)

    def past(self, start: np.ndarray, velocity: Any) -> np.ndarray:
        """Configurations before the first step, oldest first (..., depth, nq).  Raises ValueError."""
        m, robot = self.program.depth, self.problem.robot
        if velocity is None or self.launched:  # which is moved back in the kernel
            return np.repeat(start[..., None, :], m, axis=-2)
        v = read_velocity(robot, velocity)
        step = float(np.ravel(self.constants["step"])[0])
        return (
            np.stack([robot.integrate(start, -k * step * v) for k in reversed(range(m))], axis=-2)
            if m
            else np.zeros((*start.shape[:-1], 0, robot.nq))
        )

    def ends(self, count: int, seed: int) -> np.ndarray:
        """Where first guesses lead to (count, nq): drawn once by seed."""
        known = self._drawn.get((count, seed))
        if known is None:
            self._drawn.clear()
            rng = np.random.default_rng(seed)
            known = self._drawn[count, seed] = self.problem.robot.random_configuration(rng, size=(count,))
        return known

    @cached_property
    def _drawn(self) -> dict[tuple[int, int], np.ndarray]:
        return {}

    @cached_property
    def targets(self) -> dict[str, tuple[str, int, tuple[int, ...]]]:
        """By the name of an entry that aims at something: its input's, its number and the shape of what it aims at."""
        found = {}
        for k, entry in enumerate(self.problem.entries):
            shape = target_shape(self.problem.robot.tree, entry.feature)
            if shape is not None:
                found[entry.name] = (f"target{k}", k, shape)
        return found

    @cached_property
    def own_targets(self) -> dict[str, np.ndarray]:
        """What entries aim at by themselves, by input."""
        found = {}
        for name, (port, k, _) in self.targets.items():
            entry = self.problem.entries[k]
            if entry.target is not None:
                found[port] = self.flat(name, entry.target)
            elif not entry.feature.needs_target:
                found[port] = self.flat(name, nothing_aimed_at(self.problem.robot, entry.feature))
        return found

    def flat(self, name: str, given: Any) -> np.ndarray:
        """What an entry aims at as its kernel's input: (..., numbers), or (..., T, numbers) where it moves."""
        _, k, shape = self.targets[name]
        entry = self.problem.entries[k]
        caller = f"Problem.solve: targets: {name!r}"
        size = math.prod(shape)
        if isinstance(given, ByStep) != entry.moving:
            raise ValueError(
                f"{caller}: "
                + (
                    "expected linkwork.optimal.ByStep, as it was added with one"
                    if entry.moving
                    else "ByStep is for features that were added with a target= ByStep"
                )
            )
        found: np.ndarray = self.problem.read_target(
            caller, entry.feature, given.values if entry.moving else given, True
        )
        lead = found.shape[: found.ndim - len(shape)]
        if not entry.moving:
            return found.reshape(*lead, size)
        if not lead or lead[-1] != len(entry.steps):
            raise ValueError(f"{caller}: ByStep: expected {len(entry.steps)} of shape {shape}, got shape {found.shape}")
        every = np.empty((*lead[:-1], self.program.steps, size))
        every[...] = found.reshape(*lead, size)[..., :1, :]
        every[..., list(entry.steps), :] = found.reshape(*lead, size)
        return every

    def given_targets(self, targets: Any) -> dict[str, np.ndarray]:
        """By input.  Raises ValueError and UnknownNameError."""
        found = dict(self.own_targets)
        if targets is not None and not isinstance(targets, Mapping):
            raise TypeError(f"Problem.solve: targets: expected a dict of names to what is aimed at, got {targets!r}")
        for name, x in (targets or {}).items():
            if name not in self.targets:
                raise UnknownNameError("feature with a target", name, tuple(self.targets))
            found[self.targets[name][0]] = self.flat(name, x)
        for name, (port, k, shape) in self.targets.items():
            if port not in found:
                said = self.problem.entries[k].feature.target_of
                raise ValueError(
                    f"Problem.solve: {name!r} aims at nothing: give targets={{{name!r}: an array {shape}}}: "
                    f"{said.doc if said is not None else ''}"
                )
        return found


def prepared(
    problem: Any, started: bool, launched: bool = False, robot_numbers: tuple[Parameter, ...] = ()
) -> PreparedProblem:
    """The same one as long as nothing is added to the problem."""
    key = (started, launched, robot_numbers)
    found: PreparedProblem | None = problem.prepared.get(key)
    if found is None:
        if not problem.entries:
            raise ValueError("Problem.solve: nothing is asked: add features first")
        found = problem.prepared[key] = PreparedProblem(problem, *key)
    return found
