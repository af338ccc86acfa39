"""The robot as a whole: its centre of mass, its energies, its momentum."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from linkwork.kernels.compiled_method import computed
from linkwork.kernels.robot_base import Array, Axes, RobotBase, Wrenches

__all__ = ["MomentumMethods"]


class MomentumMethods(RobotBase):
    """The robot as a whole: its centre of mass, its energies, its momentum.

    All links count, those that are fixed to the world too, as in `mass`; of the momentum they have none.  Functions of
    the centre of mass take ``subtree``, a frame's name: the body that carries it and all that hangs on it, the whole
    robot if it is fixed to the world.  They raise ValueError where what is asked about has no mass.
    """

    __slots__ = ()

    # -- centre of mass

    @computed
    def center_of_mass(
        self,
        q: Array,
        *,
        subtree: str | None = None,
        relative_to: str = "world",
        expressed_in: str = "world",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """The centre of mass of the robot or of a ``subtree``: its place from A's origin, in E's axes.

        q (..., nq) -> (..., 3) [m].  A is ``relative_to``, E ``expressed_in``.
        """

    @computed
    def center_of_mass_velocity(
        self,
        q: Array,
        v: Array,
        *,
        subtree: str | None = None,
        relative_to: str = "world",
        expressed_in: str = "world",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """ċ: the velocity of the centre of mass as an observer fixed in A sees it, in E's axes.

        q (..., nq), v (..., nv) -> (..., 3) [m/s].
        """

    @computed
    def center_of_mass_acceleration(
        self,
        q: Array,
        v: Array,
        a: Array,
        *,
        subtree: str | None = None,
        relative_to: str = "world",
        expressed_in: str = "world",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """c̈: the acceleration of the centre of mass as an observer fixed in A sees it, in E's axes.

        q (..., nq), v, a (..., nv) -> (..., 3) [m/s²].  In free fall it is gravity.
        """

    @computed
    def center_of_mass_jacobian(
        self,
        q: Array,
        *,
        subtree: str | None = None,
        relative_to: str = "world",
        expressed_in: str = "world",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """J with ċ = J v: columns of joints that do not move the part relative to A are zero.

        q (..., nq) -> (..., 3, nv) [1, m].
        """

    # -- energy

    @computed
    def kinetic_energy(self, q: Array, v: Array, *, passive: bool = False, out: np.ndarray | None = None) -> np.ndarray:
        """T = ½ vᵀ M v, as the sum over bodies; with ``passive`` that of the joints' armature too.

        q (..., nq), v (..., nv) -> (...) [J].
        """

    @computed
    def potential_energy(
        self,
        q: Array,
        *,
        gravity: ArrayLike | None = None,
        passive: bool = False,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """U = −m g · c, zero for a mass at the world's origin; with ``passive`` that of the springs too.

        q (..., nq) -> (...) [J].  Its gradient is `gravity_force`.
        """

    @computed
    def lagrangian(
        self,
        q: Array,
        v: Array,
        *,
        gravity: ArrayLike | None = None,
        passive: bool = False,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """L = T − U, of `kinetic_energy` and `potential_energy`.

        q (..., nq), v (..., nv) -> (...) [J].
        """

    @computed
    def power(
        self,
        q: Array,
        v: Array,
        tau: Array,
        *,
        wrenches: Wrenches | None = None,
        expressed_in: Axes = "world",
        passive: bool = False,
        friction: Literal["smooth", "coulomb"] = "smooth",
        out: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The power balance d/dt (T + U) = joints + wrenches − dissipated.

        q (..., nq), v, tau (..., nv) -> joints (...) [W], wrenches (...) [W], dissipated (...) [W]: vᵀ τ, Σ w · twist
        of external ``wrenches`` by their frames, and what damping and dry friction take if ``passive``, which is never
        negative.  T and U are with the same ``passive``.
        """

    # -- momentum

    @computed
    def momentum(self, q: Array, v: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """Momentum of the whole robot: (angular about the world's origin; linear), in the world's axes.

        q (..., nq), v (..., nv) -> (..., 6) [kg·m²/s, kg·m/s].
        """

    @computed
    def centroidal_momentum(self, q: Array, v: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """h = A v: (angular about the centre of mass; linear), in the world's axes.

        q (..., nq), v (..., nv) -> (..., 6) [kg·m²/s, kg·m/s].  ḣ = A a + Ȧ v is the sum of all external wrenches, and
        of the weight, about the centre of mass.
        """

    @computed
    def centroidal_momentum_rate(self, q: Array, v: Array, a: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """ḣ = A a + Ȧ v: the sum of the wrenches that move all bodies, about the centre of mass, in the world's axes.

        q (..., nq), v, a (..., nv) -> (..., 6) [N·m, N].
        """

    @computed
    def centroidal_momentum_matrix(self, q: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """A with `centroidal_momentum` h = A v, by composite bodies.

        q (..., nq) -> (..., 6, nv) [kg·m², kg·m, kg].
        """

    @computed
    def centroidal_momentum_matrix_rate(self, q: Array, v: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """Ȧ: the rate of the centroidal momentum matrix at velocity v.

        q (..., nq), v (..., nv) -> (..., 6, nv) [kg·m²/s, kg·m/s, kg/s].
        """

    @computed
    def locked_inertia(self, q: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """The spatial inertia of the whole robot about its centre of mass, in the world's axes, all joints locked.

        q (..., nq) -> (..., 6, 6) [kg·m², kg]: the rotational inertia, and the mass.
        """

    @computed
    def zero_moment_point(
        self, q: Array, v: Array, a: Array, *, gravity: ArrayLike | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        """The point of the ground about which gravity and inertia have no tipping moment, in the world.

        q (..., nq), v, a (..., nv) -> (..., 3) [m].  The ground is the plane through the world's origin that gravity is
        normal to: p = g × n / (g · f) with the wrench (n; f) at the origin that moves and holds up all links.  At rest
        it is the projection of the centre of mass.  (inf, inf, inf) where less than 1e-12 of the weight presses on the
        ground, as in free fall or without gravity.
        """
