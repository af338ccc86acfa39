"""What is linear in inertial parameters: a documented method each."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.validation import non_negative
from linkwork.dynamics.algorithms.regressors.joint_parameter_regressors import JOINT_PARAMETERS, joint_parameters
from linkwork.dynamics.base_parameters import BaseParameters, base_parameters_of
from linkwork.dynamics.inertial_parameters import explain
from linkwork.kernels.compiled_method import computed
from linkwork.kernels.robot_base import Array
from linkwork.kinematics.methods_configuration import ConfigurationMethods
from linkwork.model.coordinate_names import names_in
from linkwork.parts.placed_link import links_of
from linkwork.spatial.inertia_vector import PARAMETERS, parameters_of

__all__ = ["RegressorMethods"]


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
        friction: Literal["smooth", "coulomb"] = "smooth",
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
        inertias = {link.name: link.inertia_at_origin for link in links_of(self._tree) if link.inertia_at_origin}
        found = {name: explain(parameters_of(x), tolerance=tolerance) for name, x in inertias.items()}
        return {name: why for name, why in found.items() if why}
