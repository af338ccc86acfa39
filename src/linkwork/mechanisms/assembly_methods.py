"""Methods of `Robot` for mechanisms: assembly, projection and driven motion, integrability, mobility."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike

from linkwork import mechanisms
from linkwork._util.lazy_imports import LazyModule
from linkwork._util.progress import Progress
from linkwork._util.validation import finite_number, floats
from linkwork.errors import UnknownNameError
from linkwork.kernels.array_arguments import stacked
from linkwork.kernels.compiled_method import computed
from linkwork.kernels.robot_arguments import refuse_symbols
from linkwork.kernels.robot_base import Array, RobotBase
from linkwork.kinematics.algorithms.coordinates import characteristic_length
from linkwork.model.function_spec import QUANTITIES
from linkwork.spatial.arguments import checked_array

if TYPE_CHECKING:
    from linkwork.mechanisms import assembly
    from linkwork.mechanisms.mobility.length_scaling import Scales
else:
    assembly = LazyModule("linkwork.mechanisms.assembly")

__all__ = ["AssemblyMethods", "IntegrabilityMethods", "MobilityMethods"]


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
        q_init: Array | None = None,
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
        those of `assemble`. Configurations that differ by full revolutions or by signs of quaternions count as one. The
        result is sorted by coordinates, ``q`` (..., n, nq). Its ``sign`` (..., n) is the sign of the determinant of the
        columns of the constraint Jacobian that belong to the joints that are not fixed, 0 if these are no square
        matrix.

        Raises ValueError if the mechanism can still move with the joints of ``hold`` fixed, and as `assemble`.
        """
        return assembly.find_branches(self, hold, position_limits, tolerance, num_starts, max_solutions, time)

    def drive_mechanism(
        self,
        drivers: Mapping[str, Sequence[float] | ArrayLike],
        q_init: Array | None = None,
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
        n) [s], ``tolerance`` and ``position_limits`` are those of `assemble`. ``singular`` of the result lists singular
        configurations on the path.

        ``velocity`` and ``acceleration`` of the drivers, by joint, are scalars or (..., n), 0 by default.  The result
        has the corresponding ``v`` and ``a`` (..., n, nv) of all joints, for example for `inverse_dynamics` and
        `joint_wrenches`.  They are NaN where the drivers do not determine the mechanism.  ``tau`` (..., n, nv) and
        ``pin_forces`` (..., n, joints) of the result are the forces of the motors and in the pins.
        `DrivenMotion.with_loads` adds wrenches.  ``parameters`` are those of `assemble`, of which all motions of a
        batch (...) have their own; inertias count in the forces.

        Raises AssemblyError if a single motion cannot continue: at a turning point, at a bifurcation without a straight
        continuation, at joint limits, or where the first state cannot be assembled.  With ``check=False`` the result
        contains the motion up to there, with NaN from there on; for a batch ``success`` reports it.
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
        (...) [1], status (...) [1]. ``status`` is 0 if the iteration ended, 1 at the maximum number of iterations, 2
        if a value was NaN. ``metric`` is that of `project`.
        """

    @computed
    def project_velocity(
        self, q: Array, v: Array, *, time: ArrayLike | None = None, metric: str = "mass", out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute the closest velocity that satisfies the constraints on velocity level, G v + σ = 0.

        q (..., nq), v (..., nv) -> (..., nv) [rad/s, m/s]. ``metric`` is that of `project`.
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


class IntegrabilityMethods(RobotBase):
    """Methods of a robot for the integrability of its velocity constraints."""

    __slots__ = ()

    def integrability(self, q: Array, *, time: float = 0.0) -> mechanisms.Integrability:
        """Find the combinations of velocity constraints that are derivatives of position constraints.

        By Frobenius' theorem: the admissible velocities are extended by Lie brackets until they are involutive, which
        spans the directions of reachable configurations.  q (nq,) is a configuration that satisfies the holonomic
        constraints, and ``time`` [s] is for constraints that depend on it.  The result holds for the configurations
        reachable from q; `Integrability.generic` is True if it also holds in a neighbourhood of q.  Where there are
        more admissible velocities at q than around it, as at a dead centre, the result is for the neighbourhood.

        >>> import linkwork as lw
        >>> base = lw.Joint.of(lw.joints.Planar(), name="base", parent="world", child="body")
        >>> sledge = lw.Robot.build("sledge", base, lw.Link("body", mass=1.0))
        >>> print(sledge.with_constraints(lw.constraints.KnifeEdge("body")).integrability([0.1, 0.2, 0.3]))
        sledge: degrees of freedom: 2 of velocity, 3 of configuration
          brackets: 2 → 3
          integrable: 0 of 1 velocity constraints
          not integrable by themselves: body skates: across
        >>> print(sledge.with_constraints(lw.constraints.NoSlip("body", "world.y")).integrability([0.1, 0.2, 0.3]))
        sledge: degrees of freedom: 2 of velocity, 2 of configuration
          integrable: 1 of 1 velocity constraints
            body does not slip: along world.y: base.y is constant

        Raises ValueError for an invalid configuration, one that violates the holonomic constraints, and constraints
        that no velocity satisfies; TypeError for a robot with symbolic parameters.
        """
        from linkwork.mechanisms.integrability import integrability_of

        refuse_symbols("integrability", self)
        try:
            at = np.asarray(
                self._call_method("integrate", (q, np.zeros(self.nv)), {}, {}, None)
            )  # checked and normalised
        except UnknownNameError as error:
            raise error.at("integrability: q") from None
        except ValueError as error:
            raise ValueError(str(error).replace("integrate:", "integrability:", 1)) from None
        if at.ndim != 1:
            raise ValueError(f"integrability: q: expected one configuration ({self.nq},), got shape {at.shape}")
        t = float(checked_array(time, "integrability: time: expected a number [s]", ()))
        return integrability_of(self._tree, at, t)


class MobilityMethods(RobotBase):
    """Methods of a robot for degrees of freedom and minimal coordinates of mechanisms."""

    __slots__ = ()

    @overload
    def mobility(
        self,
        q: Array | None = None,
        *,
        length: float | None = None,
        time: float | None = None,
        parameters: None = None,
        seed: int = 0,
        progress: bool | Callable[[Progress], Any] = False,
    ) -> mechanisms.Mobility: ...

    @overload
    def mobility(
        self,
        q: Array | None = None,
        *,
        length: float | None = None,
        time: ArrayLike | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        seed: int = 0,
        progress: bool | Callable[[Progress], Any] = False,
    ) -> Any: ...

    def mobility(
        self,
        q: Array | None = None,
        *,
        length: float | None = None,
        time: ArrayLike | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        seed: int = 0,
        progress: bool | Callable[[Progress], Any] = False,
    ) -> Any:
        """Return the degrees of freedom of a mechanism, with redundant and singular rows and a basis of its motions.

        q (nq,) is projected onto the constraints; without it an assembled configuration near `neutral` is used. The
        rank of the constraint Jacobian is found from the largest gap of its singular values, with angles multiplied by
        ``length`` [m], by default the characteristic length: the longest distance of two joints of a link. ``time`` [s]
        is the time of constraints that depend on it, 0 by default. Rows are *redundant* if they are dependent
        everywhere, and *singular* if only here; random motions from q, drawn with ``seed``, distinguish the two. Rows
        are *inconsistent* if no configuration satisfies all constraints. ``progress`` shows a bar on standard error, or
        is a function of a `linkwork.Progress`, in configurations. ``parameters`` are values (..., own shape) by the
        names of `Robot.parameters`. With a batch of them, or of times, the result is a
        `linkwork.mechanisms.Mobilities`: arrays (...), and by index the `Mobility` of each.

        Raises ValueError for q of another shape or with non-finite values, and for a length that is not positive.
        """
        from linkwork.mechanisms.assembly.reactions import undetermined_pins
        from linkwork.mechanisms.assembly.state_inputs import robot_with, varied
        from linkwork.mechanisms.mobility.configuration_sampling import Mechanism
        from linkwork.mechanisms.mobility.mobility_batch import mobility_of

        start, scales = self._one("mobility", "q", q), self._scales("mobility", length)
        robot, inputs = varied(self, "mobility", time, parameters)
        mechanism = Mechanism(robot, scales, inputs.flat(inputs.shape))
        result = mobility_of(mechanism, start, inputs.shape, seed, progress)
        if inputs.shape:
            return result
        pins: tuple[str, ...] = ()
        if result.redundant and result.assembled:
            single, at = robot_with(robot, inputs), float(inputs.options.get("time", 0.0))
            pins = undetermined_pins(single, result.q, at)
        return result._replaced(undetermined_pins=pins)

    def minimal_coordinates(
        self,
        independent: str | Sequence[str] | None = None,
        q: Array | None = None,
        *,
        speeds: str | Sequence[str] | None = None,
        length: float | None = None,
        time: float | None = None,
        min_margin: float = 1e-6,
    ) -> mechanisms.MinimalCoordinates:
        """Return minimal coordinates: the ``independent`` ones, or ones chosen by pivoting at the configuration ``q``.

        Names are those of joints or of `v_names`. ``speeds`` names the independent velocities. By default these are the
        velocities of the independent coordinates. If velocity constraints such as rolling leave fewer degrees of
        freedom, the default is a choice among them. The margin of a choice is the smallest singular value of the
        columns of the constraint Jacobian that belong to the dependent coordinates, with angles multiplied by
        ``length`` as in `mobility`. A margin below ``min_margin`` is an error. ``time`` [s] is the time of constraints
        that depend on it, 0 by default. Without ``q`` an assembled configuration is found.

        Raises ValueError, with names, for coordinates that depend on each other or do not determine the others, and
        for a configuration that is not assembled; UnknownNameError for an unknown name.
        """
        from linkwork.mechanisms.assembly.state_inputs import varied
        from linkwork.mechanisms.mobility.configuration_sampling import Mechanism
        from linkwork.mechanisms.mobility.coordinate_selection import assembled_at, minimal_of
        from linkwork.mechanisms.mobility.mobility_batch import assembled_near

        scales = self._scales("minimal_coordinates", length)
        if time is not None:
            time = finite_number("minimal_coordinates", "time", time, unit="s")
        mechanism = Mechanism(self, scales, varied(self, "minimal_coordinates", time, None)[1])
        start = self._one("minimal_coordinates", "q", q)
        if not (isinstance(min_margin, (int, float)) and 0.0 < min_margin < 1.0):
            raise ValueError(f"minimal_coordinates: min_margin: expected a number between 0 and 1, got {min_margin!r}")
        result = None if start is not None else assembled_near(mechanism, None)
        return minimal_of(mechanism, assembled_at(mechanism, result, start), independent, speeds, float(min_margin))

    def _scales(self, caller: str, length: float | None) -> Scales:
        from linkwork.mechanisms.mobility.length_scaling import Scales

        if length is None:
            length = characteristic_length(self._tree)
        if not (isinstance(length, (int, float)) and np.isfinite(length) and length > 0.0):
            raise ValueError(f"{caller}: length: expected a positive number [m], got {length!r}")
        return Scales.of(self._tree, float(length))

    def _one(self, caller: str, name: str, q: Array | None) -> np.ndarray | None:
        """Return the argument ``name``, one configuration, as a normalised array (nq,); None for None.

        Raises ValueError for another shape and non-finite values.
        """
        if q is None:
            return None
        if isinstance(q, Mapping):
            q = stacked(self._subject, QUANTITIES["q"], q)
        array = floats(q)
        if array.shape != (self.nq,):
            raise ValueError(f"{caller}: {name}: expected one configuration ({self.nq},), got shape {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{caller}: {name}: expected finite values, got {array.tolist()}")
        result: np.ndarray = self.normalize(array)  # type: ignore[attr-defined]
        return result
