"""Placed, mounted and joined trees: names, poses, dynamics, and hand-written wholes."""

import re
from dataclasses import fields, is_dataclass

import numpy as np
import pytest

import linkwork as lw
from linkwork import constraints as lc
from linkwork.model.body import WORLD
from linkwork.model.joined_trees import joined, mounted, placed, prefixed
from linkwork.model.tree_edits import is_tied
from linkwork.robots import names as built_in
from linkwork.spatial import Pose
from oracles.comparison import assert_close
from oracles.example_robots import EXAMPLES, SHIPPED
from oracles.scalars import Direct
from oracles.textbook import Textbook
from oracles.trees import TREES

X = Pose.of(lw.pose((0.4, -0.1, 0.8), rpy=(0.3, -0.5, 0.7)).tolist())
Y = Pose.of(lw.pose((-0.2, 0.6, 0.1), rpy=(-1.1, 0.2, 2.0)).tolist())
EXAMPLE = {example.name: example for example in (*SHIPPED, *EXAMPLES)}
BUILT_IN = [lw.load(name).tree for name in built_in()]


def everything():
    """A robot with all that a tree may contain, and constraints of all types that name something."""
    robot = lw.load("arm7_gripper").with_point("tip", "hand", (0, 0, 0.1)).with_point("mark", "world", (1, 0, 0))
    robot = robot.with_direction("edge", "hand", (0, 0.6, 0.8)).with_frame("camera", "hand", (0, 0, 0.05))
    robot = robot.with_loop("closing", "hand", "base", lw.joints.Floating()).with_attached(
        "box", "hand", lw.shapes.Sphere(0.01), touching=["left_finger"]
    )
    robot = robot.with_constraints(
        lc.Ball("tip", "mark"),
        lc.Weld("camera", "world"),
        lc.PointOnPlane("tip", "world.z"),
        lc.Gear("elbow", "wrist_roll", 2.0),
        lc.Distance("tip", "mark", 1.0),
        lc.Parallel("edge", "world.x"),
        lc.Angle("base.z", "edge", 1.0),
        lc.PointOnLine("tip", "world.x"),
        lc.NoSlip("tip", ("base.x", "base.y")),
        lc.KnifeEdge("camera"),
        lc.Coupling({"elbow": 1.0, "wrist_roll": -2.0, "wrist_flex": 1.0}),
        lc.Rolling("camera", radius=0.1),
        lc.Prescribed("elbow", lambda t: t),
        lc.Prescribed(point="tip", motion=lambda t: [t, t], axes="xy"),
        lc.PolynomialCoupling("elbow", "wrist_flex", (0.0, 1.0)),
        lc.Holonomic("of function", lambda k: k.q("elbow") - k.pose("hand")[0, 3] + k.direction("edge", "camera")[0]),
        lc.Pfaffian("of rates", lambda k: k.v("elbow") + k.twist("hand", "world")[0]),
    )
    spring = lw.force_elements.SpringDamper("tip", "mark", stiffness=10.0)
    bushing = lw.force_elements.Bushing("camera", "world", stiffness=3.0)
    motors = lw.Actuator.motor("motor", "elbow"), lw.Actuator("jet", frame="camera", wrench=(0, 0, 0, 0, 0, 1))
    robot = robot.with_force_elements(spring, bushing).with_actuators(*motors)
    robot = robot.with_named_configuration("bent", {"elbow": -1.0}, v={"elbow": 0.1}, controls={"motor": 2.0})
    robot = robot.with_couplings({"right_finger_slide": ("left_finger_slide", 1.0)})
    return robot.with_collision_pairs([*robot.collision_pairs[1:], ("wrist", "flange")])


def texts(value):
    """All texts inside of a value, in order."""
    if isinstance(value, str):
        yield value
    elif is_dataclass(value):
        for field in fields(value):
            if field.init and field.compare and field.name not in ("names", "joint_names"):  # of user functions
                yield from texts(getattr(value, field.name))
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from texts(item)


