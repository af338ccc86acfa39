"""Calibration of an arm's joint placements and encoder offsets from noisy poses of its hand that a tracker measures."""

import numpy as np

import linkwork as lw
from linkwork import identify

robot = lw.load("arm7")  # as it was drawn
JOINTS = [joint.name for joint in robot.joints]
ROTATION, POSITION = 2e-4, 1e-4  # the tracker's noise [rad, m]


def arm_as_it_is(seed=0):
    """Return the assembled arm: joints turned by milliradians and moved by half a millimetre, encoder offsets."""
    rng = np.random.default_rng(seed)
    offsets = {f"placement:{name}": rng.normal(size=6) * ([2e-3] * 3 + [5e-4] * 3) for name in JOINTS}
    zeros = rng.normal(size=len(JOINTS)) * 5e-3
    return robot.with_parameters(offsets), zeros


def measured(arm, zeros, samples, seed):
    """Readings of the encoders, and poses of the hand by the tracker."""
    rng = np.random.default_rng(seed)
    q = robot.random_configuration(rng, size=samples)
    X = arm.pose(q + zeros, "hand")
    turns = ROTATION * rng.normal(size=(samples, 3))
    X[:, :3, :3] = [
        lw.pose(axis=w, angle=np.linalg.norm(w))[:3, :3] @ R for w, R in zip(turns, X[:, :3, :3], strict=True)
    ]
    X[:, :3, 3] += POSITION * rng.normal(size=(samples, 3))
    return q, X


def calibrated(samples=120):
    """The arm, the zeros of its encoders, what was measured, and the fit."""
    arm, zeros = arm_as_it_is()
    q, X = measured(arm, zeros, samples, seed=1)
    names = [*(f"zero:{name}" for name in JOINTS), *(f"placement:{name}" for name in JOINTS), "frame:hand"]
    return arm, zeros, (q, X), identify.placements(robot, q, X, "hand", parameters=names)


if __name__ == "__main__":
    arm, zeros, _, fit = calibrated()
    assert fit.success and len(fit.values) == 4 * 7 + 6  # zeros and placements together show no more than these

    # At configurations that nobody measured, the hand is where the calibrated robot says
    q = robot.random_configuration(seed=2, size=1000)
    truth = arm.pose(q + zeros, "hand")
    before, after = (
        np.linalg.norm(lw.pose_difference(X, truth)[:, 3:], axis=1)
        for X in (robot.pose(q, "hand"), fit.robot.pose(fit.configuration(q), "hand"))
    )
    assert after.mean() < POSITION and before.mean() > 20.0 * after.mean()
    assert (fit.sigma[3:] < 1.3 * POSITION).all() and (fit.held_out.error[3:] < 2.0 * POSITION).all()
    print(f"the hand is {1e3 * after.mean():.3f} mm from where it is said to be, and was {1e3 * before.mean():.2f} mm")
