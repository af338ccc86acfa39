"""Configurations and velocities that a robot's constraints allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.kernels.compiled_method import computed
from linkwork.kernels.robot_base import Array, RobotBase
from linkwork.mechanisms.assembly import (
    Assembly,
    Branches,
    Followed,
    assembled,
    followed,
    found_branches,
    projected,
)

__all__ = ["AssemblyMethods"]


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
        guess: Array | None = None,
        *,
        hold: Mapping[str, ArrayLike] | None = None,
        prefer: Mapping[str, ArrayLike] | None = None,
        weights: Array | None = None,
        limits: bool = True,
        tolerance: float = 1e-10,
        at_most: int = 16,
        branches: int | None = None,
        time: ArrayLike | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        check: bool = True,
    ) -> Assembly:
        """Configurations that satisfy all constraints: near a guess, with joints held, near what is preferred.

        ``guess`` (..., nq) is the neutral configuration if it is left out.  ``hold`` are values by joint that are kept
        exactly, arrays for a batch; ``prefer`` values that are come near to.  ``weights`` (nv,), or by joint, say how
        much each counts in what is near: 1, or where some are preferred 0.01 for the others.  ``limits`` of joints are
        kept.  Where the start does not lead to an assembly others are tried, ``at_most`` so many, always the same ones.
        ``branches`` asks for the `branches` too, at most so many, and which of them each result is on.
        ``parameters`` are other numbers of the robot, of all states, by the names of `Robot.parameters`: points,
        frames and placements.  They come with the call, so other values take no other code.

        The result has ``q``, the mask ``assembled``, a ``status`` for each state ("assembled", "false minimum", "at
        limits", "held coordinate dependent", "not assembled") and ``explain``.  A single state that is not assembled
        is an AssemblyError, unless ``check=False``; of a batch the mask says it.

        Raises ValueError for values that are not finite, of the wrong shape, or held beyond limits, and
        UnknownNameError for a joint that is not there.
        """
        if parameters and branches is not None:
            raise ValueError("assemble: parameters: branches are those of the robot's own numbers: ask for one of them")
        result = assembled(self, guess, hold, prefer, weights, limits, tolerance, at_most, time, check, parameters)
        if branches is None:
            return result
        return replace(result, branches=self.branches(hold, limits=limits, at_most=branches, time=time))

    def branches(
        self,
        hold: Mapping[str, ArrayLike] | None = None,
        *,
        limits: bool = True,
        tolerance: float = 1e-10,
        starts: int = 128,
        at_most: int | None = None,
        time: ArrayLike | None = None,
    ) -> Branches:
        """The separate assemblies of a small mechanism while joints are held: a four-bar's two, say.

        They are searched for from ``starts`` that fill all configurations, so it is no proof that there are no others:
        ``hits`` says how often each was found.  Whole turns and signs of quaternions make no difference.  They are in
        the order of their numbers, ``q`` (..., n, nq), with the sign of the determinant of the free columns of G.

        Raises ValueError where what is held leaves the mechanism free to move, and as `assemble`.
        """
        return found_branches(self, hold, limits, tolerance, starts, at_most, time)

    def follow(
        self,
        drivers: Mapping[str, Sequence[float] | ArrayLike],
        start: Array | None = None,
        *,
        velocity: Mapping[str, float | ArrayLike] | None = None,
        acceleration: Mapping[str, float | ArrayLike] | None = None,
        limits: bool = True,
        tolerance: float = 1e-10,
        time: ArrayLike | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        check: bool = True,
    ) -> Followed:
        """The mechanism's configurations while drivers go through values, from state to state, on one branch.

        ``drivers`` are values (n,) by joint; ``start`` is near to the first configuration.  Steps between states are
        halved until they lead straight on.  Singular positions that are passed are in ``singular``.

        ``velocity`` and ``acceleration`` are rates of the drivers by joint, one for all states or (n,), 0 where they
        are left out; the result's ``v`` and ``a`` (n, nv) are what they make of all joints, such as for
        `inverse_dynamics` and `joint_wrenches`.  They are NaN where drivers do not determine the mechanism.
        ``parameters`` are those of `assemble`.

        Raises AssemblyError where it cannot go on: at a turning point, where branches meet and none goes straight on,
        or at limits; with ``check=False`` the result says how far it got.
        """
        rates = velocity, acceleration
        return followed(self, drivers, start, limits, tolerance, time, check, rates, parameters)

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