@pytest.mark.parametrize("tree", [everything().tree, *BUILT_IN], ids=lambda tree: tree.name)
def test_joining_robots_prefixes_every_name(tree):
    items = (*tree.frames, *tree.points, *tree.directions, *tree.constraints, *tree.force_elements, *tree.actuators)
    known = {x.name for x in (*items, *tree.named_configurations, *tree.bodies)} | {*tree.carried} - {"world"}
    known -= {"world"}
    local = {geometry.name for frame in tree.frames for geometry in (*frame.visuals, *frame.collisions)}
    assert not known & local  # names of shapes are those of their links

    def expected(text):
        return f"p_{text}" if text in known or text.removesuffix(text[-2:]) in known else text

    parts = [f.name for f in fields(tree) if f.compare and f.name != "name"]
    result = prefixed(tree, "p_")
    for part in parts:
        assert [*texts(getattr(result, part))] == [expected(x) for x in texts(getattr(tree, part))], part
    for old, new in zip(tree.constraints, result.constraints, strict=True):
        assert [*texts(new.references)] == [expected(x) for x in texts(old.references)]


@pytest.mark.slow(every=5)
def test_user_functions_in_a_joined_robot_find_the_prefixed_names():
    robot = everything()
    q, v = robot.random_configuration(seed=1), np.linspace(-1.0, 1.0, robot.nv)
    renamed = lw.Robot(prefixed(robot.tree, "p_"))
    for method, arguments in (("constraint_error", [q]), ("constraint_bias", [q, v])):
        expected = getattr(Direct(robot.tree), method)(*arguments)
        assert_close(getattr(Direct(renamed.tree), method)(*arguments), expected, 1e-14)
    again = lw.Robot(prefixed(renamed.tree, "r_"))
    assert again.constraints["r_p_of function"].references.joints == ("r_p_elbow",)


# -- poses, motions and forces


def on_fixed_base(tree):
    return not any(
        body.joint.is_floating and not is_tied(tree, i) for i, body in enumerate(tree.bodies) if body.parent == WORLD
    )


def state(tree, seed=0):
    rng = np.random.default_rng(seed)
    return lw.Robot(tree).random_configuration(rng, size=2), *rng.normal(size=(2, 2, tree.nv))


def both(first, second):
    return [np.concatenate(pair, axis=-1) for pair in zip(first, second, strict=True)]


def assert_same_motions(new, old, names, prefix, ground, tolerance=1e-12):
    """Assert equal motions relative to the root link of a part in the whole, and alone."""
    for name in names:
        A, B = prefix + ground, prefix + name
        assert_close(new.pose(B, A), old.pose(name, ground), tolerance, core=2)
        assert_close(new.twist(B, A, A), old.twist(name, ground, ground), tolerance, core=1)
        assert_close(new.acceleration(B, A, A), old.acceleration(name, ground, ground), 10 * tolerance, core=1)


@pytest.mark.parametrize("name", TREES)
def test_mounted_robot_moves_relative_to_its_carrier_as_on_a_fixed_base(name):
    host, part = TREES["mixed_0"], TREES[name]
    if not on_fixed_base(part):
        with pytest.raises(ValueError, match=r"with_mounted: robot .*: joint '.*' floats in its world: expected"):
            mounted(host, part, "tool3", X, "p_")
        return
    whole = mounted(host, part, "tool3", X, "p_")
    ground = next(f.name for f in part.frames if f.body == WORLD and f.name != "world")
    first, second = state(host), state(part, 1)
    new, alone = Textbook(whole, *both(first, second)), Textbook(host, *first)
    assert_close(new.pose(f"p_{ground}", "tool3")[0], np.reshape(X.elements(), (4, 4)), 1e-14)
    assert_same_motions(new, Textbook(part, *second), [f.name for f in part.frames[:6]], "p_", ground)
    assert_same_motions(new, alone, [f.name for f in host.frames[:4]], "", "ground0")
    # bodies have the sums of these inertias, which the constructor checks
    assert [f.inertia for f in whole.frames] == [f.inertia for f in (*host.frames, *part.frames)]
    assert abs(whole.mass - host.mass - part.mass) < 1e-12
    for kind in ("points", "directions"):
        assert [x.name for x in getattr(whole, kind)] == [
            *(x.name for x in getattr(host, kind)),
            *(f"p_{x.name}" for x in getattr(part, kind)),
        ]
    assert whole.point("p_marker1").frame == f"p_{ground}" or part.point("marker1").frame != "world"


