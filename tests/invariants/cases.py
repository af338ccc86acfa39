"""Cases of the numbered invariants: random trees of all joint types, user types too, and real robots, with states.

The algorithms run on NumPy arrays of samples, and on dual numbers of them: nothing is compiled here, so that every
number can be asked of every tree and robot.
"""

from __future__ import annotations

import functools
import importlib.metadata
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from helpers.joints import WRITTEN_BY_USERS
from linkwork.expr.autodiff.dual_numbers import Dual, parts
from linkwork.joints import Floating, Revolute
from linkwork.kernels.function_request import read_request
from linkwork.kernels.function_trace import elements_of, run
from linkwork.kernels.owners import quantity_of, shape_of
from linkwork.model.body import WORLD, Limits
from linkwork.model.composite_body import frames_with_inertias
from linkwork.model.random_tree import random_inertia, random_tree
from linkwork.model.tree import Tree
from linkwork.robot.robot_table import robot_owner
from linkwork.spatial import Pose
from oracles.comparison import EPS, assert_close
from oracles.example_robots import EXAMPLES, SHIPPED, Example
from oracles.textbook import Textbook
from oracles.trees import TREES, robot_of, state

__all__ = [
    "Case",
    "Functions",
    "all_cases",
    "cases",
    "cases_of_files",
    "coupled_cases",
    "examples",
    "floating_cases",
    "matrix",
    "of_robot",
    "of_tree",
    "per_unit",
    "slope",
]


class Functions:
    """A tree's functions over batches (..., numbers), asked for as `Robot.compile` asks: by name, with options.

    Arrays are given in the order of the function's inputs: what wrenches are acting comes last.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def __call__(self, request: Any, *arrays: Any) -> Any:
        columns = [list(np.moveaxis(np.asarray(x, dtype=float), -1, 0)) for x in arrays]
        results = self._results(request, columns)
        return self._shaped(request, [[parts(x)[0] for x in result] for result in results], arrays)

    def rate(self, request: Any, *moving: Any) -> Any:
        """Derivative along a motion, exact but for rounding: each input comes with its own derivative."""
        pairs = [np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(y, dtype=float)) for x, y in moving]
        columns = [[Dual(*pair) for pair in zip(*(np.moveaxis(x, -1, 0) for x in p), strict=True)] for p in pairs]
        results = self._results(request, columns)
        return self._shaped(request, [[parts(x)[1] for x in result] for result in results], [x for x, _ in pairs])

    def _request(self, request: Any) -> Any:
        return read_request(robot_owner(self.tree), request)

    def _results(self, named_function: Any, columns: list[list[Any]]) -> list[list[Any]]:
        request = self._request(named_function)
        results = run(request, self.tree, dict(zip(request.inputs, columns, strict=True)))
        return [elements_of(part) for part in (results if len(request.outputs) > 1 else (results,))]

    def _shaped(self, named_function: Any, results: list[list[Any]], arrays: Any) -> Any:
        request = self._request(named_function)
        cores = [len(quantity_of(name).shape) for name in request.inputs]
        batch = np.broadcast_shapes(*(np.shape(x)[: np.ndim(x) - n] for x, n in zip(arrays, cores, strict=True)))
        shapes = [shape_of(robot_owner(self.tree), out.shape, request.sizes) for out in request.outputs]
        arrays_of_results = []
        for result, shape in zip(results, shapes, strict=True):
            flat = np.zeros((*batch, math.prod(shape)))
            for k, x in enumerate(result):
                flat[..., k] = x
            arrays_of_results.append(flat.reshape((*batch, *shape)))
        return arrays_of_results[0] if len(arrays_of_results) == 1 else tuple(arrays_of_results)


@dataclass(frozen=True, eq=False)
class Case:
    """A tree with a few states, and frames to ask about."""

    name: str
    tree: Tree
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    frames: tuple[str, ...]

    @cached_property
    def f(self) -> Functions:
        return Functions(self.tree)

    @cached_property
    def book(self) -> Textbook:
        """Independent mechanics in homogeneous matrices, at q, v and a."""
        return Textbook(self.tree, self.q, self.v, self.a)

    @cached_property
    def q_dot(self) -> np.ndarray:
        return self.f("velocity_to_configuration_derivative", self.q, self.v)

    @cached_property
    def M(self) -> np.ndarray:
        return self.f("mass_matrix", self.q)

    @cached_property
    def cond(self) -> float:
        """The condition number of the mass matrix: the worst of the samples."""
        return float(np.max(np.linalg.cond(self.M))) if self.tree.nv else 1.0

    @property
    def n(self) -> int:
        return max(1, self.tree.nv)

    @property
    def eps(self) -> float:
        """Bound the rounding error of sums over all degrees of freedom, relative to their scale: eps · n."""
        return EPS * self.n

    def solving(self, tolerance: float) -> float:
        """A tolerance of what is solved with the mass matrix: the stated one up to cond 1e5, above cond · eps · n."""
        return tolerance if self.cond <= 1e5 else max(tolerance, self.cond * self.eps)

    def moved(self, h: float) -> tuple[np.ndarray, np.ndarray]:
        """q and v a time h later, to first order."""
        return self.f("integrate", self.q, h * self.v), self.v + h * self.a

    def difference(self, function: Callable[..., np.ndarray]) -> np.ndarray:
        """The rate of a function of q and v, by differences."""
        return slope(lambda h: function(*self.moved(h)))

    def close(self, actual: Any, expected: Any, tolerance: float, label: str = "", *, core: int) -> None:
        assert_close(actual, expected, tolerance, f"{self.name}: {label}" if label else self.name, core=core)


def matrix(X: Pose) -> np.ndarray:
    return np.reshape(np.array(X.elements(), dtype=float), (4, 4))


def slope(function: Callable[[float], np.ndarray], h: float = 1e-4) -> np.ndarray:
    """The derivative at zero by central differences of fourth order, whose step is large enough for rounding."""
    near, far = (function(x) - function(-x) for x in (h, 2.0 * h))
    return (8.0 * near - far) / (12.0 * h)


def per_unit(case: Case, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Evaluate a function for each unit velocity, along a last axis (nv), in one batch."""
    units = np.eye(case.tree.nv) if case.tree.nv else np.zeros((1, 0))
    return np.moveaxis(function(units[:, None, :]), 0, -1)[..., : case.tree.nv]


