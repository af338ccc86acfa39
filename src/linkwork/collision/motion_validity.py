"""Collision checks of straight motions between configurations: kernels and their results."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.result import Result
from linkwork._util.status import statuses
from linkwork.collision import algorithms
from linkwork.collision.algorithms import PairMargins
from linkwork.collision.kernels import DistanceSpec
from linkwork.errors import Status
from linkwork.expr.arrays.symbol_array import array
from linkwork.kernels.compiler_api import Kernel, Space, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.model.tree_edits import straight_tree

__all__ = ["METHODS", "MotionCheck", "check_edges", "edge_kernel"]

METHODS = ("certified", "sampled")

_STATUS = {  # by method and code of the kernel
    "certified": (Status.FREE, Status.COLLIDING, Status.UNDECIDED),
    "sampled": (Status.FREE_AT_SAMPLES, Status.COLLIDING, Status.UNDECIDED),
}
_KERNELS: LazyCache[Kernel] = LazyCache(64)


@dataclass(frozen=True, init=False)
class MotionCheck(Result):
    """Collision checks of straight motions: single values of one motion, arrays (...) of a batch.

    ``status`` is "free", which is proved of the whole motion; "free_at_samples", where no sample collides and nothing
    is said of the motion between samples; "colliding", at the configuration ``q``; or "undecided", where distances are
    too small at ``q`` to be told from a collision.  ``free`` is True for the first two.
    """

    free: Any
    status: Any
    t: Any  # where q is on the motion, from 0 to 1; NaN where it is free
    q: Any  # (..., nq): a configuration that collides, or is undecided; NaN where it is free
    clearance: Any  # the least signed distance at the configurations that were checked [m]
    iterations: Any  # number of configurations that were checked

    @property
    def success(self) -> Any:
        """The same as ``free``."""
        return self.free

    @staticmethod
    def _of(method: str, numbers: np.ndarray) -> MotionCheck:
        """Make the result of the output (..., 4 + nq) of a kernel."""
        words = _STATUS[method]
        if numbers.ndim == 1:
            code, t, clearance, checks = numbers[:4].tolist()
            free, q = code == 0.0, numbers[4:]
            if free:
                t, q = math.nan, np.full(len(q), math.nan)
            return MotionCheck._make(free, words[int(code)], t, q, clearance, int(checks))
        free = numbers[..., 0] == 0.0
        t, q = np.where(free, np.nan, numbers[..., 1]), np.where(free[..., np.newaxis], np.nan, numbers[..., 4:])
        status, checks = statuses(numbers[..., 0], words), numbers[..., 3].astype(int)
        return MotionCheck._make(free, status, t, q, numbers[..., 2], checks)

    def _sentence(self, place: tuple[int, ...]) -> str:
        t, clearance = (float(np.asarray(x)[place]) for x in (self.t, self.clearance))
        where = "" if math.isnan(t) else f" at {100.0 * t:.3g} % of the motion"
        checks = int(np.asarray(self.iterations)[place])
        return f"least distance {clearance:.3g} m{where}, {checks} configuration{'s' * (checks != 1)} checked"


def check_edges(asked: DistanceSpec) -> None:
    """Raises TypeError for a joint that nothing bounds."""
    for body in straight_tree(asked.tree).bodies:
        try:
            algorithms.check_bounded(body)
        except TypeError as error:
            raise TypeError(f'is_motion_free: {error}: use collision_check="sampled"') from None


def edge_kernel(method: str, asked: DistanceSpec, space: Space, *, each: bool = False) -> Kernel:
    """Return the kernel of segments along which planar and floating joints go straight (`straight_tree`).

    It takes both ends, the margin, the tolerance or resolution, margins of pairs where ``each`` has its own, and a
    scene's rows by kind; it gives the status, t, the clearance, how many configurations were looked at, and q.
    """
    look = algorithms.certified_edge if method == "certified" else algorithms.sampled_edge
    tree = straight_tree(asked.tree)

    def of_pairs(given: dict[str, Any]) -> PairMargins | None:
        return asked.pair_margins(given) if each else None

    def traced(*, q0: Any, q1: Any, margin: Any, step: Any, **given: Any) -> Any:
        result = look(
            tree, [*q0], [*q1], asked.pairs, asked.shapes, asked.scene(given), margin, step, margins=of_pairs(given)
        )
        return array([result.status, result.t, result.clearance, result.checks, *result.q])

    def made() -> Kernel:
        given = {**(asked.margins if each else {}), **asked.rows}
        return compile(traced, name=f"is_motion_free_{method}", q0=space, q1=space, margin=(), step=(), **given)

    return _KERNELS.get((method, asked, each), made)
