"""Linkages and transmissions with closed-form motion, and equivalent constraints."""

import numpy as np
import pytest

import linkwork as lw
from helpers.fourbars import HINGE

AXLE = lw.joints.Revolute((0, 0, 1))
SLIDE = lw.joints.Prismatic((1, 0, 0))


def part(name, mass=1.0, inertia=0.1):
    return lw.Link(name, mass=mass, inertia=(inertia,) * 3)


def on(joint, name, parent, child, position=(0.0, 0.0, 0.0), rpy=(0.0, 0.0, 0.0)):
    return lw.Joint.of(joint, name=name, parent=parent, child=child, placement=lw.pose(position, rpy=rpy))


def closed(robot, q, fixed):
    """The configuration near q that satisfies all constraints, with the first joint held: Newton's method."""
    q = np.array(q, dtype=float)
    q[0] = fixed
    for _ in range(12):
        error, G = robot.constraint_error(q), robot.constraint_jacobian(q)
        q[1:] -= np.linalg.pinv(G[:, 1:], rcond=1e-9) @ error
    assert np.abs(robot.constraint_error(q)).max() < 1e-13
    return q


def test_universal_joint_satisfies_its_angle_equation_over_a_full_turn():
    """tan φ₂ = tan φ₁ cos β, over a full turn, with the cross as a body and with the angle of its arms only."""
    beta, x = 0.7, lw.joints.Revolute((1, 0, 0))
    yokes = [part("yoke1"), on(x, "in", "world", "yoke1"), part("yoke2")]
    yokes.append(on(x, "out", "world", "yoke2", rpy=(0, 0, beta)))
    cross = [part("cross"), on(AXLE, "arm", "yoke1", "cross")]
    whole = lw.Robot.build("cardan", *yokes, *cross).with_loop("other arm", "cross", "yoke2", HINGE)
    bare = lw.Robot.build("cardan", *yokes).with_constraints(lw.constraints.Angle("yoke1.z", "yoke2.y", np.pi / 2))
    for robot in (whole, bare):
        names = [joint.name for joint in robot.joints]
        i = names.index("out")
        q = np.zeros(robot.nq)
        if "arm" in names:
            q[names.index("arm")] = beta
        for phi in np.linspace(0, 2 * np.pi, 61):
            q = closed(robot, q, phi)
            off = np.sin(q[i]) * np.cos(phi) - np.sin(phi) * np.cos(q[i]) * np.cos(beta)
            assert abs(off) < 1e-13
            _, s, rows = np.linalg.svd(robot.constraint_jacobian(q))
            (v,) = rows[np.sum(s > 1e-9) :]
            expected = np.cos(beta) / (np.cos(phi) ** 2 + (np.sin(phi) * np.cos(beta)) ** 2)
            assert abs(v[i] / v[0] - expected) < 1e-12
        assert abs(q[i] - 2 * np.pi) < 1e-12


def test_peaucelliers_linkage_draws_a_straight_line():
    """Seven rods: B moves on a circle through O, and D, with OB · OD = L² − s², on a line."""
    r, L, s = 0.6, 1.7, 0.8
    robot = lw.Robot.build(
        "peaucellier",
        part("crank"),
        on(AXLE, "P", "world", "crank", (r, 0, 0)),
        part("OA"),
        on(AXLE, "O1", "world", "OA"),
        part("OC"),
        on(AXLE, "O2", "world", "OC"),
        part("AD"),
        on(AXLE, "A", "OA", "AD", (L, 0, 0)),
    )
    for name, link, length in (("B", "crank", r), ("A_", "OA", L), ("C", "OC", L), ("D", "AD", s)):
        robot = robot.with_point(name, link, (length, 0, 0))
    rods = [
        lw.constraints.Distance("A_", "B", s),
        lw.constraints.Distance("C", "B", s),
        lw.constraints.Distance("C", "D", s),
    ]
    robot = robot.with_constraints(*rods)
    half = np.arccos((4 * r * r + L * L - s * s) / (4 * r * L))  # of the angle between OA and OC, B at (2r, 0)
    away = np.arctan2(-L * np.sin(half), (L * L - s * s) / (2 * r) - L * np.cos(half))
    for side in (1.0, -1.0):
        q, points = np.array([0.0, half, -half, away - half]), []
        for phi in np.linspace(0.0, 0.9, 40) * side:
            q = closed(robot, q, phi)
            points.append(robot.point_position(q, "D"))
            assert abs(points[-1][0] - (L * L - s * s) / (2 * r)) < 1e-12
        assert abs(points[-1][1] - points[0][1]) > 0.9


