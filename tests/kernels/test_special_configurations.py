"""Derivatives of robots' functions where zeros are everywhere: neutral, straight and folded configurations, at rest.

First and second derivatives along directions are compared with differences of 120 digits of the function itself.
"""

from __future__ import annotations

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
OTHERS = [name for name, tree in TREES.items() if tree.nv and name not in ROBOTS] + ["arm7", "arm7_gripper"]
CASES = [(robot, share) for robot in ROBOTS for share in range(SHARES)]
CASES += [(robot, share % SHARES) for share, robot in enumerate(OTHERS)]  # these with a share of the functions each


def places(robot: lw.Robot) -> dict[str, np.ndarray]:
    neutral = np.asarray(robot.neutral(), dtype=float)
    turns = {"neutral": [0.0], "straight": [0.0, np.pi], "folded": [np.pi / 2, -np.pi / 2, np.pi, 0.0]}
    found = {name: robot.integrate(neutral, np.resize(angles, robot.nv)) for name, angles in turns.items()}
    return {name: q for name, q in found.items() if regularity(robot.tree, q) > 1e-3}  # angles without gimbal lock


class Along:
    """A function of a robot, at a point moved along two directions, one after the other."""

    def __init__(self, robot: lw.Robot, asked: Any) -> None:
        self.robot, self.request = robot, read_request(robot_owner(robot.tree), asked)
        self.of_configurations = [QUANTITIES[name].configuration for name in self.request.inputs]

    def value(self, point: list[np.ndarray], directions: list[list[np.ndarray]], *steps: Any) -> np.ndarray:
        moved = []
        for x, *some, of_configurations in zip(point, *directions, self.of_configurations, strict=True):
            numbers = _precise(x.ravel())
            for d, step in zip(some, steps, strict=True):
                rate = _precise(d.ravel()) * Precise(step)
                numbers = np.array(self.robot.integrate(numbers, rate)) if of_configurations else numbers + rate
            moved.append(numbers.tolist())
        found = run(self.request, self.robot.tree, dict(zip(self.request.inputs, moved, strict=True)))
        parts = found if len(self.request.outputs) > 1 else (found,)
        return np.array([Precise(x).value for part in parts for x in elements_of(part)], dtype=object)

    def rates(self, point: list[np.ndarray], *directions: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """The derivative along the second direction, and that one's derivative along the first."""
        with mpmath.workdps(DIGITS):
            steps = [(a, b) for a in (1, 0, -1) for b in (1, -1)]
            ends = {(a, b): self.value(point, list(directions), a * STEP, b * STEP) for a, b in steps}
            first = (ends[0, 1] - ends[0, -1]) / (2 * STEP)
            second = (ends[1, 1] - ends[1, -1] - ends[-1, 1] + ends[-1, -1]) / (4 * STEP**2)
        return first.astype(float), second.astype(float)


def _precise(x: Any) -> np.ndarray:
    found = np.empty(len(x), dtype=object)
    found[:] = [Precise(float(y)) for y in x]
    return found


def flat(found: Any) -> np.ndarray:
    return np.concatenate([np.ravel(part) for part in (found if isinstance(found, tuple) else (found,))])


@pytest.mark.slow
@pytest.mark.parametrize(("robot", "share"), CASES)
def test_derivatives(robot: str, share: int) -> None:
    rng = np.random.default_rng(0)
    mechanism = robot_of(TREES[robot]) if robot in TREES else lw.load(robot)
    wrong = []
    for name in list(ROBOT)[share::SHARES]:
        row = ROBOT[name]
        if any(output.configuration for output in row.outputs) or name.endswith(_LEFT_OUT):
            continue
        asked = (name, *names_for(mechanism.tree, row))
        asked = asked if len(asked) > 1 else name
        kernel = mechanism.compile(asked)
        along = Along(mechanism, asked)
        first, second = kernel.jvp(), kernel.jvp().jvp()
        for place, q in places(mechanism).items():
            if name.startswith(_OF_FULL_RANK) and mechanism.manipulability(q, asked[1]) < 1e-12:
                continue
            if name.startswith(_OF_COORDINATES) and place == "straight":
                continue
            for rest in (True, False):
                point, along_first, direction = [], [], []
                for port, of_configurations in zip(kernel.inputs, along.of_configurations, strict=True):
                    shape = (mechanism.nv,) if of_configurations else port.shape
                    point.append(q if of_configurations else (not rest) * rng.normal(size=port.shape))
                    direction.append(rng.normal(size=shape))
                    along_first.append(rng.normal(size=shape))
                exact = along.rates(point, along_first, direction)
                still = [0.0 * d for d in direction]
                found = (
                    flat(first.interpret(*point, *direction)),
                    flat(second.interpret(*point, *direction, *along_first, *still)),
                )
                for order, (one, other) in enumerate(zip(found, exact, strict=True), 1):
                    if name.endswith(_NORMS) and np.isfinite(one).all():
                        continue
                    error = np.abs(one - other).max(initial=0.0) / (1.0 + np.abs(other).max(initial=0.0))
                    if not error < 1e-8:
                        wrong.append((name, place, rest, order, error))
    assert not wrong
