"""The robot as a whole: its centre of mass, its energies, its momentum.

What is linear in inertial parameters: a documented method each.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.validation import non_negative
from linkwork.dynamics.algorithms import ROWS as DYNAMICS
from linkwork.dynamics.algorithms.regressors import JOINT_PARAMETERS, joint_parameters
from linkwork.dynamics.base_parameters import BaseParameters, base_parameters_of
from linkwork.dynamics.inertial_parameters import explain
from linkwork.kernels.compiled_method import computed_from
from linkwork.kernels.robot_base import Array, Axes, RobotBase, Wrenches
from linkwork.kinematics.methods import ConfigurationMethods
from linkwork.model.coordinate_names import names_in
from linkwork.model.friction_laws import Friction
from linkwork.spatial.inertia_vector import PARAMETERS, parameters_of

__all__ = ["MomentumMethods", "RegressorMethods"]

computed = computed_from(DYNAMICS)


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
        friction: Friction = "smooth",
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


class RegressorMethods(ConfigurationMethods):
    """What is linear in inertial parameters.

    π (npi,) stacks ten numbers of each moving body, in the order of `bodies`, about the origin of its frame in its
    axes: m [kg], h_x, h_y, h_z = m c [kg·m], J_xx, J_xy, J_xz, J_yy, J_yz, J_zz [kg·m²]; so npi is 10 nb.  With
    ``passive=True`` four numbers of each joint come after them, for each of its velocities, in the order of `joints`:
    all armatures, all dampings, all dry frictions, all stiffnesses.  A joint that follows another has its own, and
    where no joint does each kind has nv numbers.
    """

    __slots__ = ()

    @computed
    def inverse_dynamics_regressor(
        self,
        q: Array,
        v: Array,
        a: Array,
        *,
        gravity: ArrayLike | None = None,
        passive: bool = False,
        friction: Friction = "smooth",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Y: `inverse_dynamics` is Y π, with π of `inertial_parameters`; τ = Y π − Σ Jᵀ w under wrenches.

        q (..., nq), v, a (..., nv) -> (..., nv, npi) [N·m, N by π], motions carried outward to the bodies.
        """

    @computed
    def kinetic_energy_regressor(
        self, q: Array, v: Array, *, passive: bool = False, out: np.ndarray | None = None
    ) -> np.ndarray:
        """The row whose product with π is the kinetic energy ½ vᵀ M v; with ``passive`` that of armatures too.

        q (..., nq), v (..., nv) -> (..., npi) [J by π].
        """

    @computed
    def potential_energy_regressor(
        self, q: Array, *, gravity: ArrayLike | None = None, passive: bool = False, out: np.ndarray | None = None
    ) -> np.ndarray:
        """The row whose product with π is the moving bodies' potential energy, zero where they are at the world's
        origin; with ``passive`` that of springs too.

        q (..., nq) -> (..., npi) [J by π].
        """

    @computed
    def momentum_regressor(self, q: Array, v: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """The matrix whose product with π is the momentum (angular; linear), about the world's origin in its axes.

        q (..., nq), v (..., nv) -> (..., 6, npi) [kg·m²/s, kg·m/s by π].
        """

    # -- the parameters

    def inertial_parameters(self, *, passive: bool = False) -> np.ndarray:
        """π (npi,), which all regressors multiply: see the class.

        With ``passive`` damping and friction are those that act: zero where a joint's ``dynamics`` is "none".
        """
        self._tree.require_inertias("inertial_parameters")
        own = [x for body in self._tree.bodies for x in parameters_of(body.inertia)]
        return np.array([*own, *(joint_parameters(self._tree) if passive else [])], dtype=float)

    def parameter_names(self, *, passive: bool = False) -> tuple[str, ...]:
        """A name for each number of π: ``"forearm.J_xx"`` of a body, ``"elbow.armature"`` of a joint."""
        names = [f"{body.name}.{what}" for body in self._tree.bodies for what in PARAMETERS]
        joints = [name for i in self._tree.order for name in names_in(self._tree.bodies[i], "v")]
        return tuple(names + [f"{joint}.{what}" for what in JOINT_PARAMETERS for joint in joints if passive])

    @public(tolerance=non_negative)
    def base_parameters(
        self, *, passive: bool = False, samples: int | None = None, seed: int = 0, tolerance: float = 1e-9
    ) -> BaseParameters:
        """The combinations of parameters that joint forces show, by rank analysis of `inverse_dynamics_regressor`.

        Its rows at ``samples`` random states (by default three times as many rows as columns, at least 20 states) are
        looked at column by column: one that is a sum of those before it, within ``tolerance`` of its length, is grouped
        into them, so what a joint cannot tell from what carries it goes inward.  The same for the same ``seed``.

        >>> import linkwork as lw
        >>> lw.load("double_pendulum").base_parameters().names
        ('upper_rod.h_x', 'upper_rod.h_z', 'upper_rod.J_yy', 'lower_rod.h_x', 'lower_rod.h_z', 'lower_rod.J_yy')
        """
        columns = self._subject.sizes["npi_passive" if passive else "npi"]
        count = samples if samples is not None else max(20, -(-3 * columns // max(self.nv, 1)))
        if count < 1:
            raise ValueError(f"base_parameters: samples: expected a positive number, got {samples!r}")
        rng = np.random.default_rng(seed)
        q = self.random_configuration(rng, size=count)
        v, a = rng.normal(size=(2, count, self.nv))
        Y = self.inverse_dynamics_regressor(q, v, a, passive=passive).reshape(count * self.nv, columns)
        return base_parameters_of(Y, self.parameter_names(passive=passive), tolerance)

    @public(tolerance=non_negative)
    def physical_consistency(self, *, tolerance: float = 1e-5) -> dict[str, tuple[str, ...]]:
        """The links whose inertias no distribution of mass has, each with what is wrong with it.

        ``tolerance`` is relative to the largest second moment, by default what is left of a file's six digits: see
        `linkwork.parameters.explain`.
        """
        self._tree.require_inertias("physical_consistency")
        inertias = {link.name: link.inertia for link in self._tree.links if link.inertia}
        result = {name: explain(parameters_of(x), tolerance=tolerance) for name, x in inertias.items()}
        return {name: why for name, why in result.items() if why}
