"""The regressor of inverse dynamics of real robots, against Pinocchio's."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pinocchio")

import pinocchio as pin

from oracles.comparison import assert_close
from oracles.example_robots import EXAMPLES
from oracles.pinocchio_model import Pinocchio
from oracles.scalars import Direct

OURS = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]  # there J_yy is before J_xz


def test_regressors_of_torque_and_energy_equal_pinocchios(drawn):
    """A row for each velocity, ten columns for each body; kinetic and potential energy, too."""
    for example in drawn(EXAMPLES):
        robot, oracle = example.robot(), Pinocchio(example)
        f, rng = Direct(robot.tree), np.random.default_rng(3)
        q = robot.random_configuration(rng, size=3)
        v, a = rng.normal(size=(2, 3, robot.nv))
        joints = [oracle._joint(robot.joint(body.joint_name)).id - 1 for body in robot.tree.bodies]
        columns = [10 * joint + k for joint in joints for k in OURS]

        def torques(model, data, *state):
            return pin.computeJointTorqueRegressor(model, data, *state).copy()

        expected = oracle.each(torques, q, v, a)[:, oracle._v][..., columns]
        assert_close(f.inverse_dynamics_regressor(q, v, a), expected, 1e-12, example.name, core=2)
        kinetic = oracle.each(lambda *x: pin.computeKineticEnergyRegressor(*x).copy(), q, v)[..., columns]
        assert_close(f.kinetic_energy_regressor(q, v), kinetic, 1e-12, example.name, core=1)
        potential = oracle.each(lambda *x: pin.computePotentialEnergyRegressor(*x).copy(), q)[..., columns]
        assert_close(f.potential_energy_regressor(q), potential, 1e-12, example.name, core=1)
