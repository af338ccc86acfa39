"""Assembly with robot parameters in the call, and velocities and accelerations along driven motions."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.cut_four_bar import four_bar


@pytest.mark.slow(every=5)
def test_assembly_with_parameters_equals_that_of_the_edited_robot():
    """Parameters in one call or in several, with one kernel."""
    robot = four_bar("C")
    guess = robot.assemble(hold={"A": 0.8}).q
    for length in (0.45, 0.52):
        values = {"frame:coupler end": [0.0, 0.0, 0.0, length - 0.5, 0.0, 0.0], "placement:D": [0, 0, 0, 0.01, 0, 0]}
        edited = robot.with_parameters(values)
        assembled = robot.assemble(guess, hold={"A": 0.8}, parameters=values)
        assert np.abs(assembled.q - edited.assemble(guess, hold={"A": 0.8}).q).max() < 1e-8
        assert (
            np.abs(edited.constraint_error(assembled.q)).max()
            < 1e-9
            < np.abs(robot.constraint_error(assembled.q)).max()
        )
        assert assembled.sign == edited.assemble(guess, hold={"A": 0.8}).sign and "is assembled" in assembled.explain()
        angles = np.linspace(0.8, 1.6, 5)
        rates = {"velocity": {"A": 2.0}, "acceleration": {"A": 3.0}}
        driven, known = (
            robot.drive_mechanism({"A": angles}, guess, parameters=values, **rates),
            edited.drive_mechanism({"A": angles}, guess),
        )
        assert np.abs(driven.q - known.q).max() < 1e-8
        assert assembled.robot == driven.robot == edited and known.robot is edited
        left = edited.constraint_jacobian(driven.q) @ driven.v[..., None]
        assert np.abs(left).max() < 1e-9


@pytest.mark.slow(every=5)
def test_assembly_of_a_batch_of_parameters_equals_an_assembly_for_each_parameter():
    """Assembled and driven, with changed lengths; variations that fail do not affect the others."""
    robot, rng = four_bar("C"), np.random.default_rng(0)
    guess, angles = robot.assemble(hold={"A": 0.8}).q, np.linspace(0.8, 3.0, 9)
    ends, positions = np.zeros((2, 3, 6)), np.zeros((3, 6))
    ends[..., 3], positions[:, 3] = rng.uniform(-0.02, 0.02, (2, 3)), rng.uniform(-0.01, 0.01, 3)
    ends[0, 1, 3], ends[1, 2, 3] = 5.0, -0.42  # too long at all angles, and too short for some
    values = {"frame:coupler end": ends, "placement:D": positions}
    assembled = robot.assemble(guess, hold={"A": 0.8}, parameters=values)
    rates = {"velocity": {"A": np.linspace(1.0, 2.0, 9)}, "acceleration": {"A": 3.0}}
    moved = robot.drive_mechanism({"A": angles}, guess, parameters=values, **rates)
    assert assembled.success.tolist() == [[True, False, True], [True, True, True]]
    assert moved.success.tolist() == [[True, False, True], [True, True, False]]
    assert moved.status[0, 1] == assembled.status[0, 1] and moved.status[1, 2] == "turning_point"
    assert "is not assembled" in moved.explain((0, 1)) and "turning point" in moved.explain((1, 2))
    assert moved.reached[0, 1].sum() == 0 < moved.reached[1, 2].sum() < 9
    for index in np.ndindex(2, 3):
        edited = robot.with_parameters({"frame:coupler end": ends[index], "placement:D": positions[index[1]]})
        alone = edited.assemble(guess, hold={"A": 0.8}, check=False)
        assert assembled.success[index] == alone.success and assembled.sign[index] == alone.sign
        if alone.success:
            np.testing.assert_allclose(assembled.q[index], alone.q, rtol=0, atol=1e-9)
            motion = edited.drive_mechanism({"A": angles}, guess, check=False, **rates)
            for name in ("q", "v", "a", "slack", "last"):
                moved_value, same = getattr(moved, name)[index], getattr(motion, name)
                np.testing.assert_allclose(moved_value, same, rtol=1e-8, atol=1e-8, err_msg=f"{index} {name}")
            assert moved.iterations[index] == motion.iterations and (moved.reached[index] == motion.reached).all()
    shifted = {"A": np.stack([angles, angles + 0.1])[:, None]}  # of the first axis: each with its own angles
    beside = robot.drive_mechanism(shifted, guess, parameters=values)
    assert np.array_equal(beside.q[0], moved.q[0], equal_nan=True) and beside.q.shape == (2, 3, 9, robot.nq)
    np.testing.assert_allclose(beside.q[1, 0, :, 0], angles + 0.1)
    with pytest.raises(ValueError, match="time and parameters do not broadcast together"):
        robot.drive_mechanism({"A": shifted["A"][:, 0]}, guess, parameters={"placement:D": np.zeros((3, 6))})


def test_invalid_parameters_of_assembly_are_refused():
    robot = four_bar("C")
    for wrong, error, message in (
        ({"frame:nothing": np.zeros(6)}, KeyError, "no frame named 'nothing'"),
        ({"frame:coupler end": np.zeros(5)}, ValueError, "assemble: parameters: frame:coupler end: expected finite"),
        ({"gravity": np.zeros(3)}, ValueError, "assemble: parameters: .*does not depend on gravity"),
        ([1.0], TypeError, "assemble: parameters: expected a dict"),
    ):
        with pytest.raises(error, match=message):
            robot.assemble(parameters=wrong)


def test_velocities_and_accelerations_of_driven_motions_are_derivatives_by_time():
    """Differences of q by time are of fourth order; invalid drivers are refused."""
    robot, h, omega, alpha = four_bar("C"), 1e-3, 3.0, 5.0
    t = h * np.arange(-3, 4)
    angles = 0.8 + omega * t + 0.5 * alpha * t * t
    driven = robot.drive_mechanism({"A": angles}, velocity={"A": omega + alpha * t}, acceleration={"A": alpha})
    q = driven.q
    rate = (q[1] - 8.0 * q[2] + 8.0 * q[4] - q[5]) / (12.0 * h)
    bend = (-q[1] + 16.0 * q[2] - 30.0 * q[3] + 16.0 * q[4] - q[5]) / (12.0 * h * h)
    assert np.abs(driven.v[3] - rate).max() < 1e-8 and np.abs(driven.a[3] - bend).max() < 1e-3
    assert np.allclose(driven.v[:, 0], omega + alpha * t) and np.allclose(driven.a[:, 0], alpha)
    tau, forces, _ = robot.constrained_inverse_dynamics(q, driven.v, driven.a, actuators="A")
    a, again = robot.constrained_forward_dynamics(q, driven.v, tau)
    assert np.abs(a - driven.a).max() < 1e-8 and np.abs(again - forces).max() < 1e-8
    motion_at_rest = robot.drive_mechanism({"A": angles})
    zeros = np.zeros_like(motion_at_rest.v)
    assert np.array_equal(motion_at_rest.v, zeros) and np.array_equal(motion_at_rest.a, zeros)
    assert not robot.explicit_velocity(motion_at_rest.q, zeros, "A").any()
    assert not robot.explicit_acceleration(motion_at_rest.q, zeros, zeros, "A").any()
    for wrong, error in (({"B": 1.0}, ValueError), ({"A": [1.0, 2.0]}, ValueError), ([1.0], TypeError)):
        with pytest.raises(error, match="drive_mechanism: velocity"):
            robot.drive_mechanism({"A": angles}, velocity=wrong)