def test_a_linkage_that_folds_has_isolated_branches_and_a_driven_motion_without_masses():
    """Peaucellier's cell with massless links: on top of each other, its rhombus turns freely about the crank's pin."""
    c, a, b = 0.05, 0.12, 0.05
    placed = (
        *(("q", "world", "crank", c), ("o1", "world", "l1", 0), ("o2", "world", "l2", 0), ("a1", "crank", "r1", c)),
        *(("a2", "crank", "r2", c), ("b1", "l1", "r3", a), ("c1", "l2", "r4", a)),
    )
    robot = lw.Robot.build(
        "cell",
        *(lw.Link(child) for _, _, child, _ in placed),
        *(on(AXLE, name, parent, child, (x, 0, 0)) for name, parent, child, x in placed),
    )
    loops = (("r1", b, "l1", a), ("r2", b, "l2", a), ("r3", b, "r4", b))
    for k, (first, x, second, y) in enumerate(loops):
        robot = robot.with_frame(f"f{k}", first, (x, 0, 0)).with_frame(f"g{k}", second, (y, 0, 0))
        robot = robot.with_loop(f"pin{k}", f"f{k}", f"g{k}", AXLE)
    branches = robot.branches(hold={"q": 0.3})
    assert "singular assemblies, in which it can still move" in str(branches) and branches.count >= 2
    for q in branches.q:
        assert robot.mobility(q).dof == 1
        apart = robot.pose(q, "g0")[:3, 3] - robot.pose(q, "g1")[:3, 3]
        assert np.linalg.norm(apart) > 1e-3
    folded = robot.drive_mechanism({"q": [0.3, 0.2, 0.1]})
    assert "may have none (Robot.branches)" in folded.message and np.isnan(folded.a).all() and folded.success
    np.testing.assert_allclose(robot.constraint_jacobian(folded.q) @ folded.v[..., None], 0.0, atol=1e-12)
    driven = robot.drive_mechanism({"q": np.linspace(0.3, -0.8, 12)}, branches.q[0])
    assert driven.success and np.isfinite(driven.a).all()


def test_spatial_slider_crank_equals_its_closed_form():
    """A crank about z, a slide along x at an offset in y and z, and a rod with ball joints between them."""
    a, l, y, z = 0.3, 0.9, 0.15, 0.25
    robot = lw.Robot.build(
        "slider crank",
        part("crank"),
        on(AXLE, "turn", "world", "crank"),
        part("slider"),
        on(SLIDE, "slide", "world", "slider", (0, y, z)),
    )
    robot = robot.with_point("pin", "crank", (a, 0, 0)).with_constraints(lw.constraints.Distance("pin", "slider", l))
    q = np.array([0.0, a + l])
    for phi in np.linspace(0, 2 * np.pi, 25):
        q = closed(robot, q, phi)
        c, s = a * np.cos(phi), a * np.sin(phi)
        reach = np.sqrt(l * l - (y - s) ** 2 - z * z)
        np.testing.assert_allclose(q[1], c + reach, rtol=0, atol=1e-13)
        row = np.array([(q[1] - c) * s - (y - s) * c, q[1] - c]) / l
        np.testing.assert_allclose(robot.constraint_jacobian(q)[0], row, rtol=0, atol=1e-14)
        rate = -s + (y - s) * c / reach
        v = np.array([1.3, 1.3 * rate])
        velocity = np.array([v[1] + s * v[0], -c * v[0], 0.0])  # of the slider relative to the pin
        bias = (velocity @ velocity + ((q[1] - c) * c + (y - s) * s) * v[0] ** 2) / l
        np.testing.assert_allclose(robot.constraint_bias(q, v)[0], bias, rtol=0, atol=1e-14)


