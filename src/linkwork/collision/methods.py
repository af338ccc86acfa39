"""Distances between a robot's collision shapes, and from them to a scene.

Which pairs a question about distances is of: names looked up, before anything is compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

import numpy as np

from linkwork._util.validation import number, positive
from linkwork.collision.algorithms import NUMBERS
from linkwork.collision.algorithms.pair_selection import meant_pairs
from linkwork.collision.kernels import (
    DistanceSpec,
    computed_distances,
    distance_kernel,
    least_of,
    most_of,
    smooth_gradient_of,
    smooth_of,
    worst_edge,
)
from linkwork.collision.motion_validity import METHODS, MotionCheck, check_edges, edge_kernel
from linkwork.collision.result import DistanceDerivatives, DistanceHessian, RobotDistances
from linkwork.expr.arrays.symbol_array import is_traced, over_samples, scalars
from linkwork.geometry.scene import Scene
from linkwork.geometry.solids import SolidKind
from linkwork.kernels.compiler_api import Kernel, Space, call_state, single_call
from linkwork.kernels.owners import has_symbols
from linkwork.kernels.robot_arguments import read_configuration
from linkwork.kernels.robot_base import Array, RobotBase
from linkwork.model.collision_pairs import LinkShape
from linkwork.model.tree import Tree

__all__ = ["DistanceMethods", "PairSelection"]


Pairs = Iterable[tuple[str, str]]


class DistanceMethods(RobotBase):
    """Signed distances of a robot's collision shapes from each other and from a scene's obstacles [m].

    Shapes are those of the links' ``collisions``; `collision_pairs` says which links are looked at.  Shapes that are
    fixed to the world are measured against others of the robot, and not against the scene.  ``pairs`` are some pairs
    of names, of links, of single shapes ("hand/2") and of obstacles; all by default.  All is computed in float32 where
    q is an array of it.
    """

    __slots__ = ()

    def distances(self, q: Array, scene: Scene | None = None, *, pairs: Pairs | None = None) -> RobotDistances:
        """Signed distances, normals and witness points of all pairs, or of chosen ones: see what is returned.

        q (..., nq) -> arrays (..., pairs) and (..., pairs, 3).  Pairs of the robot come first, then those with the
        scene, obstacle by obstacle.

        >>> import linkwork as lw
        >>> scene = lw.Scene().with_sphere("ball", 0.1, (2.0, 0, 0))
        >>> robot = lw.load("arm7")
        >>> found = robot.distances(robot.neutral(), scene, pairs=[("flange", "ball")])
        >>> bool(found.of("flange", "ball").distance > 1.0)
        True

        Raises ValueError for a robot without collision shapes, UnknownNameError for names that are not there.
        """
        asked = self._about("distances", scene, pairs)
        numbers = self._measured("distances", asked, q, asked.scene.rows)
        return RobotDistances._make(numbers if asked.whole else numbers[..., asked.kept, :], asked.names)

    def distance_derivatives(
        self, q: Array, scene: Scene | None = None, *, pairs: Pairs | None = None
    ) -> DistanceDerivatives:
        """The distances of all pairs of `distances`, and ∂d/∂q by velocities: n · (v_b − v_a) at the witness points.

        q (..., nq) -> ``distance`` (..., pairs) [m] and ``gradient`` (..., pairs, nv) [1, m]: a velocity v changes
        distances at the rate gradient @ v.  It is exact wherever the witnesses are ``unique``, and one of several
        one-sided derivatives elsewhere.
        """
        asked = self._about("distance_derivatives", scene, pairs)
        distance, gradient = self._measured("distance_derivatives", asked, q, asked.scene.rows)
        return DistanceDerivatives(distance[..., asked.kept], gradient[..., asked.kept, :], asked.names)

    def distance_hessian(self, q: Array, scene: Scene | None = None, *, pairs: Pairs | None = None) -> DistanceHessian:
        """The distances of all pairs of `distances`, their gradients and their Hessians, by velocities.

        q (..., nq) -> ``hessian`` (..., pairs, nv, nv), symmetric: ∂²d(q ⊕ φ)/∂φ² at φ = 0, from how both surfaces
        bend at the witness points.  ``exists`` is 1 where there is one, and 0 where witnesses are not unique, as
        between parallel faces, or about to pass from one feature of a shape to the next, and for height fields, point
        clouds and distance fields: there it is zero, but for what joints with turning axes add.
        """
        asked = self._about("distance_hessian", scene, pairs)
        result = self._measured("distance_hessian", asked, q, asked.scene.rows)
        return DistanceHessian(
            result[0][..., asked.kept],
            result[1][..., asked.kept, :],
            result[2][..., asked.kept, :, :],
            result[3][..., asked.kept],
            asked.names,
        )

    def minimum_distance(self, q: Array, scene: Scene | None = None, *, pairs: Pairs | None = None) -> Any:
        """The least of all distances [m]: q (..., nq) -> (...)."""
        asked = self._about("minimum_distance", scene, pairs)
        return least_of([self._measured("minimum_distance", b, q, b.scene.rows_by_distance) for b in asked.blocks])

    def in_collision(
        self, q: Array, scene: Scene | None = None, *, margin: float = 0.0, pairs: Pairs | None = None
    ) -> Any:
        """Whether some pair is no farther apart than a margin [m]: q (..., nq) -> (...) of truth values.

        Bounding spheres are asked first, and nothing is measured after the first such pair.
        """
        asked = self._about("in_collision", scene, pairs)
        given = _number("margin", margin)
        what = "in_collision" if not is_traced(given) and given >= 0.0 else "in_collision deeper"
        result = most_of([self._measured(what, b, q, b.scene.rows_by_distance, given) for b in asked.blocks])
        return result if is_traced(result) else np.asarray(result) > 0.5

    def nearest_pair(
        self, q: Array, link: str | None = None, scene: Scene | None = None, *, pairs: Pairs | None = None
    ) -> RobotDistances:
        """The one pair that is nearest, of all or of those of a link: for one configuration q (nq,).

        Its names are the one entry of ``pairs``.  A frame without shapes means the links that move with it.
        """
        asked = self._about("nearest_pair", scene, pairs, link)
        if is_traced(q) or getattr(q, "ndim", 1) > 1:
            raise ValueError(
                "nearest_pair: expected one configuration (nq,); distances(q).distance.argmin(-1) is of batches"
            )
        each = [np.asarray(self._measured("nearest_pair", b, q, b.scene.rows)) for b in asked.blocks]
        block = int(np.argmin([result[0] for result in each]))
        result, asked = each[block], asked.blocks[block]
        place = asked.place(int(result[NUMBERS]))
        return RobotDistances._make(result[np.newaxis, :NUMBERS], [asked.names[place]])

    def is_motion_free(
        self,
        q0: Array,
        q1: Array,
        scene: Scene | None = None,
        *,
        collision_check: Literal["certified", "sampled"] = "certified",
        margin: float = 0.0,
        tolerance: float = 1e-4,
        resolution: float = 0.05,
        pairs: Pairs | None = None,
    ) -> MotionCheck:
        """Whether all distances are above a margin [m] on the straight segment from q0 to q1: (..., nq) each.

        Along the segment, t from 0 to 1, joints move as ``integrate(q0, t · difference(q0, q1))``, but planar and
        floating joints go straight while they turn: positions are p0 + t (p1 − p0).  What closes loops is not held.
        ``"certified"`` proves it of the whole segment, by signed distances and bounds of how fast shapes move, or gives
        a configuration that collides; one that is above the margin by no more than the ``tolerance`` [m] is
        "undecided".  ``"sampled"`` looks at configurations that are ``resolution`` apart in the length of
        difference(q0, q1) [rad, m], and says nothing of what lies between.

        Raises ValueError for a tolerance or resolution that is not above zero (a tolerance of 1e-7 at least) and words
        that are no method, TypeError for joint types of one's own that nothing bounds.
        """
        if collision_check not in METHODS:
            raise ValueError(
                f"is_motion_free: collision_check: expected one of {', '.join(METHODS)}, got {collision_check!r}"
            )
        certified = collision_check == "certified"
        name, least = ("tolerance", _LEAST_TOLERANCE) if certified else ("resolution", 0.0)
        step = _number(name, tolerance if certified else resolution)
        unused, other = ("resolution", resolution) if certified else ("tolerance", tolerance)
        if other.__class__ is not float or not 0.0 < other < math.inf:
            positive("is_motion_free", unused, other)
        if is_traced(step) or not least <= step < math.inf or not step > 0.0:
            bound = f"of at least {least:g} [m]" if certified else "above zero [rad, m]"
            raise ValueError(f"is_motion_free: {name}: expected a number {bound}, got {step!r}")
        asked = self._about("is_motion_free", scene, pairs)
        calls = []
        for block in asked.blocks:
            kernel = block.kernels.get(f"is_motion_free {collision_check}")
            if kernel is None:
                if certified:
                    check_edges(block.asked)
                kernel = block.kernels[f"is_motion_free {collision_check}"] = edge_kernel(
                    collision_check, block.asked, self.configuration_space
                )
            calls.append((kernel, (_number("margin", margin), step, *block.inputs(block.scene.rows_by_distance))))
        plain = all(q.__class__ is np.ndarray and q.dtype == float and q.shape == (self.nq,) for q in (q0, q1))
        if plain and not self._subject.checked_joints and len(calls) == 1:
            result = _finite(calls[0][0], q0, q1, *calls[0][1])
            if result is not None:
                return MotionCheck._of(collision_check, result)
        for at, q in (("q0", q0), ("q1", q1)):
            if is_traced(q):
                raise TypeError(f"is_motion_free: {at}: expected numbers, got symbols, which minimum_distance takes")
        ends = [read_configuration(self, "is_motion_free", at, q) for at, q in (("q0", q0), ("q1", q1))]
        try:
            return MotionCheck._of(
                collision_check, worst_edge([np.asarray(kernel(*ends, *more)) for kernel, more in calls])
            )
        except ValueError:
            shapes = " and ".join(str(q.shape) for q in ends)
            raise ValueError(f"is_motion_free: q0 and q1 of shapes {shapes} do not broadcast together") from None

    def smooth_minimum_distance(
        self, q: Array, scene: Scene | None = None, *, sharpness: float, pairs: Pairs | None = None
    ) -> Any:
        """−log(Σ exp(−k d))/k over all n pairs [m], k being the ``sharpness`` [1/m]: q (..., nq) -> (...).

        It is smooth where distances are, and no more than log(n)/k below the least of them: min ≥ it ≥ min − log(n)/k.
        """
        return self._smooth("smooth_minimum_distance", q, scene, sharpness, pairs)

    def smooth_minimum_distance_gradient(
        self, q: Array, scene: Scene | None = None, *, sharpness: float, pairs: Pairs | None = None
    ) -> Any:
        """The gradient of `smooth_minimum_distance` by velocities: q (..., nq) -> (..., nv) [1, m]."""
        return self._smooth("smooth_minimum_distance_gradient", q, scene, sharpness, pairs)

    # -- how it is computed

    def _smooth(self, caller: str, q: Array, scene: Scene | None, sharpness: float, pairs: Pairs | None) -> Any:
        k = _number("sharpness", sharpness)
        if not is_traced(k) and not k > 0.0:
            raise ValueError(f"{caller}: sharpness: expected a number above zero [1/m], got {sharpness!r}")
        blocks = self._about(caller, scene, pairs).blocks
        result = [self._measured(caller, b, q, b.scene.rows_by_distance, k) for b in blocks]
        if len(blocks) == 1:
            return result[0]
        value = "smooth_minimum_distance"
        each = result if caller == value else [self._measured(value, b, q, b.scene.rows_by_distance, k) for b in blocks]
        return smooth_of(each, k) if caller == value else smooth_gradient_of(each, result, k)

    def _about(self, caller: str, scene: Scene | None, pairs: Pairs | None, link: str | None = None) -> PairSelection:
        if has_symbols(self._subject):
            raise TypeError(
                f"{caller}: robot {self.name!r} has symbols for some of its numbers: none may be for distances"
            )
        calls = cast(dict[Any, Any], self._calls)
        chosen: Any = pairs
        try:
            if pairs is not None and not (pairs.__class__ is tuple and pairs and pairs[0].__class__ is tuple):
                chosen = tuple([tuple(pair) if isinstance(pair, list) else pair for pair in pairs])
            key = ("distances", scene, chosen, link)
            result = calls.get(key)
        except TypeError:
            return asking(self._tree, caller, scene, chosen, link)
        if result is None:
            asked = asking(self._tree, caller, scene, chosen, link)

            def sharing(one: PairSelection) -> PairSelection:
                """Return it with the kernels of all scenes of the same sizes."""
                return replace(one, kernels=calls.setdefault(_alike(one), {}))

            result = replace(sharing(asked), parts=tuple(map(sharing, asked.parts)))
            known = [key for key in calls if isinstance(key, tuple) and key[0] == "distances"]
            if len(known) >= _KEPT:
                del calls[known[0]]
            calls[key] = result
        return cast(PairSelection, result)

    def _measured(self, what: str, asked: PairSelection, q: Any, rows: Any, *numbers: Any) -> Any:
        call = asked.calls.get(what)
        if call is None:
            if is_traced(q) or is_traced(numbers):
                return self._on_symbols(what, asked, q, rows, numbers)
            call = asked.calls[what] = self._call(what, asked, rows)
        return call(q, *numbers)

    def _call(self, what: str, asked: PairSelection, rows: Any) -> Callable[..., Any]:
        """What is called with q and further numbers: the kernel, and what looks at all that is not plain."""
        kernel, scene = asked.kernel(what, self.configuration_space), asked.inputs(rows)

        def otherwise(q: Any, *given: Any) -> Any:
            numbers = given[: len(given) - len(scene)]
            if is_traced(q) or is_traced(numbers):
                return self._on_symbols(what, asked, q, rows, numbers)
            plain = q.__class__ is np.ndarray and q.dtype in _REAL and q.shape[-1:] == (self._tree.nq,)
            arrays: Sequence[Any] = given
            if plain and not self._subject.checked_joints:
                if q.dtype != float:
                    arrays = [np.asarray(x, dtype=q.dtype) for x in given]  # all in float32, where q is
                result = _finite(kernel, q, *arrays)
                if result is not None:
                    return result
            return kernel(read_configuration(self, what.split()[0], "q", q), *arrays)

        call = otherwise if self._subject.checked_joints else single_call(kernel, otherwise)
        return (lambda q, *numbers: call(q, *numbers, *scene)) if scene else call

    def _on_symbols(self, what: str, asked: PairSelection, q: Any, rows: Any, numbers: tuple[Any, ...]) -> Any:
        values = scalars(q)
        if values.shape[-1:] != (self.nq,):
            caller = what.split()[0]
            raise ValueError(f"{caller}: q: expected an array of shape (..., {self.nq}), got shape {values.shape}")
        scene = {kind: np.asarray(x) for kind, x in rows.items()}

        shapes = _shapes(what, asked.asked.count, self.nv)

        def sample(q: list[Any], *more: list[Any]) -> list[Any]:
            result = computed_distances(what, asked.asked, q, scene, [x for (x,) in more])
            parts = result if len(shapes) > 1 else (result,)
            return [np.asarray(part, dtype=object).ravel().tolist() for part in parts]

        arrays = [values, *(scalars(x) for x in numbers)]
        result = over_samples(sample, arrays, [1, *(0 for _ in numbers)], shapes)
        return result if len(shapes) > 1 else result[0]


def _alike(asked: PairSelection) -> tuple[Any, ...]:
    """Return the key of what has the same kernels."""
    return ("kernels", asked.asked.pairs, asked.asked.shapes, asked.asked.capacities)


def _finite(kernel: Kernel, *arrays: Any) -> Any:
    """What a kernel gives; nothing where not all numbers that it got are finite."""
    state = call_state(kernel)
    seen = state.not_finite_calls
    result = kernel(*arrays)
    return result if state.not_finite_calls == seen else None


def _shapes(what: str, count: int, nv: int) -> list[tuple[int, ...]]:
    """Of what a kernel gives."""
    sizes: dict[str, list[tuple[int, ...]]] = {
        "distances": [(count, NUMBERS)],
        "distance_derivatives": [(count,), (count, nv)],
        "distance_hessian": [(count,), (count, nv), (count, nv, nv), (count,)],
        "nearest_pair": [(NUMBERS + 1,)],
        "smooth_minimum_distance_gradient": [(nv,)],
    }
    return sizes.get(what, [()])


_LEAST_TOLERANCE = 1e-7  # [m]
_REAL = (float, np.float32)
_KEPT = 64  # scenes that a robot remembers


def _number(name: str, x: Any) -> Any:
    if is_traced(x):
        return x
    try:
        result = number(x)
    except (TypeError, ValueError):
        result = float("nan")
    if not np.isfinite(result):
        raise ValueError(f"{name}: expected a finite number, got {x!r}")
    return np.array(result)


_NONE = Scene()


@dataclass(frozen=True)
class PairSelection:
    """What a kernel is asked, the scene, and which of its pairs are meant, with their names."""

    asked: DistanceSpec
    scene: Scene
    kept: np.ndarray | slice  # places among the kernel's pairs
    names: tuple[tuple[str, str], ...]
    whole: bool = False  # whether all of the kernel's pairs are meant, in their order
    parts: tuple[PairSelection, ...] = ()  # where not all shapes meet the same obstacles: of each part they do
    kernels: dict[str, Kernel] = field(default_factory=dict, compare=False, repr=False)
    calls: dict[str, Callable[..., Any]] = field(default_factory=dict, compare=False, repr=False)  # with this scene

    @property
    def blocks(self) -> tuple[PairSelection, ...]:
        """Pairs whose kernels look at what is meant and nothing else: its parts, or itself."""
        return self.parts or (self,)

    def place(self, result: int) -> int:
        """Which of the names a pair of the kernel has."""
        return result if isinstance(self.kept, slice) else int(np.flatnonzero(self.kept == result)[0])

    def inputs(self, rows: Mapping[SolidKind, np.ndarray]) -> list[np.ndarray]:
        """The arrays of a scene, in the order of a kernel's inputs."""
        return [rows[kind] for kind, _ in self.asked.capacities]

    def kernel(self, what: str, space: Space) -> Kernel:
        """What computes it."""
        result = self.kernels.get(what)
        if result is None:
            result = self.kernels[what] = distance_kernel(what, self.asked, space)
        return result


