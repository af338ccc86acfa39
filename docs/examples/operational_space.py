"""Operational-space control through a singularity: a target pulls the hand out of reach, the arm stretches and returns.

Near the singularity Λ = (J M⁻¹ Jᵀ)⁻¹ is unbounded, and so are the forces along the arm.  The controller bounds the
condition number of Λ⁻¹, so forces stay small.  The other arms of the batch are not affected.
"""

import numpy as np

import linkwork as lw

rows = [
    {"a": a, "mass": 4.0 * a, "com": (-a / 2, 0, 0), "inertia": (1e-3, a**3 / 3, a**3 / 3)} for a in (0.5, 0.4, 0.3)
]
arm = lw.Robot.from_dh("planar", rows, convention="standard", tool=(0, 0, 0)).with_gravity((0.0, -9.81, 0.0))
bent = np.array([0.4, 0.9, -0.7])

# x and y of the tool come first, and a posture in what they leave
position_task = lw.ik.PositionTask("tool", axes="reference", tolerance=(1e-6, 1e-6, np.inf))
posture = lw.ik.PostureTask(level=1, target=bent)
law = lw.control.OperationalSpace(
    arm, [position_task, posture], stiffness={"tool": 100.0, "posture": 20.0}, effort_limits=200.0
)

if __name__ == "__main__":
    step, steps = 2e-3, 1500
    first = arm.pose(bent, "tool")[:3, 3]
    out = np.sin(np.pi * np.arange(steps) / steps)[:, None] ** 2
    path = first * (1.0 + (1.5 / np.linalg.norm(first) - 1.0) * out)  # 1.5 m at most, of 1.2 that the arm has
    start = bent + 0.1 * np.random.default_rng(0).normal(size=(8, 3))
    runs = arm.simulate(
        start,
        controller=law,
        duration=step * steps,
        dt=step,
        time_inputs={"tool": path},
        record_every=10,
        record=["tau"],
    )
    assert np.all(runs.success)  # no run stopped early

    J = arm.jacobian(runs.q, "tool")[..., 3:5, :]
    stretched = np.linalg.svd(J, compute_uv=False)[..., -1].min(axis=1)
    forces = np.abs(runs.records["tau"]).max(axis=(1, 2))
    assert (stretched < 0.1).all() and (forces < 200.0).all() and np.abs(runs.v).max() < 20.0
    assert np.abs(arm.pose(runs.q[:, -1], "tool")[:, :2, 3] - path[-1, :2]).max() < 0.05  # and back
    alone = arm.simulate(
        start[3], controller=law, duration=step * steps, dt=step, time_inputs={"tool": path}, record_every=10
    )
    assert np.array_equal(alone.q, runs.q[3])
    print(f"singular value {stretched.max():.3f} at most where stretched; {forces.max():.0f} N·m at most")