def test_gear_trains_have_the_velocities_of_willis_equation():
    """A train of two stages, and a planetary gear with a fixed ring (Willis): rates and accelerations."""
    wheels = [item for k in range(4) for item in (part(f"w{k}", inertia=0.1 + k), on(AXLE, f"j{k}", "world", f"w{k}"))]
    train = lw.Robot.build("train", *wheels)
    train = train.with_constraints(
        lw.constraints.Gear("j0", "j1", -3.0),
        lw.constraints.Gear("j1", "j2", 1.0),
        lw.constraints.Gear("j3", "j2", 0.25),
    )
    v = np.array([-3.0, 1.0, 1.0, 0.25])
    assert np.abs(train.constraint_jacobian(np.zeros(4)) @ v).max() == 0.0
    a = train.forward_dynamics(np.zeros(4), np.zeros(4), [0, 2.0, 0, 0])
    np.testing.assert_allclose(a, v * 2.0 / (v * v @ (0.1 + np.arange(4))), rtol=1e-12)

    z_s, z_p, z_r, arm, m = 20, 15, 50, 0.35, 0.7
    planetary = lw.Robot.build(
        "planetary",
        part("sun", inertia=0.3),
        on(AXLE, "s", "world", "sun"),
        part("carrier", inertia=0.2),
        on(AXLE, "c", "world", "carrier"),
        part("planet", mass=m, inertia=0.05),
        on(AXLE, "p", "carrier", "planet", (arm, 0, 0)),
    )
    meshes = lw.constraints.Coupling({"s": z_s, "c": -z_s, "p": z_p}), lw.constraints.Coupling({"c": z_r, "p": z_p})
    planetary = planetary.with_constraints(*meshes).with_gravity((0, 0, 0))
    a = planetary.forward_dynamics([0.3, 0.2, 0.1], [0, 0, 0], [1.5, 0, 0])
    rates = np.array([1 + z_r / z_s, 1.0, -z_r / z_p])
    felt = 0.3 * rates[0] ** 2 + 0.2 + m * arm**2 + 0.05 * (1 + rates[2]) ** 2
    np.testing.assert_allclose(a, rates * rates[0] * 1.5 / felt, rtol=1e-12)


