"""Methods of `Robot` for mechanisms: projection, assembly and driven motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork import mechanisms
from linkwork._util.lazy_imports import LazyModule
from linkwork.kernels.compiled_method import computed
from linkwork.kernels.robot_base import Array, RobotBase

if TYPE_CHECKING:
    from linkwork.mechanisms import assembly
else:
    assembly = LazyModule("linkwork.mechanisms.assembly")

__all__ = ["AssemblyMethods"]


class AssemblyMethods(RobotBase):
    """Methods of a robot for configurations that satisfy its constraints: projection, assembly, driven motion."""

    __slots__ = ()

    def project(
        self,
        q: Array,
        v: Array | None = None,
        *,
        weights: str = "mass",
        tolerance: float = 1e-10,
        time: ArrayLike | None = None,
        check: bool = True,
    ) -> Any:
        """Project a configuration onto the constraints, and a velocity onto the velocities that satisfy them.

        q (..., nq), v (..., nv) -> q (..., nq), or q and v. Distances are measured by the mass matrix, or with
        ``weights="plain"`` by the Euclidean norm of tangent vectors. Lengths are measured in characteristic lengths:
        the longest distance between two joints of a link. ``time`` [s] is the time of constraints that depend on it, 0
        by default. Velocity constraints affect v only. Each iteration takes the smallest step that removes the
        linearised error. The result is therefore the closest configuration to first order. If rows of the constraint
        Jacobian are redundant, and in singular configurations, steps have minimum norm.

        Raises AssemblyError, which names the violated constraint, if errors remain above ``tolerance`` [rad,
        characteristic lengths]; ``check=False`` returns the last iterate.  Differentiable inside compiled functions.
        """
        return assembly.project(self, q, v, weights, tolerance, time, check)

    def assemble(
        self,
        q_init: Array | str | None = None,
        *,
        hold: Mapping[str, ArrayLike] | None = None,
        prefer: Mapping[str, ArrayLike] | None = None,
        weights: Array | None = None,
        position_limits: bool = True,
        tolerance: float = 1e-10,
        max_starts: int = 16,
        branches: int | None = None,
        time: ArrayLike | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        check: bool = True,
    ) -> mechanisms.Assembly:
        """Find configurations that satisfy all constraints, near an initial guess.

        ``q_init`` (..., nq) is the initial guess, the neutral configuration by default. ``hold`` fixes joints: their
        values by joint name, arrays for a batch. ``prefer`` has desired values by joint name, which the result
        approaches. ``weights``, an array (nv,) or values by joint name, weight the distance from the guess and the
        desired values: by default 1 for angles and 1/L² for lengths, with the characteristic length L of `project`;
        with ``prefer`` 0.01 times that for joints without a desired value. ``position_limits`` enforces joint limits.
        ``tolerance`` [rad, characteristic lengths] bounds the errors of an assembled configuration. If the initial
        guess does not lead to an assembly, up to ``max_starts`` starts are tried, always the same ones. ``branches``
        also computes the `branches`, at most that many, and the branch of each result. ``time`` [s] is the time of
        constraints that depend on it, 0 by default. ``parameters`` replaces parameters of the robot (points, frames and
        placements) by the names of `Robot.parameters`: values for all states, or with an axis for each axis of the
        batch (...). Other values need no new compilation.

        The result has ``q``, ``success`` and ``status`` of each state, and ``explain``; see
        `linkwork.mechanisms.Assembly`.  A single state that is not assembled raises AssemblyError, unless
        ``check=False``; for a batch ``success`` reports it.

        Raises ValueError for non-finite values, wrong shapes and fixed values beyond limits, and UnknownNameError for
        an unknown joint.
        """
        if parameters and branches is not None:
            raise ValueError("assemble: parameters: cannot be combined with branches, which use the robot's own values")
        result = assembly.assemble(
            self, q_init, hold, prefer, weights, position_limits, tolerance, max_starts, time, check, parameters
        )
        if branches is None:
            return result
        return result._replaced(
            branches=self.branches(hold, position_limits=position_limits, max_solutions=branches, time=time)
        )

    def branches(
        self,
        hold: Mapping[str, ArrayLike] | None = None,
        *,
        position_limits: bool = True,
        tolerance: float = 1e-10,
        num_starts: int = 128,
        max_solutions: int | None = None,
        time: ArrayLike | None = None,
    ) -> mechanisms.Branches:
        """Find the separate assemblies of a small mechanism with fixed joints, for example the two of a four-bar.

        ``hold`` has the values of the fixed joints by name. The search starts from ``num_starts`` configurations that
        cover the configuration space, so further assemblies may exist; ``hits`` of the result counts the starts that
        led to each one. ``max_solutions`` bounds their number, and ``time``, ``tolerance`` and ``position_limits`` are
        as in `assemble`. Configurations that differ by full revolutions or by signs of quaternions count as one. The
        result is sorted by coordinates, ``q`` (..., n, nq). Its ``sign`` (..., n) is the sign of the determinant of the
        columns of the constraint Jacobian that belong to the joints that are not fixed, 0 if these do not form a square
        matrix.

        Assemblies in which the mechanism can still move are left out, such as a folded linkage. Raises ValueError if
        the mechanism can still move in all assemblies with the joints of ``hold`` fixed, and as `assemble`.
        """
        return assembly.find_branches(self, hold, position_limits, tolerance, num_starts, max_solutions, time)

    def drive_mechanism(
        self,
        drivers: Mapping[str, Sequence[float] | ArrayLike],
        q_init: Array | str | None = None,
        *,
        velocity: Mapping[str, float | ArrayLike] | None = None,
        acceleration: Mapping[str, float | ArrayLike] | None = None,
        position_limits: bool = True,
        tolerance: float = 1e-10,
        time: ArrayLike | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        check: bool = True,
    ) -> mechanisms.DrivenMotion:
        """Compute a mechanism's configurations for a sequence of driver positions, on one assembly branch.

        ``drivers`` has the positions (..., n) of the driven joints by joint name; ``q_init`` (..., nq) is a guess of
        the first configuration. Steps between the n states are halved until the prediction is accurate. ``time`` (...,
        n) [s], ``tolerance`` and ``position_limits`` are as in `assemble`. ``singular`` of the result lists singular
        configurations on the path. Velocity constraints, such as rolling, are integrated along the drivers: the result
        depends on their path, as the pose of a mobile robot does on the rotations of its wheels (odometry).

        ``velocity`` and ``acceleration`` of the drivers, by joint, are scalars or (..., n), 0 by default.  The result
        has the corresponding ``v`` and ``a`` (..., n, nv) of all joints, for example for `inverse_dynamics` and
        `joint_wrenches`.  They are NaN where the drivers do not determine the mechanism.  ``tau`` (..., n, nv) and
        ``pin_forces`` (..., n, joints) of the result are the forces of the motors and in the pins.
        `DrivenMotion.with_loads` adds wrenches.  ``parameters`` are as in `assemble`; each motion of a batch (...) may
        have its own. Inertias among them change the forces.

        Raises AssemblyError if a single motion cannot continue: at a turning point, at a bifurcation without a straight
        continuation, at joint limits, where velocity constraints forbid the drivers' motion, or where the first state
        cannot be assembled.  With ``check=False`` the result contains the motion up to there, with NaN from there on;
        for a batch ``success`` reports it.
        """
        rates = velocity, acceleration
        return assembly.drive(self, drivers, q_init, position_limits, tolerance, time, check, rates, parameters)

    # -- kernels of these methods

    @computed
    def project_configuration(
        self,
        q: Array,
        *,
        time: ArrayLike | None = None,
        metric: str = "mass",
        out: tuple[np.ndarray, ...] | None = None,
    ) -> Any:
        """Compute the closest configuration that satisfies the constraints, with its errors and a status.

        It is the kernel of `project`. q (..., nq) -> q (..., nq) [rad, m, 1], error (..., ne) [m, rad], iterations
        (...) [1], status (...) [1]. ``status`` is 0 if the iteration ended, 1 at the maximum number of iterations, 2 if
        a value was NaN. ``metric`` is as in `project`.
        """

    @computed
    def project_velocity(
        self, q: Array, v: Array, *, time: ArrayLike | None = None, metric: str = "mass", out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute the closest velocity that satisfies the constraints on velocity level, G v + σ = 0.

        q (..., nq), v (..., nv) -> (..., nv) [rad/s, m/s]. ``metric`` is as in `project`.
        """

    @computed
    def assemble_configuration(
        self,
        q: Array,
        q1: Array,
        weights: Array,
        *,
        time: ArrayLike | None = None,
        hold: str | list[str] | tuple[str, ...] = (),
        position_limits: bool = True,
        out: tuple[np.ndarray, ...] | None = None,
    ) -> Any:
        """Compute a configuration near q1 that satisfies the constraints, by steps from the start q.

        It is the kernel of `assemble`. q, q1 (..., nq), weights (..., nv) -> q (..., nq) [rad, m, 1], error (..., ne)
        [m, rad], iterations (...) [1], status (...) [1], slope (...) [1]. The joints named in ``hold`` keep their
        values in q. ``weights`` > 0 weight the components of the distance to q1. ``status`` is 0 if the iteration
        ended, 1 at the maximum number of iterations, 2 if a value was NaN. ``slope`` = ‖Gᵀφ‖²/(‖G‖²‖φ‖²), with the
        constraint errors φ and the constraint Jacobian G, is 0 in a local minimum of the error. The configuration is
        assembled if ``error`` is within tolerance.
        """

    @computed
    def assembly_derivatives(
        self,
        q: Array,
        *,
        time: ArrayLike | None = None,
        hold: str | list[str] | tuple[str, ...] = (),
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the derivative K of an assembled configuration by the positions y of the fixed joints, δq = K δy.

        ``hold`` names the fixed joints. q (..., nq) -> (..., nv, nv) [1, m, 1/m]. Columns of other joints are zero.
        Exact if the fixed joints determine the mechanism; otherwise the change of minimum norm.
        """
