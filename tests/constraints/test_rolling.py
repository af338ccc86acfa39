"""Rolling on planes: the rows, and what is known of how discs, wheels and balls move."""

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


def test_the_point_that_touches_is_the_lowest_of_the_rim():
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
def test_rows_are_rates_and_biases_are_their_rates(robot):
    rng = np.random.default_rng(1)
    q, v = robot.random_configuration(rng), rng.normal(size=robot.nv)

    def at(time):
        return robot.integrate(q, time * v)

    G, names = robot.constraint_jacobian(q), [name for c in robot.constraints for name in c.row_names]
    assert len(names) == 3 and names[2].endswith("contact: along z")
    np.testing.assert_allclose(slope(lambda t: robot.constraint_error(at(t)), 0.0), G[2:] @ v, atol=1e-9)
    moved = slope(lambda t: robot.constraint_jacobian(at(t)) @ v, 0.0)
    np.testing.assert_allclose(moved, robot.constraint_bias(q, v), atol=1e-8)


def test_contact_comes_and_goes_with_rolling():
    robot = disc()
    assert [c.name for c in robot.constraints] == ["disc rolls", "disc rolls: contact"]
    free = robot.without_constraints("disc rolls")
    assert not free.constraints and free.with_constraints(*robot.constraints) == robot
    alone = free.with_constraints(Rolling("disc", radius=0.4, contact=False))
    assert len(alone.constraints) == 1 and alone.constraint_error(alone.neutral()).shape == (0,)


def test_bad_wheels_are_refused():
    for made, message in (
        (lambda: Rolling("disc", radius=0.0), "Rolling: radius: expected a length above 0"),
        (lambda: Rolling("disc", radius=float("nan")), "radius"),
        (lambda: Rolling("disc", radius="large"), "radius"),
        (lambda: Rolling("disc", radius=0.1, axis=(0, 0, 0)), "axis"),
        (lambda: RollingContact("disc", radius=-1.0), "RollingContact: radius"),
        (lambda: BallRolling("disc", radius=np.inf), "BallRolling: radius"),
        (lambda: disc().with_constraints(Rolling("disc", radius=0.1, on="disc", name="r")), "frame 'disc' and itself"),
        (lambda: disc().with_constraints(Rolling("disc", radius=0.1)), "constraint 'disc rolls' already"),
    ):
        with pytest.raises(ValueError, match=message):
            made()
    with pytest.raises(lw.errors.UnknownNameError, match="disc"):
        disc().with_constraints(Rolling("disk", radius=0.1))