def asking(
    tree: Tree, caller: str, scene: Any, pairs: Iterable[tuple[str, str]] | None, link: str | None
) -> PairSelection:
    """All pairs, some of them, or those of a link.  Raises ValueError, TypeError and UnknownNameError."""
    if scene is not None and not isinstance(scene, Scene):
        raise TypeError(f"{caller}: scene: expected a linkwork.Scene, got {scene!r}")
    scene = _NONE if scene is None else scene
    shapes, own, meeting = meant_pairs(tree, caller, scene, pairs, link)
    meets: dict[int, set[str]] = {}
    for k, name in meeting:
        meets.setdefault(k, set()).add(name)
    whole = _about(tree, scene, shapes, own, meeting)
    alike = list(dict.fromkeys(frozenset(names) for names in meets.values()))
    if len(alike) < 2:
        return whole
    some = [[pair for pair in meeting if meets[pair[0]] == names] for names in alike]
    parts = [_about(tree, scene, shapes, own if k == 0 else [], pairs) for k, pairs in enumerate(some)]
    return replace(whole, parts=tuple(parts))


def _about(
    tree: Tree, scene: Scene, shapes: Sequence[LinkShape], own: list[tuple[int, int]], meeting: list[tuple[int, str]]
) -> PairSelection:
    """Own pairs, and pairs of shapes and obstacles."""
    met = {name for _, name in meeting}
    if len(met) < len(scene):
        scene = scene.only(met)
    at = dict(zip(scene.names, scene.places, strict=True))
    rows = tuple(sorted({k for k, _ in meeting}))
    asked = DistanceSpec(tree, tuple(own), rows, scene.capacities if rows else ())
    kept = [*range(len(own)), *(len(own) + rows.index(k) + at[name] * len(rows) for k, name in meeting)]
    names = [(shapes[i].name, shapes[j].name) for i, j in own] + [(shapes[k].name, name) for k, name in meeting]
    in_order = kept == [*range(len(kept))]
    whole = in_order and len(kept) == asked.count
    return PairSelection(asked, scene, slice(0, len(kept)) if in_order else np.array(kept), tuple(names), whole)
