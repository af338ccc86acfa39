"""Small functions of identification: samples, weights, accuracies, and what measurements do not determine."""

from types import SimpleNamespace

import numpy as np
import pytest

import linkwork as lw
from linkwork.identify import (
    base_parameter_fit,
    estimate_tables,
    kinematic_calibration,
    linear_least_squares,
    measurements,
    motion_excitation,
    parameter_selection,
)
from linkwork.identify.linear_least_squares import Reduced
from linkwork.identify.measurements import HeldOut
from linkwork.identify.placement_model import PlacementModel

TWO = lw.load("double_pendulum")


def test_invalid_weights_and_held_out_samples_are_refused():
    weights = measurements.joint_weights
    assert weights("f", TWO, None) is None
    assert weights("f", TWO, {"elbow": 0.25}).tolist() == [0.0, 0.25]
    assert weights("f", TWO, [1e100, 0.0]).tolist() == [1e100, 0.0]
    for value in (0.0, [0.0, np.nextafter(1e100, np.inf)]):
        with pytest.raises(ValueError, match=r"f: weights: expected 1 / σ of each joint force, .* at most 1e"):
            weights("f", TWO, value)
    split = measurements.split
    for held_out, expected in (
        (None, [False] * 4),
        (0.25, [False] * 3 + [True]),
        (0.26, [False] * 2 + [True] * 2),
        (0.75, [False] + [True] * 3),
        ([0, -1], [True, False, False, True]),
        ([True, False, True, False], [True, False, True, False]),
    ):
        assert split("f", held_out, (4,)).tolist() == expected
    assert split("f", [1], (2, 3)).tolist() == [False] * 3 + [True] * 3
    for held_out in (-1e-300, 1.0, [4], [-5], [0.5], [[1]], [True, False]):
        with pytest.raises(ValueError, match=r"f: held_out: expected a fraction >= 0 and < 1, or indices"):
            split("f", held_out, (4,))
    with pytest.raises(ValueError, match=r"f: held_out: all of the first dimension \(4\) is held out"):
        split("f", 0.8, (4,))


def test_times_at_unequal_steps_and_wrapped_angles_are_refused():
    t = 0.01 * np.arange(16)
    assert np.isclose(measurements._step("f", t, t, "x"), 0.01)
    moved = t.copy()
    moved[-1] += 0.9e-5  # the mean changes by 0.06 of a thousandth
    assert measurements._step("f", moved, t, "x") > 0.01
    moved[-1] += 0.3e-5
    with pytest.raises(ValueError, match=r"f: t: expected times at equal steps, got steps from 0.01 to 0.010012 s"):
        measurements._step("f", moved, t, "x")
    for times in (t[::-1], 0.0 * t):
        with pytest.raises(ValueError, match="f: t: expected times at equal steps"):
            measurements._step("f", times, t, "x")
    for times, x in ((t[:15], t[:15]), (t, t[:15]), (t[:, None], t)):
        with pytest.raises(ValueError, match="f: x: expected at least 16 samples of one motion"):
            measurements._step("f", times, x, "x")
    q = np.array([[0.1, 3.0], [0.2, 3.0 - np.pi]])
    measurements._refuse_wrapped_angles("f", TWO, q)
    q[1, 1] = np.nextafter(q[1, 1], -1.0) - 1e-15
    with pytest.raises(ValueError, match=r"f: q\[1, 1\] \('elbow'\): expected an angle within half a revolution"):
        measurements._refuse_wrapped_angles("f", TWO, q)


