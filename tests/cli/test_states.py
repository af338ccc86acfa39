"""Random states for the functions of a robot."""

import pytest

from linkwork.cli.arguments import random_states
from linkwork.kernels.owners import shape_of
from linkwork.robot.robot_table import ROBOT, robot_owner
from oracles.example_robots import shipped


@pytest.mark.parametrize("size", [None, 3])
def test_random_states_of_benchmarks_have_the_shapes_of_every_functions_inputs(size):
    """Robots with nq ≠ nv, too."""
    robot = shipped("quadruped")
    batch = () if size is None else (size,)
    for name, row in ROBOT.items():
        result = random_states(robot, name, 0, size)
        expected = {q.name: (*batch, *shape_of(robot_owner(robot.tree), q.shape)) for q in row.quantities}
        assert {key: x.shape for key, x in result.items()} == expected
