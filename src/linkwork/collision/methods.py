"""Methods of `Robot` for signed distances, collision checks of configurations and of straight motions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from linkwork import collision, geometry
from linkwork._util.lazy_imports import LazyModule
from linkwork._util.thread_safety import BoundedCache
from linkwork._util.validation import number, positive
from linkwork.expr.arrays.symbol_array import is_traced, map_samples, scalars
from linkwork.kernels.array_arguments import refuse_batches
from linkwork.kernels.compiler_api import Kernel, call_state, single_call
from linkwork.kernels.owners import has_symbols
from linkwork.kernels.robot_arguments import read_configuration
from linkwork.kernels.robot_base import Array, RobotBase

if TYPE_CHECKING:
    from linkwork.collision import algorithms, kernels, motion_validity
    from linkwork.collision.kernels import PairSelection
else:
    algorithms = LazyModule("linkwork.collision.algorithms")
    kernels = LazyModule("linkwork.collision.kernels")
    motion_validity = LazyModule("linkwork.collision.motion_validity")

__all__ = ["DistanceMethods"]


Pairs = Iterable[tuple[str, str]]
PairChoice = Literal["self", "scene"] | Pairs  # groups of pairs, or pairs of names


class DistanceMethods(RobotBase):
    """Methods for signed distances [m] between a robot's collision shapes, and from them to a scene's obstacles.

    The shapes are the links' ``collisions``; `collision_pairs` lists the pairs of links that are checked.  Shapes that
    are fixed to the world, as a base, are checked against the robot's other shapes.  They are checked against the scene
    only if ``pairs`` or ``link`` names them, because such distances never change.  ``pairs`` selects
    pairs of names of links, single shapes ("hand/2") and obstacles; "self" selects all pairs of links, "scene" all
    pairs of a link and an obstacle.  All pairs are the default.  Computation is in float32 if q is a float32 array.
    """

    __slots__ = ()

    def distances(
        self, q: Array, scene: geometry.Scene | None = None, *, pairs: PairChoice | None = None
    ) -> collision.RobotDistances:
        """Compute signed distances, normals and witness points of all collision pairs, or of selected ones.

        q (..., nq) -> a `RobotDistances` of arrays (..., pairs) and (..., pairs, 3).  The robot's own pairs come first,
        then the pairs with the scene, obstacle by obstacle.  Pairs of an obstacle and a link that is fixed to the
        world, such as a base, are left out, unless ``pairs`` names them: ``pairs=[("base", "table")]``.

        >>> import linkwork as lw
        >>> scene = lw.Scene().with_sphere("ball", 0.1, (2.0, 0, 0))
        >>> robot = lw.load("arm7")
        >>> result = robot.distances(robot.neutral(), scene, pairs=[("flange", "ball")])
        >>> bool(result.of("flange", "ball").distance > 1.0)
        True

        Raises ValueError for a robot without collision shapes, UnknownNameError for unknown names.
        """
        selection = self._pair_selection("distances", scene, pairs)
        values = self._evaluate("distances", selection, q, selection.scene.rows)
        return collision.RobotDistances._make(
            values if selection.is_all else values[..., selection.indices, :], selection.names
        )

    def distance_derivatives(
        self, q: Array, scene: geometry.Scene | None = None, *, pairs: PairChoice | None = None
    ) -> collision.DistanceDerivatives:
        """Compute the signed distances of the pairs of `distances` and their gradients in the tangent space.

        ``scene`` has the obstacles, and ``pairs`` selects pairs, as in `distances`. q (..., nq) -> ``distance`` (...,
        pairs) [m] and ``gradient`` (..., pairs, nv) [1, m]: at the velocity v, distances change at the rate gradient @
        v = n · (v_b − v_a), with the velocities of the witness points.  The gradient is exact where the witness points
        are ``unique``; elsewhere it is one of several one-sided derivatives.
        """
        selection = self._pair_selection("distance_derivatives", scene, pairs)
        distance, gradient = self._evaluate("distance_derivatives", selection, q, selection.scene.rows)
        return collision.DistanceDerivatives(
            distance[..., selection.indices], gradient[..., selection.indices, :], selection.names
        )

    def distance_hessian(
        self, q: Array, scene: geometry.Scene | None = None, *, pairs: PairChoice | None = None
    ) -> collision.DistanceHessian:
        """Compute the distances of the pairs of `distances` with gradients and Hessians in the tangent space.

        ``scene`` has the obstacles, and ``pairs`` selects pairs, as in `distances`. q (..., nq) -> ``hessian`` (...,
        pairs, nv, nv), symmetric: ∂²d(q ⊕ φ)/∂φ² at φ = 0.  It includes the curvature of both surfaces at the witness
        points.  ``exists`` is 1 where the Hessian exists.  It is 0 where the witness points are not unique (parallel
        faces) or are about to move to another feature of a shape, and for height fields, point clouds and distance
        fields.  There the Hessian is zero, except for the terms of joints whose axes rotate with the joint.
        """
        selection = self._pair_selection("distance_hessian", scene, pairs)
        result = self._evaluate("distance_hessian", selection, q, selection.scene.rows)
        return collision.DistanceHessian(
            result[0][..., selection.indices],
            result[1][..., selection.indices, :],
            result[2][..., selection.indices, :, :],
            result[3][..., selection.indices],
            selection.names,
        )

    def minimum_distance(
        self, q: Array, scene: geometry.Scene | None = None, *, pairs: PairChoice | None = None
    ) -> Any:
        """Compute the minimum signed distance [m] over all pairs: q (..., nq) -> (...).

        Pairs of two links count with a scene, too.  ``scene`` has the obstacles, and ``pairs`` selects pairs, as in
        `distances`; `nearest_pair` names the pair of the minimum.
        """
        selection = self._pair_selection("minimum_distance", scene, pairs)
        return kernels.minimum_of(
            [self._evaluate("minimum_distance", b, q, b.scene.rows_by_distance) for b in selection.blocks]
        )

    def in_collision(
        self, q: Array, scene: geometry.Scene | None = None, *, margin: float = 0.0, pairs: PairChoice | None = None
    ) -> Any:
        """Return True where the distance of any pair is at most ``margin`` [m]: q (..., nq) -> bools (...).

        ``scene`` has the obstacles, and ``pairs`` selects pairs, as in `distances`. Bounding volumes are checked first,
        and evaluation stops at the first such pair.
        """
        selection = self._pair_selection("in_collision", scene, pairs)
        value = _finite_number("margin", margin)
        function = "in_collision" if not is_traced(value) and value >= 0.0 else "in_collision deeper"
        result = kernels.maximum_of(
            [self._evaluate(function, b, q, b.scene.rows_by_distance, value) for b in selection.blocks]
        )
        return result if is_traced(result) else np.asarray(result) > 0.5

    def nearest_pair(
        self, q: Array, scene: geometry.Scene | None = None, *, link: str | None = None, pairs: PairChoice | None = None
    ) -> collision.RobotDistances:
        """Return the pair with the minimum distance, of all pairs or of the pairs of a ``link``, at one q (nq,).

        ``scene`` has the obstacles, and ``pairs`` selects pairs, as in `distances`. The only entry of ``pairs`` in the
        result names the pair.  If ``link`` is a frame without shapes, the pairs of the links on the same body are used.
        A ``link`` that is fixed to the world has pairs with the scene, too.
        """
        if isinstance(scene, str):
            raise TypeError(
                f"nearest_pair: scene: expected a Scene, got {scene!r}; pass a link by name: link={scene!r}"
            )
        selection = self._pair_selection("nearest_pair", scene, pairs, link)
        if is_traced(q) or getattr(q, "ndim", 1) > 1:
            raise ValueError(
                "nearest_pair: q: expected one configuration (nq,); use distances(q).distance.argmin(-1) for batches"
            )
        results = [np.asarray(self._evaluate("nearest_pair", b, q, b.scene.rows)) for b in selection.blocks]
        nearest = int(np.argmin([result[0] for result in results]))
        result, block = results[nearest], selection.blocks[nearest]
        index = block.name_index(int(result[algorithms.PAIR_SIZE]))
        return collision.RobotDistances._make(result[np.newaxis, : algorithms.PAIR_SIZE], [block.names[index]])

    def is_motion_free(
        self,
        q0: Array,
        q1: Array,
        scene: geometry.Scene | None = None,
        *,
        collision_check: Literal["certified", "sampled"] = "certified",
        margin: float = 0.0,
        tolerance: float = 1e-4,
        resolution: float = 0.05,
        pairs: PairChoice | None = None,
    ) -> collision.MotionCheck:
        """Check that all distances exceed ``margin`` [m] on the straight segments from q0 to q1, (..., nq) each.

        ``scene`` has the obstacles, and ``pairs`` selects pairs, as in `distances`. Along a segment, t from 0 to 1, the
        configuration is ``integrate(q0, t · difference(q0, q1))``.  Planar and floating joints translate on straight
        lines while they rotate: positions are p0 + t (p1 − p0).  Loop constraints are not enforced.

        - ``"certified"`` proves the whole segment collision-free, from signed distances and bounds on the motion of
          the shapes, or returns a configuration in collision.  A configuration whose distance exceeds the margin by at
          most ``tolerance`` [m] makes the result "undecided".
        - ``"sampled"`` checks configurations spaced by ``resolution``, in the norm of difference(q0, q1) [rad, m].  It
          proves nothing between them.

        Raises ValueError for a tolerance below 1e-7, a resolution that is not positive and an unknown
        ``collision_check``, and for a proof with a negative margin for a box, capsule or polytope in a height field,
        whose depth may jump; TypeError for user-defined joint types whose motion cannot be bounded.
        """
        if collision_check not in motion_validity.METHODS:
            raise ValueError(
                f"is_motion_free: collision_check: expected one of {', '.join(motion_validity.METHODS)}, "
                f"got {collision_check!r}"
            )
        certified = collision_check == "certified"
        name, minimum = ("tolerance", _MIN_TOLERANCE) if certified else ("resolution", 0.0)
        step = _finite_number(name, tolerance if certified else resolution)
        unused, value = ("resolution", resolution) if certified else ("tolerance", tolerance)
        if value.__class__ is not float or not 0.0 < value < math.inf:
            positive("is_motion_free", unused, value)
        if is_traced(step) or not minimum <= step < math.inf or not step > 0.0:
            expected = f"a number >= {minimum:g} [m]" if certified else "a positive number [rad, m]"
            raise ValueError(
                f"is_motion_free: {name}: expected {expected}, got {tolerance if certified else resolution!r}"
            )
        selection = self._pair_selection("is_motion_free", scene, pairs)
        if certified and not is_traced(margin) and _finite_number("margin", margin) < 0.0:
            motion_validity.check_depths("is_motion_free", selection, np.full(len(selection.names), float(margin)))
        calls = []
        for block in selection.blocks:
            kernel = block.kernels.get(f"is_motion_free {collision_check}")
            if kernel is None:
                if certified:
                    motion_validity.check_edges(block.spec)
                kernel = block.kernels[f"is_motion_free {collision_check}"] = motion_validity.edge_kernel(
                    collision_check, block.spec, self.configuration_space
                )
            inputs = block.inputs(block.scene.rows_by_distance)
            calls.append((kernel, (_finite_number("margin", margin), step, *inputs)))
        plain = all(q.__class__ is np.ndarray and q.dtype == float and q.shape == (self.nq,) for q in (q0, q1))
        if plain and not self._subject.checked_joints and len(calls) == 1:
            result = _call_if_finite(calls[0][0], q0, q1, *calls[0][1])
            if result is not None:
                return collision.MotionCheck._of(collision_check, result)
        for name, q in (("q0", q0), ("q1", q1)):
            if is_traced(q):
                raise TypeError(f"is_motion_free: {name}: expected numbers, got symbols; use minimum_distance instead")
        ends = [read_configuration(self, "is_motion_free", name, q) for name, q in (("q0", q0), ("q1", q1))]
        try:
            return collision.MotionCheck._of(
                collision_check, kernels.worst_edge([np.asarray(kernel(*ends, *more)) for kernel, more in calls])
            )
        except ValueError:
            refuse_batches("is_motion_free: q0 and q1", ends, 1)
            raise

    def smooth_minimum_distance(
        self, q: Array, scene: geometry.Scene | None = None, *, sharpness: float, pairs: PairChoice | None = None
    ) -> Any:
        """Compute the smooth minimum −log(Σ exp(−k d))/k of all n distances d [m]: q (..., nq) -> (...).

        ``scene`` has the obstacles, and ``pairs`` selects pairs, as in `distances`. k is the ``sharpness`` [1/m].  The
        result is smooth where the distances are.  It is at most log(n)/k below the minimum distance, and never above
        it.
        """
        return self._smooth("smooth_minimum_distance", q, scene, sharpness, pairs)

    def smooth_minimum_distance_gradient(
        self, q: Array, scene: geometry.Scene | None = None, *, sharpness: float, pairs: PairChoice | None = None
    ) -> Any:
        """Compute the gradient of `smooth_minimum_distance` in the tangent space: q (..., nq) -> (..., nv) [1, m].

        ``scene``, ``sharpness`` and ``pairs`` are as in `smooth_minimum_distance`.
        """
        return self._smooth("smooth_minimum_distance_gradient", q, scene, sharpness, pairs)

    # -- evaluation

    def _smooth(
        self, caller: str, q: Array, scene: geometry.Scene | None, sharpness: float, pairs: PairChoice | None
    ) -> Any:
        k = _finite_number("sharpness", sharpness)
        if not is_traced(k) and not k > 0.0:
            raise ValueError(f"{caller}: sharpness: expected a positive number [1/m], got {sharpness!r}")
        blocks = self._pair_selection(caller, scene, pairs).blocks
        result = [self._evaluate(caller, b, q, b.scene.rows_by_distance, k) for b in blocks]
        if len(blocks) == 1:
            return result[0]
        value = "smooth_minimum_distance"
        if caller == value:
            return kernels.smooth_minimum_of(result, k)
        values = [self._evaluate(value, b, q, b.scene.rows_by_distance, k) for b in blocks]
        return kernels.smooth_minimum_gradient_of(values, result, k)

    def _pair_selection(
        self, caller: str, scene: geometry.Scene | None, pairs: PairChoice | None, link: str | None = None
    ) -> PairSelection:
        if has_symbols(self._subject):
            raise TypeError(
                f"{caller}: robot {self.name!r} has symbolic parameters, which distances do not support; "
                f"give them values"
            )
        calls = cast(dict[Any, Any], self._calls)
        stored: BoundedCache[Any, PairSelection] | None = calls.get(_SELECTIONS)
        if stored is None:
            stored = calls.setdefault(_SELECTIONS, BoundedCache(_MAX_CACHED_SCENES))
        selected: Any = pairs
        try:
            chosen: Any = pairs
            is_plain = pairs is None or isinstance(pairs, str)
            if not is_plain and not (chosen.__class__ is tuple and chosen and chosen[0].__class__ is tuple):
                selected = tuple([tuple(pair) if isinstance(pair, list) else pair for pair in chosen])
            key = (scene, selected, link)
            result = stored.get(key)
        except TypeError:
            return kernels.select_pairs(self._tree, caller, scene, selected, link)
        if result is None:
            selection = kernels.select_pairs(self._tree, caller, scene, selected, link)

            def with_shared_kernels(block: PairSelection) -> PairSelection:
                """Return the selection with the kernels that all scenes of the same sizes share."""
                return replace(block, kernels=calls.setdefault(_kernels_key(block), {}))

            result = replace(with_shared_kernels(selection), parts=tuple(map(with_shared_kernels, selection.parts)))
            stored.keep(key, result)
        return result

    def _evaluate(self, function: str, selection: PairSelection, q: Any, rows: Any, *arguments: Any) -> Any:
        call = selection.calls.get(function)
        if call is None:
            if is_traced(q) or is_traced(arguments):
                return self._on_symbols(function, selection, q, rows, arguments)
            call = selection.calls[function] = self._call(function, selection, rows)
        return call(q, *arguments)

    def _call(self, function: str, selection: PairSelection, rows: Any) -> Callable[..., Any]:
        """Return a callable of q and the scalar arguments: the kernel, with checks of all but plain arrays."""
        kernel, scene = selection.kernel(function, self.configuration_space), selection.inputs(rows)

        def otherwise(q: Any, *inputs: Any) -> Any:
            arguments = inputs[: len(inputs) - len(scene)]
            if is_traced(q) or is_traced(arguments):
                return self._on_symbols(function, selection, q, rows, arguments)
            plain = q.__class__ is np.ndarray and q.dtype in _REAL and q.shape[-1:] == (self._tree.nq,)
            arrays: Sequence[Any] = inputs
            if plain and not self._subject.checked_joints:
                if q.dtype != float:
                    arrays = [np.asarray(x, dtype=q.dtype) for x in inputs]  # float32 throughout if q is float32
                result = _call_if_finite(kernel, q, *arrays)
                if result is not None:
                    return result
            return kernel(read_configuration(self, function.split()[0], "q", q), *arrays)

        call = otherwise if self._subject.checked_joints else single_call(kernel, otherwise)
        return (lambda q, *arguments: call(q, *arguments, *scene)) if scene else call

    def _on_symbols(
        self, function: str, selection: PairSelection, q: Any, rows: Any, arguments: tuple[Any, ...]
    ) -> Any:
        values = scalars(q)
        if values.shape[-1:] != (self.nq,):
            caller = function.split()[0]
            raise ValueError(f"{caller}: q: expected an array of shape (..., {self.nq}), got shape {values.shape}")
        scene = {kind: np.asarray(x) for kind, x in rows.items()}

        shapes = _output_shapes(function, selection.spec.count, self.nv)

        def sample(q: list[Any], *more: list[Any]) -> list[Any]:
            result = kernels.evaluate_distances(function, selection.spec, q, scene, [x for (x,) in more])
            outputs = result if len(shapes) > 1 else (result,)
            return [np.asarray(output, dtype=object).ravel().tolist() for output in outputs]

        arrays = [values, *(scalars(x) for x in arguments)]
        result = map_samples(sample, arrays, [1, *(0 for _ in arguments)], shapes)
        return result if len(shapes) > 1 else result[0]


def _kernels_key(selection: PairSelection) -> tuple[Any, ...]:
    """Return a key that is equal for selections with the same kernels."""
    return ("kernels", selection.spec.pairs, selection.spec.shapes, selection.spec.capacities)


def _call_if_finite(kernel: Kernel, *arrays: Any) -> Any:
    """Return the kernel's result, or None if one of its inputs is not finite."""
    state = call_state(kernel)
    before = state.not_finite_calls
    result = kernel(*arrays)
    return result if state.not_finite_calls == before else None


def _output_shapes(function: str, count: int, nv: int) -> list[tuple[int, ...]]:
    """Return the shapes of a kernel's outputs for ``count`` pairs."""
    sizes: dict[str, list[tuple[int, ...]]] = {
        "distances": [(count, algorithms.PAIR_SIZE)],
        "distance_derivatives": [(count,), (count, nv)],
        "distance_hessian": [(count,), (count, nv), (count, nv, nv), (count,)],
        "nearest_pair": [(algorithms.PAIR_SIZE + 1,)],
        "smooth_minimum_distance_gradient": [(nv,)],
    }
    return sizes.get(function, [()])


_MIN_TOLERANCE = 1e-7  # [m]
_REAL = (float, np.float32)
_MAX_CACHED_SCENES = 64  # of a robot
_SELECTIONS = ("distances",)  # key of a robot's cache of selections


def _finite_number(name: str, x: Any) -> Any:
    if is_traced(x):
        return x
    try:
        result = number(x)
    except (TypeError, ValueError):
        result = float("nan")
    if not np.isfinite(result):
        raise ValueError(f"{name}: expected a finite number, got {x!r}")
    return np.array(result)