def test_accuracies_of_fits_are_ratios_of_errors():
    errors = HeldOut(3, np.array([0.2, 0.1, 0.3]), np.array([0.4, 0.0, 2.0]))
    assert errors.relative[[0, 2]].tolist() == [0.5, 0.15] and np.isnan(errors.relative[1])
    essential = base_parameter_fit.BaseParameterFit.essential.fget
    shares = np.array([0.1, 0.3, 0.33, 1.0 / 3.0, 0.34])
    assert essential(SimpleNamespace(relative_deviations=shares)).tolist() == [True, True, True, False, False]
    x, s = np.array([2.0, 2.0, 0.0]), np.array([19.0, 21.0, 1.0])
    lines = estimate_tables.estimate_lines(["m", "h", "k"], x, s, x, np.array([True, False, False]))
    assert "950 %" in lines[-3] and "> 1000 %" in lines[-2] and "> 1000 %" in lines[-1]
    assert "> 1000 %" in estimate_tables.estimate_lines(["m"], x[:1], 10.0 * x[:1], x[:1], np.array([True]))[-1]
    assert "not distinct from zero" not in lines[-3] and "not distinct from zero" in lines[-2]


def fit(columns, b, sigma=1.0):
    rows = np.column_stack([columns, b])
    result = Reduced(rows, np.zeros(len(rows), dtype=int), len(rows), np.array([b.mean()]), np.array([(b * b).mean()]))
    return linear_least_squares._weighted_fit(result, np.array([sigma]), ~columns.any(axis=0))


def test_fits_determine_parameters_of_their_rows():
    rng = np.random.default_rng(6)
    A, x = 0.3 * rng.normal(size=(7, 3)), np.array([0.7, -1.3, 0.4])
    full = fit(A, A @ x, 2.0)
    assert np.allclose(full.x, x) and np.allclose(full.covariance, 4.0 * np.linalg.inv(A.T @ A))
    assert np.isclose(full.condition, np.linalg.cond(A / np.linalg.norm(A, axis=0)))
    assert np.allclose(full.freedom, 4.0)
    missing = A * [1.0, 0.0, 1.0]
    part = fit(missing, missing @ x)
    assert np.allclose(part.x, [0.7, 0.0, 0.4]) and part.condition == np.inf
    assert np.allclose(np.abs(part.unobservable[:, 0]), [0.0, 1.0, 0.0])
    zero = fit(0.0 * A, A @ x)
    assert zero.x.tolist() == [0.0] * 3 and zero.unobservable.shape == (3, 3) and zero.condition == np.inf
    assert fit(A[:, :0], A @ x).condition == 1.0
    assert linear_least_squares.triangular(A[:2]).shape == linear_least_squares.triangular(A).shape == (3, 3)
    constant = Reduced(A, np.zeros(7, dtype=int), 7, np.array([2.0, 2.0]), np.array([4.0, 4.0 + 1e-6]))
    shares = constant.r_squared(np.array([7e-7, 7e-7]))
    assert np.isnan(shares[0]) and np.isclose(shares[1], 0.9)
    half = Reduced(A, np.array([0, 0, 0, 1, 1, 1, 1]), 7, np.zeros(2), np.ones(2)).weighted(np.array([0.0, 0.5]))
    assert np.allclose(half.T @ half, 0.25 * A[3:].T @ A[3:])


def test_measurements_that_determine_too_few_parameters_are_refused_with_their_names():
    unobservable = np.array([[0.2, 0.0], [0.12, 0.0], [0.09, 0.0], [0.0, 1.0]])
    lacking = SimpleNamespace(unobservable=unobservable)
    base = SimpleNamespace(names=("a", "b", "c", "d"), rank=4)
    v = np.array([[3e-8, 3e-9, 0.0], [3e-8, 3e-9, 0.0]])
    samples = SimpleNamespace(v=v, a=0.0 * v, robot=SimpleNamespace(v_names=("j1", "j2", "j3")))
    words = r"f: the measurements do not excite 2 of 4 base parameters: 'd', 'a', 'b', with .*; 'j2', 'j3' do not move"
    with pytest.raises(ValueError, match=words):
        base_parameter_fit.require_excitation("f", lacking, base, samples)
    base_parameter_fit.require_excitation("f", SimpleNamespace(unobservable=unobservable[:, :0]), base, samples)
    readings = np.array([[0.1, 0.2, 0.3], [0.1 + 3e-9, 0.2 + 3e-10, 0.3]])
    robot = SimpleNamespace(q_names=("q1", "q2", "q3"))
    words = r"f: the measurements do not determine 2 of 4 offsets: 'd', 'a', 'b'; 'q2', 'q3' do not move"
    with pytest.raises(ValueError, match=words):
        kinematic_calibration._require_observable("f", robot, lacking, base, readings)


