"""Kinematics of a robot: a documented method each."""

from __future__ import annotations

import numpy as np

from linkwork.kernels.compiled_method import computed
from linkwork.kernels.robot_base import Array, RobotBase

__all__ = ["KinematicsMethods"]


class KinematicsMethods(RobotBase):
    """Where bodies and frames are, and how they move."""

    __slots__ = ()

    @computed
    def forward_kinematics(self, q: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """X_WB, the pose in the world of every body B, in the order of `bodies`.

        q (..., nq) -> (..., nb, 4, 4) [1, m], nb bodies.
        """

    @computed
    def pose(self, q: Array, frame: str, *, relative_to: str = "world", out: np.ndarray | None = None) -> np.ndarray:
        """X_AB, the pose of a frame B relative to A (``relative_to``): p_A = X_AB p_B.

        q (..., nq) -> (..., 4, 4) [1, m].
        """

    @computed
    def twist(
        self,
        q: Array,
        v: Array,
        frame: str,
        *,
        relative_to: str = "world",
        expressed_in: str = "world",
        at: str | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """(ω; v) of a frame B relative to A, in the axes of E (``expressed_in``).

        v is the velocity of the point of B that coincides with the origin of the frame ``at`` (B's own by default;
        ``at="world"`` is the Plücker form).  q (..., nq), v (..., nv) -> (..., 6) [rad/s, m/s].
        """

    @computed
    def acceleration(
        self,
        q: Array,
        v: Array,
        a: Array,
        frame: str,
        *,
        relative_to: str = "world",
        expressed_in: str = "world",
        at: str | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """(ω̇; v̇) of a frame B as seen by an observer in A, in the axes of E (``expressed_in``).

        v̇ is the classical acceleration of the point of B that coincides with the origin of the frame ``at`` (B's own
        by default): no gravity in it.  q (..., nq), v, a (..., nv) -> (..., 6) [rad/s², m/s²].
        """

    @computed
    def jacobian(
        self,
        q: Array,
        frame: str,
        *,
        relative_to: str = "world",
        expressed_in: str = "world",
        at: str | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """J with J v the twist of a frame B relative to A, in the axes of E, at the point that `twist` describes.

        q (..., nq) -> (..., 6, nv) [1, m].
        """
