"""Bodies without mass, and point masses: possible results are computed, and others refused by joint."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from invariants.changes import in_other_units
from linkwork import Joint, Link, Robot
from linkwork.dynamics.algorithms.forward_dynamics import forward_dynamics
from linkwork.errors import SingularInertiaError
from linkwork.joints import ALL, Revolute, SphericalEuler
from linkwork.model.random_tree import random_tree
from linkwork.spatial import Inertia, Pose
from oracles.comparison import assert_close, solving_bound
from oracles.scalars import Direct
from oracles.textbook import Textbook
from oracles.trees import state

MOVING = [kind for kind in ALL if kind.example(np.random.default_rng(0)).nv]


def without_mass(tree, *bodies):
    """The tree with some bodies, and what is welded to them, weighing nothing."""
    lightened = [replace(b, inertia=Inertia.zero()) if i in bodies else b for i, b in enumerate(tree.bodies)]
    frames = [replace(f, inertia=Inertia.zero()) if f.body in bodies else f for f in tree.frames]
    return replace(tree, bodies=tuple(lightened), frames=tuple(frames))


@pytest.mark.costly
@pytest.mark.parametrize("kind", MOVING, ids=lambda kind: kind.type_name())
def test_massless_last_link_has_inverse_dynamics_but_no_forward_dynamics(kind):
    last = random_tree(np.random.default_rng(1), 1, types=[kind]).bodies[0]
    tree = random_tree(np.random.default_rng(0), 3, types=MOVING, shape="chain")
    parts = ("joint", "limits", "damping", "friction", "drive")
    joint = {name: getattr(last, name) for name in parts}
    tree = without_mass(replace(tree, bodies=(*tree.bodies[:2], replace(tree.bodies[2], **joint))), 2)
    q, v, a = state(tree)
    book = Textbook(tree, q, v, a)
    robot = Robot(tree)
    assert_close(robot.inverse_dynamics(q, v, a), book.inverse_dynamics(), 1e-13, core=1)
    assert_close(robot.mass_matrix(q), book.mass_matrix(), 1e-13, core=2)
    assert_close(robot.acceleration(q, v, a, "body2"), book.acceleration("body2"), 1e-12, core=1)
    columns = tree.bodies[2].joint.S([*q.T[tree.q_slices[2]]]).columns
    known = all(isinstance(x, float) for x in columns[-1].elements())  # a batch of zeros is not known to be zero
    for f in (robot, Direct(tree, "floats"), *([Direct(tree)] if known else [])):
        with pytest.raises(SingularInertiaError, match="joint2") as caught:
            f.forward_dynamics(q, v, a)
        assert caught.value.joint == "joint2"
    with pytest.raises(SingularInertiaError, match="joint2"):
        robot.compile(["mass_matrix", "forward_dynamics"])


def test_forward_dynamics_names_the_last_massless_joint_in_refused_robots():
    tree = without_mass(random_tree(np.random.default_rng(3), 4, types=MOVING, shape="chain"), 2, 3)
    q, v, a = state(tree)
    with pytest.raises(SingularInertiaError, match="joint3"):
        Robot(tree).forward_dynamics(q, v, a)


def test_massless_bodies_before_heavy_bodies_have_forward_dynamics():
    simple = [kind for kind in MOVING if kind.example(np.random.default_rng(0)).nv == 1]
    tree = without_mass(random_tree(np.random.default_rng(3), 4, types=simple, shape="chain"), 0, 2)
    q, v, a = state(tree)
    assert np.all(np.linalg.cond(Direct(tree).mass_matrix(q)) < 1e5)
    tau, f = Textbook(tree, q, v, a).inverse_dynamics(), Direct(tree)
    bound = solving_bound(f.mass_matrix(q), (tau, f.bias_force(q, v)), a)
    assert_close(Robot(tree).forward_dynamics(q, v, tau), a, bound, core=1)


def test_errors_distinguish_dependent_joint_velocities_from_missing_inertia():
    """At gimbal lock a body of mass moves in two directions for three rates."""
    tree = random_tree(np.random.default_rng(3), 1, types=[SphericalEuler])
    for placement in (tree.bodies[0].placement, Pose.identity()):
        body = replace(tree.bodies[0], joint=SphericalEuler("xyx"), placement=placement, rotor=Pose.identity())
        locked = replace(tree, bodies=(body,))
        q, v = [0.4, 0.0, 0.0], [0.1, 0.2, 0.3]
        with pytest.raises(SingularInertiaError, match="joint 'joint0': its motions depend on each other") as caught:
            forward_dynamics(locked, q, v, v)
        assert (caught.value.joint, caught.value.motions) == ("joint0", True)
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
        with pytest.raises(SingularInertiaError, match="moves bodies without inertia") as caught:
            forward_dynamics(without_mass(locked, 0), [0.4, 0.5, 0.0], v, v)
        assert not caught.value.motions


def test_dependent_joint_velocities_of_robots_with_couplings_are_refused_with_their_names():
    rod = {"mass": 1.0, "com": (0.1, 0.2, -0.5), "inertia": (0.08, 0.09, 0.01)}
    kinds = {"one": Revolute((0, 0, 1)), "two": Revolute((1, 0, 0)), "wrist": SphericalEuler("xyx")}
    for order in (("one", "wrist", "two"), ("one", "two", "wrist"), ("wrist", "one", "two")):
        links = [Link(f"after_{name}", **rod) for name in order]
        parents = ("world", *(link.name for link in links))
        joints = [
            Joint.of(kinds[name], name=name, parent=parent, child=f"after_{name}")
            for name, parent in zip(order, parents, strict=False)
        ]
        tree = Robot.build("r", links, joints).with_couplings({"two": ("one", 2.0, 0.1)}).tree
        q = [0.0] * 4  # the wrist's middle angle is zero
        with pytest.raises(SingularInertiaError, match="joint 'wrist': its motions depend on each other") as caught:
            forward_dynamics(tree, q, [0.1] * 4, [0.1] * 4)
        assert caught.value.motions
        with pytest.raises(SingularInertiaError, match="moves bodies without inertia"):
            forward_dynamics(without_mass(tree, 0, 1, 2), [0.4] * 4, [0.1] * 4, [0.1] * 4)


POINT = """
<robot name="point">
  <link name="base"/>
  <link name="arm"><inertial><origin xyz="{x} 0 0"/><mass value="2"/>
    <inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>