def test_invalid_weights_and_poses_of_calibrations_are_refused():
    weights = kinematic_calibration._weights
    assert weights("f", [0.5, 0.25, 2.0], 3).tolist() == [0.5, 0.25, 2.0]
    for value in ([1.0, 0.0, 1.0], [1.0, np.inf, 1.0], [1.0, 2.0], [-1.0, 1.0, 1.0]):
        with pytest.raises(ValueError, match="f: weights: expected 3 positive numbers"):
            weights("f", value, 3)
    q = np.array([[0.3, -0.2], [0.5, 0.7]])
    poses = TWO.pose(q, "tip")
    assert (kinematic_calibration._read("f", TWO, q, poses, (4, 4))[1] == poses).all()
    reflected, bent, shifted = poses.copy(), poses.copy(), poses.copy()
    reflected[1, :3, 0] *= -1.0
    bent[1, 0, 0] += 3e-3
    shifted[1, 3, 0] = 2e-3
    for wrong in (reflected, bent, shifted):
        with pytest.raises(ValueError, match=r"f: poses\[1\] is not a valid pose: its rotation is not orthogonal"):
            kinematic_calibration._read("f", TWO, q, wrong, (4, 4))
    near = poses.copy()
    near[1, 3, 0] = 0.9e-3
    assert (kinematic_calibration._read("f", TWO, q, near, (4, 4))[1] == near).all()


def test_offsets_are_named_singly_by_kind_or_by_pattern():
    def expanded(text):
        return PlacementModel._expanded(SimpleNamespace(robot=TWO), "f", text)

    assert expanded("base") == ["base"] and expanded("zero:elbow") == ["zero:elbow"]
    assert expanded("placement") == ["placement:shoulder", "placement:elbow"]
    assert expanded("zero") == ["zero:shoulder", "zero:elbow"] and expanded("zero:e*") == ["zero:elbow"]
    for text, words in (("zero:w*", "no joint named 'w\\*'"), ("gap", "no offset named 'gap'")):
        with pytest.raises(lw.errors.UnknownNameError, match=words):
            expanded(text)


def test_limits_without_a_range_of_motion_are_refused():
    def limits(**change):
        values = {"lower": None, "upper": None, "velocity": None, "acceleration": None}
        return motion_excitation._Limits("f", TWO, **{**values, **change})

    small = limits(lower=-0.25, upper=0.25, velocity=0.5, acceleration=0.75)
    assert (small.high - small.low).tolist() == [0.5] * 2 and small.speed.tolist() == [0.5] * 2
    for change, name in (
        ({"lower": 0.25, "upper": [0.5, 0.25]}, "lower, upper"),
        ({"velocity": [0.5, 0.0]}, "velocity"),
        ({"acceleration": [0.5, 0.0]}, "acceleration"),
    ):
        with pytest.raises(ValueError, match=f"f: {name}: no range of motion for 'elbow'; lock these joints"):
            limits(**change)


def test_robots_with_forces_that_are_not_measured_are_refused():
    spring = lw.force_elements.SpringDamper("tip", "base", stiffness=10.0, rest_length=0.1)
    with pytest.raises(
        ValueError, match="f: robot 'double_pendulum' has force elements, whose forces are not measured"
    ):
        parameter_selection.columns_of("f", TWO.with_force_elements(spring), None, None, "stribeck")
    with pytest.raises(ValueError, match="f: robot 'fourbar' has constraints, whose forces are not measured"):
        parameter_selection.columns_of("f", lw.load("fourbar"), None, None, "stribeck")


def test_two_samples_are_a_motion():
    q = np.array([[0.1, 0.2], [0.3, -0.4]])
    assert len(measurements.read("f", TWO, q, q, q, q)) == 2
    for few in (q[:1], q[0]):
        with pytest.raises(ValueError, match=r"f: q: expected samples of a motion, shape \(n, 2\), got shape"):
            measurements.read("f", TWO, few, few, few, few)
