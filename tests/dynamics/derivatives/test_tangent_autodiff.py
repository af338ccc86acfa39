"""Derivatives in tangent spaces: reverse differentiation of symbols equals forward differentiation of floats."""

import numpy as np

import linkwork as lw
from linkwork import joints
from linkwork.dynamics.algorithms.derivatives import tangent_autodiff
from linkwork.expr.arrays.symbol_array import array
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.kinematics.algorithms.forward_kinematics import twist
from linkwork.model.random_tree import random_tree


def test_derivatives_in_reverse_equal_forward_and_finite_differences():
    types = (joints.Spherical, joints.Prismatic)
    robot, rng = lw.Robot(random_tree(np.random.default_rng(1), 2, types=types)), np.random.default_rng(2)
    tree, q, v = robot.tree, robot.random_configuration(seed=0), rng.normal(size=robot.nv)
    frame = next(frame.name for frame in tree.frames if frame.body == 1)  # behind the ball joint
    weight, h = 0.7, 1e-6

    def compute(q, v, w):
        return [w[0] * x for x in twist(tree, q, v, frame).elements()]

    values, forward = tangent_autodiff.with_values(tree, compute, [*q], [*v], [weight])

    def reverse(q, v, w):
        result, blocks = tangent_autodiff._in_reverse(tree, compute, [*q], [*v], [*w])
        return (array(result), *(array([array(row) for row in block]) for block in blocks))

    kernel = lw.compile(reverse, q=(robot.nq,), v=(robot.nv,), w=(1,))
    result, *blocks = (np.asarray(x) for x in kernel(q, v, np.array([weight])))
    assert np.abs(result - np.array(values, dtype=float)).max() < 1e-13 and np.abs(result).max() > 0.1
    for block, expected in zip(blocks, forward, strict=True):
        assert np.abs(block - np.array(expected, dtype=float)).max() < 1e-12
    for k, unit in enumerate(np.eye(robot.nv)):
        ends = [compute(integrate(tree, [*q], [*(s * h * unit)]), [*v], [weight]) for s in (1.0, -1.0)]
        slope = (np.array(ends[0], dtype=float) - np.array(ends[1], dtype=float)) / (2.0 * h)
        assert np.abs(blocks[0][:, k] - slope).max() < 1e-8
    assert tangent_autodiff.with_values(tree, lambda q: [], [*q])[0] == []
