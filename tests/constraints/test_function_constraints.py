"""Constraints by users' functions: their derivatives, and refused functions."""

import math

import numpy as np
import pytest

import linkwork as lw

H = 1e-6


def differences(f, q):
    return np.array([(f(q + H * e) - f(q - H * e)) / (2 * H) for e in np.eye(len(q))]).T


@pytest.mark.slow(every=5)
def test_jacobian_and_bias_of_a_function_constraint_are_its_derivatives():
    def f(k):
        X = k.pose("hand", "world")
        return np.array(
            [
                k.q("elbow") - 0.3 * np.sin(k.q("shoulder_pan")) * k.time,
                np.linalg.norm(X[:3, 3]) + X[0, 1] * k.direction("hand.z")[2],
                k.center_of_mass()[2] + k.point("hand")[0],
            ]
        )

    robot = lw.load("arm7").with_constraints(lw.constraints.Holonomic("f", f, units=("rad", "m", "m")))
    rng = np.random.default_rng(0)
    q, v, t = rng.normal(size=7), rng.normal(size=7), 0.7
    G = robot.constraint_jacobian(q, time=t)
    np.testing.assert_allclose(G, differences(lambda q: robot.constraint_error(q, time=t), q), rtol=0, atol=1e-8)

    def along(s):
        return robot.constraint_error(q + s * v, time=t + s)

    second = (along(2e-4) - 2 * along(0) + along(-2e-4)) / 4e-8  # q̈ = 0: of the error, what the bias is
    np.testing.assert_allclose(robot.constraint_bias(q, v, time=t), second, rtol=0, atol=1e-6)
    assert robot.constraints["f"].component_names == ("f[0]", "f[1]", "f[2]") and robot.constraints["f"].time_dependent
    a, _ = robot.constrained_forward_dynamics(q, v, np.zeros(7), time=t)
    np.testing.assert_allclose(G @ a, -robot.constraint_bias(q, v, time=t), rtol=0, atol=1e-9)


def test_invalid_functions_of_constraints_are_refused():
    robot = lw.load("arm7")
    for function, message in (
        (lambda k: 1 / 0, "raised ZeroDivisionError: division by zero\n    at .*test_function_constraints.py"),
        (lambda k: None, "expected a number or an array of numbers, got None"),
        (lambda k: k.v("elbow"), "cannot query velocities"),
        (lambda k: k.q("elbow") > 0, "expected a number"),
        (lambda k: 3.0, r"returns \[3.0\] for every robot"),
        (lambda k: math.sin(k.q("elbow")), "use NumPy's functions"),
        (lambda k: k.q("elbow") * math.nan, "its function computes with NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            robot.with_constraints(lw.constraints.Holonomic("f", function))
    with pytest.raises(lw.errors.UnknownNameError, match="did you mean 'elbow'"):
        robot.with_constraints(lw.constraints.Holonomic("f", lambda k: k.q("elbov")))
    with pytest.raises(TypeError, match="expected a function of k"):
        lw.constraints.Holonomic("f", 3.0)
