"""Derivatives of robots' functions at neutral, straight and folded configurations, at rest.

First and second derivatives along directions are compared with differences of 120 digits of the function itself.
"""

from __future__ import annotations

import itertools
from typing import Any

import mpmath
import numpy as np
import pytest

import linkwork as lw
from helpers.precise import DIGITS, STEP, Precise
from linkwork.kernels.function_request import read_request
from linkwork.kernels.function_trace import elements_of, run
from linkwork.model.function_spec import QUANTITIES
from linkwork.robot.robot_table import ROBOT, robot_owner
from oracles.scalars import names_for
from oracles.trees import TREES, regularity, robot_of

ROBOTS = ["arm6", "double_pendulum", "fourbar", "spherical_chain", "planar_chain", "coupled_chain"]
# Second derivatives need third and fourth ones here; results that are configurations have another tangent space.
_LEFT_OUT = ("second_derivatives", "hessian")
_OF_FULL_RANK = ("manipulability", "wrench_from_torque")  # |det J| and the pseudoinverse have no derivative elsewhere
_NORMS = ("indeterminacy",)  # with kinks where they are 0
_OF_COORDINATES = ("configuration_derivative",)  # modified Rodrigues parameters change their set at half a turn
SHARES = 24
MORE_ROBOTS = [name for name, tree in TREES.items() if tree.nv and name not in ROBOTS] + ["arm7", "arm7_gripper"]
CASES = [(robot, share) for robot in ROBOTS for share in range(SHARES)]
CASES += [
    (robot, share % SHARES) for share, robot in enumerate(MORE_ROBOTS)
]  # these with a share of the functions each


def special_configurations(robot: lw.Robot) -> dict[str, np.ndarray]:
    neutral = np.asarray(robot.neutral(), dtype=float)
    turns = {"neutral": [0.0], "straight": [0.0, np.pi], "folded": [np.pi / 2, -np.pi / 2, np.pi, 0.0]}
    configurations = {name: robot.integrate(neutral, np.resize(angles, robot.nv)) for name, angles in turns.items()}
    return {
        name: q for name, q in configurations.items() if regularity(robot.tree, q) > 1e-3
    }  # angles without gimbal lock


class Along:
    """A function of a robot, at a point moved along two directions, one after the other."""

    def __init__(self, robot: lw.Robot, request: Any) -> None:
        self.robot, self.request = robot, read_request(robot_owner(robot.tree), request)
        self.of_configurations = [QUANTITIES[name].configuration for name in self.request.inputs]

    def value(self, point: list[np.ndarray], directions: list[list[np.ndarray]], *steps: Any) -> np.ndarray:
        moved = []
        for x, *tangents, of_configurations in zip(point, *directions, self.of_configurations, strict=True):
            exact_point = _precise(x.ravel())
            for d, step in zip(tangents, steps, strict=True):
                rate = _precise(d.ravel()) * Precise(step)
                exact_point = (
                    np.array(self.robot.integrate(exact_point, rate)) if of_configurations else exact_point + rate
                )
            moved.append(exact_point.tolist())
        result = run(self.request, self.robot.tree, dict(zip(self.request.inputs, moved, strict=True)))
        parts = result if len(self.request.outputs) > 1 else (result,)
        return np.array([Precise(x).value for part in parts for x in elements_of(part)], dtype=object)

    def rates(self, point: list[np.ndarray], *directions: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """The derivative along the second direction, and that one's derivative along the first."""
        with mpmath.workdps(DIGITS):
            steps = [(a, b) for a in (1, -1) for b in (1, -1)]
            ends = {(a, b): self.value(point, list(directions), a * STEP, b * STEP) for a, b in steps}
            ahead, behind = ((ends[a, 1] - ends[a, -1]) / (2 * STEP) for a in (1, -1))
            first, second = (ahead + behind) / 2, (ahead - behind) / (2 * STEP)
        return first.astype(float), second.astype(float)


def _precise(x: Any) -> np.ndarray:
    exact = np.empty(len(x), dtype=object)
    exact[:] = [Precise(float(y)) for y in x]
    return exact


def flat(result: Any) -> np.ndarray:
    return np.concatenate([np.ravel(part) for part in (result if isinstance(result, tuple) else (result,))])


@pytest.mark.slow
@pytest.mark.parametrize(("robot", "share"), CASES)
def test_derivatives_of_robot_functions_at_special_configurations_are_exact(robot: str, share: int, drawn: Any) -> None:
    """Half of the states in a run: the configurations at rest and in motion."""
    rng = np.random.default_rng(0)
    mechanism = robot_of(TREES[robot]) if robot in TREES else lw.load(robot)
    wrong = []
    for name in list(ROBOT)[share::SHARES]:
        row = ROBOT[name]
        if any(output.configuration for output in row.outputs) or name.endswith(_LEFT_OUT):
            continue
        request = (name, *names_for(mechanism.tree, row))
        request = request if len(request) > 1 else name
        kernel = mechanism.compile(request)
        along = Along(mechanism, request)
        first, second = kernel.jvp(), kernel.jvp().jvp()
        states = itertools.product(special_configurations(mechanism).items(), (True, False))
        for (label, q), is_at_rest in drawn(states):
            if name.startswith(_OF_FULL_RANK) and mechanism.manipulability(q, request[1]) < 1e-12:
                continue
            if name.startswith(_OF_COORDINATES) and label == "straight":
                continue
            point, along_first, direction = [], [], []
            for port, of_configurations in zip(kernel.inputs, along.of_configurations, strict=True):
                shape = (mechanism.nv,) if of_configurations else port.shape
                point.append(q if of_configurations else (not is_at_rest) * rng.normal(size=port.shape))
                direction.append(rng.normal(size=shape))
                along_first.append(rng.normal(size=shape))
            exact = along.rates(point, along_first, direction)
            zero_direction = [0.0 * d for d in direction]
            derivatives = (
                flat(first.interpret(*point, *direction)),
                flat(second.interpret(*point, *direction, *along_first, *zero_direction)),
            )
            for order, (actual, expected) in enumerate(zip(derivatives, exact, strict=True), 1):
                if name.endswith(_NORMS) and np.isfinite(actual).all():
                    continue
                error = np.abs(actual - expected).max(initial=0.0) / (1.0 + np.abs(expected).max(initial=0.0))
                if not error < 1e-8:
                    wrong.append((name, label, is_at_rest, order, error))
    assert not wrong
