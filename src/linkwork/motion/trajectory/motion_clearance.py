"""Least distance between collision shapes over all times of a trajectory, with a proved lower bound.

Branch and bound over intervals of time: at the middle of an interval of half length h the distances d of all pairs are
computed.  Within the interval a pair's distance is at least d − Σ_k l_k s_k, where l_k is the pair's lever for
coordinate k (`pair_levers`) and s_k bounds ∫ |v_k| dt over each half.  With |v_k| ≤ V_k and |a_k| ≤ A_k on the segment
of the curve, s_k = min(V_k h, |v_k(middle)| h + A_k h²/2).  An interval is halved if its bound is less than the least
distance so far minus the tolerance.

Between its grid points, the interpolated value of a distance field changes by up to √3 per unit of displacement, and
more if its values are not distances.  So the levers of the field's pairs are multiplied by the largest slope of the
interpolation.

Source: Schwarzer, Saha and Latombe, Adaptive dynamic collision checking for single and multiple articulated robots in
complex environments, 2005; here for trajectories instead of straight segments.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.result import ReturnedValue
from linkwork.collision.algorithms.displacement_bounds import pair_levers, twist_sizes
from linkwork.geometry.fields import distance_slope
from linkwork.model.collision_pairs import link_shapes
from linkwork.model.tree import Tree
from linkwork.motion.trajectory.time_polynomials import polynomials_of
from linkwork.motion.trajectory.trajectory_extremes import bernstein, polynomial_extremes, twisting_extremes
from linkwork.motion.trajectory.trajectory_segment import Section
from linkwork.shapes import Shape

__all__ = ["MotionClearance", "clearance_of"]

_DISTANCE_ERROR = 1e-9  # bound on the error of computed distances, relative to the size of the scene
_MAX_EVALUATIONS = 400_000  # configurations at which distances are computed, at most
_BLOCK = 300_000  # distances of pairs that are computed in one call


@dataclass(frozen=True, eq=False, repr=False, init=False)
class MotionClearance(ReturnedValue):
    """Least distance over all times of a motion: see `Trajectory.clearance`.

    ``distance`` [m] is the least distance at the configurations that were checked: the distance of the shapes ``pair``
    at ``time`` [s] and configuration ``q`` (nq,).  ``lower_bound`` [m] is proved: no distance is smaller at any time,
    so a positive bound proves that the whole motion is free of collision.  ``times`` (n,) [s] are the checked times in
    order, dense where the distance is small, and ``distances`` (n,) [m] the least distance at each.
    """

    distance: float
    lower_bound: float
    time: float
    pair: tuple[str, str]
    q: np.ndarray
    times: np.ndarray
    distances: np.ndarray

    def __repr__(self) -> str:
        a, b = self.pair
        return (
            f"<MotionClearance: {self.distance:.6g} m between {a!r} and {b!r} at {self.time:.6g}; "
            f"at least {self.lower_bound:.6g} m throughout>"
        )


def clearance_of(trajectory: Any, scene: Any, tolerance: float, pairs: Any) -> MotionClearance:
    """Return the least distance of a robot's trajectory over all times, within a ``tolerance`` [m] if possible."""
    parts = [
        _SectionBounds(trajectory, section, scene, known)
        for section, known in _pairs_by_section(trajectory, scene, pairs)
    ]
    best = _NearestPair()
    for part in parts:
        best.include(part, np.array([part.section.start, part.section.end]))
    waiting = [part.intervals() for part in parts]
    proved, count = np.inf, 0
    while any(len(segment) for segment, _, _ in waiting):
        for k, (part, (segment, middle, half)) in enumerate(zip(parts, waiting, strict=True)):
            if not len(segment):
                continue
            distances, v = best.include(part, middle)
            lower = (distances - part.displacements(segment, v, half)).min(axis=1) - part.error
            count += len(segment)
            split = lower < best.distance - tolerance
            split &= half > np.spacing(np.abs(middle)) * 4.0
            if count > _MAX_EVALUATIONS:
                split[:] = False
            proved = min(proved, float(lower[~split].min(initial=np.inf)))
            half = np.repeat(0.5 * half[split], 2)
            sides = np.tile([-1.0, 1.0], len(half) // 2)
            waiting[k] = np.repeat(segment[split], 2), np.repeat(middle[split], 2) + half * sides, half
    return best.result(proved, max(part.error for part in parts))


def _pairs_by_section(trajectory: Any, scene: Any, pairs: Any) -> list[tuple[Section, Any]]:
    """Return each section with its ``pairs`` of shapes, including the objects that its robot holds.

    Sections without pairs are left out.  Raises ValueError if no section has pairs, or for a pair that no section has.
    """
    sections = trajectory.sections
    if all(section.robot is None for section in sections):
        return [(section, pairs) for section in sections]
    by_section: list[list[Any]] = [[] for _ in sections]
    is_group = pairs is None or isinstance(pairs, str)
    for selected in [pairs] if is_group else [[pair] for pair in pairs] or [[]]:
        errors = []
        for section, known in zip(sections, by_section, strict=True):
            robot = trajectory.robot if section.robot is None else section.robot
            try:
                robot._pair_selection("clearance", scene, selected)
                known += [selected] if is_group else selected
            except ValueError as error:
                errors.append(error)
        if len(errors) == len(sections):
            raise errors[-1]
    with_pairs = [(section, known) for section, known in zip(sections, by_section, strict=True) if known]
    return [(section, pairs if is_group else known) for section, known in with_pairs]


class _NearestPair:
    """The nearest pair of shapes found so far along a motion: distance, time, names and configuration.

    ``samples`` has the least distances at all checked times.
    """

    def __init__(self) -> None:
        self.distance, self.time = np.inf, np.nan
        self.pair, self.q = ("", ""), np.array([])
        self.samples: list[tuple[np.ndarray, np.ndarray]] = []

    def include(self, part: _SectionBounds, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate distances of all pairs at times (n,) of a section, and update the nearest pair.

        Returns the distances (n, pairs) [m] and velocities (n, nv).
        """
        q, v = part.section.at(times, 1, inside=times)
        step = max(_BLOCK // len(part.pairs), 1)
        blocks = [part.distances(q[k : k + step]) for k in range(0, len(q), step)]
        result = np.concatenate(blocks)
        row, column = np.unravel_index(int(result.argmin()), result.shape)
        if result[row, column] < self.distance:
            self.distance, self.time = float(result[row, column]), float(times[row])
            self.pair, self.q = part.pairs[column], q[row]
        self.samples.append((times, result.min(axis=1)))
        return result, v

    def result(self, lower_bound: float, error: float) -> MotionClearance:
        """Return the clearance with its lower bound; ``error`` [m] bounds the error of computed distances."""
        times, distances = (np.concatenate(x) for x in zip(*self.samples, strict=True))
        order = np.argsort(times, kind="stable")
        lower = min(lower_bound, self.distance - error)
        return MotionClearance._make(self.distance, lower, self.time, self.pair, self.q, times[order], distances[order])


class _SectionBounds:
    """A section of a trajectory, with bounds of its velocities, and pairs of shapes whose distances are bounded.

    ``levers`` (pairs, nv) bound the relative displacement of a pair's shapes per unit of each velocity.  ``error`` [m]
    bounds the error of computed distances: a share of the largest coordinate and radius of the shapes.
    """

    def __init__(self, trajectory: Any, section: Section, scene: Any, pairs: Any) -> None:
        self.section = section
        self.robot = trajectory.robot if section.robot is None else section.robot
        selection = self.robot._pair_selection("clearance", scene, pairs)
        self.pairs = selection.names
        self.scene, self.selected = scene, pairs
        self.knots, self.fastest, self.bend = _velocity_bounds(section)
        shapes = link_shapes(self.robot.tree)
        index = {shape.name: k for k, shape in enumerate(shapes)}
        self_pair_count = len(selection.spec.pairs)
        indices = [(index[a], index[b] if k < self_pair_count else None) for k, (a, b) in enumerate(selection.names)]
        pairs_of_shapes = [
            (shapes[a].shape, selection.scene[name].shape if b is None else shapes[b].shape)
            for (a, b), (_, name) in zip(indices, selection.names, strict=True)
        ]
        self.error = _DISTANCE_ERROR * self._size({shape for pair in pairs_of_shapes for shape in pair})
        slides = self._slides(self.robot.tree)
        slopes = [
            distance_slope(first, moves=True) * distance_slope(second, moves=b is not None)
            for (first, second), (_, b) in zip(pairs_of_shapes, indices, strict=True)
        ]
        try:
            self.levers = pair_levers(self.robot.tree, indices, slides) * np.array(slopes)[:, None]
        except (TypeError, ValueError) as error:
            raise type(error)(f"Trajectory: {error}; use robot.minimum_distance at sampled times") from None

    def _size(self, shapes: Collection[Shape]) -> float:
        """Return the largest radius of shapes, or the largest coordinate of the nearest points at the start [m]."""
        radii = [sphere[1] for sphere in (shape.bounding_sphere for shape in shapes) if sphere is not None]
        start = self.section.at(np.array([self.section.start]), 1)[0][0]
        result = self.robot.distances(start, self.scene, pairs=self.selected)
        points = np.abs([result.point_a, result.point_b]).max()
        return float(max([points, *map(float, radii)]))

    def distances(self, q: np.ndarray) -> np.ndarray:
        """Return the distances (n, pairs) at configurations (n, nq)."""
        result: np.ndarray = self.robot.distances(q, self.scene, pairs=self.selected).distance
        return result

    def intervals(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the initial intervals of time between successive knots: index, middle and half length (n,)."""
        half = 0.5 * np.diff(self.knots)
        return np.arange(len(half)), 0.5 * (self.knots[1:] + self.knots[:-1]), half

    def displacements(self, segment: np.ndarray, v: np.ndarray, half: np.ndarray) -> np.ndarray:
        """Return bounds (n, pairs) on the relative displacement of a pair's shapes within half an interval [m].

        ``v`` (n, nv) are velocities in the middle of n intervals, and ``half`` (n,) half their lengths.
        """
        h = half[:, None]
        travel = np.minimum(self.fastest[segment] * h, np.abs(v) * h + 0.5 * self.bend[segment] * h * h)
        result: np.ndarray = travel @ self.levers.T
        return result

    def _slides(self, tree: Tree) -> list[float]:
        """Return for each body a bound on how far its joint translates it from its parent during the section [m]."""
        travel = (self.fastest * np.diff(self.knots)[:, None]).sum(axis=0)
        start = self.section.at(np.array([self.section.start]), 1)[0][0]
        if self.section.space.is_plain:
            times, c, _ = polynomials_of(self.section)
            low, high = polynomial_extremes(np.diff(times), c, 0)
            travel = np.minimum(travel, np.maximum(high - start, start - low))
        q, result = tree.split_q(start.tolist()), []
        for i, body in enumerate(tree.bodies):
            coordinates, ratio = q[i], 1.0
            if body.coupling is not None:
                coordinates, ratio = body.coupling.q(coordinates), abs(body.coupling.ratio)
            at_start = np.linalg.norm([*map(float, body.joint.X(coordinates).translation)])
            linear = np.array([sliding for _, sliding in twist_sizes(body)])
            result.append(float(at_start + ratio * linear @ travel[tree.v_slices[i]]))
        return result


def _velocity_bounds(section: Section) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the knots (m + 1,) of a section, and bounds of |v| and |a| (m, nv) on the segments between them.

    Raises TypeError for a joint without such a bound.
    """
    knots, c, plain = polynomials_of(section)
    h = np.diff(knots)[:, None, None]
    bounds = []
    for order in (1, 2):
        c = c[..., 1:] * np.arange(1, c.shape[-1]) if c.shape[-1] > 1 else np.zeros_like(c)
        bounds.append(np.abs(bernstein(c * h ** np.arange(c.shape[-1]))).max(axis=-1))
        for joint in section.space.joints:
            if plain[joint.in_v].all() or (joint.joint.nv == 1 and section.kind.name != "squad"):
                continue  # v is the rate of polynomials
            extremes = twisting_extremes(section, joint, order)
            if extremes is None or not np.isfinite(extremes).all():
                raise TypeError(
                    f"Trajectory: joint {joint.name!r} ({joint.joint.type_name()}): no bound is known for its "
                    "velocity; use robot.minimum_distance at sampled times"
                )
            bounds[-1][:, joint.in_v] = np.abs(extremes).max(axis=0)
    return knots, bounds[0], bounds[1]
