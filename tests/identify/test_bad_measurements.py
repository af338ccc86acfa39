"""Invalid measurements, and parameters that cannot be estimated, are refused by name."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import linkwork as lw
from linkwork import identify
from linkwork.errors import UnknownNameError
from oracles.example_robots import shipped
from oracles.trees import TREES, robot_of

from .cases import motion, pendulum_motion


def test_invalid_arrays_of_measurements_for_identification_are_refused() -> None:
    robot = lw.load("double_pendulum")
    q, v, a = pendulum_motion(40)
    tau = robot.inverse_dynamics(q, v, a)
    broken = tau.copy()
    broken[3, 1] = np.nan
    name = robot.v_names[1]
    for function in (identify.base_parameters, identify.inertias):
        for arguments, problem in (
            ((q, v, a, broken), rf"tau\[3, 1\] \('{name}'\) is nan; leave out samples"),
            ((q, v, a[:-1], tau), r"a: expected as many samples as q, shape \(40, 2\), got shape \(39, 2\)"),
            ((q, v, a, tau[:, :1]), r"tau: expected an array of shape \(..., 2\)"),
            ((q[0], v[0], a[0], tau[0]), r"q: expected samples of a motion, shape \(n, 2\), got shape \(2,\)"),
            ((q[:1], v[:1], a[:1], tau[:1]), "expected samples of a motion"),
            ((q, v, a, tau.astype(complex)), "which are not real float64 numbers"),
        ):
            with pytest.raises(ValueError, match=problem):
                function(robot, *arguments)
        with pytest.raises(TypeError, match="robot: expected a Robot"):
            function(q, v, a, tau, tau)
        with pytest.raises((TypeError, ValueError), match=f"{function.__name__}: tau: expected"):
            function(robot, q, v, a, None)
    with pytest.raises(ValueError, match="more measured joint forces than the 6 base parameters, got 3 samples of 2"):
        identify.base_parameters(robot, q[:4], v[:4], a[:4], tau[:4])


def test_identification_with_too_few_samples_to_weight_forces_is_refused() -> None:
    """Parameters fit one joint force exactly: its σ would be zero, and the estimate far off."""
    robot = lw.load("double_pendulum")
    q, v, a = motion(robot, 4, 1)
    data = q, v, a, robot.inverse_dynamics(q, v, a) + 0.1 * np.random.default_rng(2).normal(size=v.shape)
    problem = (
        rf"weights from residuals: expected more samples than the \d parameters that '({'|'.join(robot.v_names)})'"
    )
    for function in (identify.base_parameters, identify.inertias):
        with pytest.raises(ValueError, match=problem + ".* got 4 besides those held out, .* pass weights="):
            function(robot, *data, held_out=0.0)
    fit = identify.base_parameters(robot, *data, held_out=0.0, weights=[1.0, 1.0])
    assert (np.abs(fit.values - fit.nominal) < 10.0 * fit.standard_deviations).all()
    arm = lw.load("arm6")
    q = arm.random_configuration(seed=3, size=6)
    X = arm.pose(q, "tool")
    X[:, :3, 3] += 1e-3 * np.random.default_rng(4).normal(size=(6, 3))
    with pytest.raises(ValueError, match=r"placements: weights from residuals: .* parameters that '(phi|d)_[xyz]'"):
        identify.placements(arm, q, X, "tool", held_out=0.0)


def test_invalid_options_of_identification_are_refused() -> None:
    robot = lw.load("double_pendulum")
    q, v, a = pendulum_motion(40)
    tau = robot.inverse_dynamics(q, v, a)

    def estimated(**options: object) -> object:
        return identify.base_parameters(robot, q, v, a, tau, **options)

    for options, problem in (
        ({"held_out": 1.0}, "held_out: expected a fraction >= 0 and < 1, or indices"),
        ({"held_out": -0.1}, "held_out: expected a fraction"),
        ({"held_out": [40]}, r"indices in the first dimension \(40\)"),
        ({"held_out": np.ones(40, dtype=bool)}, r"all of the first dimension \(40\) is held out"),
        ({"weights": [1.0]}, r"weights: expected a number, or an array of shape \(2,\), got shape \(1,\)"),
        ({"weights": [0.0, 0.0]}, "weights: expected 1 / σ of each joint force"),
        ({"weights": [1.0, -1.0]}, "weights: expected numbers >= 0, got -1"),
        ({"weights": "even"}, "weights: expected an array of finite numbers, got 'even'"),
        ({"weights": [1.0, None]}, r"weights: expected an array of finite numbers, got \[1.0, None\]"),
        ({"weights": {robot.v_names[0]: "one"}}, r"weights\['.*'\]: expected an array of finite numbers, got 'one'"),
        ({"weights": {robot.v_names[0]: [1.0, 2.0]}}, r"weights\['.*'\]: .* got shape \(2,\)"),
        ({"held_out": "last"}, "held_out: expected a fraction.*got 'last'"),
        ({"held_out": [[1], [2, 3]]}, "held_out: expected a fraction.*not an array"),
        ({"held_out": {1: 2}}, "held_out: expected a fraction.*got a dict"),
        ({"friction": "dry"}, "friction: expected one of .smooth., .coulomb., .stribeck., or a FrictionLaw, got .dry."),
        ({"bodies": []}, "to estimate, got none"),
    ):
        with pytest.raises(ValueError, match=problem):
            estimated(**options)
    for options, problem in (
        ({"weights": {"ellbow": 1.0}}, "no joint or coordinate of v named 'ellbow'"),
        ({"passive": ["dampings"]}, "no kind of passive parameter named 'dampings'; did you mean 'damping'"),
        ({"bodies": ["lower"]}, "no body named 'lower'; did you mean 'lower_rod'"),
        ({"wrenches": {"tipp": np.zeros(6)}}, "no frame named 'tipp'"),
    ):
        with pytest.raises(UnknownNameError, match=problem):
            estimated(**options)
    with pytest.raises(ValueError, match=r"wrenches\['tip'\]: expected shape \(40, 6\) or \(6,\), got \(39, 6\)"):
        estimated(wrenches={"tip": np.zeros((39, 6))})
    with pytest.raises(TypeError, match="bodies: expected a list of names, got 'lower_rod'"):
        estimated(bodies="lower_rod")
    for spread in (0.0, -1.0, np.nan, "wide", [0.5, 0.5]):
        with pytest.raises(ValueError, match="spread: expected a positive number"):
            identify.inertias(robot, q, v, a, tau, spread=spread)
    for at_most in (0, 1.5, True, "many"):
        with pytest.raises(ValueError, match="max_iterations: expected an integer >= 1, got"):
            identify.inertias(robot, q, v, a, tau, max_iterations=at_most)


def test_robots_without_inertias_are_refused_for_identification() -> None:
    path = lw.robots.path("double_pendulum")
    without = lw.load(path, inertia="ignore")
    q, v, a = pendulum_motion(40)
    for function in (identify.base_parameters, identify.inertias):
        with pytest.raises(ValueError, match="was loaded without inertias"):
            function(without, q, v, a, q)
    locked = shipped("arm7").with_locked_joints([joint.name for joint in shipped("arm7").joints])
    empty = np.zeros((40, 0))
    with pytest.raises(ValueError, match="has no degrees of freedom"):
        identify.base_parameters(locked, empty, empty, empty, empty)
    with pytest.raises(ValueError, match=r"exciting_trajectory: .* has no degrees of freedom"):
        identify.exciting_trajectory(locked)
    coupled = robot_of(TREES["coupled_0"])
    q, v, a = motion(coupled, 10)
    many = np.zeros((10, len(coupled.bodies)))
    if many.shape[1] != coupled.nv:
        with pytest.raises(ValueError, match=rf"tau: expected an array of shape \(..., {coupled.nv}\)"):
            identify.base_parameters(coupled, q, v, a, many)
    point = lw.load("double_pendulum").with_inertia("lower_rod", mass=1.0, com=(0, 0, -1.0), inertia=np.zeros((3, 3)))
    q, v, a = pendulum_motion(40)
    tau = point.inverse_dynamics(q, v, a)
    fit = identify.inertias(point, q, v, a, tau)
    assert fit.unchanged == ("lower_rod",) and "unchanged, " in str(fit)
    with pytest.raises(ValueError, match="'lower_rod' cannot be estimated from the robot's inertias"):
        identify.inertias(point, q, v, a, tau, bodies=["lower_rod"])


def test_identification_without_scipy_installed_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = lw.load("double_pendulum")
    q, v, a = pendulum_motion(40)
    tau = robot.inverse_dynamics(q, v, a)
    for part in ("optimize", "signal"):
        monkeypatch.setitem(sys.modules, f"scipy.{part}", None)
    assert identify.inertias(robot, q, v, a, tau).success
    with pytest.raises(ImportError, match=r'identify.inertias needs SciPy.*pip install "linkwork\[identify\]"'):
        identify.inertias(robot, q, v, a, tau, passive=["damping"])
    with pytest.raises(ImportError, match=r"identify.differentiate needs SciPy"):
        identify.differentiate(robot, np.arange(40) * 0.01, q, cutoff=5.0)
