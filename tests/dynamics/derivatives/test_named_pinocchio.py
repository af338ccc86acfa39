"""Derivatives of twists, centroidal momentum and configurations of real robots, against Pinocchio.

Its tangent vectors are ours but for the order of their numbers, which `Pinocchio.ours` changes back.
"""

import numpy as np
import pytest

pytest.importorskip("pinocchio")

import pinocchio as pin

from oracles.comparison import assert_close
from oracles.example_robots import EXAMPLES
from oracles.pinocchio_model import LOCAL, WORLD, Pinocchio
from oracles.scalars import Direct

SAMPLES = 2


@pytest.mark.slow(every=3)
def test_derivatives_of_twists_momentum_and_configurations_equal_pinocchios(drawn):
    for example in drawn(EXAMPLES):
        robot, oracle = example.robot(), Pinocchio(example)
        rng = np.random.default_rng(5)
        v, a = rng.normal(size=(2, SAMPLES, robot.nv))
        q = robot.random_configuration(rng, size=SAMPLES)
        f, frame = Direct(robot.tree), robot.frames[-1]
        _check_twists(example, f, oracle, q, v, frame)
        _check_momentum(example, robot.tree, f, oracle, q, v, a)
        _check_configurations(example, f, oracle, q, v)


def _check_twists(example, f, oracle, q, v, frame):
    for view, options in ((LOCAL, {"expressed_in": frame}), (WORLD, {"point": "world"})):

        def partials(model, data, q, v, view=view):
            pin.computeForwardKinematicsDerivatives(model, data, q, v, np.zeros(model.nv))
            derivatives = pin.getFrameVelocityDerivatives(model, data, oracle.frame(frame), view)
            return np.array([oracle.swapped(x) for x in derivatives])

        theirs = oracle.each(partials, q, v)
        for k, ours in enumerate(f.twist_derivatives(q, v, frame, **options)):
            assert_close(ours, oracle.ours(theirs[:, k]), 1e-12, f"{example} {view} {k}", core=2)


def _check_momentum(example, tree, f, oracle, q, v, a):
    """Compare momentum: all of it without bodies fixed to the world, else the linear part, since the centres differ."""
    theirs = oracle.each(lambda *x: [oracle.swapped(y) for y in pin.computeCentroidalDynamicsDerivatives(*x)], q, v, a)
    (dh_dq, _), ours = f.centroidal_momentum_derivatives(q, v), f.centroidal_momentum_rate_derivatives(q, v, a)
    rows = slice(3 if tree.fixed_inertia.mass else 0, 6)
    for k, matrix in enumerate((dh_dq, *ours)):
        expected = oracle.ours(theirs[:, k])
        assert_close(matrix[:, rows], expected[:, rows], 1e-11, f"{example} {k}", core=2)


def _check_configurations(example, f, oracle, q, v):
    theirs = oracle.each(lambda model, data, q, v: np.array(pin.dIntegrate(model, q, v)), q, 0.3 * v)
    for k, ours in enumerate(f.integrate_derivatives(q, 0.3 * v)):
        assert_close(ours, oracle._square(theirs[:, k]), 1e-12, f"{example} {k}", core=2)
