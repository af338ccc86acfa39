"""Random states of a robot, as the functions of the table take them."""

from __future__ import annotations

import numpy as np

from linkwork.robot import Robot
from linkwork.robot_table import ROBOT

__all__ = ["random_states"]


def random_states(
    robot: Robot, function: str, rng: np.random.Generator | int, size: int | None = None
) -> dict[str, np.ndarray]:
    """Arrays for the inputs of a function, by name and in its order: (n,), or (size, n) in rows.

    Configurations lie within the joints' limits, with unit quaternions; rates, velocities, accelerations and forces
    are drawn from the normal distribution, of standard deviation 1 in SI units (forces: 10).
    """
    generator = np.random.default_rng(rng)
    states = {}
    for quantity in ROBOT[function].quantities:
        name = quantity.name
        if quantity.configuration:
            states[name] = robot.random_configuration(generator, size=size)
        else:
            count = robot.nq if quantity.shape == ("nq",) else robot.nv
            shape = count if size is None else (size, count)
            states[name] = generator.normal(scale=10.0 if name == "tau" else 1.0, size=shape)
    return states
