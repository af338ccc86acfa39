"""Rolling on planes: rows, and known motions of discs, wheels and balls."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.constraints import BallRolling, Rolling, RollingContact

RADIUS = 0.4


def disc(radius=RADIUS, mass=1.0, axis=(0, 1, 0)):
    """A free thin disc that rolls on the ground."""
    across = np.outer(axis, axis) / np.dot(axis, axis)
    inertia = mass * radius**2 / 4 * (np.eye(3) + across)
    free = lw.Joint.of(lw.joints.Floating(), name="free", parent="world", child="disc")
    robot = lw.Robot.build("disc", lw.Link("disc", mass=mass, inertia=inertia), free)
    return robot.with_constraints(Rolling("disc", radius=radius, axis=axis))


def slope(function, x, step=1e-6):
    """A derivative by central differences of fourth order."""
    return (8 * (function(x + step) - function(x - step)) - (function(x + 2 * step) - function(x - 2 * step))) / (
        12 * step
    )


def test_contact_point_of_a_rolling_wheel_is_the_lowest_point_of_the_rim():
    rng = np.random.default_rng(0)
    for axis in ((0, 1, 0), (1.0, -2.0, 0.5)):
        robot = disc(axis=axis)
        a = np.array(axis) / np.linalg.norm(axis)
        across = np.linalg.svd(a[None])[2][1:]
        angles = np.linspace(0, 2 * np.pi, 200001)
        rim = RADIUS * (np.cos(angles)[:, None] * across[0] + np.sin(angles)[:, None] * across[1])
        for _ in range(4):
            q, v = robot.random_configuration(rng), rng.normal(size=6)
            X = robot.pose(q, "disc")
            points = rim @ X[:3, :3].T + X[:3, 3]
            lowest = np.argmin(points[:, 2])
            assert abs(robot.constraint_error(q)[0] - points[lowest, 2]) < 1e-9
            velocity = X[:3, :3] @ (v[3:] + np.cross(v[:3], rim[lowest]))
            np.testing.assert_allclose(robot.constraint_jacobian(q) @ v, velocity, atol=1e-4)


def turntable(radius=0.2):
    """A free ball on a plane that turns about an oblique axis."""
    ball = lw.Link("ball", mass=1.0, inertia=0.1 * np.eye(3))
    table = lw.Joint.of(lw.joints.Revolute((0, 0.6, 0.8)), name="table", parent="world", child="disk")
    free = lw.Joint.of(lw.joints.Floating(), name="free", parent="world", child="ball")
    robot = lw.Robot.build("ball", lw.Link("disk", mass=1.0, inertia=np.eye(3)), table, ball, free)
    return robot.with_constraints(BallRolling("ball", radius=radius, on="disk"))


@pytest.mark.parametrize("robot", [disc(), disc(axis=(0.3, 0.2, -1.0)), turntable()])
def test_rolling_constraint_jacobians_are_velocities_and_biases_are_their_rates(robot):
    rng = np.random.default_rng(1)
    q, v = robot.random_configuration(rng), rng.normal(size=robot.nv)

    def at(time):
        return robot.integrate(q, time * v)

    G, names = robot.constraint_jacobian(q), [name for c in robot.constraints for name in c.component_names]
    assert len(names) == 3 and names[2].endswith("contact: along z")
    np.testing.assert_allclose(slope(lambda t: robot.constraint_error(at(t)), 0.0), G[2:] @ v, atol=1e-9)
    moved = slope(lambda t: robot.constraint_jacobian(at(t)) @ v, 0.0)
    np.testing.assert_allclose(moved, robot.constraint_bias(q, v), atol=1e-8)


def test_contact_constraint_of_a_wheel_is_added_and_removed_with_its_rolling_constraint():
    robot = disc()
    assert [c.name for c in robot.constraints] == ["disc rolls", "disc rolls: contact"]
    free = robot.without_constraints("disc rolls")
    assert not free.constraints and free.with_constraints(*robot.constraints) == robot
    alone = free.with_constraints(Rolling("disc", radius=0.4, contact=False))
    assert len(alone.constraints) == 1 and alone.constraint_error(alone.neutral()).shape == (0,)


def test_invalid_rolling_wheels_are_refused():
    for make, message in (
        (lambda: Rolling("disc", radius=0.0), "Rolling: radius: expected a length > 0"),
        (lambda: Rolling("disc", radius=float("nan")), "radius: expected a length"),
        (lambda: Rolling("disc", radius="large"), "radius: expected a length"),
        (lambda: Rolling("disc", radius=0.1, axis=(0, 0, 0)), "axis: expected three finite numbers, not all"),
        (lambda: RollingContact("disc", radius=-1.0), "RollingContact: radius"),
        (lambda: BallRolling("disc", radius=np.inf), "BallRolling: radius"),
        (lambda: disc().with_constraints(Rolling("disc", radius=0.1, on="disc", name="r")), "frame 'disc' and itself"),
        (lambda: disc().with_constraints(Rolling("disc", radius=0.1)), "already has a constraint 'disc rolls'"),
    ):
        with pytest.raises(ValueError, match=message):
            make()
    with pytest.raises(lw.errors.UnknownNameError, match="disc"):
        disc().with_constraints(Rolling("disk", radius=0.1))


# -- how they move

G = 9.81


def coin(radius=RADIUS, mass=1.3):
    """A thin uniform disc by its place and its heading, lean and spin, whose rates are velocities."""
    A = mass * radius**2 / 4
    joints = lw.joints
    chain = [
        ("x", joints.Prismatic((1, 0, 0))),
        ("y", joints.Prismatic((0, 1, 0))),
        ("z", joints.Prismatic((0, 0, 1))),
        ("heading", joints.Revolute((0, 0, 1))),
        ("lean", joints.Revolute((1, 0, 0))),
        ("spin", joints.Revolute((0, 1, 0))),
    ]
    parts = [lw.Link(name) for name, _ in chain[:-1]] + [lw.Link("disc", mass=mass, inertia=(A, 2 * A, A))]
    before = "world"
    for name, joint in chain:
        after = "disc" if name == "spin" else name
        parts.append(lw.Joint.of(joint, name=f"{name}_joint", parent=before, child=after))
        before = after
    return lw.Robot.build("coin", *parts).with_constraints(Rolling("disc", radius=radius))


def rolling_at(robot, lean, rates, heading=0.0):
    """The state of a coin on the ground that rolls at rates of heading, lean and spin."""
    q = np.array([0.0, 0.0, RADIUS * np.cos(lean), heading, lean, 0.0])
    J = robot.constraint_jacobian(q)
    return q, np.concatenate([-np.linalg.solve(J[:, :3], J[:, 3:] @ rates), rates])


def steady_spin(lean, turn, radius=RADIUS):
    """The rate of a thin uniform disc about its axle, for a lean and a rate of its heading that stay: per unit of mass,
    A Ω² s c − (C + r²) w Ω c − g r s = 0 with C = 2 A = r²/2, by angular momentum about its centre."""
    s, c = np.sin(lean), np.cos(lean)
    return (radius**2 / 4 * turn**2 * s * c - G * radius * s) / (1.5 * radius**2 * turn * c)


def runge_kutta(f, x, step, count):
    """x after so many steps of fourth order."""
    for _ in range(count):
        a = f(x)
        b = f(x + step / 2 * a)
        c = f(x + step / 2 * b)
        x = x + step / 6 * (a + 2 * b + 2 * c + f(x + step * c))
    return x


def flow(robot):
    """(v, v̇) by (q, v), where q̇ = v."""
    tau = np.zeros(robot.nv)
    return lambda x: np.concatenate([x[robot.nv :], robot.forward_dynamics(x[: robot.nv], x[robot.nv :], tau)])


def test_leaning_disc_rolls_steadily_in_circles():
    robot = coin()
    for lean, turn in ((0.3, 2.0), (-0.8, 3.5), (1.2, -6.0)):
        w = steady_spin(lean, turn)
        q, v = rolling_at(robot, lean, np.array([turn, 0.0, w - turn * np.sin(lean)]))
        a = robot.forward_dynamics(q, v, np.zeros(6))
        np.testing.assert_allclose(a[3:], 0.0, rtol=0, atol=1e-11)
        np.testing.assert_allclose(a[:3], [0.0, w * RADIUS * turn, 0.0], rtol=0, atol=1e-11)
    period = 2 * np.pi / abs(turn)
    x = runge_kutta(flow(robot), np.concatenate([q, v]), period / 1000, 1000)
    np.testing.assert_allclose(x[:3], q[:3], rtol=0, atol=1e-9)
    np.testing.assert_allclose(x[3:6], q[3:] + period * v[3:], rtol=0, atol=1e-8)
    np.testing.assert_allclose(x[6:], v, rtol=0, atol=1e-8)


def test_rolling_disc_conserves_energy_and_stays_on_the_ground():
    robot = coin()
    q, v = rolling_at(robot, 0.4, np.array([1.0, 0.5, 6.0]))
    x = runge_kutta(flow(robot), np.concatenate([q, v]), 5e-4, 2000)

    def energy(x):
        return robot.kinetic_energy(x[:6], x[6:]) + robot.potential_energy(x[:6])

    assert abs(energy(x) - energy(np.concatenate([q, v]))) < 1e-10 and abs(x[4] - 0.4) > 0.1
    assert np.abs(robot.constraint_error(x[:6])).max() < 1e-11
    assert np.abs(robot.constraint_jacobian(x[:6]) @ x[6:]).max() < 1e-10


def test_upright_rolling_discs_are_stable_above_the_critical_speed():
    """λ² = (g r − 3 v²)/(5/4 r²) of a thin uniform disc, so that it is stable for v² > g r/3."""
    robot = coin()

    def acceleration(lean, turn, tilt, speed):
        q, v = rolling_at(robot, lean, np.array([turn, tilt, speed / RADIUS - turn * np.sin(lean)]))
        return robot.forward_dynamics(q, v, np.zeros(6))[3:5]

    for factor in (0.25, 0.9, 1.1, 4.0):
        speed = np.sqrt(factor * G * RADIUS / 3)
        by_lean = slope(lambda x: acceleration(x, 0, 0, speed), 0.0, 1e-3)  # noqa: B023
        by_turn = slope(lambda x: acceleration(0, x, 0, speed), 0.0, 1e-3)  # noqa: B023
        by_tilt = slope(lambda x: acceleration(0, 0, x, speed), 0.0, 1e-3)  # noqa: B023
        A = np.array([[0.0, 0.0, 1.0], [by_lean[0], by_turn[0], by_tilt[0]], [by_lean[1], by_turn[1], by_tilt[1]]])
        values = np.linalg.eigvals(A)  # of lean, rate of heading and rate of lean
        expected = np.emath.sqrt((G * RADIUS - 3 * speed**2) / (1.25 * RADIUS**2))
        for value in (0.0, expected, -expected):
            assert np.abs(values - value).min() < 1e-7
        assert (values.real.max() < 1e-7) == (factor > 1)


def test_ball_on_a_turntable_circles_at_two_sevenths_of_the_tables_rate():
    rate, radius, mass = 1.7, 0.2, 0.6
    parts = [
        lw.Link("disk", mass=1.0, inertia=(1.0, 1.0, 2.0)),
        lw.Link("place"),
        lw.Link("ball", mass=mass, inertia=(0.4 * mass * radius**2,) * 3),
        lw.Joint.of(lw.joints.Revolute((0, 0, 1)), name="table", parent="world", child="disk"),
        lw.Joint.of(lw.joints.Translational(), name="centre", parent="world", child="place"),
        lw.Joint.of(lw.joints.Spherical(), name="turn", parent="place", child="ball"),
    ]
    robot = lw.Robot.build("turntable", *parts).with_constraints(
        BallRolling("ball", radius=radius, on="disk"), lw.constraints.Pfaffian("motor", lambda k: k.v("table") - rate)
    )
    rng = np.random.default_rng(5)
    for _ in range(3):
        q = robot.random_configuration(rng)
        at = {joint.name: np.arange(robot.nv)[robot.v_index([joint.name])] for joint in robot.joints}
        q[robot.q_index(["centre"])[2]] = radius
        J, drift = robot.constraint_jacobian(q), np.array([0.0, 0.0, 0.0, -rate])
        v = rng.normal(size=robot.nv)
        v -= np.linalg.pinv(J) @ (J @ v + drift)
        a, forces = robot.constrained_forward_dynamics(q, v, np.zeros(robot.nv))
        x, y, _ = v[at["centre"]]
        np.testing.assert_allclose(a[at["centre"]], 2 / 7 * rate * np.array([-y, x, 0]), rtol=0, atol=1e-12)
        # what the motor gives is all the power there is: rows with no drift do no work
        power = v @ (robot.mass_matrix(q) @ a + robot.bias_force(q, v))
        assert abs(power - forces[3] * rate) < 1e-12 and abs(forces[:3] @ J[:3] @ v) < 1e-13


def test_disc_lying_flat_has_a_finite_rolling_jacobian():
    """Its rows have no meaning when it lies flat; near that pose they are those of an inclined disc."""
    robot = disc(axis=(0, 0, 1))
    q = robot.neutral()
    v = np.ones(6)
    assert all(np.isfinite(x).all() for x in (robot.constraint_jacobian(q), robot.constraint_bias(q, v)))
    tilted = robot.integrate(q, [1e-3, 0, 0, 0, 0, 0])
    assert abs(robot.constraint_error(tilted)[0] + RADIUS * np.sin(1e-3)) < 1e-15


def test_batches_of_rolling_robots_equal_single_calls():
    robot = turntable()
    q, v = robot.random_configuration(seed=0, size=37), np.random.default_rng(0).normal(size=(37, robot.nv))
    a, forces = robot.constrained_forward_dynamics(q, v, np.zeros(robot.nv))
    for k in (0, 17, 36):
        acceleration, force = robot.constrained_forward_dynamics(q[k], v[k], np.zeros(robot.nv))
        assert (acceleration == a[k]).all() and (force == forces[k]).all()
