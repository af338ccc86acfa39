"""Functions of mechanisms on NumPy arrays of samples, beside compiled code."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from helpers.linkages import five_bar
from helpers.overconstrained import bennett, bennett_angles
from invariants.cases import Functions
from linkwork.kernels.function_request import read_request
from linkwork.robot.robot_table import ROBOT, robot_owner
from oracles.scalars import names_for

FUNCTIONS = [name for name, row in ROBOT.items() if row.constrained or "mechanisms" in row.compute.__module__]


def linkages() -> dict[str, tuple[lw.Robot, np.ndarray, list[str]]]:
    """Linkages with assembled configurations, and names of independent joints."""
    five, four = five_bar(), lw.load("fourbar")
    ends = {name: five.neutral()[k] + np.linspace(0.0, 0.2, 3) for k, name in enumerate(five.q_names) if "hip" in name}
    crank = four.q_names[0]
    return {
        "five-bar": (five, five.assemble(hold=ends).q, [*ends]),
        "four-bar": (four, four.assemble(hold={crank: [0.4, 1.2, 2.0]}).q, [crank]),
        "Bennett": (bennett(), np.stack([bennett_angles(x) for x in (0.4, 1.2, 2.0)]), ["theta1"]),
    }


@pytest.mark.slow(every=5)
def test_constrained_functions_on_numpy_arrays_equal_compiled_code(drawn):
    """All functions with constraints: an algorithm that mistakes an axis of samples for its own has other results."""
    states = linkages()
    for name in drawn(FUNCTIONS):
        row = ROBOT[name]
        for of, (robot, q, independent) in states.items():
            required = [option for option in row.options if option.required]
            named = (
                [independent] * len(required)
                if any(o.counted for o in required)
                else names_for(robot.tree, row, robot.bodies[-1])
            )
            requested = (name, *named) if required else name
            request, rng = read_request(robot_owner(robot.tree), requested), np.random.default_rng(0)
            kernel = robot.compile(requested)
            ports = zip(kernel.inputs, request.inputs, strict=True)
            arrays = [
                q if key in ("q", "q0", "q1") else rng.uniform(0.5, 1.5, (len(q), *port.shape)) for port, key in ports
            ]
            if name == "assemble_configuration":  # from beside the constraints, since the slope is 0/0 on them
                arrays[0] = arrays[0] + 0.01
            with np.errstate(all="ignore"):
                expected, outputs = kernel(*arrays), Functions(robot.tree)(requested, *arrays)
            pairs = zip(*((x if isinstance(x, tuple) else (x,)) for x in (expected, outputs)), strict=True)
            for k, (pair, compiled_value) in enumerate(pairs):
                if name == "assemble_configuration" and k == 4:
                    continue
                error = 1e-6 if "indeterminacy" in name else 1e-8
                np.testing.assert_allclose(compiled_value, pair, rtol=error, atol=error, err_msg=f"{of} {name} {k}")
