"""Predictor–corrector continuation of assembled configurations along the values of drivers, for a batch of mechanisms.

The predictor follows the derivative of the configuration by the drivers, q ⊕ K δy; the corrector projects onto the
constraints.  A step is accepted if the correction is small relative to the step, and halved otherwise.  The motion ends
at turning points of the drivers and where the mechanism cannot be closed any further.

Velocity constraints, such as rolling, have no configuration to correct to.  With them the predictor integrates the
velocities q̇ = K(q) ẏ, which all constraints determine, by a commutator-free Lie-group method of order 4.  Two half
steps are compared with a whole one; a step is accepted if they agree.

Sources: Allgower and Georg, Introduction to Numerical Continuation Methods, SIAM 2003, chapter 2; Celledoni, Marthinsen
and Owren, Commutator-free Lie group methods, Future Generation Computer Systems 19, 2003.
"""

from __future__ import annotations

import numpy as np

from linkwork._util.status import WORDS
from linkwork.errors import Status
from linkwork.mechanisms.assembly.assembly_search import run_kernel
from linkwork.mechanisms.assembly.result import slack_and_sign
from linkwork.mechanisms.assembly.state_inputs import StateInputs
from linkwork.mechanisms.assembly.targets import ClosedMechanism, FixedJoints, read_weights

__all__ = ["SINGULAR_SLACK", "Continuation"]

_MAX_CORRECTION = 0.1  # largest correction of an accepted step, relative to the step
_MAX_STEP = 0.5  # largest component of a step [rad, characteristic lengths]
_MIN_SHARE = 2.0**-24  # smallest step, relative to the distance between two states
SINGULAR_SLACK = 1e-5  # slack below which K is not determined
_ACCEPTED = ""  # word of an accepted step
_ROLLING_TOL = 1e-9  # [rad, characteristic lengths] difference between a step and two half steps along velocities
_ROUNDING = 64.0 * 2.0**-52  # relative rounding of coordinates in a step
_CONTRADICTION = 1e-6  # violated velocity of the constraints, relative to the velocities that the drivers cause


