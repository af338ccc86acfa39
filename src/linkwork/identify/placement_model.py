"""Model of pose errors by offsets of placements, zeros and the base, with its Gauss–Newton method."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from linkwork import Kernel, Robot
from linkwork._util.progress import Reporter
from linkwork.dynamics import BaseParameters
from linkwork.errors import UnknownNameError
from linkwork.expr import jacobian
from linkwork.identify.linear_least_squares import LinearFit, Reduced, fit_linear, triangular
from linkwork.identify.measurements import rms
from linkwork.kernels import compile
from linkwork.model import WORLD, read_parameters
from linkwork.spatial import Pose, Quaternion, Vec3

__all__ = ["SIX", "PlacementDescent", "PlacementModel"]

_DEPENDENT = 1e-3  # relative remainder of a column after projecting out others: below, poses do not determine it
SIX = ("phi_x", "phi_y", "phi_z", "d_x", "d_y", "d_z")
_CONVERGED = 1e-6  # standard deviations: smaller steps are negligible


@dataclass(frozen=True, eq=False)
class PlacementDescent:
    """Result of a Gauss–Newton descent: offsets x, the linear fit of the last step, and convergence."""

    x: np.ndarray
    fit: LinearFit  # the last linear fit
    rows: Reduced  # the reduced equations of that fit
    identifiable: BaseParameters
    residual: np.ndarray
    steps: int
    converged: bool


class PlacementModel:
    """Errors of measured poses as a function of unknown offsets x, with derivatives.

    Each offset, by its name, is a slice of x.
    """

    def __init__(
        self, caller: str, robot: Robot, frame: str, parameters: Iterable[str] | None, shape_of_poses: tuple[int, ...]
    ) -> None:
        self.robot, self.frame = robot, frame
        if not isinstance(robot, Robot):
            raise TypeError(f"{caller}: robot: expected a Robot, got {robot!r}")
        self.shape = (4, 4) if shape_of_poses[-2:] == (4, 4) else (3,)
        self.rows = 6 if self.shape == (4, 4) else 3
        if self.rows == 6:
            robot.tree.frame(frame)
        requested = _by_default(robot, frame) if parameters is None else parameters
        if isinstance(requested, str):
            raise TypeError(f"{caller}: parameters: expected a list of names, got {requested!r}")
        self.zero_indices: dict[str, np.ndarray] = {}
        self.all: dict[str, slice] = {}
        names: list[str] = []
        expanded = [name for text in requested for name in self._expanded(caller, text)]
        read_parameters(robot.tree, caller, [name for name in expanded if name.startswith(("placement:", "frame:"))])
        for name in expanded:
            if name in self.all:
                raise ValueError(f"{caller}: parameters: {name!r} is named twice")
            components = self._component_names(name)
            self.all[name] = slice(len(names), len(names) + len(components))
            names += components
        if not names:
            raise ValueError(f"{caller}: parameters: expected at least one parameter to estimate, got none")
        self.names = tuple(names)
        self.slices = {name: columns for name, columns in self.all.items() if not name.startswith("zero:")}
        self.kernel = self._compiled()
        q = robot.random_configuration(np.random.default_rng(0), size=20)
        positions = robot.pose(q, frame)[:, :3, 3] if self.rows == 6 else robot.point_position(q, frame)
        self.reach = float(np.sqrt(positions.var(axis=0).sum())) or 1.0  # [m]; 1 for a frame that does not move

    def _expanded(self, caller: str, text: Any) -> list[str]:
        """Return the names of the offsets that ``text`` stands for: a name, or all that match a pattern or a kind.

        Raises UnknownNameError and ValueError.
        """
        tree = self.robot.tree
        kind, _, joint = text.partition(":") if isinstance(text, str) else (text, "", "")
        if text == "base":
            return [text]
        if text == "placement":
            return [f"placement:{tree.bodies[i].joint_name}" for i in tree.order]
        if kind in ("placement", "frame"):
            return [str(parameter) for parameter in read_parameters(tree, caller, text)]
        if kind == "zero":
            names = [body.joint_name for body in tree.bodies]
            if joint not in names and (text == "zero" or any(c in joint for c in "*?[")):
                free = [body.joint_name for _, body in tree.stacked() if body.joint.nv]
                fitting = [f"zero:{name}" for name in free if fnmatchcase(name, joint or "*")]
                if not fitting:
                    raise UnknownNameError("joint", joint, free)
                return fitting
            coupling = tree.bodies[tree.joint_index(joint)].coupling
            if coupling is not None:
                raise ValueError(
                    f"{caller}: {text}: it follows joint {coupling.joint!r}; estimate the zero of that joint"
                )
            return [text]
        raise UnknownNameError("offset", text, ["placement:<joint>", "frame:<frame>", "zero:<joint>", "base"])

    def _component_names(self, name: str) -> list[str]:
        """Return the names of the components of one offset: six for a placement, one for each coordinate of a zero."""
        kind, _, joint = name.partition(":")
        if kind != "zero":
            return [f"{name}.{number}" for number in SIX]
        result = self.zero_indices[name] = self.robot.v_index([joint])
        return [name] if len(result) == 1 else [f"{name}.{k}" for k in range(len(result))]

    def _compiled(self) -> Kernel:
        robot, frame, offsets = self.robot, self.frame, [*self.slices.items()]

        def error_of_pose(q: Any, measured: Any, x: Any) -> Any:
            corrected = robot.with_parameters({name: x[columns] for name, columns in offsets if name != "base"})
            if self.zero_indices:
                v: list[Any] = [0.0] * robot.nv
                for name, rows in self.zero_indices.items():
                    for row, number in zip(rows.tolist(), x[self.all[name]].tolist(), strict=True):
                        v[row] = number
                q = corrected.integrate(q, v)
            base = _placement(x[self.slices["base"]].tolist()) if "base" in self.slices else Pose.identity()
            if self.rows == 6:
                X = base @ Pose.of_elements(corrected.pose(q, frame).ravel().tolist())
                error = X.difference(Pose.of_elements(measured.ravel().tolist())).elements()
            else:
                r = base.point(Vec3.of(corrected.point_position(q, frame).tolist()))
                error = tuple(Vec3.of(measured.tolist()) - r)
            return list(error), jacobian(error, x.tolist())

        return compile(error_of_pose, q=(robot.nq,), measured=self.shape, x=(len(self.names),))

    def errors(self, q: np.ndarray, measured: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the errors of poses (n, rows) [rad, m] for offsets x (k,), and the derivatives in x (n, rows, k).

        ``rows`` is six for poses and three for positions.
        """
        error, J = self.kernel(q, measured, x)
        return np.asarray(error), np.asarray(J)

    def identifiable(self, x: np.ndarray) -> tuple[BaseParameters, np.ndarray]:
        """Return the combinations of offsets x (k,) that poses determine, and the typical effect of each offset.

        The combinations are those that poses at random configurations determine. The effects (k,) are the root mean
        squares of the pose errors' derivatives with respect to each component of x.
        """
        count = max(20, -(-3 * len(self.names) // self.rows))
        q = self.robot.random_configuration(np.random.default_rng(0), size=count)
        X = self.robot.pose(q, self.frame) if self.rows == 6 else self.robot.point_position(q, self.frame)
        J = self.errors(q, X, x)[1].reshape(-1, len(self.names))
        return BaseParameters.of_regressor(J, self.names, apart=_DEPENDENT), np.sqrt((J * J).mean(axis=0))

    def solve(
        self, q: np.ndarray, measured: np.ndarray, weights: np.ndarray | None, max_iterations: int, report: Reporter
    ) -> PlacementDescent:
        """Return the offsets that fit the measurements best, by a Gauss–Newton descent that starts from zero offsets.

        The descent is repeated from its result if more offsets are identifiable there and fit the measurements better.
        """
        result = self._descend(np.zeros(len(self.names)), q, measured, weights, max_iterations, report)
        while result.converged:
            repeated = self._descend(result.x, q, measured, weights, max_iterations, report)
            added = repeated.identifiable.rank - result.identifiable.rank
            if added <= 0 or not repeated.converged:
                break
            falls = (
                2.0 * len(q) * np.log(np.maximum(result.residual, 1e-15) / np.maximum(repeated.residual, 1e-15)).sum()
            )
            if not falls > 10.0 + 4.0 * added:
                break
            result = replace(repeated, steps=result.steps + repeated.steps)
        return result

    def _descend(
        self,
        x: np.ndarray,
        q: np.ndarray,
        measured: np.ndarray,
        weights: np.ndarray | None,
        max_iterations: int,
        report: Reporter,
    ) -> PlacementDescent:
        """Return the result of Gauss–Newton steps from x, in the offsets that are identifiable at x.

        A step is halved if it would increase the errors.
        """
        observable, typical = self.identifiable(x)
        equivalent = np.zeros_like(x)  # the same poses to first order
        equivalent[observable.columns] = observable.values(x)
        x = equivalent
        size = np.append(np.ones(self.rows - 3), np.full(3, self.reach**2))  # rotations [rad²], positions [m²]
        error, J = self.errors(q, measured, x)
        for step in range(1, max_iterations + 1):
            report.advance()
            rows = np.concatenate([-J[..., observable.columns], error[..., None]], axis=-1).swapaxes(0, 1)
            force = np.repeat(np.arange(self.rows), rows.shape[-1])
            flat = triangular(rows).reshape(len(force), -1)
            triangles = Reduced(flat, force, len(error), error.mean(axis=0), size)
            fit = fit_linear(triangles, np.ones(self.rows, dtype=bool), weights, typical[observable.columns])
            if fit.unobservable.shape[1]:
                break
            change, part, before = np.zeros_like(x), 1.0, np.sum((error / fit.sigma) ** 2)
            change[observable.columns] = fit.x
            error, J = self.errors(q, measured, x + change)
            while np.sum((error / fit.sigma) ** 2) > before * (1.0 + 1e-9) and part > 1e-6:
                part *= 0.5
                error, J = self.errors(q, measured, x + part * change)
            x = x + part * change
            small = np.abs(fit.x) <= _CONVERGED * np.sqrt(np.diag(fit.covariance))
            if (small | (np.abs(fit.x) <= 1e-13)).all():
                return PlacementDescent(x, fit, triangles, observable, rms(error), step, True)
        return PlacementDescent(x, fit, triangles, observable, rms(error), step, False)

    def zeros(self, x: np.ndarray) -> np.ndarray:
        """Return the offsets of joint readings (nv,), zero for joints without an estimate."""
        result = np.zeros(self.robot.nv)
        for name, rows in self.zero_indices.items():
            result[rows] = x[self.all[name]]
        return result

    def base(self, x: np.ndarray) -> np.ndarray:
        """Return the pose (4, 4) of the base; the identity if the base is not estimated."""
        return _placement(x[self.slices["base"]].tolist()).matrix() if "base" in self.slices else np.eye(4)


def _placement(values: Sequence[Any]) -> Pose:
    """Return the pose of an offset (φ; d), with the rotation vector φ [rad] and the translation d [m]."""
    return Pose(Quaternion.exp(Vec3.of(values[:3])).rotation(), Vec3.of(values[3:]))


def _by_default(robot: Robot, frame: str) -> list[str]:
    """Return the default offsets: placements of all joints between base and frame, and the frame itself."""
    tree = robot.tree
    points = {point.name: point.frame for point in tree.points}
    carrier = tree.frame(points.get(frame, frame))
    result: list[str] = []
    i = carrier.body
    while i != WORLD:
        result.append(f"placement:{tree.bodies[i].joint_name}")
        i = tree.bodies[i].parent
    return [*reversed(result), f"frame:{carrier.name}"]