@pytest.mark.slow(every=3)
def test_coupling_constraints_give_the_accelerations_of_eliminated_joints():
    """Accelerations with a constraint equal those of the robot in which one joint follows the other."""
    parts = [part("car"), on(SLIDE, "slide", "world", "car"), part("drum"), on(HINGE, "turn", "world", "drum")]
    parts += [part("wheel"), on(AXLE, "spin", "drum", "wheel", (0.3, 0, 0.1))]
    robot = lw.Robot.build("machine", *parts).with_inertia("wheel", com=(0.2, 0.1, 0.0))
    rng = np.random.default_rng(0)
    for constraint, follower, law in (
        (lw.constraints.Gear("spin", "turn", -1.7, offset=0.2), "spin", ("turn", -1.7, 0.2)),
        (lw.constraints.Rack("slide", "turn", 0.3, offset=0.1), "slide", ("turn", 0.3, 0.1)),
        (lw.constraints.Screw("slide", "spin", -0.02), "slide", ("spin", -0.02, 0.0)),
        (lw.constraints.Belt("spin", "turn", 0.2, 0.5), "spin", ("turn", 2.5, 0.0)),
        (lw.constraints.Belt("spin", "turn", 0.2, 0.5, crossed=True, offset=0.1), "spin", ("turn", -2.5, 0.5)),
        (lw.constraints.Coupling({"slide": 2.0, "turn": -1.0}, offset=0.4), "slide", ("turn", 0.5, 0.2)),
        (lw.constraints.Coupling(("spin", "turn"), lambda a, b: a - 3.0 * b), "spin", ("turn", 3.0, 0.0)),
        (lw.constraints.Holonomic("f", lambda k: k.q("spin") - 3.0 * k.q("turn")), "spin", ("turn", 3.0, 0.0)),
        (
            lw.constraints.CurveCoupling("spin", "turn", lw.constraints.Curve([0, 1], [0.2, 0.7])),
            "spin",
            ("turn", 0.5, 0.2),
        ),
    ):
        constrained, free = robot.with_constraints(constraint), robot.with_couplings({follower: law})
        names = [joint.name for joint in robot.joints]
        i, j = names.index(follower), names.index(law[0])
        G = np.eye(3)
        G[i] = law[1] * G[j]
        G = np.delete(G, i, axis=1)
        y, rate, tau = rng.normal(size=(3, 2))
        q, v = G @ y, G @ rate
        q[i] += law[2]
        assert np.abs(constrained.constraint_error(q)).max() < 1e-14
        a = constrained.forward_dynamics(q, v, tau @ np.linalg.pinv(G))
        np.testing.assert_allclose(a, G @ free.forward_dynamics(y, rate, tau), rtol=1e-10, atol=1e-11)


@pytest.mark.slow(every=5)
def test_weld_and_ball_constraints_equal_loop_joints():
    robot = lw.load("arm7").with_frame("grip", "hand", lw.pose((0.1, 0, 0.2), rpy=(0.1, 0.4, 0.2)))
    q, v, tau = np.random.default_rng(0).normal(size=(3, 7))
    X = robot.pose(q, "grip")
    socket_robot = robot.with_frame("socket", "world", X)
    for constraint, joint in (
        (lw.constraints.Weld("grip", pose=X), lw.joints.Fixed()),
        (lw.constraints.Ball("grip", point=X[:3, 3]), lw.joints.Spherical()),
        (lw.constraints.Parallel("socket.z", "grip.z"), None),
        (lw.constraints.PointOnLine("grip", "socket.z"), None),
    ):
        constrained = socket_robot.with_constraints(constraint)
        assert np.abs(constrained.constraint_error(q)).max() < 1e-13
        G = constrained.constraint_jacobian(q)
        u = v - np.linalg.pinv(G) @ G @ v
        if joint is not None:
            loop = socket_robot.with_loop("loop", "socket", "grip", joint)
            a = constrained.forward_dynamics(q, u, tau)
            np.testing.assert_allclose(a, loop.forward_dynamics(q, u, tau), rtol=1e-9, atol=1e-9)
            first, second = (r.constrained_forward_dynamics(q, u, tau)[1] for r in (constrained, loop))
            assert abs(np.linalg.norm(first[-3:]) - np.linalg.norm(second[-3:])) < 1e-8


def test_prescribed_motions_need_the_forces_of_inverse_dynamics():
    robot = lw.load("arm7")
    names, t = [joint.name for joint in robot.joints], 0.4
    laws = [lambda t, k=k: 0.1 * k + np.sin((1 + 0.1 * k) * t) for k in range(7)]
    driven = robot.with_constraints(
        *(lw.constraints.Prescribed(name, law) for name, law in zip(names, laws, strict=True))
    )
    w = 1 + 0.1 * np.arange(7)
    q, v, a = 0.1 * np.arange(7) + np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    assert np.abs(driven.constraint_error(q, time=t)).max() < 1e-15
    dynamics_result, forces = driven.constrained_forward_dynamics(q, v, np.zeros(7), time=t)
    np.testing.assert_allclose(dynamics_result, a, rtol=0, atol=1e-9)
    np.testing.assert_allclose(forces, robot.inverse_dynamics(q, v, a), rtol=0, atol=1e-8)


