"""What a planner moves in: a robot's configurations within limits, and what of them is free."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from linkwork.collision.kernels import EACH
from linkwork.collision.motion_validity import METHODS, check_edges, edge_kernel
from linkwork.joints import FloatingMRP, JointType, SphericalMRP
from linkwork.model.tree import Tree
from linkwork.model.tree_edits import affine_coordinates, straight_tree
from linkwork.motion.algorithms.curves import CurveSpace
from linkwork.planning.clearance_margins import Margins, PairBlock, pair_blocks, read_margins
from linkwork.planning.search.halton_samples import Samples

__all__ = ["TOLERANCE", "EdgeMethod", "OutOfTimeError", "PlanningSpace"]

EdgeMethod = Literal["certified", "sampled"]

_KNOWN = "planning"  # what a robot remembers of a space within its own limits
_LANES = 16  # of configurations: at least as many as are looked at together
_BLOCK = 4096  # rows that distances are measured to at once
_AT_ONCE = 1 << 16  # configurations of ways that are looked at together, at most: memory stays small
_PART = 1024  # samples of a piece of an edge that is long
_BATCH = 256  # edges that are proved between looks at the clock; of sampled ones as many as have _AT_ONCE samples
TOLERANCE = 1e-6  # [m]: distances that are no farther above the margin are not told from a collision


class _Known(NamedTuple):
    """Limits (nq,), the robot whose joints go straight, whether numbers of q add up, and which of v and of q turn
    freely.
    """

    lower: np.ndarray
    upper: np.ndarray
    straight: Any
    is_plain: bool
    turning: np.ndarray
    turning_q: np.ndarray


class OutOfTimeError(Exception):
    """Raised while edges are looked at, when the time budget is spent: what is not known of them stays unknown."""


class PlanningSpace:
    """Configurations (nq,) of a robot in a scene: differences, samples, and edges that are free.

    Planners ask what stands here and nothing else, so what else they may move in is another class with the same
    methods.  Lengths are √Σ (w φ)², φ = q1 ⊖ q0 and w the weights.  Angles without limits go the short way round.

    Planar and floating joints go straight while they turn (`linkwork.joints.straight_motion`): φ has the difference of
    positions in the axes in which limits are, so what is between two configurations within limits is within limits.
    """

    is_left: Callable[[], bool] = staticmethod(lambda: True)  # whether some of a search's time is left

    def __init__(
        self,
        robot: Any,
        scene: Any = None,
        *,
        margin: float | Margins = 0.0,
        pairs: Any = None,
        collision_check: EdgeMethod = "certified",
        resolution: float = 0.05,
        weights: np.ndarray | None = None,
        position_limits: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        """Raises ValueError for a length that nothing bounds, and what `Robot.is_motion_free` raises."""
        self.robot, self.scene, self.margins, self.pairs = robot, scene, read_margins(margin), pairs
        self.lower: np.ndarray
        self.upper: np.ndarray
        self.method, self.resolution = collision_check, resolution
        self.weights = np.ones(robot.nv) if weights is None else weights
        self._even = weights is None or bool((weights == 1.0).all())
        self.unit = 1.0 if self._even else float(np.sqrt((self.weights**2).mean()))  # what is 1 rad, or 1 m, about
        self.limited = position_limits is not None
        known: _Known | None = None if self.limited else robot._calls.get(_KNOWN)
        if known is None:
            self.lower, self.upper = (robot.lower, robot.upper) if position_limits is None else position_limits
            tree = straight_tree(robot.tree)
            self.straight = robot if tree is robot.tree else type(robot)(tree)
            known = _Known(self.lower, self.upper, self.straight, CurveSpace.of(tree).is_plain, *self._turning())
            self._check_lengths()
            _check_limits(robot.tree, tree, self.lower, self.upper)
            if not self.limited:
                robot._calls[_KNOWN] = known
        self.lower, self.upper, self.straight, self.is_plain, self.turning, self._turning_q = known
        self.turns = bool(self._turning_q.any())
        self.checked = 0  # edges so far
        self.blocks = pair_blocks(robot, scene, pairs, self.margins)
        if collision_check == METHODS[0] and f"is_motion_free {collision_check}" not in self.blocks[0].asked.kernels:
            check_edges(self.blocks[0].asked.spec)
        self._edge: dict[str, Any] | None = None  # what is called, by name

    # -- its geometry

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """q1 ⊖ q0 (..., nv), the short way."""
        phi: np.ndarray = q1 - q0 if self.is_plain else self.straight.difference(q0, q1)
        if self.turns:
            phi[..., self.turning] -= 2.0 * np.pi * np.round(phi[..., self.turning] / (2.0 * np.pi))
        return phi

    def integrate(self, q: np.ndarray, phi: np.ndarray) -> np.ndarray:
        """q ⊕ φ (..., nq)."""
        result: np.ndarray = q + phi if self.is_plain else self.straight.integrate(q, phi)
        return result

    def length(self, phi: np.ndarray) -> np.ndarray:
        """Of differences (..., nv)."""
        scaled = phi if self._even else phi * self.weights
        result: np.ndarray = np.sqrt(np.einsum("...i,...i->...", scaled, scaled))
        return result

    def between(self, rows: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Squares of lengths from each of q (b, nq) to each of the rows (n, nq): (b, n)."""
        if self.is_plain and not self.turns:
            a, b = (rows, q) if self._even else (rows * self.weights, q * self.weights)
            result: np.ndarray = b @ a.T
            result *= -2.0
            result += np.einsum("ij,ij->i", b, b)[:, None]
            result += np.einsum("ij,ij->i", a, a)
            np.maximum(result, 0.0, out=result)
            return result
        squares = []
        for k in range(0, max(len(rows), 1), _BLOCK):  # so that memory stays small
            scaled = self.difference(q[:, None], rows[None, k : k + _BLOCK]) * self.weights
            squares.append(np.einsum("...i,...i->...", scaled, scaled))
        return np.concatenate(squares, axis=1)

    def looks(self, phi: np.ndarray, spacing: float) -> np.ndarray:
        """Return in how many parts ways φ (n, nv) are cut to be looked at no farther apart than a spacing: fewer where
        they are so long, or so many, that memory would not hold the configurations.
        """
        most = max(_AT_ONCE // max(len(phi), 1), 1)
        return np.clip(np.ceil(self.length(phi) / spacing), 1.0, most).astype(int)

    def cost(self, path: np.ndarray) -> float:
        """How long a path (k, nq) is."""
        return float(self.length(self.difference(path[:-1], path[1:])).sum())

    def counted(self, path: np.ndarray) -> np.ndarray:
        """The path (k, nq) with whole turns added to angles without limits, so that each step is the short way as
        angles are counted.
        """
        if not self.turns:
            return path
        result = path.copy()
        result[:, self._turning_q] = np.unwrap(path[:, self._turning_q], axis=0)
        return result

    # -- what is free

    def within(self, q: np.ndarray) -> np.ndarray:
        """Whether configurations (n, nq) are within limits."""
        slack = 1e-9
        return np.asarray(((q >= self.lower - slack) & (q <= self.upper + slack)).all(-1))

    def free(self, q: np.ndarray) -> np.ndarray:
        """Whether configurations (n, nq) are free of collisions."""
        (kernel, more), *rest = self._calls("in_collision")
        result = np.asarray(kernel(q, *more) < 0.5)
        for kernel, more in rest:
            result &= kernel(q, *more) < 0.5
        return result

    def free_ends(self, q: np.ndarray) -> np.ndarray:
        """Whether edges may begin and end at configurations (n, nq): certified ones where it is told from a collision
        alone, which takes some more room than nothing.
        """
        if self.method != METHODS[0]:
            return self.free(q)
        result = np.ones(len(q), dtype=bool)
        for kernel, (margin, *more) in self._calls("in_collision"):
            result &= kernel(q, margin + TOLERANCE, *more) < 0.5
        return result

    def keeps(self, q: np.ndarray) -> np.ndarray:
        """Whether what is to hold along a way does in configurations (..., nq)."""
        return np.ones(q.shape[:-1], dtype=bool)

    def edges_are_free(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """Whether the straight ways (n, nq) each are free of collisions, all of them at once."""
        if self.turns:
            q1 = PlanningSpace.integrate(self, q0, self.difference(q0, q1))
        return self._looked_along(q0, q1, np.zeros(len(q0)))

    def edges_are_clear(self, q0: np.ndarray, q1: np.ndarray, more: np.ndarray) -> np.ndarray:
        """Whether straight ways (n, nq), as numbers are counted, are free with so much more margin (n,) [m] each."""
        return self._looked_along(q0, q1, more)

    def _looked_along(self, q0: np.ndarray, q1: np.ndarray, more: np.ndarray) -> np.ndarray:
        """Return which ways (n,) are free with so much more margin (n,): of long ones that are sampled piece by piece,
        and of many some at a time, so that the clock is looked at in between.  Raises OutOfTimeError.
        """
        self.checked += len(q0)
        if self.method == METHODS[0]:
            return self._in_batches(q0, q1, more, np.full(len(q0), 1.0 / _BATCH))
        phi = self.straight.difference(q0, q1)
        samples = np.maximum(np.ceil(np.linalg.norm(phi, axis=-1) / self.resolution), 1.0)
        if samples.max(initial=1.0) <= _PART:
            return self._in_batches(q0, q1, more, samples / _AT_ONCE)
        result = np.empty(len(q0), dtype=bool)
        for k, count in enumerate(np.ceil(samples / _PART).astype(np.int64).tolist()):
            result[k] = self._sampled_in_parts(q0[k], phi[k], more[k], count, first=k == 0)
        return result

    def _sampled_in_parts(self, q0: np.ndarray, phi: np.ndarray, more: float, count: int, *, first: bool) -> bool:
        """Return whether a long way is free: so many parts of it, until one is not.  Raises OutOfTimeError."""
        some = _AT_ONCE // _PART
        for begin in range(0, count, some):
            self._look_at_clock(begin > 0 or not first)
            t = np.arange(begin, min(begin + some, count) + 1)[:, None] / count
            q = self.straight.integrate(q0, t * phi)
            if not self._edges(q[:-1], q[1:], np.full(len(q) - 1, more)).all():
                return False
        return True

    def _in_batches(self, q0: np.ndarray, q1: np.ndarray, more: np.ndarray, work: np.ndarray) -> np.ndarray:
        """The same of ways that take little work (n,) each, of which 1 is a call of a kernel."""
        result = np.empty(len(q0), dtype=bool)
        ends = np.flatnonzero(np.diff(np.floor(np.cumsum(work) * (1.0 - 1e-9)))) + 1
        for k, (first, last) in enumerate(pairwise([0, *ends.tolist(), len(q0)])):
            self._look_at_clock(k > 0)
            part = slice(first, last)
            result[part] = self._edges(q0[part], q1[part], more[part])
        return result

    def _look_at_clock(self, asked: bool) -> None:
        if asked and not self.is_left():
            raise OutOfTimeError

    def _edges(self, q0: np.ndarray, q1: np.ndarray, more: np.ndarray) -> np.ndarray:
        """Return which of some ways (n,) are free, by kernels."""
        (kernel, (margin, *given)), *rest = self._calls(f"is_motion_free {self.method}")
        result: np.ndarray = np.asarray(kernel(q0, q1, margin + more, *given))[:, 0] == 0.0
        for kernel, (margin, *given) in rest:
            left = np.flatnonzero(result)
            result[left] = np.asarray(kernel(q0[left], q1[left], margin + more[left], *given))[:, 0] == 0.0
        return result

    def _calls(self, what: str) -> list[tuple[Any, tuple[np.ndarray, ...]]]:
        """By block of pairs: a kernel, and what it takes after configurations."""
        if self._edge is None:
            self._edge = {}
        result: list[tuple[Any, tuple[np.ndarray, ...]]] | None = self._edge.get(what)
        if result is None:
            result = self._edge[what] = [self._call(what, block) for block in self.blocks]
        return result

    def _call(self, what: str, block: PairBlock) -> tuple[Any, tuple[np.ndarray, ...]]:
        asked, numbers = block.asked, [np.array(block.margin)]
        kernels, each = asked.kernels, block.each is not None
        if each:
            what += f" {EACH}"
        if what.startswith("is_motion_free"):
            numbers.append(np.array(float(TOLERANCE if self.method == METHODS[0] else self.resolution)))
            if what not in kernels:
                kernels[what] = edge_kernel(self.method, asked.spec, self.robot.configuration_space, each=each)
        elif block.is_deep:
            what += " deeper"
        if what not in kernels:
            asked.kernel(what, self.robot.configuration_space)
        return kernels[what], (*numbers, *(block.each or ()), *asked.inputs(asked.scene.rows_by_distance))

    def make_ready(self, q: np.ndarray) -> None:
        """What looks at configurations and edges is compiled, for one and for many, unless it has been."""
        ready = [block.asked.calls for block in self.blocks]
        known = [f"{_KNOWN} {self.method} {block.is_deep} {block.each is not None}" for block in self.blocks]
        if not all(name in calls for name, calls in zip(known, ready, strict=True)):
            for count in (1, _LANES):
                some = np.repeat(q[None], count, axis=0)
                self.free(some)
                self.edges_are_free(some, some)
            for name, calls in zip(known, ready, strict=True):
                calls[name] = PlanningSpace.free
            self.checked = 0

    def loop(self, what: str, kernel: Any, turning: tuple[bool, ...]) -> tuple[Any, list[np.ndarray]]:
        """A kernel of a whole loop, which is made of blocks of pairs and of what is turning, and what it takes: by
        block, margins of pairs where each has its own, and its scene's rows.
        """
        blocks = self.blocks
        deep, each = tuple([block.is_deep for block in blocks]), blocks[0].each is not None
        key: Any = (what, deep, each)
        known: dict[Any, Any] = blocks[0].asked.kernels
        if len(blocks) > 1:
            key, known = (*key, *(block.asked.spec for block in blocks)), self.robot._calls
        if key not in known:
            known[key] = kernel(tuple([block.asked.spec for block in blocks]), deep, turning, each=each)
        result = []
        for block in blocks:
            result += [*(block.each or ()), *block.asked.inputs(block.asked.scene.rows_by_distance)]
        return known[key], result

    # -- samples

    def samples(self, seed: int) -> Samples:
        """Configurations spread over the limits, the same ones for a seed."""
        return Samples(self.straight.tree, self.lower, self.upper, seed)

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
        """All but machine code, which is made where it is needed, and a search's clock."""
        return {key: x for key, x in self.__dict__.items() if key not in ("blocks", "_edge", "is_left")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.blocks, self._edge = pair_blocks(self.robot, self.scene, self.pairs, self.margins), None

    def _places(self) -> list[tuple[Any, slice, slice]]:
        """Joints and the places of their numbers in q and v."""
        tree = self.straight.tree
        return [(body, tree.q_slices[i], tree.v_slices[i]) for i, body in tree.stacked()]

    def _turning(self) -> tuple[np.ndarray, np.ndarray]:
        """Which numbers of v are the rates of angles without limits, and which of q these angles."""
        in_v, in_q = np.zeros(self.robot.nv, dtype=bool), np.zeros(self.robot.nq, dtype=bool)
        plain = {place.name: place.is_plain for place in CurveSpace.of(self.straight.tree).joints}
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
                        f"which it may go: position_limits={{{name!r}: (lower, upper)}}"
                    )


def _check_limits(own: Tree, straight: Tree, lower: np.ndarray, upper: np.ndarray) -> None:
    """Raises ValueError for limits that may be left between two configurations that keep to them."""
    for i, body in straight.stacked():
        at = straight.q_slices[i]
        low, high = lower[at], upper[at]
        if np.isinf(low).all() and np.isinf(high).all():
            continue
        bent = ~affine_coordinates(body.joint) & ~_always_kept(body.joint, low, high)
        if bent.any():
            k = int(np.argmax(bent))
            raise ValueError(
                f"plan: limits of joint {body.joint_name!r} ({own.bodies[i].joint.type_name()}): {low[k]:g} to "
                f"{high[k]:g} of number {k} of its configuration may be left between way points, where it does not "
                f"change evenly: give it no limits, and path_constraints= a task that bounds the motion"
            )


def _always_kept(joint: JointType, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return which limits (nq,) no configuration leaves: of numbers that are within [−1, 1] by what they are."""
    within = {k for places in joint.unit_length for k in places}
    if isinstance(joint, (SphericalMRP, FloatingMRP)):
        within = {0, 1, 2}
    own = np.array([k in within for k in range(joint.nq)], dtype=bool)
    result: np.ndarray = np.where(own, (low <= -1.0) & (high >= 1.0), np.isinf(low) & np.isinf(high))
    return result
