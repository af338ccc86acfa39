"""Functions of a robot in float32 at configurations with many zeros, against float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from kernels.test_special_configurations import special_configurations
from linkwork.kernels.function_request import read_request
from linkwork.kernels.function_trace import is_in_double
from linkwork.model.function_spec import QUANTITIES
from linkwork.robot.robot_table import ROBOT, robot_owner
from oracles.scalars import names_for
from oracles.trees import TREES, robot_of

ROBOTS = ["arm6", "double_pendulum", "spherical_chain", "planar_chain", "coupled_chain"]
SHARES = 6


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("name", ROBOTS)
def test_robot_functions_at_special_configurations_in_float32_are_close_to_float64(name: str, share: int) -> None:
    rng = np.random.default_rng(0)
    robot = robot_of(TREES[name]) if name in TREES else lw.load(name)
    owner = robot_owner(robot.tree)
    points = {**special_configurations(robot), "any": robot.integrate(robot.neutral(), rng.normal(size=robot.nv))}
    for function in [*ROBOT][share::SHARES]:
        if is_in_double(owner, ROBOT[function]):
            continue
        names = names_for(robot.tree, ROBOT[function])
        request: Any = (function, *names) if names else function
        kernel = robot.compile(request)
        of_configurations = [QUANTITIES[x].configuration for x in read_request(owner, request).inputs]
        exact, single = [], []
        for q in points.values():
            for speed in (0.0, 1.0):
                arrays = [
                    robot.integrate(q, k * speed * rng.normal(size=robot.nv))
                    if configuration
                    else speed * rng.normal(size=port.shape)
                    for k, (port, configuration) in enumerate(zip(kernel.inputs, of_configurations, strict=True))
                ]
                rounded = [np.asarray(x, dtype=np.float32) for x in arrays]
                exact.append(_flat(kernel(*(x.astype(float) for x in rounded))))
                single.append(_flat(kernel(*rounded)))
        finite = np.isfinite(exact)
        assert np.isfinite(np.array(single)[finite]).all(), function
        size = np.abs(np.array(exact)[finite]).max(initial=0.0)
        assert np.abs(np.array(single)[finite] - np.array(exact)[finite]).max(initial=0.0) <= 1e-4 * size, function


def _flat(result: Any) -> np.ndarray:
    return np.concatenate([np.ravel(part) for part in (result if isinstance(result, tuple) else (result,))])
