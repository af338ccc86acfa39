"""What a planner moves in: a robot's configurations within limits, and what of them is free."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from ...algorithms.motion.curves import CurveSpace
from ..distances.edges import METHODS, check_edges, edge_kernel
from .samples import Samples

__all__ = ["EdgeMethod", "PlanningSpace"]

EdgeMethod = Literal["certified", "sampled"]

_KNOWN = "planning"  # what a robot remembers of a space within its own limits
_LANES = 16  # of configurations: at least as many as are looked at together
_BLOCK = 4096  # rows that distances are measured to at once
_TOLERANCE = 1e-6  # [m]: distances that are no farther above the margin are not told from a collision


class _Known(NamedTuple):
    """Limits (nq,), whether numbers of q add up, and which of v and of q turn freely."""

    lower: np.ndarray
    upper: np.ndarray
    is_plain: bool
    turning: np.ndarray
    turning_q: np.ndarray


class PlanningSpace:
    """Configurations (nq,) of a robot in a scene: differences, samples, and edges that are free.

    Planners ask what stands here and nothing else, so what else they may move in is another class with the same
    methods.  Lengths are √Σ (w φ)², φ = q1 ⊖ q0 and w the weights.  Angles without limits go the short way round.
    """

    def __init__(
        self,
        robot: Any,
        scene: Any = None,
        *,
        margin: float = 0.0,
        edges: EdgeMethod = "certified",
        resolution: float = 0.05,
        weights: np.ndarray | None = None,
        limits: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        """Raises ValueError for a length that nothing bounds, and what `Robot.edge_is_free` raises."""
        self.robot, self.scene, self.margin = robot, scene, margin
        self.lower: np.ndarray
        self.upper: np.ndarray
        self.method, self.resolution = edges, resolution
        self.weights = np.ones(robot.nv) if weights is None else weights
        self._even = weights is None or bool((weights == 1.0).all())
        self.unit = 1.0 if self._even else float(np.sqrt((self.weights**2).mean()))  # what is 1 rad, or 1 m, about
        self.limited = limits is not None
        known: _Known | None = None if self.limited else robot._calls.get(_KNOWN)
        if known is None:
            self.lower, self.upper = (robot.lower, robot.upper) if limits is None else limits
            known = _Known(self.lower, self.upper, CurveSpace.of(robot.tree).is_plain, *self._turning())
            self._check_lengths()
            if not self.limited:
                robot._calls[_KNOWN] = known
        self.lower, self.upper, self.is_plain, self.turning, self._turning_q = known
        self.turns = bool(self._turning_q.any())
        self.checked = 0  # edges so far
        self._asked = robot._about("plan", scene, None)
        if edges == METHODS[0] and f"edge_is_free {edges}" not in self._asked.kernels:
            check_edges(self._asked.asked)
        self._edge: dict[str, Any] | None = None  # what is called, by name

    # -- its geometry

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """q1 ⊖ q0 (..., nv), the short way."""
        phi: np.ndarray = q1 - q0 if self.is_plain else self.robot.difference(q0, q1)
        if self.turns:
            phi[..., self.turning] -= 2.0 * np.pi * np.round(phi[..., self.turning] / (2.0 * np.pi))
        return phi

    def integrate(self, q: np.ndarray, phi: np.ndarray) -> np.ndarray:
        """q ⊕ φ (..., nq)."""
        found: np.ndarray = q + phi if self.is_plain else self.robot.integrate(q, phi)
        return found

    def length(self, phi: np.ndarray) -> np.ndarray:
        """Of differences (..., nv)."""
        scaled = phi if self._even else phi * self.weights
        found: np.ndarray = np.sqrt(np.einsum("...i,...i->...", scaled, scaled))
        return found

    def between(self, rows: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Squares of lengths from each of q (b, nq) to each of the rows (n, nq): (b, n)."""
        if self.is_plain and not self.turns:
            a, b = (rows, q) if self._even else (rows * self.weights, q * self.weights)
            found: np.ndarray = b @ a.T
            found *= -2.0
            found += np.einsum("ij,ij->i", b, b)[:, None]
            found += np.einsum("ij,ij->i", a, a)
            np.maximum(found, 0.0, out=found)
            return found
        squares = []
        for k in range(0, max(len(rows), 1), _BLOCK):  # so that memory stays small
            scaled = self.difference(q[:, None], rows[None, k : k + _BLOCK]) * self.weights
            squares.append(np.einsum("...i,...i->...", scaled, scaled))
        return np.concatenate(squares, axis=1)

    def cost(self, path: np.ndarray) -> float:
        """How long a path (k, nq) is."""
        return float(self.length(self.difference(path[:-1], path[1:])).sum())

    def counted(self, path: np.ndarray) -> np.ndarray:
        """The path (k, nq) with whole turns added to angles without limits, so that each step is the short way as
        angles are counted."""
        if not self.turns:
            return path
        found = path.copy()
        found[:, self._turning_q] = np.unwrap(path[:, self._turning_q], axis=0)
        return found

    # -- what is free

    def within(self, q: np.ndarray) -> np.ndarray:
        """Whether configurations (n, nq) are within limits."""
        slack = 1e-9
        return np.asarray(((q >= self.lower - slack) & (q <= self.upper + slack)).all(-1))

    def free(self, q: np.ndarray) -> np.ndarray:
        """Whether configurations (n, nq) are free of collisions."""
        kernel, more = self._call("in_collision" if self.margin >= 0.0 else "in_collision deeper")
        return np.asarray(kernel(q, *more) < 0.5)

    def keeps(self, q: np.ndarray) -> np.ndarray:
        """Whether what is to hold along a way does in configurations (..., nq)."""
        return np.ones(q.shape[:-1], dtype=bool)

    def edges_are_free(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """Whether the straight ways (n, nq) each are free of collisions, all of them at once."""
        self.checked += len(q0)
        if self.turns:
            q1 = self.integrate(q0, self.difference(q0, q1))
        kernel, more = self._call(f"edge_is_free {self.method}")
        found: np.ndarray = np.asarray(kernel(q0, q1, *more))[:, 0] == 0.0
        return found

    def edges_are_clear(self, q0: np.ndarray, q1: np.ndarray, more: np.ndarray) -> np.ndarray:
        """Whether straight ways (n, nq), as numbers are counted, are free with so much more margin (n,) [m] each."""
        self.checked += len(q0)
        kernel, (margin, *rest) = self._call(f"edge_is_free {self.method}")
        return np.asarray(np.asarray(kernel(q0, q1, margin + more, *rest))[:, 0] == 0.0)

    def _call(self, what: str) -> tuple[Any, tuple[np.ndarray, ...]]:
        """A kernel, and what it takes after configurations."""
        if self._edge is None:
            self._edge = {}
        found: tuple[Any, tuple[np.ndarray, ...]] | None = self._edge.get(what)
        if found is None:
            numbers = [np.array(float(self.margin))]
            kernels = self._asked.kernels
            if what.startswith("edge"):
                numbers.append(np.array(float(_TOLERANCE if self.method == METHODS[0] else self.resolution)))
                if what not in kernels:
                    kernels[what] = edge_kernel(self.method, self._asked.asked, self.robot.configuration_space)
            if what not in kernels:
                self._asked.kernel(what, self.robot.configuration_space)
            kernel = kernels[what]
            rows = self._asked.inputs(self._asked.scene.rows_by_distance)
            found = self._edge[what] = (kernel, (*numbers, *rows))
        return found

    def make_ready(self, q: np.ndarray) -> None:
        """What looks at configurations and edges is compiled, for one and for many, unless it has been."""
        if _KNOWN not in self._asked.calls:
            for count in (1, _LANES):
                some = np.repeat(q[None], count, axis=0)
                self.free(some)
                self.edges_are_free(some, some)
            self._asked.calls[_KNOWN] = PlanningSpace.free
            self.checked = 0

    def loop(self, what: str, kernel: Any, turning: tuple[bool, ...]) -> tuple[Any, list[np.ndarray]]:
        """A kernel of a whole loop, which is made of pairs and of what is turning, and the scene's rows."""
        if what not in self._asked.kernels:
            self._asked.kernels[what] = kernel(self._asked.asked, turning)
        return self._asked.kernels[what], self._asked.inputs(self._asked.scene.rows_by_distance)

    # -- samples

    def samples(self, seed: int) -> Samples:
        """Configurations spread over the limits, the same ones for a seed."""
        return Samples(self.robot.tree, self.lower, self.upper, seed)

    def dimension(self) -> int:
        """In how many directions one may move."""
        return int(self.robot.nv)

    @property
    def tasks(self) -> tuple[Any, ...]:
        """What is to hold besides, as tasks of inverse kinematics; nothing here."""
        return ()

    @property
    def is_flat(self) -> bool:
        """Whether lengths are those of arrows between arrays, and all between limits is what may be gone through."""
        return self.is_plain and not self.turns

    def edge_lengths(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """How long edges (n, nq) are that are free."""
        return self.length(self.difference(q0, q1))

    def detailed(self, path: np.ndarray) -> np.ndarray:
        """The configurations (k, nq) between which straight ways are what edges of a path are."""
        return path

    def violation(self, q: np.ndarray) -> str | None:
        """What is to hold in a configuration (nq,) and does not; nothing here."""
        return None

    def __getstate__(self) -> dict[str, Any]:
        """All but machine code, which is made where it is needed."""
        return {key: x for key, x in self.__dict__.items() if key not in ("_asked", "_edge")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._asked, self._edge = self.robot._about("plan", self.scene, None), None

    def _places(self) -> list[tuple[Any, slice, slice]]:
        """Joints and the places of their numbers in q and v."""
        tree = self.robot.tree
        return [(body, tree.q_slices[i], tree.v_slices[i]) for i, body in tree.stacked()]

    def _turning(self) -> tuple[np.ndarray, np.ndarray]:
        """Which numbers of v are the rates of angles without limits, and which of q these angles."""
        in_v, in_q = np.zeros(self.robot.nv, dtype=bool), np.zeros(self.robot.nq, dtype=bool)
        plain = {place.name: place.is_plain for place in CurveSpace.of(self.robot.tree).joints}
        for body, q, v in self._places():
            if plain.get(body.joint_name, True):
                angles = np.array([unit == "rad" for unit in body.joint.q_units], dtype=bool)
                in_v[v] = in_q[q] = angles & np.isneginf(self.lower[q]) & np.isposinf(self.upper[q])
        return in_v, in_q

    def _check_lengths(self) -> None:
        """Raises ValueError for lengths that nothing bounds: there is nowhere to sample them."""
        for body, q, _ in self._places():
            for k, unit in enumerate(body.joint.q_units):
                low, high = self.lower[q][k], self.upper[q][k]
                if unit == "m" and not (np.isfinite(low) and np.isfinite(high)):
                    name = self.robot.q_names[q.start + k]
                    raise ValueError(
                        f"plan: {name!r} is a length within [{low:g}, {high:g}] m, which nothing bounds: say between "
                        f"which it may go: limits={{{name!r}: (lower, upper)}}"
                    )
