"""Collision checks of straight motions between configurations: kernels and their results."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.result import Result
from linkwork._util.status import statuses
from linkwork.collision import algorithms
from linkwork.collision.kernels import DistanceSpec, PairSelection
from linkwork.errors import Status
from linkwork.expr.arrays.symbol_array import array
from linkwork.geometry.cores import BoxCore, PolytopeCore, SegmentCore
from linkwork.geometry.solids import SOLIDS, solid
from linkwork.kernels.compiler_api import Kernel, Space, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.model.collision_pairs import link_shapes
from linkwork.model.tree_edits import straight_tree
from linkwork.shapes import HeightField, Polytope, Shape
from linkwork.spatial import Pose

__all__ = ["METHODS", "MotionCheck", "check_depths", "check_edges", "edge_kernel"]

METHODS = ("certified", "sampled")

_STATUS = {  # by method and code of the kernel
    "certified": (Status.FREE, Status.COLLIDING, Status.UNDECIDED),
    "sampled": (Status.FREE_AT_SAMPLES, Status.COLLIDING, Status.UNDECIDED),
}
_KERNELS: LazyCache[Kernel] = LazyCache(64)


@dataclass(frozen=True, init=False)
class MotionCheck(Result):
    """Results of collision checks of straight motions: single values for one motion, arrays (...) for a batch.

    ``status`` is one of

    - "free": the whole motion is proved collision-free;
    - "free_at_samples": no sample collides; the motion between samples is not checked;
    - "colliding": the configuration ``q`` collides;
    - "undecided": the clearance at ``q`` is too small to be distinguished from a collision.

    ``free`` is True for the first two.
    """

    free: Any
    status: Any
    t: Any  # path parameter of q, from 0 to 1; NaN where the motion is free
    q: Any  # (..., nq): a configuration that collides or is undecided; NaN where the motion is free
    clearance: Any  # minimum signed distance at the configurations that were checked [m]
    iterations: Any  # number of configurations that were checked

    @property
    def success(self) -> Any:
        """True where the motion is free; the same as ``free``."""
        return self.free

    @staticmethod
    def _of(method: str, output: np.ndarray) -> MotionCheck:
        """Create the result from the output (..., 4 + nq) of a kernel."""
        words = _STATUS[method]
        if output.ndim == 1:
            code, t, clearance, checks = output[:4].tolist()
            free, q = code == 0.0, output[4:]
            if free:
                t, q = math.nan, np.full(len(q), math.nan)
            return MotionCheck._make(free, words[int(code)], t, q, clearance, int(checks))
        free = output[..., 0] == 0.0
        t, q = np.where(free, np.nan, output[..., 1]), np.where(free[..., np.newaxis], np.nan, output[..., 4:])
        status, checks = statuses(output[..., 0], words), output[..., 3].astype(int)
        return MotionCheck._make(free, status, t, q, output[..., 2], checks)

    def _sentence(self, index: tuple[int, ...]) -> str:
        t, clearance = (float(np.asarray(x)[index]) for x in (self.t, self.clearance))
        where = "" if math.isnan(t) else f" at {100.0 * t:.3g} % of the motion"
        checks = int(np.asarray(self.iterations)[index])
        return f"minimum distance {clearance:.3g} m{where}, {checks} configuration{'s' * (checks != 1)} checked"


def check_edges(spec: DistanceSpec) -> None:
    """Raise TypeError for a joint whose motion cannot be bounded."""
    for body in straight_tree(spec.tree).bodies:
        try:
            algorithms.check_bounded(body)
        except TypeError as error:
            raise TypeError(f'is_motion_free: {error}; use collision_check="sampled"') from None


def check_depths(caller: str, selection: PairSelection, margins: np.ndarray) -> None:
    """Raise ValueError for a negative margin (pairs,) of a pair whose depth may jump, which no proof can use.

    These are height fields with boxes, capsules and polytopes.  Their depth is that of one corner or end, and another
    one may be the deepest a little later.
    """
    shapes = {shape.name: shape.shape for shape in link_shapes(selection.spec.tree)}
    for k in np.flatnonzero(margins < 0.0).tolist():
        a, b = selection.names[k]
        pair = shapes[a], shapes[b] if k < len(selection.spec.pairs) else selection.scene[b].shape
        fields = [isinstance(shape, HeightField) for shape in pair]
        if any(fields) and not all(fields) and _has_jumps(pair[1 if fields[0] else 0]):
            raise ValueError(
                f"{caller}: the depth of {a!r} and {b!r} may jump as they move, so no motion with a negative margin "
                f'is proved free; pass collision_check="sampled"'
            )


def _has_jumps(shape: Shape) -> bool:
    """Return True if the depth of a shape in a height field may jump."""
    is_solid = type(shape) in SOLIDS
    return is_solid and isinstance(solid(shape, Pose.identity()).core, (BoxCore, SegmentCore, PolytopeCore))


def edge_kernel(method: str, spec: DistanceSpec, space: Space, *, each: bool = False, depths: bool = True) -> Kernel:
    """Return the kernel that checks segments; planar and floating joints translate straight (`straight_tree`).

    Inputs: both ends, the margin, the tolerance or resolution, with ``each`` a margin for each pair, and a scene's rows
    by kind.  Outputs: the status, t, the clearance, the number of configurations that were checked, and q.  Without
    ``depths``, margins must not be negative, and the clearance of polytopes that overlap is 0.
    """
    depths = depths or not _has_polytopes(spec)
    check = algorithms.certified_edge if method == "certified" else algorithms.sampled_edge
    tree = straight_tree(spec.tree)

    def traced(*, q0: Any, q1: Any, margin: Any, step: Any, **inputs: Any) -> Any:
        margins = spec.pair_margins(inputs) if each else None
        arguments = tree, [*q0], [*q1], spec.pairs, spec.shapes, spec.scene(inputs), margin, step
        result = check(*arguments, margins=margins, depths=depths)
        return array([result.status, result.t, result.clearance, result.checks, *result.q])

    def compiled() -> Kernel:
        inputs = {**(spec.margins if each else {}), **spec.rows}
        return compile(traced, name=f"is_motion_free_{method}", q0=space, q1=space, margin=(), step=(), **inputs)

    return _KERNELS.get((method, spec, each, depths), compiled)


def _has_polytopes(spec: DistanceSpec) -> bool:
    of_robot = any(isinstance(shape.shape, Polytope) for shape in link_shapes(spec.tree))
    return of_robot or any(kind.core is PolytopeCore for kind, _ in spec.capacities)
