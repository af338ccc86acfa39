"""Identification of an arm's inertias and friction from an excitation motion with noisy, filtered measurements."""

import numpy as np

import linkwork as lw
from linkwork import identify

robot = lw.load("arm7")  # as its file says
JOINTS = ("damping", "friction")
NOISE = np.array([0.5, 0.5, 0.4, 0.4, 0.2, 0.2, 0.1])  # of joint forces [N·m]


def arm_as_it_is():
    """Return the arm of the workshop, with a tool that the file lacks, other inertias and other friction."""
    arm = robot.with_payload("payload", "hand", 0.8, (0.0, 0.03, 0.06), (1e-3, 1e-3, 5e-4))
    for name, mass, shift in (("upper_arm_distal", 3.1, 0.01), ("forearm_distal", 2.1, -0.02), ("wrist", 1.7, 0.01)):
        link = arm.link(name)
        arm = arm.with_inertia(name, mass=mass, com=link.com + np.array([shift, 0.0, 0.01]), inertia=1.2 * link.inertia)
    for joint in arm.joints:
        arm = arm.with_joint(joint.with_damping(0.7 * joint.damping).with_friction(1.5 * joint.friction))
    return arm


def measured(arm, motion, seed):
    """t, q and tau as a bus gives them, 500 times a second for three periods: encoders and motor currents."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, 3.0 * motion.period, 2e-3)
    q, v, a = motion.at(t)
    tau = arm.inverse_dynamics(q, v, a, passive=True)
    return t, q + 2e-5 * rng.normal(size=q.shape), tau + NOISE * rng.normal(size=q.shape)


def prepared(t, q, tau, cutoff=15.0):
    """q, v, a and tau, low-passed alike; 30 samples a second, as many as are independent of each other."""
    moving = identify.differentiate(robot, t, q, cutoff=cutoff)
    forces = identify.low_pass(t, tau, cutoff=cutoff)
    inner = slice(100, -100, round(0.5 / cutoff / (t[1] - t[0])))
    return *(x[inner] for x in moving), forces[inner]


def estimated():
    """The arm, its measurements, and two fits of them: base parameters, and a robot."""
    arm = arm_as_it_is()
    motion = identify.exciting_trajectory(robot, passive=JOINTS, num_trials=40, seed=1)
    data = prepared(*measured(arm, motion, seed=2))
    base = identify.base_parameters(robot, *data, passive=JOINTS)
    return arm, data, base, identify.inertias(robot, *data, passive=JOINTS)


if __name__ == "__main__":
    arm, data, base, fit = estimated()

    # Base parameters are as far from the truth as their deviations say
    errors = (base.values - base.values_of(arm)) / base.standard_deviations
    assert 0.5 < np.mean(errors**2) < 2.0 and np.abs(errors).max() < 5.0

    # The robot with the estimate in it has inertias that bodies can have, and predicts what was held out
    assert fit.success and fit.robot.physical_consistency() == {}
    assert (fit.held_out.error < 0.5 * fit.held_out.nominal_error).all()
    error, before = (np.linalg.norm(x) for x in (fit.held_out.error, fit.held_out.nominal_error))
    print(f"{len(base.values)} base parameters; held-out forces are wrong by {error:.2f} N·m instead of {before:.2f}")
