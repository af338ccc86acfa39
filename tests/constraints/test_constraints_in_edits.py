"""Edits of robots with constraints: root, locked joints, comparison and pickling."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import linkwork as lw
from helpers.fourbars import HINGE, rod
from linkwork.kernels.owners import _is_ours


def cam(k):
    """A function that other processes can import."""
    return k.q("elbow") + 1.2 + 0.1 * np.sin(k.q("base"))


def height(r):
    return r[2] - 0.1 * r[0]


def turning(t):
    return 0.3 * t


def arm():
    """Three rods, one after the other, on a pedestal that is fixed to the world, beside its origin."""
    parts, parent = [], "pedestal"
    for name, joint in (("rod0", "base"), ("rod1", "elbow"), ("rod2", "wrist")):
        placement = lw.pose((1.0 if parent != "pedestal" else 0.2, 0.0, 0.1), rpy=(0.3, 0.0, 0.2))
        parts += [rod(name), lw.Joint.of(HINGE, name=joint, parent=parent, child=name, placement=placement)]
        parent = name
    stand = lw.Link("pedestal", mass=2.0, com=(0, 0, 0.1), inertia=(0.1, 0.1, 0.1))
    fixed = lw.Joint.of(
        lw.joints.Fixed(), name="bolts", parent="world", child="pedestal", placement=lw.pose((0.5, -0.4, 0.3))
    )
    robot = lw.Robot.build("arm", stand, fixed, *parts)
    robot = robot.with_frame("tip", "rod2", lw.pose((1.0, 0.0, 0.0)))
    return robot.with_point("corner", "rod1", (0.3, 0.2, 0.1)).with_direction("up", "rod1", (0.0, 0.6, 0.8))


def every_kind():
    """Constraints that say something of the world, each kind that can."""
    return [
        lw.constraints.Distance("world", "tip", 1.3),
        lw.constraints.PointOnPlane("corner", "world.z", offset=0.2),
        lw.constraints.PointOnLine("tip", "world.x", line_point=(0.0, 0.1, 0.2)),
        lw.constraints.PointOnSurface("tip", height),
        lw.constraints.Parallel("up", "world.y"),
        lw.constraints.Angle("world.x", "up", 1.1),
        lw.constraints.Weld("rod1", pose=lw.pose((0.3, 0.2, 0.1), rpy=(0.1, 0.2, 0.3))),
        lw.constraints.Ball("corner", point=(0.2, 0.3, 0.4)),
        lw.constraints.Gear("wrist", "elbow", -2.0),
        lw.constraints.Coupling({"base": 1.0, "elbow": 2.0, "wrist": -1.0}),
        lw.constraints.Prescribed("base", turning),
        lw.constraints.Prescribed(point="tip", motion=lambda t: t, axes="z"),
        lw.constraints.CenterOfMass(x=0.3, z=0.1),
        lw.constraints.Holonomic(
            "own", lambda k: k.pose("tip")[0, 3] + k.direction("world.z", "rod2")[0] + k.point("corner")[1]
        ),
        lw.constraints.Holonomic("more", lambda k: k.center_of_mass()[1] - 0.1 + k.q("elbow")),
        lw.constraints.NoSlip("corner", ("up", "world.x")),
        lw.constraints.KnifeEdge("tip"),
        lw.constraints.Rolling("rod2", radius=0.2),
        lw.constraints.BallRolling("rod1", radius=0.2),
        lw.constraints.Pfaffian(
            "slip", lambda k: k.point_velocity("corner")[0] + k.twist("tip", expressed_in="rod1")[2]
        ),
    ]


@pytest.mark.slow(every=9)
def test_constrained_robots_with_another_root_link_describe_the_same_mechanism():
    robot = arm().with_constraints(*every_kind())
    q, v = np.array([0.3, -0.7, 0.4]), np.array([0.2, 0.5, -0.3])
    for root in ("rod2", "tip", "pedestal"):
        rerooted = robot.with_root(root)
        assert [c.name for c in rerooted.constraints] == [c.name for c in robot.constraints]
        at = {"time": 0.4}
        for name in ("constraint_error", "constraint_jacobian"):
            bias, same = (getattr(r, name)(q, **at) for r in (robot, rerooted))
            np.testing.assert_allclose(same, bias, rtol=0, atol=1e-12, err_msg=f"{root} {name}")
        bias, same = robot.constraint_bias(q, v, **at), rerooted.constraint_bias(q, v, **at)
        np.testing.assert_allclose(same, bias, rtol=0, atol=1e-12, err_msg=root)
    assert not any("world" in c.references.frames for c in robot.with_root("rod2").constraints)


def test_constraints_to_the_world_are_preserved_when_the_base_becomes_floating():
    free = lw.Joint.of(lw.joints.Floating(), name="free", parent="world", child="pedestal")
    robot = lw.Robot.build("free", lw.Link("pedestal", mass=1.0, inertia=(1, 1, 1)), free)
    robot = robot.with_constraints(lw.constraints.Ball("pedestal", point=(0, 0, 1)))
    assert robot.constraint_error([1, 0, 0, 0, 0.1, 0.2, 0.3]).tolist() == [0.1, 0.2, -0.7]
    assert robot.with_root("pedestal").constraints == robot.constraints


def test_with_locked_removes_locked_joints_from_constraints():
    robot = arm().with_constraints(
        lw.constraints.Gear("wrist", "elbow", -2.0), lw.constraints.Distance("world", "tip", 1.3)
    )
    with pytest.raises(ValueError, match=r"'gear\(wrist, elbow\)' refers to joint 'elbow'"):
        robot.with_locked_joints(["elbow"])
    locked = robot.with_locked_joints({"base": 0.3})
    np.testing.assert_allclose(
        locked.constraint_error([-0.7, 0.4]), robot.constraint_error([0.3, -0.7, 0.4]), rtol=0, atol=1e-14
    )
    cam_robot = arm().with_constraints(lw.constraints.Holonomic("cam", cam))
    with pytest.raises(ValueError, match="'cam' refers to joint 'elbow'"):
        cam_robot.with_locked_joints(["elbow"])


def test_edited_robots_have_the_constraints_of_the_original():
    robot = arm().with_constraints(
        lw.constraints.Gear("wrist", "elbow", -2.0),
        lw.constraints.CenterOfMass(z=0.1),
        lw.constraints.Holonomic("cam", cam),
    )
    q = [0.1, 0.2, 0.3]
    for edited in (
        robot.with_frame("more", "rod0"),
        robot.with_gravity((0, 0, 0)),
        robot.with_point("mark", "rod0"),
        robot.with_joint(robot.joint("base").with_damping(0.3)),
    ):
        assert list(edited.constraints) == list(robot.constraints)
        np.testing.assert_allclose(edited.constraint_error(q), robot.constraint_error(q), rtol=0, atol=1e-15)
    heavier = robot.with_payload("payload", "tip", 3.0)
    assert heavier.constraint_error(q)[1] == heavier.center_of_mass(q)[2] - 0.1 != robot.constraint_error(q)[1]
    with pytest.raises(ValueError, match="is of type planar"):
        robot.with_joint(robot.joint("elbow").with_type(lw.joints.Planar()))
    coupled = robot.with_couplings({"base": ("elbow", 0.5, 0.1)})
    expected = robot.constraint_error([0.5 * 0.2 + 0.1, 0.2, 0.3])
    np.testing.assert_allclose(coupled.constraint_error([0.2, 0.3]), expected, rtol=0, atol=1e-14)
    G, E = robot.constraint_jacobian([0.2, 0.2, 0.3]), np.array([[0.5, 0], [1, 0], [0, 1]])
    np.testing.assert_allclose(coupled.constraint_jacobian([0.2, 0.3]), G @ E, rtol=0, atol=1e-13)


def test_parameters_of_the_robot_affect_constraint_jacobians():
    robot = arm().with_constraints(
        lw.constraints.Distance("corner", "world", 1.3),
        lw.constraints.PointOnLine("tip", "up"),
        lw.constraints.CenterOfMass(x=0.1, y=0.2),
    )
    names = ["point:corner", "direction:up", "frame:tip", "inertia:rod2"]
    kernel = robot.compile(["constraint_jacobian", "constraint_error"], parameters=names)
    q, rng = [0.1, 0.2, 0.3], np.random.default_rng(1)
    corner, up, moved = rng.normal(size=3), np.array([0.48, 0.6, 0.64]), np.array([0.1, 0.2, 0.3])
    moved_robot = arm().with_frame("tip2", "rod2", lw.pose((1.1, 0.2, 0.3)))
    moved_robot = moved_robot.with_point("corner2", "rod1", corner).with_direction("up2", "rod1", up)
    moved_robot = moved_robot.with_inertia("rod2", mass=2.0, com=(0.3, 0.2, 0.1), inertia=(0.5, 0.6, 0.7))
    inertia = np.array((moved_robot.tree.frame("rod2").inertia).parameters())
    rows, error = kernel(q, corner, up, [0, 0, 0, *moved], inertia)
    moved_robot = moved_robot.with_constraints(
        lw.constraints.Distance("corner2", "world", 1.3),
        lw.constraints.PointOnLine("tip2", "up2"),
        lw.constraints.CenterOfMass(x=0.1, y=0.2),
    )
    np.testing.assert_allclose(error, moved_robot.constraint_error(q), rtol=0, atol=1e-13)
    np.testing.assert_allclose(rows, moved_robot.constraint_jacobian(q), rtol=0, atol=1e-13)
    robot, moved_robot = (
        r.without_constraints().with_constraints(
            lw.constraints.Distance(p, "world", 1.3), lw.constraints.CenterOfMass(x=0.1)
        )
        for r, p in ((robot, "corner"), (moved_robot, "corner2"))
    )
    moving = robot.compile(["constrained_forward_dynamics"], parameters=["point:corner", "inertia:rod2"])
    result = moving(q, q, np.ones(3), corner, inertia)[0]
    np.testing.assert_allclose(result, moved_robot.forward_dynamics(q, q, np.ones(3)), rtol=0, atol=1e-9)


def test_robots_with_function_constraints_are_compared_by_value():
    robot = arm().with_constraints(lw.constraints.Holonomic("cam", cam), lw.constraints.Prescribed("base", turning))
    again = arm().with_constraints(lw.constraints.Holonomic("cam", cam), lw.constraints.Prescribed("base", turning))
    assert (
        robot == again
        and hash(robot) == hash(again)
        and robot.constraints["cam"] == lw.constraints.Holonomic("cam", cam)
    )
    assert robot != arm().with_constraints(
        lw.constraints.Holonomic("cam", lambda k: k.q("elbow")), lw.constraints.Prescribed("base", turning)
    )
    back = pickle.loads(pickle.dumps(robot))
    assert (
        back == robot
        and back.constraint_error([0.1, 0.2, 0.3]).tolist() == robot.constraint_error([0.1, 0.2, 0.3]).tolist()
    )
    assert copy.deepcopy(robot) == robot
    for attribute in (
        lw.constraints.Holonomic("own", lambda k: k.q("elbow")),
        lw.constraints.Coupling(("base", "elbow"), lambda base, elbow: base - elbow),
        lw.constraints.Prescribed("base", lambda t: t),
        lw.constraints.PointOnSurface("tip", lambda r: r[2]),
    ):
        robot = arm().with_constraints(attribute)
        assert not _is_ours(robot.constraints[0])
        assert copy.deepcopy(robot) == robot
        with pytest.raises(
            pickle.PicklingError, match=f"constraint {attribute.name.split('(')[0]!r}|{attribute.name.split('(')[0]}"
        ):
            pickle.dumps(robot)
    assert _is_ours(lw.constraints.Gear("a", "b", 2.0)) and _is_ours(lw.constraints.Coupling({"a": 1.0}))


@pytest.mark.slow(every=9)
def test_constraint_functions_with_equal_names_do_not_share_cached_machine_code():
    """Two processes with different functions of one name: neither gets the other's code from the cache."""
    code = (
        "import linkwork as lw; r = lw.load('arm7');"
        "r = r.with_constraints(lw.constraints.Holonomic('f', lambda k: k.q('elbow') * {0}));"
        "print(r.constraint_error({{'elbow': -1.0}})[0])"
    )
    results = [
        subprocess.run([sys.executable, "-c", code.format(x)], capture_output=True, text=True, check=True).stdout
        for x in (2.0, 3.0)
    ]
    assert [float(x) for x in results] == [-2.0, -3.0]