class Continuation:
    """Configurations q (m, nq) of m mechanisms, which follow their drivers from state to state.

    ``status`` (m,) is "solved" while a mechanism follows, and then the reason of its end.
    """

    def __init__(
        self,
        mechanism: ClosedMechanism,
        names: tuple[str, ...],
        values: np.ndarray,
        limits: bool,
        tolerance: float,
        at: StateInputs,
        q: np.ndarray,
        status: np.ndarray,
    ) -> None:
        self.mechanism, self.robot, self.limits, self.tolerance = mechanism, mechanism.robot, limits, tolerance
        self.names, self.fixed, self.values, self.at = (
            names,
            FixedJoints(names, {}),
            values,
            at,
        )  # values (m, n, drivers)
        self.weights = read_weights(self.robot, mechanism.caller)
        self.units = mechanism.units
        tree = self.robot.tree
        self.coordinates = [n for name in names for n in range(tree.nq)[tree.q_slices[tree.joint_index(name)]]]
        self.columns = [k for name in names for k in range(tree.nv)[tree.v_slices[tree.joint_index(name)]]]
        self.q, self.status = np.array(q), np.array(status)
        self.rate = np.full((len(q), tree.nv), np.nan)  # last accepted step, per share of the distance between states
        self.steps, self.passed = np.zeros(len(q), dtype=int), np.zeros(len(q), dtype=bool)
        self.slack, self.sign = self._regular(self.q, at)

    def _regular(self, q: np.ndarray, at: StateInputs) -> tuple[np.ndarray, np.ndarray]:
        return slack_and_sign(self.mechanism.velocity_block(q, self.names, at))

    def to(self, i: int) -> None:
        """Move all mechanisms that still follow from state i − 1 to state i."""
        begin, change = self.values[:, i - 1], self.values[:, i] - self.values[:, i - 1]
        share, length = np.zeros(len(self.q)), np.ones(len(self.q))
        self.passed[:] = False
        left = np.flatnonzero(self.status == Status.SOLVED)
        while len(left):
            length[left] = np.minimum(length[left], 1.0 - share[left])
            after = share[left] + length[left]
            after[after >= 1.0 - 1e-12] = 1.0
            arriving = (after == 1.0)[:, None]
            target = np.where(arriving, self.values[left, i], begin[left] + after[:, None] * change[left])
            outcome = self._step(left, target, length[left])
            accepted = outcome == _ACCEPTED
            share[left[accepted]] = after[accepted]
            length[left] *= np.where(accepted, 2.0, 0.5)
            lost = ~accepted & (length[left] < _MIN_SHARE)
            self.status[left[lost]] = outcome[lost]
            left = left[~lost & (share[left] < 1.0)]

    def _step(self, lanes: np.ndarray, target: np.ndarray, length: np.ndarray) -> np.ndarray:
        """Try one step of the mechanisms to driver values ``target``; return the reasons of rejections, or ""."""
        self.steps[lanes] += 1
        robot, q, slack, rate = self.robot, self.q[lanes], self.slack[lanes], self.rate[lanes]
        at = self.at.some(lanes, len(self.q))
        moved = target - q[:, self.coordinates]
        rolls = self.mechanism.rolls
        if rolls:
            predicted, fits = self._rolled(q, moved, at)
            delta = robot.difference(q, predicted)
        else:
            fits, delta = np.ones(len(q), dtype=bool), self._followed(q, moved, at)
        straight = (slack < SINGULAR_SLACK) & np.isfinite(rate).all(axis=-1)  # continue in the previous direction
        straight &= not rolls
        if straight.any():
            delta[straight] = rate[straight] * length[straight, None]
            delta[np.ix_(straight, self.columns)] = moved[straight]
        size = np.abs(delta / self.units).max(axis=-1, initial=0.0)
        outcome = np.where(slack < 1e-2, Status.TURNING_POINT, Status.SINGULAR).astype(WORDS)
        near = np.flatnonzero(fits & (size <= _MAX_STEP))
        if not len(near):
            return outcome
        predicted = predicted[near] if rolls else robot.integrate(q[near], delta[near])
        predicted[:, self.coordinates] = target[near]
        at = at.some(near, len(lanes))
        result = run_kernel(self.mechanism, predicted, predicted, self.weights, self.fixed, False, at)
        correction = np.abs(robot.difference(predicted, result.q) / self.units).max(axis=-1, initial=0.0)
        is_followed = self.mechanism.open_by(result.error) <= self.tolerance
        is_followed &= correction <= _MAX_CORRECTION * size[near] + 1e-12
        if self.limits:
            beyond = is_followed & self.mechanism.beyond(result.q, at).any(axis=-1)
            outcome[near[beyond]], is_followed = Status.AT_LIMITS, is_followed & ~beyond
        new_slack, new_sign = self._regular(result.q, at)
        turned = is_followed & (
            self.sign[lanes[near]] * new_sign < 0
        )  # beyond a singular configuration: only straight on
        if turned.any() and not rolls:  # velocities that are integrated do not change the branch
            which = near[turned]
            followed = self._followed(result.q[turned], moved[which], at[turned])
            bent = np.abs((followed - delta[which]) / self.units).max(axis=-1) > 0.3 * size[which]
            outcome[which[bent]] = Status.SINGULAR
            is_followed[np.flatnonzero(turned)[bent]] = False
            self.passed[lanes[which[~bent]]] = True
        done, accepted = near[is_followed], lanes[near[is_followed]]
        self.rate[accepted] = robot.difference(q[done], result.q[is_followed]) / length[done, None]
        self.q[accepted], self.slack[accepted], self.sign[accepted] = (
            result.q[is_followed],
            new_slack[is_followed],
            new_sign[is_followed],
        )
        outcome[done] = _ACCEPTED
        return outcome

    def _followed(self, q: np.ndarray, moved: np.ndarray, at: StateInputs) -> np.ndarray:
        """Return the steps (..., nv) of all joints for steps of the drivers, to first order."""
        K = self.robot.assembly_derivatives(q, hold=self.names, **at.options)
        result: np.ndarray = np.einsum("kij,kj->ki", K[..., self.columns], moved)
        return result

    def _rolled(self, q: np.ndarray, moved: np.ndarray, at: StateInputs) -> tuple[np.ndarray, np.ndarray]:
        """Return the configurations after steps of the drivers along the velocities that all constraints allow.

        A mask (k,) is False where a whole step and two half steps differ, and where the constraints forbid the steps.
        """
        fits = np.ones(len(q), dtype=bool)
        whole = self._lie_step(q, moved, at, fits)
        half = self._lie_step(q, 0.5 * moved, at, fits)
        result = self._lie_step(half, 0.5 * moved, at, fits)
        error = np.abs(self.robot.difference(whole, result) / self.units).max(axis=-1, initial=0.0)
        # far from the origin the rounding of positions is larger
        largest = np.abs(q).max(axis=-1, initial=0.0) / self.units.min(initial=1.0)
        return result, fits & (error <= _ROLLING_TOL + _ROUNDING * largest)

    def _lie_step(self, q: np.ndarray, moved: np.ndarray, at: StateInputs, fits: np.ndarray) -> np.ndarray:
        """Return q after one step of order 4, with two exponentials, for the steps (..., drivers) of the drivers."""
        move = self.robot.integrate
        first = self._allowed(q, moved, at, fits)
        begun = move(q, 0.5 * first)
        second = self._allowed(begun, moved, at, fits)
        third = self._allowed(move(q, 0.5 * second), moved, at, fits)
        fourth = self._allowed(move(begun, third - 0.5 * first), moved, at, fits)
        middle = 2.0 * (second + third)
        between = move(q, (3.0 * first + middle - fourth) / 12.0)
        result: np.ndarray = move(between, (3.0 * fourth + middle - first) / 12.0)
        return result

    def _allowed(self, q: np.ndarray, moved: np.ndarray, at: StateInputs, fits: np.ndarray) -> np.ndarray:
        """Return the smallest steps (..., nv) that all constraints allow for steps of the drivers.

        Where the constraints forbid the steps, they are 0, and the mask ``fits`` is set to False.
        """
        G = self.mechanism.velocity_block(q, (), at)
        undriven = self.mechanism.free(self.names)
        caused = np.einsum("kij,kj->ki", G[..., self.columns], moved / self.units[self.columns])
        least = np.einsum("kij,kj->ki", np.linalg.pinv(G[..., undriven], rcond=SINGULAR_SLACK), -caused)
        left = np.abs(np.einsum("kij,kj->ki", G[..., undriven], least) + caused).max(axis=-1, initial=0.0)
        fits &= left <= _CONTRADICTION * np.abs(caused).max(axis=-1, initial=0.0)
        result = np.zeros((len(q), self.robot.nv))
        result[:, undriven] = least * self.units[undriven]
        result[:, self.columns] = moved
        return np.where(fits[:, None], result, 0.0)
