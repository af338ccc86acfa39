"""Limits as a box of coordinates that velocities move, and sizes of coordinates."""

import math

import numpy as np

from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.kinematics.algorithms.coordinates import LimitBox, characteristic_length, coordinate_indices, unit_steps
from oracles.trees import TREES


def test_each_velocity_index_of_a_coordinate_moves_only_that_coordinate():
    rng = np.random.default_rng(0)
    for tree in TREES.values():
        q = [x for _, body in tree.stacked() for x in body.joint.zero()]
        for k, n in coordinate_indices(tree).items():
            step = [0.0] * tree.nv
            step[k] = float(rng.uniform(0.1, 0.5))
            moved = np.array(integrate(tree, q, step), dtype=float) - np.array(q)
            assert abs(moved[n] - step[k]) < 1e-12
            assert np.abs(np.delete(moved, n)).max(initial=0.0) == 0.0


def test_limit_box_clamps_values_and_removes_blocked_directions():
    box = LimitBox({0: 1, 2: 0}, [-1.0, 0.5, 0.0], [1.0, 2.0, 0.0])
    assert box.within([3.0, 0.0, 7.0]) == [1.0, 0.5, 7.0]  # the last number has no bounds
    assert box.free([1.0, 1.0, 7.0], [1.0, 1.0, 0.3]) == [1.0, 1.0, 0.0]  # at its bound, and beyond it
    assert box.free([1.0, 1.0, 7.0], [1.0, 1.0, -0.3]) == [1.0, 1.0, 1.0]
    assert (box.room([0.25, 1.5, 7.0], 0, 1.0), box.room([0.25, 1.5, 7.0], 0, -1.0)) == (0.5, 1.0)
    assert box.room([0.25, 1.5, 7.0], 1, 1.0) == math.inf


def test_unit_steps_of_coordinates_are_scaled_by_the_units_of_the_robot():
    for tree in TREES.values():
        units = [unit for _, body in tree.stacked() for unit in body.joint.v_units]
        length = 3.0 * characteristic_length(tree)
        assert unit_steps(tree, 0.5, 3.0) == [0.5 if unit.startswith("rad") else length for unit in units]
