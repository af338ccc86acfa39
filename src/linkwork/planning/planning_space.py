"""Space of a planner: a robot's configurations within limits, and checks of configurations and edges."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from linkwork.collision.kernels import EACH
from linkwork.collision.motion_validity import METHODS, check_edges, edge_kernel
from linkwork.joints import FloatingMRP, JointType, SphericalMRP
from linkwork.kernels.compiler_api import batch_call
from linkwork.model.periodic_coordinates import PeriodicCoordinates, periodic_coordinates, revolutions
from linkwork.model.tree import Tree
from linkwork.model.tree_edits import affine_coordinates, straight_tree
from linkwork.motion.algorithms.curves import CurveSpace
from linkwork.planning.clearance_margins import Margins, PairBlock, pair_blocks, read_margins
from linkwork.planning.search.halton_samples import Samples

__all__ = ["HALF_TURN", "TOLERANCE", "EdgeMethod", "OutOfTimeError", "PlanningSpace", "is_later"]

EdgeMethod = Literal["certified", "sampled"]

_CACHE_KEY = "planning"  # of a robot's cached space data
_CHECKS = ("edges", "configurations")  # that are compiled before a search
_MIN_BATCH = 16  # minimum batch of configurations for which kernels are compiled
_ROWS_PER_BLOCK = 4096  # rows per block of distances
_MAX_CONFIGURATIONS = 1 << 16  # maximum configurations checked together, which bounds memory
_SAMPLES_PER_PART = 1024  # samples per part of a long edge
_EDGES_PER_BATCH = (
    256  # edges that are proved between looks at the clock; of sampled ones as many as have _AT_ONCE samples
)
TOLERANCE = 1e-6  # [m] distances above the margin by less count as collisions
HALF_TURN = np.pi - 1e-6  # [rad] of rotations by more, rounding decides the direction


class _SpaceData(NamedTuple):
    """Cached data of a planning space within the robot's own limits.

    They are the limits (nq,), the robot whose joints move straight, True if q is Euclidean, the periodic angles without
    limits, and for each joint whose q is not Euclidean the indices in v of its rotation.
    """

    lower: np.ndarray
    upper: np.ndarray
    straight: Any
    is_plain: bool
    turning: PeriodicCoordinates
    rotations: list[np.ndarray]


class OutOfTimeError(Exception):
    """Error of edge checks when the time limit expires; the remaining edges stay unknown."""


class PlanningSpace:
    """Planning space of a robot in a scene: differences of configurations, samples, and checks of edges.

    Planners use only the methods of this class, so other spaces are classes with the same methods.  Lengths are √Σ (w
    φ)², with φ = q1 ⊖ q0 and weights w.  Periodic angles without limits take the shorter direction.

    An edge is a pair of configurations, which may differ by full revolutions from those of a continuous path.
    `straight_parts` describes its motion; checks of edges and paths for users both follow it.

    Planar and floating joints move straight while they rotate (`linkwork.joints.straight_motion`): φ contains the
    difference of positions in the axes of the limits, so everything between two configurations within limits is within
    limits.
    """

    has_time: Callable[[], bool] = staticmethod(lambda: True)  # returns True while a search has time left

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
        counted: frozenset[str] = frozenset(),
    ) -> None:
        """Create the space; the angles of the joints named in ``counted`` are not periodic.

        Raise ValueError for an unbounded length, and the exceptions of `Robot.is_motion_free`.
        """
        self.robot, self.scene, self.margins, self.pairs = robot, scene, read_margins(margin), pairs
        self.lower: np.ndarray
        self.upper: np.ndarray
        self.method, self.resolution = collision_check, resolution
        self.weights = np.ones(robot.nv) if weights is None else weights
        self._even = weights is None or bool((weights == 1.0).all())
        self.unit = (
            1.0 if self._even else float(np.sqrt((self.weights**2).mean()))
        )  # length that corresponds to about 1 rad or 1 m
        self.limited = position_limits is not None
        own = not self.limited and not counted
        cached: _SpaceData | None = robot._calls.get(_CACHE_KEY) if own else None
        if cached is None:
            self.lower, self.upper = (robot.lower, robot.upper) if position_limits is None else position_limits
            tree = straight_tree(robot.tree)
            self.straight = robot if tree is robot.tree else type(robot)(tree)
            plain, rotating = CurveSpace.of(tree).is_plain, self._rotating_coordinates(counted)
            cached = _SpaceData(self.lower, self.upper, self.straight, plain, *rotating)
            self._check_lengths()
            _check_limits(robot.tree, tree, self.lower, self.upper)
            if own:
                robot._calls[_CACHE_KEY] = cached
        self.lower, self.upper, self.straight, self.is_plain, (self.turning, self._turning_q), self._rotations = cached
        self.turns = bool(self._turning_q.any())
        self.checked = 0  # number of edges checked
        self.blocks = pair_blocks(robot, scene, pairs, self.margins)
        if collision_check == METHODS[0] and self._edge_name(self.blocks[0]) not in self.blocks[0].selection.kernels:
            check_edges(self.blocks[0].selection.spec)
        self._edge: dict[str, Any] | None = None  # kernel calls by name

    # -- geometry

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """Return the difference q1 ⊖ q0 (..., nv), for periodic angles without limits in the shorter direction."""
        phi = self.along(q0, q1)
        if self.turns:
            phi[..., self.turning] -= 2.0 * np.pi * revolutions(phi[..., self.turning])
        return phi

    def along(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """Return the difference q1 ⊖ q0 (..., nv) of successive points of a continuous path, with full revolutions."""
        result: np.ndarray = q1 - q0 if self.is_plain else self.straight.difference(q0, q1)
        return result

    def integrate(self, q: np.ndarray, phi: np.ndarray) -> np.ndarray:
        """Return the configuration q ⊕ φ (..., nq) after a difference φ (..., nv) from q."""
        result: np.ndarray = q + phi if self.is_plain else self.straight.integrate(q, phi)
        return result

    def length(self, phi: np.ndarray) -> np.ndarray:
        """Return the lengths of differences (..., nv)."""
        scaled = phi if self._even else phi * self.weights
        result: np.ndarray = np.sqrt(np.einsum("...i,...i->...", scaled, scaled))
        return result

    def between(self, rows: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return the squared lengths (b, n) of the differences from each of q (b, nq) to each of ``rows`` (n, nq)."""
        if self.is_plain and not self.turns:
            a, b = (rows, q) if self._even else (rows * self.weights, q * self.weights)
            result: np.ndarray = b @ a.T
            result *= -2.0
            result += np.einsum("ij,ij->i", b, b)[:, None]
            result += np.einsum("ij,ij->i", a, a)
            np.maximum(result, 0.0, out=result)
            return result
        blocks = []
        for k in range(0, max(len(rows), 1), _ROWS_PER_BLOCK):  # bounds memory
            scaled = self.difference(q[:, None], rows[None, k : k + _ROWS_PER_BLOCK]) * self.weights
            blocks.append(np.einsum("...i,...i->...", scaled, scaled))
        return np.concatenate(blocks, axis=1)

    def looks(self, phi: np.ndarray, spacing: float) -> np.ndarray:
        """Return how many configurations (n,) are to be checked on segments φ (n, nv), at most ``spacing`` apart.

        The number is reduced for segments so long, or so many, that memory would not hold all configurations.
        """
        max_checks = max(_MAX_CONFIGURATIONS // max(len(phi), 1), 1)
        return np.clip(np.ceil(self.length(phi) / spacing), 1.0, max_checks).astype(int)

    def cost(self, path: np.ndarray) -> float:
        """Return the length of a path (k, nq)."""
        return float(self.length(self.difference(path[:-1], path[1:])).sum())

    def counted(self, path: np.ndarray) -> np.ndarray:
        """Return a path (k, nq) with full revolutions added to angles, so that these are continuous along its edges."""
        if not self.turns:
            return path
        result, columns = path.copy(), self._turning_q
        steps = path[1:, columns] - path[:-1, columns]
        result[1:, columns] -= 2.0 * np.pi * np.cumsum(revolutions(steps), axis=0)
        return result

    def rotation(self, phi: np.ndarray, *, angles: bool = True) -> np.ndarray:
        """Return the largest rotation [rad] (...) of a difference (..., nv) that takes the shorter direction.

        They are rotations of joints whose q is not Euclidean, and with ``angles`` those of periodic angles.
        """
        result: np.ndarray = np.zeros(phi.shape[:-1])
        if angles and self.turns:
            result = np.abs(phi[..., self.turning]).max(axis=-1)
        for columns in self._rotations:
            result = np.maximum(result, np.linalg.norm(phi[..., columns], axis=-1))
        return result

    def straight_parts(self, q0: np.ndarray, q1: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the straight motions along edges (n, nq): each one's edge, begin and end, in order along each edge.

        Angles go from begin to end, with revolutions added to the end.  An edge that is half a revolution of a joint
        without angles as coordinates has two parts, because rounding would decide its direction.
        """
        edge = np.arange(len(q0))
        if self._rotations:
            halved = np.flatnonzero(self.rotation(self.difference(q0, q1), angles=False) > HALF_TURN)
            if len(halved):
                later = is_later(q0[halved], q1[halved])[:, None]  # the middle is the same in both directions
                first, last = (np.where(later, a[halved], b[halved]) for a, b in ((q1, q0), (q0, q1)))
                middle = PlanningSpace.integrate(self, first, 0.5 * self.difference(first, last))
                edge = np.sort(np.concatenate([edge, halved]), kind="stable")
                at = np.searchsorted(edge, halved)
                q0, q1 = q0[edge], q1[edge]
                q0[at + 1] = q1[at] = middle
        if self.turns:
            q1, columns = q1.copy(), self._turning_q
            q1[:, columns] -= 2.0 * np.pi * revolutions(q1[:, columns] - q0[:, columns])
        return edge, q0, q1

    # -- collision checks

    def within(self, q: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the configurations (n, nq) within limits."""
        slack = 1e-9
        return np.asarray(((q >= self.lower - slack) & (q <= self.upper + slack)).all(-1))

    def free(self, q: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the configurations (n, nq) that are collision-free."""
        (kernel, more), *rest = self._kernel_calls("in_collision")
        result = np.asarray(kernel(q, *more) < 0.5)
        for kernel, more in rest:
            result &= kernel(q, *more) < 0.5
        return result

    def free_ends(self, q: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the configurations (n, nq) at which edges may begin and end.

        Certified edges need a small distance in addition to the margin to be distinguished from a collision.  Edges of
        length 0 show that most configurations are free.  Only the others need the check of configurations, whose code
        many plans never use.
        """
        result = self._check_batch(q, q, np.zeros(len(q)))
        if result.all():
            return result
        left = np.flatnonzero(~result)
        free = np.ones(len(left), dtype=bool)
        for kernel, (margin, *more) in self._kernel_calls("in_collision"):
            free &= kernel(q[left], margin + (TOLERANCE if self.method == METHODS[0] else 0.0), *more) < 0.5
        result[left] = free
        return result

    def keeps(self, q: np.ndarray) -> np.ndarray:
        """Return a mask (...) of the configurations (..., nq) that satisfy the path constraints."""
        return np.ones(q.shape[:-1], dtype=bool)

    def edges_are_free(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the straight edges (n, nq) that are collision-free."""
        result = np.ones(len(q0), dtype=bool)
        edge, q0, q1 = self.straight_parts(q0, q1)
        result[edge[~self._check_edges(q0, q1, np.zeros(len(q0)))]] = False
        return result

    def edges_are_clear(self, q0: np.ndarray, q1: np.ndarray, more: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the straight edges (n, nq) that are free with an additional margin.

        ``more`` (n,) is the additional margin [m].  The edges are those of a continuous path.
        """
        return self._check_edges(q0, q1, more)

    def _check_edges(self, q0: np.ndarray, q1: np.ndarray, more: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the edges that are free with an additional margin ``more`` (n,) [m].

        Long sampled edges are checked in parts, and many edges in batches, to check the time limit in between.  Raises
        OutOfTimeError.
        """
        self.checked += len(q0)
        if self.method == METHODS[0]:
            return self._check_in_batches(q0, q1, more, np.full(len(q0), 1.0 / _EDGES_PER_BATCH))
        phi = self.straight.difference(q0, q1)
        samples = np.maximum(np.ceil(np.linalg.norm(phi, axis=-1) / self.resolution), 1.0)
        if samples.max(initial=1.0) <= _SAMPLES_PER_PART:
            return self._check_in_batches(q0, q1, more, samples / _MAX_CONFIGURATIONS)
        result = np.empty(len(q0), dtype=bool)
        for k, count in enumerate(np.ceil(samples / _SAMPLES_PER_PART).astype(np.int64).tolist()):
            result[k] = self._check_long_edge(q0[k], phi[k], more[k], count, first=k == 0)
        return result

    def _check_long_edge(self, q0: np.ndarray, phi: np.ndarray, more: float, count: int, *, first: bool) -> bool:
        """Return True if a long edge is free, checked in ``count`` parts until one is not.

        Raises OutOfTimeError.
        """
        repeated = _MAX_CONFIGURATIONS // _SAMPLES_PER_PART
        for begin in range(0, count, repeated):
            self._check_time(begin > 0 or not first)
            t = np.arange(begin, min(begin + repeated, count) + 1)[:, None] / count
            q = self.straight.integrate(q0, t * phi)
            if not self._check_batch(q[:-1], q[1:], np.full(len(q) - 1, more)).all():
                return False
        return True

    def _check_in_batches(self, q0: np.ndarray, q1: np.ndarray, more: np.ndarray, work: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the edges that are free, checked in batches.

        ``work`` (n,) is the effort of each edge, as a fraction of a batch.
        """
        result = np.empty(len(q0), dtype=bool)
        ends = np.flatnonzero(np.diff(np.floor(np.cumsum(work) * (1.0 - 1e-9)))) + 1
        for k, (first, last) in enumerate(pairwise([0, *ends.tolist(), len(q0)])):
            self._check_time(k > 0)
            batch = slice(first, last)
            result[batch] = self._check_batch(q0[batch], q1[batch], more[batch])
        return result

    def _check_time(self, enabled: bool) -> None:
        if enabled and not self.has_time():
            raise OutOfTimeError

    def _check_batch(self, q0: np.ndarray, q1: np.ndarray, more: np.ndarray) -> np.ndarray:
        """Return a mask (n,) of the edges that are free, by one call of each kernel."""
        (kernel, (margin, *arguments)), *rest = self._kernel_calls(f"is_motion_free {self.method}")
        result: np.ndarray = np.asarray(kernel(q0, q1, margin + more, *arguments))[:, 0] == 0.0
        for kernel, (margin, *arguments) in rest:
            remaining = np.flatnonzero(result)
            result[remaining] = (
                np.asarray(kernel(q0[remaining], q1[remaining], margin + more[remaining], *arguments))[:, 0] == 0.0
            )
        return result

    def _kernel_calls(self, function: str) -> list[tuple[Any, tuple[np.ndarray, ...]]]:
        """Return, for each block of pairs, a kernel's call and its arguments after the configurations."""
        if self._edge is None:
            self._edge = {}
        result: list[tuple[Any, tuple[np.ndarray, ...]]] | None = self._edge.get(function)
        if result is None:
            result = self._edge[function] = [self._kernel_call(function, block) for block in self.blocks]
        return result

    def _edge_name(self, block: PairBlock) -> str:
        """Return the name of the kernel that checks edges for a block of pairs.

        Other kernels than those of `Robot.is_motion_free` serve pairs that may not overlap.
        """
        name = f"is_motion_free {self.method}" if block.is_deep else f"is_motion_free {self.method} without depths"
        return name if block.each is None else f"{name} {EACH}"

    def _kernel_call(self, function: str, block: PairBlock) -> tuple[Any, tuple[np.ndarray, ...]]:
        selection, arguments = block.selection, [np.array(block.margin)]
        kernels, each = selection.kernels, block.each is not None
        if function.startswith("is_motion_free"):
            function = self._edge_name(block)
            arguments.append(np.array(float(TOLERANCE if self.method == METHODS[0] else self.resolution)))
            if function not in kernels:
                space = self.robot.configuration_space
                kernels[function] = edge_kernel(self.method, selection.spec, space, each=each, depths=block.is_deep)
        else:
            function = " ".join([function, *[EACH] * each, *["deeper"] * block.is_deep])
        if function not in kernels:
            selection.kernel(function, self.robot.configuration_space)
        call = batch_call(kernels[function])
        return call, (*arguments, *(block.each or ()), *selection.inputs(selection.scene.rows_by_distance))

    def make_ready(self, q: np.ndarray, *, edges_only: bool = False) -> None:
        """Compile the checks of edges, and of configurations unless ``edges_only``, for batches of any size.

        ``q`` (nq,) is any configuration.
        """
        for check in _CHECKS[: 1 if edges_only else 2]:
            if self._is_ready(check):
                continue
            repeated, checked = np.repeat(q[None], _MIN_BATCH, axis=0), self.checked
            if check == _CHECKS[0]:
                self.edges_are_free(repeated, repeated)
                self.checked = checked
            else:
                self.free(repeated)
            for block in self.blocks:
                block.selection.calls[self._ready_name(check, block)] = PlanningSpace.free

    def _is_ready(self, check: str) -> bool:
        return all(self._ready_name(check, block) in block.selection.calls for block in self.blocks)

    def _ready_name(self, check: str, block: PairBlock) -> str:
        return f"{_CACHE_KEY} {check} {self.method} {block.is_deep} {block.each is not None}"

    def loop(self, function: str, kernel: Any, turning: tuple[bool, ...]) -> tuple[Any, list[np.ndarray]]:
        """Return the kernel of a search loop, and the arrays of margins and obstacles to pass to it.

        ``function`` is the loop's name. ``kernel`` builds the kernel for the blocks of collision pairs; it is called
        once for equal blocks. ``turning`` (nv) marks unbounded angles. The arrays are, for each block, the margins of
        individual pairs (if any), then the scene's obstacles.
        """
        blocks = self.blocks
        cached, key = self._loops(function)
        if key not in cached:
            specs = tuple([block.selection.spec for block in blocks])
            cached[key] = kernel(specs, self._deep, turning, each=blocks[0].each is not None)
        result = []
        for block in blocks:
            result += [*(block.each or ()), *block.selection.inputs(block.selection.scene.rows_by_distance)]
        return cached[key], result

    def has_loop(self, function: str) -> bool:
        """Return True if the kernel of the search loop with this name was built for the space."""
        cached, key = self._loops(function)
        return key in cached

    def _loops(self, function: str) -> tuple[dict[Any, Any], Any]:
        """Return the table of search kernels that has those of the space, and the key of the one with this name."""
        blocks = self.blocks
        key: Any = (function, self._deep, blocks[0].each is not None)
        if len(blocks) == 1:
            return cast(Any, blocks[0].selection.kernels), key
        return self.robot._calls, (*key, *(block.selection.spec for block in blocks))

    @property
    def _deep(self) -> tuple[bool, ...]:
        return tuple([block.is_deep for block in self.blocks])

    # -- samples

    def samples(self, seed: int) -> Samples:
        """Return a sequence of configurations that covers the space within limits; reproducible by seed."""
        return Samples(self.straight.tree, self.lower, self.upper, seed)

    def dimension(self) -> int:
        """Return the number of degrees of freedom of the space's configurations."""
        return int(self.robot.nv)

    @property
    def tasks(self) -> tuple[Any, ...]:
        """Path constraints as IK tasks; none here."""
        return ()

    @property
    def is_flat(self) -> bool:
        """True if configurations are Euclidean and no angle is unbounded, so that the space is a box."""
        return self.is_plain and not self.turns

    def edge_lengths(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """Return the lengths (n,) of collision-free edges (n, nq)."""
        return self.length(self.difference(q0, q1))

    def detailed(self, path: np.ndarray) -> np.ndarray:
        """Return waypoints (k, nq) such that straight motions between them follow the path's edges."""
        return np.concatenate([self.straight_parts(path[:-1], path[1:])[1], path[-1:]])

    def violation(self, q: np.ndarray) -> str | None:
        """Return a description of a violated path constraint at q (nq,), or None."""
        return None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without machine code, which is rebuilt on demand, and without the clock."""
        return {key: x for key, x in self.__dict__.items() if key not in ("blocks", "_edge", "has_time")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.blocks, self._edge = pair_blocks(self.robot, self.scene, self.pairs, self.margins), None

    def _joint_slices(self) -> list[tuple[Any, slice, slice]]:
        """Return each joint's body with the joint's slices of q and of v."""
        tree = self.straight.tree
        return [(body, tree.q_slices[i], tree.v_slices[i]) for i, body in tree.stacked()]

    def _rotating_coordinates(self, counted: frozenset[str]) -> tuple[PeriodicCoordinates, list[np.ndarray]]:
        """Return the periodic angles without limits, and the rotations of joints whose q is not Euclidean."""
        free = np.isneginf(self.lower) & np.isposinf(self.upper)
        tree = self.straight.tree
        periodic = periodic_coordinates(tree, counted)
        in_v, in_q, rotations = periodic.in_v.copy(), periodic.in_q & free, []
        is_euclidean = {place.name: place.is_plain for place in CurveSpace.of(tree).joints}
        for body, q, v in self._joint_slices():
            if is_euclidean.get(body.joint_name, True):
                in_v[v] = in_q[q]
            else:
                in_v[v] = in_q[q] = False
                rotations.append(v.start + np.flatnonzero([unit == "rad/s" for unit in body.joint.v_units]))
        return PeriodicCoordinates(in_v, in_q), [columns for columns in rotations if len(columns)]

    def _check_lengths(self) -> None:
        """Raise ValueError for unbounded lengths, which cannot be sampled."""
        for body, q, _ in self._joint_slices():
            for k, unit in enumerate(body.joint.q_units):
                low, high = self.lower[q][k], self.upper[q][k]
                if unit == "m" and not (np.isfinite(low) and np.isfinite(high)):
                    name = self.robot.q_names[q.start + k]
                    raise ValueError(
                        f"plan: {name!r} is an unbounded length in [{low:g}, {high:g}] m; "
                        f"set position_limits={{{name!r}: (lower, upper)}}"
                    )


def _check_limits(own: Tree, straight: Tree, lower: np.ndarray, upper: np.ndarray) -> None:
    """Raise ValueError for limits that may be exceeded between two configurations within them."""
    for i, body in straight.stacked():
        at = straight.q_slices[i]
        low, high = lower[at], upper[at]
        if np.isinf(low).all() and np.isinf(high).all():
            continue
        may_exceed = ~affine_coordinates(body.joint) & ~_never_exceeded(body.joint, low, high)
        if may_exceed.any():
            k = int(np.argmax(may_exceed))
            raise ValueError(
                f"plan: limits of joint {body.joint_name!r} ({own.bodies[i].joint.type_name()}): {low[k]:g} to "
                f"{high[k]:g} of coordinate {k} may be exceeded between waypoints, where it changes nonlinearly; "
                f"remove the limits and pass path_constraints=<task that bounds the motion>"
            )


def _never_exceeded(joint: JointType, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return a mask (nq,) of the coordinates whose limits no configuration exceeds.

    These limits are infinite, or contain [−1, 1] for a coordinate that is within [−1, 1] by definition.
    """
    within = {k for places in joint.unit_length for k in places}
    if isinstance(joint, (SphericalMRP, FloatingMRP)):
        within = {0, 1, 2}
    own = np.array([k in within for k in range(joint.nq)], dtype=bool)
    result: np.ndarray = np.where(own, (low <= -1.0) & (high >= 1.0), np.isinf(low) & np.isinf(high))
    return result


def is_later(q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    """Return True where q0 (n, nq) is after q1 in lexicographic order."""
    differ = q0 != q1
    first = differ.argmax(axis=-1)[:, None]
    result: np.ndarray = np.take_along_axis(q0, first, -1)[:, 0] > np.take_along_axis(q1, first, -1)[:, 0]
    return result
