"""Invariants 9 to 13: kinematics."""

import numpy as np

from invariants.cases import Case, all_cases, cases, per_unit
from linkwork.model.body import WORLD


def views(frame):
    """A frame's motion in its own axes, at the world's origin, and at its own in the world's axes."""
    return {"local": {"expressed_in": frame}, "world": {"point": "world"}, "aligned": {}}


def times(J, v):
    return np.einsum("...ij,...j->...i", J, v)


def twist_of(X, rate):
    """(ω; v) of a pose's rate, in the world's axes."""
    spin = rate[..., :3, :3] @ np.swapaxes(X[..., :3, :3], -1, -2)
    return np.stack([spin[..., 2, 1], spin[..., 0, 2], spin[..., 1, 0], *np.moveaxis(rate[..., :3, 3], -1, 0)], axis=-1)


def test_09_forward_kinematics_is_the_product_of_homogeneous_matrices():
    """9. Forward kinematics beside the product of homogeneous matrices: 1e-13."""
    for case in cases():
        expected = np.stack([case.book.frame(body.name).X for body in case.tree.bodies], axis=-3)
        case.close(case.f("forward_kinematics", case.q), expected, 1e-13, core=2)
        for frame in case.frames:
            case.close(case.f(("pose", frame), case.q), case.book.pose(frame), 1e-13, frame, core=2)


def test_10_jacobian_times_velocity_is_the_frames_velocity():
    """10. J v is the frame's velocity, in local, world's and aligned axes: 1e-12."""
    for case in cases():
        for frame in case.frames:
            for name, view in views(frame).items():
                twist = times(case.f(("jacobian", frame, view), case.q), case.v)
                E, at = view.get("expressed_in", "world"), view.get("point")
                case.close(twist, case.book.twist(frame, "world", E, at), 1e-12, f"{frame} {name}", core=1)
                case.close(case.f(("twist", frame, view), case.q, case.v), twist, 1e-12, f"{frame} {name}", core=1)


def test_11_jacobian_is_the_derivative_of_the_pose():
    """11. J beside central differences (h = 1e-6): 1e-8; beside derivatives by dual numbers: 1e-12."""
    h = 1e-6
    for case in cases():
        frame = case.frames[0]
        X, J = case.f(("pose", frame), case.q), case.f(("jacobian", frame), case.q)

        def exact(unit, case=case, frame=frame, X=X):
            q_dot = case.f("velocity_to_configuration_derivative", case.q, unit)
            return twist_of(X, case.f.rate(("pose", frame), (case.q, q_dot)))

        def nearly(unit, case=case, frame=frame, X=X):
            ahead, behind = (case.f(("pose", frame), case.f("integrate", case.q, s * h * unit)) for s in (1.0, -1.0))
            return twist_of(X, (ahead - behind) / (2.0 * h))

        case.close(J, per_unit(case, exact), 1e-12, core=2)
        case.close(J, per_unit(case, nearly), 1e-8, "differences", core=2)


def test_12_frame_acceleration_is_jacobian_rate_times_velocity_plus_jacobian_times_acceleration():
    """12. J̇ v + J a is the frame's acceleration: 1e-10; J̇ beside differences: 1e-7, beside dual numbers: 1e-12."""
    for case in cases():
        for frame in case.frames:
            for name, view in views(frame).items():
                J, J_dot = (
                    case.f(("jacobian", frame, view), case.q),
                    case.f(("jacobian_derivative", frame, view), case.q, case.v),
                )
                bias = times(J_dot, case.v)
                acceleration = case.f(("acceleration", frame, view), case.q, case.v, case.a)
                case.close(bias + times(J, case.a), acceleration, 1e-10, f"{frame} {name}", core=1)
                bias_acceleration = case.f(("bias_acceleration", frame, view), case.q, case.v)
                case.close(bias_acceleration, bias, 1e-10, f"{frame} {name}, bias", core=1)
        frame = case.frames[0]
        J_dot = case.f(("jacobian_derivative", frame), case.q, case.v)
        case.close(J_dot, case.f.rate(("jacobian", frame), (case.q, case.q_dot)), 1e-12, frame, core=2)
        nearly = case.difference(lambda q, v, case=case, frame=frame: case.f(("jacobian", frame), q))
        case.close(J_dot, nearly, 1e-7, f"{frame}, differences", core=2)


def angles(case: Case) -> np.ndarray:
    """Return a mask of the coordinates that are angles with the period 2π."""
    values = np.zeros(case.tree.nq, dtype=bool)
    for i, body in enumerate(case.tree.bodies):
        periodic = [unit == "rad" and not hasattr(body.joint, "pitch") for unit in body.joint.q_units]
        values[case.tree.q_slices[i]] = periodic
    return values


def test_13_joint_angles_have_the_period_of_a_revolution():
    """13. Angles have the period 2π: 1e-12."""
    for case in cases(plain=True, ours=True):
        turned, zero = case.q + np.where(angles(case), 2.0 * np.pi, 0.0), np.zeros(case.tree.nv)
        for function, arrays in {"forward_kinematics": (), "mass_matrix": (), "inverse_dynamics": (zero, zero)}.items():
            actual, expected = case.f(function, turned, *arrays), case.f(function, case.q, *arrays)
            case.close(actual, expected, 1e-12, function, core=actual.ndim - 1)
    assert any(angles(case).any() for case in all_cases() if case.tree.bodies[0].parent == WORLD)
