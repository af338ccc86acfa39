"""Kinematics of a robot: a documented method each."""

from __future__ import annotations

import numpy as np

from .base import Array, RobotBase

__all__ = ["KinematicsMethods"]


class KinematicsMethods(RobotBase):
    """Where bodies and frames are, and how they move."""

    __slots__ = ()

    def forward_kinematics(self, q: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """X_WB, the pose in the world of every body B, in the order of `bodies`.

        q (..., nq) -> (..., nb, 4, 4) [1, m], nb bodies.
        """
        call = self._calls.get("forward_kinematics") or self._call("forward_kinematics")
        return call(q) if out is None else call(q, out=out)

    def pose(self, q: Array, frame: str, *, relative_to: str = "world", out: np.ndarray | None = None) -> np.ndarray:
        """X_AB, the pose of a frame B relative to A (``relative_to``): p_A = X_AB p_B.

        q (..., nq) -> (..., 4, 4) [1, m].
        """
        try:
            call = self._calls.get(("pose", frame, relative_to)) or self._call(
                "pose", frame=frame, relative_to=relative_to
            )
        except TypeError:
            self._refuse_frames("pose", frame=frame, relative_to=relative_to)
            raise
        return call(q) if out is None else call(q, out=out)

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
        try:
            call = self._calls.get(("twist", frame, relative_to, expressed_in, at)) or self._call(
                "twist", frame=frame, relative_to=relative_to, expressed_in=expressed_in, at=at
            )
        except TypeError:
            self._refuse_frames("twist", frame=frame, relative_to=relative_to, expressed_in=expressed_in, at=at)
            raise
        return call(q, v) if out is None else call(q, v, out=out)

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
        try:
            call = self._calls.get(("acceleration", frame, relative_to, expressed_in, at)) or self._call(
                "acceleration", frame=frame, relative_to=relative_to, expressed_in=expressed_in, at=at
            )
        except TypeError:
            self._refuse_frames("acceleration", frame=frame, relative_to=relative_to, expressed_in=expressed_in, at=at)
            raise
        return call(q, v, a) if out is None else call(q, v, a, out=out)

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
        try:
            call = self._calls.get(("jacobian", frame, relative_to, expressed_in, at)) or self._call(
                "jacobian", frame=frame, relative_to=relative_to, expressed_in=expressed_in, at=at
            )
        except TypeError:
            self._refuse_frames("jacobian", frame=frame, relative_to=relative_to, expressed_in=expressed_in, at=at)
            raise
        return call(q) if out is None else call(q, out=out)
