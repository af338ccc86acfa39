"""Constraints that are linear in velocities: rows, drifts and biases, and refused constraints."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.constraints import BallRolling, KnifeEdge, NoSlip, Pfaffian, Rolling, RollingContact
from linkwork.mechanisms.algorithms.constraint_rows import KinematicState, derived


def skater():
    """A floating body with an arm whose hand carries a runner, beside a turning platform."""
    parts = [lw.Link(name, mass=1.0, inertia=(0.1, 0.2, 0.15)) for name in ("body", "arm", "hand", "platform")]
    for name, joint, parent, child, position in (
        ("free", lw.joints.Floating(), "world", "body", (0, 0, 0)),
        ("shoulder", lw.joints.Spherical(), "body", "arm", (0.1, 0.2, 0)),
        ("elbow", lw.joints.Revolute((1, 2, 0)), "arm", "hand", (0.5, 0, 0)),
        ("turn", lw.joints.Revolute((0, 0, 1)), "world", "platform", (0, 0, 0)),
    ):
        parts.append(lw.Joint.of(joint, name=name, parent=parent, child=child, placement=lw.pose(position)))
    robot = lw.Robot.build("skater", *parts)
    robot = robot.with_frame("runner", "hand", lw.pose((0.1, 0.2, 0.3), rpy=(0.3, -0.2, 0.5)))
    return robot.with_point("heel", "hand", (0.3, -0.1, 0.2)).with_direction("edge", "arm", (1, 1, 0))


def slope(function, step=1e-3):
    """The derivative at 0, by central differences of sixth order."""
    terms = ((45, 1), (-9, 2), (1, 3))
    return sum(c * (function(k * step) - function(-k * step)) for c, k in terms) / (60 * step)


def rolling_about(k):
    """Return a velocity constraint that depends on q, v and t."""
    return [
        k.twist("runner", expressed_in="runner")[4],
        k.point_velocity("heel", relative_to="platform")[0] - 0.3 * np.cos(2 * k.time) * k.q("elbow"),
        k.v("turn") * k.point("heel")[2] + k.v("free")[1] * k.pose("hand")[0, 0] - 0.5,
    ]


KINDS = (
    NoSlip("heel"),
    NoSlip("heel", ("edge", "runner.y", "platform.x"), relative_to="platform"),
    NoSlip("runner", "arm.z", relative_to="body"),
    KnifeEdge("runner"),
    KnifeEdge("runner", across=(1, 2, 3), on="platform"),
    Rolling("hand", radius=0.2, on="platform", axis=(0, 1, 1)),
    RollingContact("hand", radius=0.2, on="platform", axis=None),
    BallRolling("hand", radius=0.2, on="platform"),
)


def test_closed_form_velocity_constraints_equal_constraints_differentiated_from_functions():
    robot, rng = skater(), np.random.default_rng(0)
    q, v = robot.random_configuration(rng), rng.normal(size=robot.nv)
    state = KinematicState(robot.tree, list(q), list(v))
    for kind in KINDS:
        robot.with_constraints(kind)
        closed, result = kind.rates(state), derived(robot.tree, kind, list(q), list(v), 0.0)
        np.testing.assert_allclose(closed.rows, result.rows, rtol=0, atol=1e-13)
        np.testing.assert_allclose(closed.bias, result.bias, rtol=0, atol=1e-12)
        assert len(kind.component_names) == len(set(kind.component_names)) == len(kind.row_units) == len(closed.rows)
        if not kind.holonomic:
            np.testing.assert_allclose(closed.rows @ v, kind.velocity(state), rtol=0, atol=1e-13)


@pytest.mark.slow(every=5)
def test_jacobians_drifts_and_biases_of_pfaffian_functions_are_derivatives():
    robot, rng = skater().with_constraints(Pfaffian("odd", rolling_about)), np.random.default_rng(1)
    q, v, time = robot.random_configuration(rng), rng.normal(size=robot.nv), 0.7
    (constraint,) = robot.constraints
    assert constraint.component_names == ("odd[0]", "odd[1]", "odd[2]") and not robot.constraint_error(q).size

    def velocity(t, v=v):
        at = robot.integrate(q, t * v)
        return np.array(constraint.velocity(KinematicState(robot.tree, list(at), list(v), time + t)))

    result = derived(robot.tree, constraint, list(q), list(v), time)
    G, gamma = robot.constraint_jacobian(q, time=time), robot.constraint_bias(q, v, time=time)
    np.testing.assert_allclose(result.rows, G, atol=1e-13)
    np.testing.assert_allclose(G @ v + result.drift, velocity(0.0), rtol=0, atol=1e-13)
    np.testing.assert_allclose(result.drift, velocity(0.0, 0.0 * v), rtol=0, atol=1e-15)
    assert abs(result.drift[2] + 0.5) < 1e-15 and result.drift[0] == 0.0
    np.testing.assert_allclose(gamma, slope(velocity), rtol=0, atol=1e-10)
    np.testing.assert_allclose(gamma, result.bias, rtol=0, atol=1e-13)


def test_state_passed_to_a_constraint_function_agrees_with_the_robots_methods():
    robot, rng = skater(), np.random.default_rng(4)
    q, v = robot.random_configuration(rng), rng.normal(size=robot.nv)
    for options in (
        {},
        {"relative_to": "platform", "expressed_in": "arm"},
        {"relative_to": "arm", "expressed_in": "runner", "point": "platform"},
    ):
        put = robot.with_constraints(
            lw.constraints.Pfaffian("f", lambda k, options=options: k.twist("runner", **options))
        )
        expected = robot.twist(q, v, "runner", **options)
        np.testing.assert_allclose(put.constraint_jacobian(q) @ v, expected, rtol=0, atol=1e-13)


def test_knife_edge_no_slip_and_pfaffian_constraints_of_a_skate_blade_agree():
    robot, rng = skater(), np.random.default_rng(2)
    q, v = robot.random_configuration(rng), rng.normal(size=robot.nv)
    rows = [
        [f(robot.with_constraints(c)) for f in (lambda r: r.constraint_jacobian(q), lambda r: r.constraint_bias(q, v))]
        for c in (
            KnifeEdge("runner"),
            NoSlip("runner", "runner.y"),
            Pfaffian("skate", lambda k: k.twist("runner", expressed_in="runner")[4]),
        )
    ]
    for G, gamma in rows[1:]:
        np.testing.assert_allclose(G, rows[0][0], rtol=0, atol=1e-14)
        np.testing.assert_allclose(gamma, rows[0][1], rtol=0, atol=1e-13)


def test_invalid_velocity_constraints_are_refused():
    robot = skater()

    def put(constraint):
        return lambda: robot.with_constraints(constraint)

    for make, message in (
        (put(Pfaffian("f", lambda k: k.v("turn") ** 2)), r"'f': its function is not linear in velocities"),
        (
            put(Pfaffian("f", lambda k: [k.v("turn"), k.v("turn") * k.v("elbow")])),
            r"not linear in velocities \(f\[1\]\)",
        ),
        (put(Pfaffian("f", lambda k: np.sqrt(k.v("turn")))), "not linear in velocities|NaN"),
        (put(Pfaffian("f", lambda k: k.v("turn") * np.sqrt(-1.0 - k.q("turn") ** 2))), "its function returns NaN in"),
        (put(Pfaffian("f", lambda k: k.v("turn") + np.nan)), "finite|NaN"),
        (put(Pfaffian("f", lambda k: k.twist("runner")[7])), "raised IndexError"),
        (put(Pfaffian("f", lambda k: "fast")), "expected a number"),
        (put(Pfaffian("f", lambda k: None)), "expected a number"),
        (put(lw.constraints.Holonomic("f", lambda k: k.v("turn"))), "use Pfaffian for functions that are linear in"),
        (lambda: KnifeEdge("runner", across=(0, 0, 0)), "across: expected three finite numbers, not all"),
        (put(KnifeEdge("runner", on="hand")), "of one body"),
        (put(NoSlip("heel", relative_to="runner")), "'heel' is fixed to frame 'runner'"),
    ):
        with pytest.raises(ValueError, match=message):
            make()
    for constraint, name in (
        (NoSlip("hel"), "did you mean 'heel'"),
        (NoSlip("heel", "edg"), "did you mean 'edge'"),
        (NoSlip("heel", "runner"), "runner.x"),
        (Pfaffian("f", lambda k: k.v("elbo")), "did you mean 'elbow'"),
        (KnifeEdge("runer"), "did you mean 'runner'"),
    ):
        with pytest.raises(lw.errors.UnknownNameError, match=name):
            robot.with_constraints(constraint)
    for said, make in (
        ("directions: expected names of directions", lambda: NoSlip("heel", (1, 2))),
        ("function: expected a function, got 3.0", lambda: Pfaffian("f", 3.0)),
    ):
        with pytest.raises(TypeError, match=said):
            make()


def test_chaplygin_sleigh_follows_its_closed_form_motion():
    """v = V tanh(k t), ω = V √(m/J) / cosh(k t) with k = a V m/J, J about the blade, for a mass ahead of it by a."""
    m, inertia, ahead, V = 1.4, 0.3, 0.25, 1.1
    J = inertia + m * ahead**2
    k, w0 = ahead * V * m / J, V * np.sqrt(m / J)
    body = lw.Link("sleigh", mass=m, com=(ahead, 0, 0), inertia=(0.1, 0.2, inertia))
    base = lw.Joint.of(lw.joints.Planar(), name="base", parent="world", child="sleigh")
    robot = lw.Robot.build("sleigh", body, base).with_constraints(KnifeEdge("sleigh"))
    tau = np.zeros(3)

    def flow(x):
        q, v = x[:3], x[3:]
        return np.concatenate([robot.velocity_to_configuration_derivative(q, v), robot.forward_dynamics(q, v, tau)])

    start, end, count = -2.0, 2.5, 4500
    step = (end - start) / count

    def exact(t):
        return V * np.tanh(k * t), w0 / np.cosh(k * t), w0 / k * 2 * np.arctan(np.tanh(k * t / 2))

    speed, turn, angle = exact(start)
    x = np.array([0.0, 0.0, angle, speed, 0.0, turn])
    for _ in range(count):
        a = flow(x)
        b = flow(x + step / 2 * a)
        c = flow(x + step / 2 * b)
        x = x + step / 6 * (a + 2 * b + 2 * c + flow(x + step * c))
        q, v = x[:3], x[3:]
        G = robot.constraint_jacobian(q)
        x[3:] = v - np.linalg.pinv(G) @ (G @ v)
    speed, turn, angle = exact(end)
    np.testing.assert_allclose(x[2:], [angle, speed, 0.0, turn], rtol=0, atol=1e-10)
    times = np.linspace(start, end, 20001)
    speeds, _, angles = exact(times)
    weights = np.ones(20001)
    weights[1:-1:2], weights[2:-1:2] = 4.0, 2.0
    weights *= (times[1] - times[0]) / 3  # Simpson's rule
    path = [weights @ (speeds * np.cos(angles)), weights @ (speeds * np.sin(angles))]
    np.testing.assert_allclose(x[:2], path, rtol=0, atol=1e-10)
    assert abs(robot.kinetic_energy(x[:3], x[3:]) - m * V**2 / 2) < 1e-11


def test_knife_edge_and_no_slip_constraints_do_no_work():
    robot, rng = skater(), np.random.default_rng(3)
    robot = robot.with_constraints(KnifeEdge("runner"), NoSlip("heel", ("world.x", "world.z")))
    q, v, tau = robot.random_configuration(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    G = robot.constraint_jacobian(q)
    v -= np.linalg.pinv(G) @ (G @ v)
    a, forces = robot.constrained_forward_dynamics(q, v, tau)
    np.testing.assert_allclose(G @ a, -robot.constraint_bias(q, v), rtol=0, atol=1e-11)
    work = v @ (robot.mass_matrix(q) @ a + robot.bias_force(q, v) - tau)
    assert np.abs(forces).max() > 0.1 and abs(work) < 1e-12 * np.abs(forces).max()


@pytest.mark.slow(every=5)
def test_velocity_constraints_that_fix_a_hand_give_the_accelerations_of_a_weld():
    robot, rng = skater(), np.random.default_rng(6)
    q, v, tau = robot.random_configuration(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    welded = robot.with_constraints(lw.constraints.Weld("hand", pose=robot.pose(q, "hand")))
    sticking = robot.with_constraints(
        NoSlip("hand"), Pfaffian("hold", lambda k: k.twist("hand", expressed_in="hand")[:3], units="rad")
    )
    G = welded.constraint_jacobian(q)
    v -= np.linalg.pinv(G) @ (G @ v)
    a = welded.forward_dynamics(q, v, tau)
    np.testing.assert_allclose(sticking.forward_dynamics(q, v, tau), a, rtol=0, atol=1e-10 * np.abs(a).max())