@pytest.mark.slow(every=5)
def test_joined_robots_of_all_joint_types_have_the_joint_forces_of_each():
    parts = {name: tree for name, tree in TREES.items() if not name.endswith("random")}
    whole = joined("cell", parts)
    states = [state(tree, k) for k, tree in enumerate(parts.values())]
    q, v, a = (np.concatenate(x, axis=-1) for x in zip(*states, strict=True))
    alone = [Direct(tree).inverse_dynamics(*arguments) for tree, arguments in zip(parts.values(), states, strict=True)]
    assert_close(Direct(whole).inverse_dynamics(q, v, a), np.concatenate(alone, axis=-1), 1e-12)
    pose = Textbook(whole, q)
    for (name, tree), arguments in zip(parts.items(), states, strict=True):
        last = tree.frames[-3].name
        assert_close(pose.pose(f"{name}_{last}"), Textbook(tree, arguments[0]).pose(last), 1e-13)


@pytest.mark.parametrize("tree", [*TREES.values(), *BUILT_IN], ids=lambda tree: tree.name)
def test_robot_with_a_rotated_base_equals_the_robot_under_rotated_gravity(tree):
    if not on_fixed_base(tree):
        return
    base, replaced = placed(tree, X), placed(placed(tree, Y), X)
    ground = next((f for f in tree.frames if f.body == WORLD and f.name != "world"), None)
    assert base.frame(ground.name if ground else "base").placement == X
    q, v, a = state(tree)
    down = tree.with_gravity((X if ground is None else X @ ground.placement.inv()).rotation.inv_act(tree.gravity))
    for result in (base, replaced):
        new, old = Direct(result), Direct(down)
        assert_close(new.inverse_dynamics(q, v, a), old.inverse_dynamics(q, v, a), 1e-11)
        for name in ("constraint_error", "constraint_jacobian") if tree.constraints else ():
            assert_close(getattr(new, name)(q), getattr(old, name)(q), 1e-12)
    assert placed(base, X) == base
    same = ("stacking", "gravity", "actuators", "named_configurations", "disabled_collisions", "enabled_collisions")
    assert all(getattr(base, x) == getattr(tree, x) for x in same)


@pytest.mark.parametrize(
    "tree", [t for t in BUILT_IN if t.constraints and on_fixed_base(t)], ids=lambda tree: tree.name
)
def test_constraints_of_a_mounted_robot_do_not_depend_on_the_carriers_joints(tree):
    arm = EXAMPLE["arm6"].robot().tree
    (q0, v0, _), (q, v, _) = state(arm, 1), state(tree)
    new, alone = Direct(mounted(arm, tree, "tool", X, "p_")), Direct(tree)
    (q1, v1), columns = both((q0, v0), (q, v)), np.zeros((1, 1, arm.nv))
    assert_close(new.constraint_error(q1), alone.constraint_error(q), 1e-13)
    G = alone.constraint_jacobian(q)
    expected = np.concatenate([np.broadcast_to(columns, (*G.shape[:2], arm.nv)), G], axis=-1)
    assert_close(new.constraint_jacobian(q1), expected, 1e-13, core=2)
    assert_close(new.constraint_bias(q1, v1), alone.constraint_bias(q, v), 1e-12)


