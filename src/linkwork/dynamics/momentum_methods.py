"""Methods of `Robot` for the centre of mass, energy, momentum, and regressors of inertial parameters."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from linkwork import dynamics
from linkwork._util.checked_arguments import public
from linkwork._util.validation import non_negative
from linkwork.dynamics.algorithms.regressors import JOINT_PARAMETERS, joint_parameters
from linkwork.dynamics.inertial_parameters import explain
from linkwork.kernels.compiled_method import computed
from linkwork.kernels.robot_base import Array, Axes, RobotBase, Wrenches
from linkwork.kinematics.configuration_methods import ConfigurationMethods
from linkwork.model.coordinate_names import names_in
from linkwork.model.friction_laws import Friction
from linkwork.spatial.inertia_vector import PARAMETERS

__all__ = ["MomentumMethods", "RegressorMethods"]


class MomentumMethods(RobotBase):
    """Methods for the centre of mass, energies and momentum of the whole robot.

    All links count, including those fixed to the world, as in `mass`; these have no momentum.  Functions of the centre
    of mass take ``subtree``, a frame's name: they are about the link that carries the frame and all links behind it,
    over joints and welds, on the side away from the root link.  If the frame is fixed to the world, they are about the
    whole robot.  They raise ValueError where these links have no mass.
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
        """Compute the position of the centre of mass of the robot, or of a ``subtree``.

        q (..., nq) -> (..., 3) [m], from the origin of the frame ``relative_to``, in the axes of ``expressed_in``.
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
        """Compute ċ, the velocity of the centre of mass relative to the frame ``relative_to``.

        q (..., nq), v (..., nv) -> (..., 3) [m/s], in the axes of ``expressed_in``.
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
        """Compute c̈, the acceleration of the centre of mass relative to the frame ``relative_to``.

        q (..., nq), v, a (..., nv) -> (..., 3) [m/s²], in the axes of ``expressed_in``.  In free fall it is gravity.
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
        """Compute the Jacobian J of the centre of mass: its velocity is ċ = J v.

        q (..., nq) -> (..., 3, nv) [1, m]. ċ is relative to the frame ``relative_to``, in the axes of
        ``expressed_in``. Columns of joints that do not move the subtree relative to ``relative_to`` are zero.
        """

    # -- energy

    @computed
    def kinetic_energy(self, q: Array, v: Array, *, passive: bool = False, out: np.ndarray | None = None) -> np.ndarray:
        """Compute the kinetic energy T = ½ vᵀ M v as a sum over bodies; with ``passive`` it includes armature.

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
        """Compute the potential energy U = −m g · c, zero at the world's origin; ``passive`` includes springs.

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
        """Compute the Lagrangian L = T − U, of `kinetic_energy` and `potential_energy`.

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
        """Compute the terms of the power balance d/dt (T + U) = joints + wrenches − dissipated.

        q (..., nq), v, tau (..., nv) -> joints (...) [W], wrenches (...) [W], dissipated (...) [W].  These are vᵀ τ,
        Σ w · twist of external ``wrenches`` by frame, and with ``passive`` the power that damping and dry friction
        dissipate, which is never negative.  T and U have the same ``passive``.
        """

    # -- momentum

    @computed
    def momentum(self, q: Array, v: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute the momentum of the robot, (angular about the world's origin; linear), in the world's axes.

        q (..., nq), v (..., nv) -> (..., 6) [kg·m²/s, kg·m/s].
        """

    @computed
    def centroidal_momentum(self, q: Array, v: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute the centroidal momentum h = A v, (angular about the centre of mass; linear), in the world's axes.

        q (..., nq), v (..., nv) -> (..., 6) [kg·m²/s, kg·m/s].  ḣ = A a + Ȧ v is the sum of all external wrenches and
        the weight, about the centre of mass.
        """

    @computed
    def centroidal_momentum_rate(self, q: Array, v: Array, a: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute the rate of the centroidal momentum, ḣ = A a + Ȧ v, in the world's axes.

        It is the sum of the wrenches that move all bodies, about the centre of mass.
        q (..., nq), v, a (..., nv) -> (..., 6) [N·m, N].
        """

    @computed
    def centroidal_momentum_matrix(self, q: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute the centroidal momentum matrix A, with `centroidal_momentum` h = A v, by composite bodies.

        q (..., nq) -> (..., 6, nv) [kg·m², kg·m, kg].
        """

    @computed
    def centroidal_momentum_matrix_rate(self, q: Array, v: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute Ȧ, the rate of the centroidal momentum matrix at velocity v.

        q (..., nq), v (..., nv) -> (..., 6, nv) [kg·m²/s, kg·m/s, kg/s].
        """

    @computed
    def locked_inertia(self, q: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute the spatial inertia of the robot with all joints locked, about its centre of mass, in world axes.

        q (..., nq) -> (..., 6, 6) [kg·m², kg]: the rotational inertia and the mass.
        """

    @computed
    def zero_moment_point(
        self, q: Array, v: Array, a: Array, *, gravity: ArrayLike | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute the zero moment point: the point of the ground where gravity and inertia have no tipping moment.

        q (..., nq), v, a (..., nv) -> (..., 3) [m], in the world.  The ground is the plane through the world's origin
        normal to gravity.  p = g × n / (g · f), with the wrench (n; f) at the origin that accelerates all links and
        supports their weight.  At rest it is the projection of the centre of mass.  It is (inf, inf, inf) where less
        than 1e-12 of the weight presses on the ground, as in free fall or without gravity.
        """


class RegressorMethods(ConfigurationMethods):
    """Methods for regressors, the matrices that are multiplied by inertial parameters π, and for π itself.

    π (npi,) stacks ten parameters of each moving body, in the order of `bodies`, about the origin of its frame in its
    axes: m [kg], h_x, h_y, h_z = m c [kg·m], J_xx, J_xy, J_xz, J_yy, J_yz, J_zz [kg·m²]; so npi is 10 nb.  With
    ``passive=True`` the parameters of joints follow, one for each velocity of each joint in the order of `joints`:
    all armatures, all dampings, all dry frictions, all stiffnesses.  A joint that follows another has its own
    parameters.  On a robot without such followers there are nv parameters of each of the four kinds.
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
        """Compute the regressor Y of `inverse_dynamics`: τ = Y π, and τ = Y π − Σ Jᵀ w under wrenches.

        q (..., nq), v, a (..., nv) -> (..., nv, npi) [N·m, N by π].  π are `inertial_parameters`.  The algorithm
        propagates motions outward to the bodies.
        """

    @computed
    def kinetic_energy_regressor(
        self, q: Array, v: Array, *, passive: bool = False, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute the row vector y by which parameters π are multiplied in the kinetic energy: ½ vᵀ M v = y π.

        q (..., nq), v (..., nv) -> (..., npi) [J by π].  With ``passive`` it includes armatures.
        """

    @computed
    def potential_energy_regressor(
        self, q: Array, *, gravity: ArrayLike | None = None, passive: bool = False, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute the row vector y by which parameters π are multiplied in the potential energy of bodies: U = y π.

        q (..., nq) -> (..., npi) [J by π]. ``passive`` includes springs. U is the energy of moving bodies only. It is
        zero where they are at the world's origin.
        """

    @computed
    def momentum_regressor(self, q: Array, v: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute the matrix Y by which parameters π are multiplied in the momentum: (angular; linear) = Y π.

        q (..., nq), v (..., nv) -> (..., 6, npi) [kg·m²/s, kg·m/s by π]. The momentum is about the world's origin, in
        the world's axes.
        """

    # -- the parameters

    def inertial_parameters(self, *, passive: bool = False) -> np.ndarray:
        """Return the parameters π (npi,) that regressors multiply, in the order stated at `RegressorMethods`.

        With ``passive`` damping and friction are zero where a joint's ``dynamics`` is "none", as they do not act.
        """
        self._tree.require_inertias("inertial_parameters")
        values = [x for body in self._tree.bodies for x in body.inertia.parameters()]
        return np.array([*values, *(joint_parameters(self._tree) if passive else [])], dtype=float)

    def parameter_names(self, *, passive: bool = False) -> tuple[str, ...]:
        """Return a name for each element of π: ``"forearm.J_xx"`` of a body, ``"elbow.armature"`` of a joint.

        ``passive`` adds parameters of joints: True, or some of "armature", "damping", "friction" and "stiffness".
        """
        names = [f"{body.name}.{quantity}" for body in self._tree.bodies for quantity in PARAMETERS]
        joints = [name for i in self._tree.order for name in names_in(self._tree.bodies[i], "v")]
        return tuple(names + [f"{joint}.{quantity}" for quantity in JOINT_PARAMETERS for joint in joints if passive])

    @public(tolerance=non_negative)
    def base_parameters(
        self, *, passive: bool = False, samples: int | None = None, seed: int = 0, tolerance: float = 1e-9
    ) -> dynamics.BaseParameters:
        """Return the combinations of parameters that joint forces depend on, by rank analysis of the regressor.

        `inverse_dynamics_regressor` is stacked over ``samples`` random states, by default three times as many rows as
        columns and at least 20 states.  A column that is a linear combination of earlier ones, within ``tolerance`` of
        its length, is grouped with them.  So parameters that a joint cannot distinguish from the parameters of the body
        that carries it are grouped inward.  ``passive`` also counts parameters of joints, as in `parameter_names`.
        ``seed`` determines the random states.

        >>> import linkwork as lw
        >>> lw.load("double_pendulum").base_parameters().names
        ('upper_rod.h_x', 'upper_rod.h_z', 'upper_rod.J_yy', 'lower_rod.h_x', 'lower_rod.h_z', 'lower_rod.J_yy')
        """
        columns = self._subject.sizes["npi_passive" if passive else "npi"]
        count = samples if samples is not None else max(20, -(-3 * columns // max(self.nv, 1)))
        if count < 1:
            raise ValueError(f"base_parameters: samples: expected an integer >= 1, got {samples!r}")
        rng = np.random.default_rng(seed)
        q = self.random_configuration(rng, size=count)
        v, a = rng.normal(size=(2, count, self.nv))
        Y = self.inverse_dynamics_regressor(q, v, a, passive=passive).reshape(count * self.nv, columns)
        from linkwork.dynamics.base_parameters import BaseParameters

        return BaseParameters.of_regressor(Y, self.parameter_names(passive=passive), tolerance=tolerance)

    @public(tolerance=non_negative)
    def physical_consistency(self, *, tolerance: float = 1e-5) -> dict[str, tuple[str, ...]]:
        """Return the links whose inertias are unphysical, each with its faults as sentences.

        An inertia is unphysical if no distribution of mass has it.  ``tolerance`` is relative to the largest second
        moment; the default suits files with six digits.  See `linkwork.parameters.explain`.
        """
        self._tree.require_inertias("physical_consistency")
        inertias = {link.name: link.inertia for link in self._tree.links if link.inertia}
        result = {name: explain(x.parameters(), tolerance=tolerance) for name, x in inertias.items()}
        return {name: why for name, why in result.items() if why}
