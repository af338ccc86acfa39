"""The limits of a whole robot, and what damping and friction exert on it, joints that follow others included."""

from __future__ import annotations

import numpy as np

from ..model.couple import bounds
from ..model.tree import Tree

__all__ = ["LimitMethods"]


class LimitMethods:
    """Bounds of the numbers of q, v and τ, in their order; there are none where they are infinite."""

    __slots__ = ()

    _tree: Tree

    @property
    def lower(self) -> np.ndarray:
        """The least configuration (nq,) that the joints' limits allow [rad, m]; −inf where there is none.

        Limits that are switched off do not count.  Where joints follow others, all of them are within theirs.  Raises
        ValueError, with the joints' names, where they nowhere are.
        """
        return self._positions(0)

    @property
    def upper(self) -> np.ndarray:
        """The greatest configuration (nq,) that the joints' limits allow [rad, m], as `lower`."""
        return self._positions(1)

    @property
    def velocity_limits(self) -> np.ndarray:
        """The greatest speeds (nv,) of the joints [rad/s, m/s]: |v| is not to be more; inf where there is none.

        A joint that follows another with a ratio bounds its speed to its own limit divided by |ratio|.
        """
        tree = self._tree
        limits = np.full(tree.nv, np.inf)
        for body, place in zip(tree.bodies, tree.v_slices, strict=True):
            ratio = 1.0 if body.coupling is None else abs(body.coupling.ratio)
            if ratio > 0.0:
                limits[place] = np.minimum(limits[place], np.array(body.limits.velocity) / ratio)
        return limits

    @property
    def effort_limits(self) -> np.ndarray:
        """The greatest joint forces (nv,) [N·m, N]: |τ| is not to be more; inf where there is none.

        They are those of the joints that have numbers of their own: a joint that follows another is not driven itself.
        """
        return np.array([x for _, body in self._tree.stacked() for x in body.limits.effort], dtype=float)

    def _positions(self, side: int) -> np.ndarray:
        found = bounds(self._tree)
        return np.array([x for i, _ in self._tree.stacked() for x in found[i][side]], dtype=float)
