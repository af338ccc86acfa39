"""Straight segments of configurations: kernels that look at them, and what they find."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.collision import algorithms
from linkwork.collision.algorithms import PairMargins
from linkwork.collision.kernels import DistanceSpec
from linkwork.expr.arrays.symbol_array import array
from linkwork.kernels.compiler_api import Kernel, Space, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.model.tree_edits import straight_tree

__all__ = ["METHODS", "MotionCheck", "check_edges", "edge_kernel"]

METHODS = ("certified", "sampled")

_STATUS = {
    "certified": ("free", "colliding", "undecided"),
    "sampled": ("sampled", "colliding", "undecided"),
}
_KERNELS: LazyCache[Kernel] = LazyCache(64)


@dataclass(frozen=True)
class MotionCheck:
    """Whether straight segments of configurations are free: single values of one segment, arrays (...) of a batch.

    ``status``: "free", which is proved of the whole segment; "colliding", at the configuration ``q``; "undecided",
    where distances are too small at ``q`` to be told from a collision; or "sampled", where no sample collides and
    nothing is said of what lies between.  ``free`` is true for "free" and "sampled".
    """

    free: Any
    status: Any
    t: Any  # where q is on the segment, from 0 to 1; NaN where it is free
    q: Any  # (..., nq): a configuration that collides, or is undecided; NaN where it is free
    clearance: Any  # the least signed distance at the configurations that were looked at [m]
    checks: Any  # how many configurations were looked at

    @staticmethod
    def of(method: str, numbers: np.ndarray) -> MotionCheck:
        """From what a kernel gives: (..., 4 + nq)."""
        words = _STATUS[method]
        if numbers.ndim == 1:
            code, t, clearance, checks = numbers[:4].tolist()
            free, q = code == 0.0, numbers[4:]
            if free:
                t, q = math.nan, np.full(len(q), math.nan)
            return MotionCheck(free, words[int(code)], t, q, clearance, int(checks))
        codes = numbers[..., 0].astype(int)
        frees = codes == 0
        t, q = np.where(frees, np.nan, numbers[..., 1]), np.where(frees[..., np.newaxis], np.nan, numbers[..., 4:])
        return MotionCheck(frees, np.array(words)[codes], t, q, numbers[..., 2], numbers[..., 3].astype(int))

    def __bool__(self) -> bool:
        """Whether the one segment is free.  Raises ValueError for a batch."""
        if np.ndim(self.free):
            raise ValueError("MotionCheck: of several segments: ask for its `free`, and all() or any() of that")
        return bool(self.free)


def check_edges(asked: DistanceSpec) -> None:
    """Raises TypeError for a joint that nothing bounds."""
    for body in straight_tree(asked.tree).bodies:
        try:
            algorithms.check_bounded(body)
        except TypeError as error:
            raise TypeError(f'is_motion_free: {error}: use method="sampled"') from None


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
        found = look(
            tree, [*q0], [*q1], asked.pairs, asked.shapes, asked.scene(given), margin, step, margins=of_pairs(given)
        )
        return array([found.status, found.t, found.clearance, found.checks, *found.q])

    def made() -> Kernel:
        given = {**(asked.margins if each else {}), **asked.rows}
        return compile(traced, name=f"edge_is_free_{method}", q0=space, q1=space, margin=(), step=(), **given)

    return _KERNELS.get((method, asked, each), made)
