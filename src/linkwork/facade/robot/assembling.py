"""Configurations and velocities that a robot's constraints allow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .base import Array, RobotBase
from .method import computed

__all__ = ["AssemblyMethods"]


class AssemblyMethods(RobotBase):
    """Configurations that satisfy constraints: projected, assembled, followed (see the page on assembly)."""

    __slots__ = ()

    @computed
    def project_configuration(
        self,
        q: Array,
        *,
        time: ArrayLike | None = None,
        metric: str = "mass",
        out: tuple[np.ndarray, ...] | None = None,
    ) -> Any:
        """The kernel of `project` for configurations: where it led to, what is left, how many steps, how it ended.

        q (..., nq) -> q (..., nq) [rad, m, 1], error (..., ne) [m, rad], iterations (...) [1], status (...) [1].
        ``status`` is 0 where steps ended, 1 where there were too many of them, 2 where a number was NaN.
        """

    @computed
    def project_velocity(
        self, q: Array, v: Array, *, time: ArrayLike | None = None, metric: str = "mass", out: np.ndarray | None = None
    ) -> np.ndarray:
        """The nearest velocity that constraints allow, G v + σ = 0, as the mass matrix measures, or number by number.

        q (..., nq), v (..., nv) -> (..., nv) [rad/s, m/s].  ``metric`` is "mass" or "plain".
        """

    @computed
    def assemble_configuration(
        self,
        q: Array,
        q1: Array,
        weights: Array,
        *,
        time: ArrayLike | None = None,
        held: str | list[str] | tuple[str, ...] = (),
        limits: bool = True,
        out: tuple[np.ndarray, ...] | None = None,
    ) -> Any:
        """The kernel of `assemble`: from the start q, joints that are held in it, to where constraints hold near q1.

        q, q1 (..., nq), weights (..., nv) -> q (..., nq) [rad, m, 1], error (..., ne) [m, rad], iterations (...) [1],
        status (...) [1], slope (...) [1].  ``weights`` are positive and say how much each velocity counts in what is
        near.  ``status`` is 0 where steps ended, 1 where there were too many, 2 where a number was NaN; ``slope``,
        ‖Gᵀφ‖²/(‖G‖²‖φ‖²), is 0 in a false minimum.  Whether it is assembled, the error says.
        """

    @computed
    def assembly_derivatives(
        self,
        q: Array,
        *,
        time: ArrayLike | None = None,
        held: str | list[str] | tuple[str, ...] = (),
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """K: how an assembled configuration changes as held joints move, δq = K δy; columns of all others are zero.

        q (..., nq) -> (..., nv, nv) [1, m, 1/m].  Exact where what is held determines all; where it does not, it is
        the least change.
        """
