"""Errors of poses by offsets of placements, zeros and the base, and the descent to their least squares."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from linkwork._util.progress import Reporter
from linkwork.dynamics.base_parameters import BaseParameters, base_parameters_of
from linkwork.errors import UnknownNameError
from linkwork.expr import jacobian
from linkwork.identify.linear_least_squares import LinearFit, Reduced, fitted, triangular
from linkwork.identify.measurements import rms
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.model.body import WORLD
from linkwork.model.kernel_parameters import read_parameters
from linkwork.model.parametrized_tree import offset
from linkwork.robot import Robot
from linkwork.spatial import Pose, Vec3
from linkwork.spatial.arguments import matrix_of

__all__ = ["SIX", "PlacementDescent", "PlacementModel"]

_APART = 1e-3  # of what others leave of a column, relative: below, poses do not show it by itself
SIX = ("phi_x", "phi_y", "phi_z", "d_x", "d_y", "d_z")
_SETTLED = 1e-6  # standard deviations: a step that is of no account


@dataclass(frozen=True, eq=False)
class PlacementDescent:
    """Where a descent ended."""

    x: np.ndarray
    fit: LinearFit  # the last
    rows: Reduced  # what that was of
    identifiable: BaseParameters
    residual: np.ndarray
    steps: int
    converged: bool


class PlacementModel:
    """Errors of poses and their derivatives, by unknowns x that stand at the places of their names."""

    def __init__(
        self, caller: str, robot: Robot, frame: str, parameters: Iterable[str] | None, given: tuple[int, ...]
    ) -> None:
        self.robot, self.frame = robot, frame
        if not isinstance(robot, Robot):
            raise TypeError(f"{caller}: expected a robot first, got {robot!r}")
        self.shape = (4, 4) if given[-2:] == (4, 4) else (3,)
        self.rows = 6 if self.shape == (4, 4) else 3
        if self.rows == 6:
            robot.tree.frame(frame)
        asked = _by_default(robot, frame) if parameters is None else parameters
        if isinstance(asked, str):
            raise TypeError(f"{caller}: parameters: expected a list of names, got {asked!r}")
        self.zero_places: dict[str, np.ndarray] = {}
        self.all: dict[str, slice] = {}
        names: list[str] = []
        expanded = [name for text in asked for name in self._meant(caller, text)]
        read_parameters(robot.tree, caller, [name for name in expanded if name.startswith(("placement:", "frame:"))])
        for name in expanded:
            if name in self.all:
                raise ValueError(f"{caller}: parameters: {name!r} is named twice")
            numbers = self._numbers(name)
            self.all[name] = slice(len(names), len(names) + len(numbers))
            names += numbers
        if not names:
            raise ValueError(f"{caller}: parameters: nothing is to be estimated")
        self.names = tuple(names)
        self.places = {name: place for name, place in self.all.items() if not name.startswith("zero:")}
        self.kernel = self._compiled()

    def _meant(self, caller: str, text: Any) -> list[str]:
        """The names of the parameters that one text stands for: several where it is a pattern, or a kind alone."""
        tree = self.robot.tree
        kind, _, whose = text.partition(":") if isinstance(text, str) else (text, "", "")
        if text == "base":
            return [text]
        if text == "placement":
            return [f"placement:{tree.bodies[i].joint_name}" for i in tree.order]
        if kind in ("placement", "frame"):
            return [str(parameter) for parameter in read_parameters(tree, caller, text)]
        if kind == "zero":
            names = [body.joint_name for body in tree.bodies]
            if whose not in names and (text == "zero" or any(c in whose for c in "*?[")):
                free = [body.joint_name for _, body in tree.stacked() if body.joint.nv]
                fitting = [f"zero:{name}" for name in free if fnmatchcase(name, whose or "*")]
                if not fitting:
                    raise UnknownNameError("joint", whose, free)
                return fitting
            coupling = tree.bodies[tree.joint_index(whose)].coupling
            if coupling is not None:
                raise ValueError(f"{caller}: {text}: it follows joint {coupling.joint!r}, whose zero is its own")
            return [text]
        raise UnknownNameError("offset", text, ["placement:<joint>", "frame:<frame>", "zero:<joint>", "base"])

    def _numbers(self, name: str) -> list[str]:
        """The names of the numbers of one parameter."""
        kind, _, whose = name.partition(":")
        if kind != "zero":
            return [f"{name}.{number}" for number in SIX]
        result = self.zero_places[name] = self.robot.v_index([whose])
        return [name] if len(result) == 1 else [f"{name}.{k}" for k in range(len(result))]

    def _compiled(self) -> Kernel:
        robot, frame, offsets = self.robot, self.frame, [*self.places.items()]

        def error_of_pose(q: Any, measured: Any, x: Any) -> Any:
            moved = robot.with_parameters({name: x[place] for name, place in offsets if name != "base"})
            if self.zero_places:
                v: list[Any] = [0.0] * robot.nv
                for name, rows in self.zero_places.items():
                    for row, number in zip(rows.tolist(), x[self.all[name]].tolist(), strict=True):
                        v[row] = number
                q = moved.integrate(q, v)
            base = offset(x[self.places["base"]].tolist()) if "base" in self.places else Pose.identity()
            if self.rows == 6:
                X = base @ Pose.of_elements(moved.pose(q, frame).ravel().tolist())
                error = X.difference(Pose.of_elements(measured.ravel().tolist())).elements()
            else:
                r = base.point(Vec3.of(moved.point_position(q, frame).tolist()))
                error = tuple(Vec3.of(measured.tolist()) - r)
            return list(error), jacobian(error, x.tolist())

        return compile(error_of_pose, q=(robot.nq,), measured=self.shape, x=(len(self.names),))

    def errors(self, q: np.ndarray, measured: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n, rows) [rad, m] and derivatives (n, rows, k)."""
        error, J = self.kernel(q, measured, x)
        return np.asarray(error), np.asarray(J)

    def identifiable(self, x: np.ndarray) -> tuple[BaseParameters, np.ndarray]:
        """What poses show about x at random configurations, and how long columns are there."""
        count = max(20, -(-3 * len(self.names) // self.rows))
        q = self.robot.random_configuration(np.random.default_rng(0), size=count)
        X = self.robot.pose(q, self.frame) if self.rows == 6 else self.robot.point_position(q, self.frame)
        J = self.errors(q, X, x)[1].reshape(-1, len(self.names))
        return base_parameters_of(J, self.names, 1e-9, _APART), np.sqrt((J * J).mean(axis=0))

    def solved(
        self, q: np.ndarray, measured: np.ndarray, weights: np.ndarray | None, max_iterations: int, report: Reporter
    ) -> PlacementDescent:
        """From no offsets, and again from where that ends if more is shown there."""
        result = self._descended(np.zeros(len(self.names)), q, measured, weights, max_iterations, report)
        while result.converged:
            other = self._descended(result.x, q, measured, weights, max_iterations, report)
            added = other.identifiable.rank - result.identifiable.rank
            if added <= 0 or not other.converged:
                break
            falls = 2.0 * len(q) * np.log(np.maximum(result.residual, 1e-15) / np.maximum(other.residual, 1e-15)).sum()
            if not falls > 10.0 + 4.0 * added:
                break
            result = replace(other, steps=result.steps + other.steps)
        return result

    def _descended(
        self,
        x: np.ndarray,
        q: np.ndarray,
        measured: np.ndarray,
        weights: np.ndarray | None,
        max_iterations: int,
        report: Reporter,
    ) -> PlacementDescent:
        """Gauss and Newton's steps, halved where the errors would grow, by what is shown at x."""
        shown, typical = self.identifiable(x)
        same = np.zeros_like(x)  # poses, to first order
        same[shown.columns] = shown.values(x)
        x = same
        places = measured[:, :3, 3] if self.rows == 6 else measured
        size = np.full(self.rows, places.var(axis=0).mean())
        error, J = self.errors(q, measured, x)
        for step in range(1, max_iterations + 1):
            report.advance()
            rows = np.concatenate([-J[..., shown.columns], error[..., None]], axis=-1).swapaxes(0, 1)
            force = np.repeat(np.arange(self.rows), rows.shape[-1])
            flat = triangular(rows).reshape(len(force), -1)
            triangles = Reduced(flat, force, len(error), error.mean(axis=0), size)
            fit = fitted(triangles, np.ones(self.rows, dtype=bool), weights, typical[shown.columns])
            if fit.unseen.shape[1]:
                break
            change, part, before = np.zeros_like(x), 1.0, np.sum((error / fit.sigma) ** 2)
            change[shown.columns] = fit.x
            error, J = self.errors(q, measured, x + change)
            while np.sum((error / fit.sigma) ** 2) > before * (1.0 + 1e-9) and part > 1e-6:
                part *= 0.5
                error, J = self.errors(q, measured, x + part * change)
            x = x + part * change
            small = np.abs(fit.x) <= _SETTLED * np.sqrt(np.diag(fit.covariance))
            if (small | (np.abs(fit.x) <= 1e-13)).all():
                return PlacementDescent(x, fit, triangles, shown, rms(error), step, True)
        return PlacementDescent(x, fit, triangles, shown, rms(error), step, False)

    def zeros(self, x: np.ndarray) -> np.ndarray:
        """(nv,): what readings have to be moved by."""
        result = np.zeros(self.robot.nv)
        for name, rows in self.zero_places.items():
            result[rows] = x[self.all[name]]
        return result

    def base(self, x: np.ndarray) -> np.ndarray:
        """(4, 4): the base, the identity if it is not asked for."""
        return matrix_of(offset(x[self.places["base"]].tolist())) if "base" in self.places else np.eye(4)


def _by_default(robot: Robot, frame: str) -> list[str]:
    """The placements of the joints that carry a frame, from the base, and the frame where it is no body's own."""
    tree = robot.tree
    points = {point.name: point.frame for point in tree.points}
    carrier = tree.frame(points.get(frame, frame))
    result: list[str] = []
    i = carrier.body
    while i != WORLD:
        result.append(f"placement:{tree.bodies[i].joint_name}")
        i = tree.bodies[i].parent
    return [*reversed(result), f"frame:{carrier.name}"]