def of_tree(name: str, tree: Tree, seed: int = 0, size: int = 3) -> Case:
    return Case(name, tree, *state(tree, seed, size), ("tool1", "body2"))


@functools.cache
def examples() -> tuple[Example, ...]:
    """Real robots; without the package that has them, those inside linkwork."""
    try:
        importlib.metadata.distribution("example-robot-data")
    except importlib.metadata.PackageNotFoundError:
        return SHIPPED
    return (*EXAMPLES, *SHIPPED)


def of_robot(name: str, tree: Tree, frames: tuple[str, ...]) -> Case:
    rng = np.random.default_rng(7)
    q = robot_of(tree).random_configuration(rng, size=2)
    v, a = rng.normal(size=(2, 2, tree.nv))
    return Case(name, tree, q, v, a, frames)


@functools.cache
def all_cases() -> tuple[Case, ...]:
    """Every tree and robot."""
    trees = [of_tree(name, tree) for name, tree in (TREES | THEIRS).items()]
    return (*trees, *(of_robot(example.name, example.robot().tree, example.frames) for example in examples()))


THEIRS = {
    "users' chain": random_tree(np.random.default_rng(500), 4, types=WRITTEN_BY_USERS, shape="chain"),
    "users' and ours": random_tree(np.random.default_rng(501), 8, types=(*WRITTEN_BY_USERS, Floating, Revolute)),
}
"""Trees of joints as users write them."""


select: Callable[[Iterable[Any]], list[Any]] = list
"""Selects what a run checks of the cases: see conftest.py."""


def cases(*, plain: bool = False, ours: bool = False) -> list[Case]:
    """Trees and robots; ``plain``: whose joints are all free; ``ours``: whose joints' types are linkwork's."""
    return select(c for c in all_cases() if not (plain and c.tree.has_couplings) and not (ours and c.name in THEIRS))


def floating_cases() -> list[Case]:
    """Trees put on a floating base, and the robots that have one."""
    return select(_floating_cases())


def cases_of_files() -> list[tuple[Case, Example]]:
    """Robots, and the files that they are read from."""
    by_name = {case.name: case for case in all_cases()}
    return select((by_name[example.name], example) for example in examples())


def coupled_cases() -> list[Case]:
    """Trees and robots some of whose joints follow others."""
    trees = [case for case in all_cases() if case.tree.has_couplings]
    robots = [example for example in examples() if any(joint.mimic for joint in example.robot().joints)]
    return [
        case
        if isinstance(case, Case)
        else of_robot(f"{case.name} coupled", case.load(mimic="coupled").tree, case.frames)
        for case in select([*trees, *robots])
    ]


@functools.cache
def _floating_cases() -> tuple[Case, ...]:
    trees = [
        of_tree(f"{name} on a floating base", _on_a_floating_base(tree)) for name, tree in (TREES | THEIRS).items()
    ]
    return (*trees, *(case for case in all_cases() if case.tree.bodies and _floats(case.tree)))


def _floats(tree: Tree) -> bool:
    roots = [body for body in tree.bodies if body.parent == WORLD]
    return len(roots) == 1 and isinstance(roots[0].joint, Floating) and not _grounded(tree)


def _grounded(tree: Tree) -> bool:
    return tree.fixed_inertia.mass > 0.0


def _on_a_floating_base(tree: Tree) -> Tree:
    """Put the bodies of the world, and what is fixed to it, on a floating body."""
    free, inertia, zeros = Floating(), random_inertia(np.random.default_rng(9)), (0.0,) * 6
    template = tree.bodies[0]
    base = replace(
        template, name="base", parent=WORLD, joint_name="free", joint=free, placement=Pose.identity(),
        rotor=Pose.identity(), inertia=inertia, limits=Limits.none(free), damping=zeros, friction=zeros,
        mimic=None, coupling=None, drive=type(template.drive)(),
    )  # fmt: skip
    ground = tree.fixed_inertia
    bodies = (replace(base, inertia=inertia + ground), *(replace(b, parent=b.parent + 1) for b in tree.bodies))
    frames = [replace(frame, body=frame.body + 1) for frame in frames_with_inertias(tree.bodies, tree.frames)]
    base_frame = replace(frames[0], name="base", body=0, placement=Pose.identity(), inertia=inertia)
    stacking = (0, *(i + 1 for i in tree.stacking)) if tree.stacking else ()
    return replace(tree, bodies=bodies, frames=(base_frame, *frames), stacking=stacking)