</robot>"""


def test_dynamics_of_a_point_mass_on_an_arm_equal_the_closed_form():
    robot = Robot.from_urdf_string(POINT.format(x=0.5))
    assert robot.mass_matrix(np.array([0.3])).item() == pytest.approx(2.0 * 0.25, rel=1e-15)
    a = robot.forward_dynamics(np.array([0.0]), np.array([0.0]), np.array([0.0]))
    assert a.item() == pytest.approx(9.81 / 0.5, rel=1e-15)  # rotation about +y takes +x down


def test_point_mass_on_the_axis_of_its_hinge_has_no_forward_dynamics():
    """The hinge moves no inertia: everything else is defined."""
    robot = Robot.from_urdf_string(POINT.format(x=0.0))
    q = np.array([0.3])
    assert robot.mass_matrix(q).item() == 0.0
    assert robot.inverse_dynamics(q, q, q).item() == 0.0
    with pytest.raises(SingularInertiaError, match="hinge"):
        robot.forward_dynamics(q, q, q)


def test_link_without_inertial_element_is_a_massless_frame():
    tip = """<link name="tip"/><joint name="t" type="fixed"><parent link="arm"/><child link="tip"/>
             <origin xyz="1 0 0"/></joint></robot>"""
    text = POINT.format(x=0.5).replace("</robot>", tip)
    robot = Robot.from_urdf_string(text)
    assert "tip" in robot.frames
    assert robot.mass == 2.0
    assert robot.pose(robot.neutral(), "tip")[0, 3] == 1.0


@pytest.mark.slow(every=3)
def test_singular_inertias_are_detected_in_any_unit_of_length():
    """Robots of 0.1 µm and of 10⁶ km: inertias are compared with inertias about axes, masses with masses."""
    for name in ("double_pendulum", "arm7_gripper", "quadruped"):
        tree = lw.load(name).tree
        q, v, tau = state(tree)
        expected = Robot(tree).forward_dynamics(q, v, tau)
        for L in (2.0**-26, 2.0**30):
            scaled, s_q, s_v = in_other_units(tree, L, 1.0)
            acceleration = Robot(scaled).forward_dynamics(q * s_q, v * s_v, tau * (L * L / s_v))
            assert_close(acceleration / s_v, expected, 1e-12)


def elastic_joint(shaft=0.0):
    """A motor behind a gear, a massless shaft and a spring: only the armature of the motor moves inertia with it."""
    return Robot.build(
        "elastic_joint",
        Link("shaft", mass=1.0, inertia=(shaft,) * 3) if shaft else Link("shaft"),
        Link("rod", mass=1.0, com=(0.5, 0.0, 0.0), inertia=(0.01, 0.05, 0.05)),
        Joint.of(Revolute("z"), name="motor", parent="world", child="shaft", gear_ratio=100, rotor_inertia=1e-4),
        Joint.of(Revolute("z"), name="spring", parent="shaft", child="rod", stiffness=5000.0, damping=2.0),
    )


def test_armature_counts_as_inertia_in_linear_models_of_massless_shafts():
    """Two inertias J = 1, I = 0.05 + 0.25 kg·m² with a spring between them: ω² = k (1/I + 1/J)."""
    robot = elastic_joint()
    model = lw.control.linear_model(robot, [0.0, 0.0], inputs="motor")
    assert_close(np.abs(model.poles()).max(), np.sqrt(5000.0 * (1 / 0.3 + 1.0)), 1e-12)
    assert_close(model.B[2:, 0], np.array([1.0, -1.0]), 1e-12)  # 1 N·m turns the motor alone
    A, B = robot.linearize([0.3, 0.2], [0.1, -0.2], [1.0, 2.0])
    dq, dv, dtau = robot.forward_dynamics_derivatives([0.3, 0.2], [0.1, -0.2], [1.0, 2.0], passive=True)
    assert_close(A[2:], np.hstack([dq, dv]), 1e-12, core=0)
    assert_close(B[2:], dtau, 1e-12, core=0)
    gains = lw.control.lqr_about_state(robot, [0.0, 0.0], Q=1.0, R=0.1, actuators="motor").K
    heavier = lw.control.lqr_about_state(elastic_joint(1e-9), [0.0, 0.0], Q=1.0, R=0.1, actuators="motor").K
    assert_close(gains, heavier, 1e-6, core=0)
    for f in (robot.linearize, robot.forward_dynamics):
        with pytest.raises(SingularInertiaError, match="passive=True, with which the armature of the joints counts"):
            f([0.0, 0.0], [0.0, 0.0], [0.0, 0.0], passive=False)
    with pytest.raises(SingularInertiaError, match="move no inertia when they move together") as caught:
        robot.with_joint_dynamics(armature={"motor": 0.0}).forward_dynamics([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    assert not caught.value.passive
    assert "passive=True" not in str(caught.value)