def test_constraints_are_finite_at_singular_directions():
    """Opposite directions, coincident points, directions with an undefined slope of the angle."""
    free = lw.Joint.of(lw.joints.Floating(), name="free", parent="world", child="body")
    robot = lw.Robot.build("free", part("body"), free).with_point("p", "body", (0.3, 0, 0))
    robot = robot.with_constraints(
        lw.constraints.Parallel("world.z", "body.z"),
        lw.constraints.Distance("world", "p", 0.5),
        lw.constraints.Angle("world.z", "body.z", 1.0),
    )
    for turn, parallel in (([0.0, 1.0, 0, 0], np.pi), ([0.0, 0.6, 0.8, 0], np.pi), ([1.0, 0, 0, 0], 0.0)):
        q = [*turn, *-robot.point_position([*turn, 0, 0, 0], "p")]
        error = robot.constraint_error(q)
        assert abs(np.linalg.norm(error[:2]) - parallel) < 1e-12 and abs(error[2] + 0.25) < 1e-15
        v = np.arange(1.0, 7.0)
        G, bias = robot.constraint_jacobian(q), robot.constraint_bias(q, v)
        assert np.isfinite(G).all() and np.isfinite(bias).all() and np.abs(G[2]).max() < 1e-15
        a, forces = robot.constrained_forward_dynamics(q, v, np.zeros(6))
        assert np.isfinite(a).all() and np.isfinite(forces).all()
    near = [np.cos((np.pi - 1e-9) / 2), np.sin((np.pi - 1e-9) / 2), 0, 0, 0, 0, 0]
    assert abs(np.linalg.norm(robot.constraint_error(near)[:2]) - (np.pi - 1e-9)) < 1e-12


@pytest.mark.slow(every=3)
def test_machine_with_many_kinds_of_constraints_satisfies_all_of_them():
    """A gear, a rod, a wheel on the ground, a cam and a blade; the robot is rebuilt and equal."""

    def machine_part(name, joint, position=(0, 0, 0), parent="base"):
        return part(name), on(joint, name, parent, name, position)

    machine = lw.Robot.build(
        "machine",
        part("base"),
        on(lw.joints.Floating(), "free", "world", "base"),
        *machine_part("wheel", HINGE),
        *machine_part("pinion", HINGE, (0.5, 0, 0)),
        *machine_part("cam", HINGE, (0.5, 0, 0.4)),
        *machine_part("follower", lw.joints.Prismatic((0, 0, 1)), (0.5, 0, 0.4)),
        *machine_part("runner", AXLE, (-0.5, 0, -0.4)),
    )
    machine = machine.with_frame("ground", "world", (0, 0, 0.1))
    machine = machine.with_point("a", "runner", (0.1, 0, 0)).with_point("b", "follower", (0, 0.1, 0))
    machine = machine.with_constraints(
        lw.constraints.Gear("wheel", "pinion", ratio=-3.2),
        lw.constraints.Distance("a", "b", 0.8),
        lw.constraints.Rolling("wheel", radius=0.3, on="ground"),
        lw.constraints.Holonomic("cam", lambda k: k.q("follower") - 0.1 - 0.02 * np.cos(k.q("cam"))),
        lw.constraints.Pfaffian("skate", lambda k: k.twist("runner", expressed_in="runner")[4]),
    )
    q = machine.random_configuration(seed=0)
    v, tau = np.random.default_rng(0).normal(size=(2, machine.nv))
    for robot in (machine, machine.with_gravity((0, 0, -1.6))):
        a, forces = robot.constrained_forward_dynamics(q, v, tau)
        G, M, h = robot.constraint_jacobian(q), robot.mass_matrix(q), robot.bias_force(q, v)
        assert G.shape == (7, 11) and np.linalg.matrix_rank(G) == 7
        np.testing.assert_allclose(G @ a, -robot.constraint_bias(q, v), rtol=0, atol=1e-9)
        np.testing.assert_allclose(M @ a + h, tau + G.T @ forces, rtol=0, atol=1e-9)