@pytest.mark.slow(every=4)
def test_joined_constrained_robots_have_the_accelerations_and_forces_of_each():
    first, second = lw.load("fourbar"), lw.load("scissor_lift").with_base((0.0, 1.0, 0.0))
    whole = lw.join_robots({"a": first, "b": second})
    assert whole == lw.join_robots({"a": first}, name="cell").with_mounted(
        lw.load("scissor_lift"), "world", (0.0, 1.0, 0.0), prefix="b_"
    )
    states = []
    for robot in (first, second):
        q = robot.assemble(robot.neutral()).q
        states.append((q, robot.project_velocity(q, np.ones(robot.nv)), 0.1 * np.ones(robot.nv)))
    alone = [r.constrained_forward_dynamics(*s) for r, s in zip((first, second), states, strict=True)]
    together = whole.constrained_forward_dynamics(*both(*states))
    for name in ("a", "constraint_forces"):
        parts = np.concatenate([getattr(x, name) for x in alone])
        assert_close(getattr(together, name), parts, 1e-9)


# -- hand-written wholes


def body_of(text, prefix=""):
    """The links and joints of a URDF text, with a prefix before their names."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    inside = re.search(r"<robot[^>]*>(.*)</robot>", text, re.DOTALL)[1]
    inside = re.sub(r'(<(?:link|joint) name=")', rf"\1{prefix}", inside)
    inside = re.sub(r'(<(?:parent|child) link=")', rf"\1{prefix}", inside)
    return re.sub(r'(<mimic joint=")', rf"\1{prefix}", inside)


def fixed(name, parent, child, xyz="0.1 0.2 0.3"):
    links = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="fixed">{links}<origin xyz="{xyz}"/></joint>'


PAIRS = [
    ("arm6", "tool", "double_pendulum"),
    ("arm7", "hand", "arm7_gripper"),
    ("quadruped", "hind_right_foot", "arm7_gripper"),
]


@pytest.mark.parametrize(("host", "at", "part"), PAIRS)
def test_mounted_and_placed_robots_equal_hand_written_files_bit_for_bit(host, at, part):
    a, b = EXAMPLE[host], EXAMPLE[part]
    root = b.robot().links[0].name
    carrier = lw.Robot.from_urdf_string(f'<robot name="{host}">{body_of(a.text())}</robot>')
    mounted_robot = lw.Robot.from_urdf_string(f'<robot name="{part}">{body_of(b.text())}</robot>')
    weld = fixed(f"p_{root}_mount", at, f"p_{root}")
    text = f'<robot name="{host}">{body_of(a.text())}{body_of(b.text(), "p_")}{weld}</robot>'
    assert carrier.with_mounted(mounted_robot, at, (0.1, 0.2, 0.3), prefix="p_") == lw.Robot.from_urdf_string(text)
    weld = fixed(f"{root}_mount", "world", root)
    text = f'<robot name="{part}"><link name="world"/>{body_of(b.text())}{weld}</robot>'
    expected = lw.Robot.from_urdf_string(text)
    assert mounted_robot.with_base((0.1, 0.2, 0.3)) == expected
    alone = f'<robot name="{part}">{body_of(b.text())}</robot>'
    assert lw.Robot.from_urdf_string(alone, base=(0.1, 0.2, 0.3)) == expected


def test_collision_shapes_of_a_part_without_visual_shapes_are_visible_beside_visual_shapes():
    def robot(name, **shapes):
        return lw.Robot.build(name, lw.Link(f"{name}_palm", mass=0.4, **shapes))

    ball, box = lw.shapes.Sphere(0.1).at((0, 0, 0)), lw.shapes.Box((0.1, 0.2, 0.3)).at((0, 0, 0))
    drawn, hit, bare = robot("seen", visuals=[ball]), robot("hit", collisions=[box]), robot("bare")
    for whole, part in ((drawn, hit), (hit, drawn)):
        links = whole.with_mounted(part, f"{whole.name}_palm").tree.links
        shapes = {f.name: (f.visuals, f.collisions) for f in links}
        assert shapes["seen_palm"] == ((ball,), ()) and shapes["hit_palm"] == ((box,), (box,))
    assert not any(f.visuals for f in hit.with_mounted(bare, "hit_palm").tree.links)
