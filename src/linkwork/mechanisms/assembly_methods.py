"""Configurations and velocities that a robot's constraints allow.

Which of a robot's constraints of velocities are constraints of positions.

What a mechanism can do: its degrees of freedom by name, and minimal coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.progress import Progress
from linkwork._util.validation import floats
from linkwork.errors import UnknownNameError
from linkwork.kernels.array_arguments import stacked
from linkwork.kernels.compiled_method import computed_from
from linkwork.kernels.owners import has_symbols
from linkwork.kernels.robot_base import Array, RobotBase
from linkwork.mechanisms.algorithms import ROWS as MECHANISMS
from linkwork.mechanisms.assembly import (
    Assembly,
    Branches,
    DrivenMotion,
    assembled,
    followed,
    found_branches,
    projected,
)
from linkwork.mechanisms.integrability import Integrability, integrability_of
from linkwork.mechanisms.mobility.configuration_sampling import Mechanism
from linkwork.mechanisms.mobility.coordinate_selection import assembled_at, minimal_of
from linkwork.mechanisms.mobility.length_scaling import Scales, characteristic_length
from linkwork.mechanisms.mobility.minimal_coordinates import MinimalCoordinates
from linkwork.mechanisms.mobility.mobility_analysis import Mobility, assembled_near, mobility_of
from linkwork.model.function_spec import QUANTITIES
from linkwork.spatial.arguments import given_numbers

__all__ = ["AssemblyMethods", "IntegrabilityMethods", "MobilityMethods"]

computed = computed_from(MECHANISMS)


class AssemblyMethods(RobotBase):
    """Configurations that satisfy constraints: projected, assembled, followed (see the page on assembly)."""

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
        """The configuration near q where constraints hold, and with v the velocity nearest to it that they allow.

        q (..., nq), v (..., nv) -> q (..., nq), or q and v.  What is near is measured by the mass matrix, or by
        ``"plain"`` numbers; constraints of velocities alone count for v.  Each step is the least that closes what is
        open, so configurations go to the nearest up to a part of the way that shrinks with its length.  Where rows of
        constraints depend on each other, and in singular positions, steps are of least norm.

        Raises AssemblyError, with the constraint that is left open, where steps do not lead to where all errors are
        within ``tolerance`` [m, rad]; ``check=False`` gives what they led to.  Differentiable inside of compiled
        functions.
        """
        return projected(self, q, v, weights, tolerance, time, check)

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
    ) -> Assembly:
        """Configurations that satisfy all constraints: near a guess, with joints held, near what is preferred.

        ``q_init`` (..., nq) is the neutral configuration if it is left out.  ``hold`` are values by joint that are kept
        exactly, arrays for a batch; ``prefer`` values that are come near to.  ``weights`` (nv,), or by joint, say how
        much each counts in what is near: 1, or where some are preferred 0.01 for the others.  ``position_limits`` of
        joints are kept.  Where the start does not lead to an assembly others are tried, ``max_starts`` so many, always
        the same ones. ``branches`` asks for the `branches` too, at most so many, and which of them each result is on.
        ``parameters`` are other numbers of the robot, of all states, by the names of `Robot.parameters`: points,
        frames and placements.  They come with the call, so other values take no other code.

        The result has ``q``, ``success`` and ``status`` for each state (see `linkwork.mechanisms.Assembly`), and
        ``explain``.  A single state that is not assembled is an AssemblyError, unless ``check=False``; of a batch
        ``success`` says it.

        Raises ValueError for values that are not finite, of the wrong shape, or held beyond limits, and
        UnknownNameError for a joint that is not there.
        """
        if parameters and branches is not None:
            raise ValueError("assemble: parameters: branches are those of the robot's own numbers: ask for one of them")
        result = assembled(
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
    ) -> Branches:
        """The separate assemblies of a small mechanism while joints are held: a four-bar's two, say.

        They are searched for from ``num_starts`` that fill all configurations, so it is no proof that there are no
        others: ``hits`` says how often each was found.  Whole turns and signs of quaternions make no difference.  They
        are in the order of their numbers, ``q`` (..., n, nq), with the sign of the determinant of the free columns of
        G.

        Raises ValueError where what is held leaves the mechanism free to move, and as `assemble`.
        """
        return found_branches(self, hold, position_limits, tolerance, num_starts, max_solutions, time)

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
    ) -> DrivenMotion:
        """The mechanism's configurations while drivers go through values, from state to state, on one branch.

        ``drivers`` are values (n,) by joint; ``q_init`` is near to the first configuration.  Steps between states are
        halved until they lead straight on.  Singular positions that are passed are in ``singular``.

        ``velocity`` and ``acceleration`` are rates of the drivers by joint, one for all states or (n,), 0 where they
        are left out; the result's ``v`` and ``a`` (n, nv) are what they make of all joints, such as for
        `inverse_dynamics` and `joint_wrenches`.  They are NaN where drivers do not determine the mechanism.
        ``parameters`` are those of `assemble`.

        Raises AssemblyError where it cannot go on: at a turning point, where branches meet and none goes straight on,
        or at limits; with ``check=False`` the result says how far it got.
        """
        rates = velocity, acceleration
        return followed(self, drivers, q_init, position_limits, tolerance, time, check, rates, parameters)

    # -- the kernels of these

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
        position_limits: bool = True,
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


class IntegrabilityMethods(RobotBase):
    """Which constraints are of positions, and which of velocities alone."""

    __slots__ = ()

    def integrability(self, q: Array, *, time: float = 0.0) -> Integrability:
        """Which combinations of the velocity constraints come from constraints of positions, and which do not.

        By Frobenius' theorem: the velocities that all constraints allow are grown by Lie brackets until they are
        involutive, which is what can be reached; q (nq,) is a configuration at which holonomic constraints hold, and
        ``time`` [s] is for those that depend on it.  The answer is for what can be reached from q;
        `Integrability.generic` tells whether it is so beside q too.  Where velocities have more freedom at q than
        beside it, as in a mechanism at a dead point, the answer is for beside it.

        >>> import linkwork as lw
        >>> base = lw.Joint.of(lw.joints.Planar(), name="base", parent="world", child="body")
        >>> sledge = lw.Robot.build("sledge", base, lw.Link("body", mass=1.0))
        >>> print(sledge.with_constraints(lw.constraints.KnifeEdge("body")).integrability([0.1, 0.2, 0.3]))
        sledge: degrees of freedom: 2 of velocity, 3 of configuration
          brackets: 2 → 3
          positions follow from 0 of 1 constraints of velocities
          not by themselves: body skates: across
        >>> print(sledge.with_constraints(lw.constraints.NoSlip("body", "world.y")).integrability([0.1, 0.2, 0.3]))
        sledge: degrees of freedom: 2 of velocity, 2 of configuration
          positions follow from 1 of 1 constraints of velocities
            body does not slip: along world.y: base.y stays

        Raises ValueError for a configuration that is none or that is off the constraints of positions, and for
        constraints that no velocity obeys, TypeError for a robot with symbols for numbers.
        """
        if has_symbols(self._subject):
            raise TypeError(f"integrability: robot {self.name!r} has symbols for some of its numbers: it needs numbers")
        try:
            at = np.asarray(
                self._call_method("integrate", (q, np.zeros(self.nv)), {}, {}, None)
            )  # looked at, normalised
        except UnknownNameError as error:
            raise error.at("integrability: q") from None
        except ValueError as error:
            raise ValueError(str(error).replace("integrate:", "integrability:", 1)) from None
        if at.ndim != 1:
            raise ValueError(f"integrability: q: expected one configuration ({self.nq},), got shape {at.shape}")
        t = float(given_numbers(time, "integrability: time: expected a number [s]", ()))
        return integrability_of(self._tree, at, t)


class MobilityMethods(RobotBase):
    """What constraints leave free."""

    __slots__ = ()

    def mobility(
        self,
        q: Array | None = None,
        *,
        length: float | None = None,
        time: float | None = None,
        seed: int = 0,
        progress: bool | Callable[[Progress], Any] = False,
    ) -> Mobility:
        """Degrees of freedom, and which rows and joints are what to them, by name: print it.

        q (nq,), made to obey the constraints where it does not quite; without it an assembled configuration is looked
        for, from `neutral` on.  The rank is that of the rows with angles times ``length`` [m], by default how long
        links are, by the largest gap of the singular values.  What is *redundant* (dependent everywhere) and what
        *singular* (only here) is told by configurations along random motions from there, drawn by ``seed``; where no
        configuration obeys all constraints, the rows are *inconsistent*.  ``progress`` shows a bar on standard error,
        or is a function of a `linkwork.Progress`, in configurations.

        Raises ValueError for q of another shape, or that is not finite, and for a length that is not positive.
        """
        return mobility_of(self, self._one("mobility", "q", q), self._scales("mobility", length), time, seed, progress)

    def minimal_coordinates(
        self,
        independent: str | Sequence[str] | None = None,
        q: Array | None = None,
        *,
        speeds: str | Sequence[str] | None = None,
        length: float | None = None,
        time: float | None = None,
        least: float = 1e-6,
    ) -> MinimalCoordinates:
        """Minimal coordinates: ``independent`` ones by name, or chosen by pivots at an assembled configuration ``q``.

        Names are joints' or of `v_names`.  ``speeds`` are the independent velocities: the same, but where constraints
        of velocities, such as rolling, leave fewer of them; then these are chosen among the coordinates unless they are
        named.  The margin of a choice is the smallest singular value of the dependent columns of the rows, with angles
        times ``length`` as in `mobility`; one below ``least`` is refused.  Without ``q`` an assembled configuration is
        looked for.

        Raises ValueError for coordinates that depend on each other, or leave others undetermined, and says which; and
        for a configuration that is not assembled.  UnknownNameError for a name that is not there.
        """
        mechanism = Mechanism(self, self._scales("minimal_coordinates", length), time)
        given = self._one("minimal_coordinates", "q", q)
        if not (isinstance(least, (int, float)) and 0.0 < least < 1.0):
            raise ValueError(f"minimal_coordinates: least: expected a number between 0 and 1, got {least!r}")
        result = None if given is not None else assembled_near(mechanism, None)
        return minimal_of(mechanism, assembled_at(mechanism, result, given), independent, speeds, float(least))

    def _scales(self, caller: str, length: float | None) -> Scales:
        if length is None:
            length = characteristic_length(self._tree)
        if not (isinstance(length, (int, float)) and np.isfinite(length) and length > 0.0):
            raise ValueError(f"{caller}: length: expected a positive number of metres, got {length!r}")
        return Scales.of(self._tree, float(length))

    def _one(self, caller: str, what: str, q: Array | None) -> np.ndarray | None:
        """One configuration, finite and on its manifold."""
        if q is None:
            return None
        if isinstance(q, Mapping):
            q = stacked(self._subject, QUANTITIES["q"], q)
        array = floats(q)
        if array.shape != (self.nq,):
            raise ValueError(
                f"{caller}: {what}: expected one configuration of {self.nq} numbers, got shape {array.shape}"
            )
        if not np.isfinite(array).all():
            raise ValueError(f"{caller}: {what}: there is a number in it that is not finite")
        result: np.ndarray = self.normalize(array)  # type: ignore[attr-defined]
        return result
