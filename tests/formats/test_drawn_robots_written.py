"""Random robots in files: another program sees the same poses, forces, limits and parts, or a finding names them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from formats.drawn_robots import KINDS, State, drawn_robot
from formats.other_programs import coordinates, keys, values_of_mujoco, values_of_pinocchio, with_quaternion
from formats.written_robots import frame_poses
from linkwork import joints
from linkwork.constraints import LoopJoint
from linkwork.dynamics.algorithms.inverse_dynamics import gravity_force, inverse_dynamics
from linkwork.dynamics.algorithms.joint_wrenches import static_torque
from linkwork.dynamics.algorithms.passive_joint_forces import element_forces, passive_force_of_joints
from linkwork.errors import ModelError
from linkwork.formats import (
    loops_text,
    mjcf_text,
    parse_loops,
    parse_robot,
    parse_sdf,
    parse_urdf,
    robot_text,
    sdf_text,
    urdf_text,
)
from linkwork.formats.urdf.urdf_writer import with_written_joints
from linkwork.model.attached_constraints import attached
from linkwork.model.body import Body
from linkwork.model.tree import Report, Tree
from linkwork.model.tree_builder import build_tree
from linkwork.spatial import Pose, Rotation, Vec3

Values = dict[tuple[str, str], Any]  # numbers by quantity and element
Groups = dict[str, list[str]]  # joints of a file in the place of each joint

every_kind = pytest.mark.parametrize(("kind", "form"), KINDS, ids=[f"{kind.__name__}-{form}" for kind, form in KINDS])

UNSEEN = ("inverse dynamics", "named configuration", "pairs", "friction of shapes")  # in the comparison with MuJoCo

WORDS = {  # that a finding has, by the quantity that differs
    "pose": "each name once|link without mass between|frame on the world|written as <loop_joint>",
    "point": "no points",
    "springs and damping": "damping|spring",
    "friction": "friction",
    "armature": "armature|drive",
    "lower": "limit|bound",
    "upper": "limit|bound",
    "velocity": "limit",
    "effort": "limit",
    "acceleration": "limit",
    "jerk": "limit",
    "gear ratio": "gear ratio|drive",
    "static friction": "static friction|drive|damping, friction",
    "scale of friction": "scale|friction velocity|drive|damping, friction",
    "without effect": "without effect|drive",
    "mimic": "mimic",
    "loop": "constraint|loop",
    "resistance of a loop": "damping|limits|friction|constraint|loop",
    "force element": "force element|force_element",
    "actuator": "actuator",
    "named configuration": "named configurations",
    "shapes": "shape",
    "friction of shapes": "shape",
    "gravity": "gravity",
    "pairs": "pairs of links",
    "q": "other coordinates|as its coordinates",
    "v": "other coordinates|as its coordinates",
}


def stacked(tree: Tree, values: State) -> list[float]:
    return [x for _, body in tree.stacked() if body.coupling is None for x in values[body.joint_name]]


def alone(tree: Tree) -> Groups:
    return {body.joint_name: [body.joint_name] for body in tree.bodies if body.joint.nv}


def values_of(tree: Tree, q: State, v: State, a: State, groups: Groups, without_dry_friction: bool = False) -> Values:
    """Values that linkwork computes of a tree, and content that is no default; joints are those of ``groups``."""
    Q, V, A = (stacked(tree, x) for x in (q, v, a))
    bodies = {body.joint_name: (body, tree.v_slices[i]) for i, body in enumerate(tree.bodies)}
    no_friction = replace(tree, bodies=tuple(replace(b, friction=(0.0,) * b.joint.nv) for b in tree.bodies))
    no_friction = no_friction.with_unchecked(
        bodies=tuple(replace(b, drive=replace(b.drive, static_friction=())) for b in no_friction.bodies)
    )
    forces = {
        "weight": gravity_force(tree, Q),
        "inverse dynamics": inverse_dynamics(tree, Q, V, A),
        "springs and damping": passive_force_of_joints(no_friction, Q, V),
    }
    poses = frame_poses(tree, Q)
    result: Values = {("pose", name): X for name, X in poses.items()}
    result |= {("point", p.name): poses[p.frame] @ [*p.position, 1.0] for p in tree.points}
    for joint, names in groups.items():
        parts = [bodies[name][0] for name in names]
        if parts[0].coupling is None:
            for quantity, force in forces.items():
                result[quantity, joint] = [x for name in names for x in force[bodies[name][1]]]
            rates = [x for name in names for x in v[name]]
            result["friction", joint] = np.dot(each(parts, lambda b: b.friction, resisting=True), np.abs(rates))
            armature = each(parts, lambda b: b.drive.armature or (0.0,) * b.joint.nv)
            result["armature", joint] = np.dot(armature, np.square(rates))
        result |= {(quantity, joint): x for quantity, x in stated(parts) if quantity}
    for body in tree.bodies:
        if body.mimic is not None and body.coupling is None:
            result["mimic", body.joint_name] = [body.mimic.ratio, body.mimic.offset]
    for loop in tree.constraints:
        if isinstance(loop, LoopJoint):
            result["loop", loop.name] = loop_error(
                loop.joint, np.linalg.inv(poses[loop.relative_to]) @ poses[loop.frame]
            )
            result["resistance of a loop", loop.name] = [*filter(None, loop.damping)]
    for element in tree.force_elements:
        single = tree.with_unchecked(force_elements=(element,))
        force = by_group(element_forces(single, Q, V), groups, bodies)
        result["force element", element.name] = force
    for actuator in tree.actuators:
        result["actuator", actuator.name] = by_group(exerted(tree, actuator, q, v), groups, bodies)
    result |= {("named configuration", state.name): [] for state in tree.named_configurations}
    for frame in tree.links:
        origins = [[*(poses[frame.name] @ [*shape.origin.translation, 1.0])] for shape in frame.collisions]
        result["shapes", frame.name] = origins
        result["friction of shapes", frame.name] = [s.friction or 0.0 for s in (*frame.visuals, *frame.collisions)]
    result["gravity", "gravity"] = [*tree.gravity]
    if tree.disabled_collisions:
        result["pairs", "collisions"] = [len(tree.disabled_collisions)]
    return result


def each(parts: list[Body], values: Callable[[Body], Iterable[float]], resisting: bool = False) -> list[float]:
    return [0.0 if resisting and b.dynamics == "none" else x for b in parts for x in values(b)]


def stated(parts: list[Body]) -> Iterable[tuple[str, list[float]]]:
    """Limits and parameters of a joint that are no defaults."""
    inf = math.inf

    def all_of(values: Callable[[Body], Any], default: float) -> list[float]:
        return [x for b in parts for x in (values(b) or (default,) * b.joint.nv)]

    for quantity, components, no_limit in (
        ("lower", all_of(lambda b: b.limits.lower if b.limits.enabled else (-inf,) * b.joint.nq, -inf), -inf),
        ("upper", all_of(lambda b: b.limits.upper if b.limits.enabled else (inf,) * b.joint.nq, inf), inf),
        ("velocity", all_of(lambda b: b.limits.velocity, inf), inf),
        ("effort", all_of(lambda b: b.limits.effort, inf), inf),
        ("acceleration", all_of(lambda b: b.limits.acceleration, inf), inf),
        ("jerk", all_of(lambda b: b.limits.jerk, inf), inf),
        ("gear ratio", all_of(lambda b: b.drive.gear_ratio, 1.0), 1.0),
        ("scale of friction", all_of(lambda b: b.drive.friction_velocity, 0.01), 0.01),
    ):
        yield ("" if set(components) <= {no_limit} else quantity), components
    sticking = [b for b in parts if b.drive.static_friction not in ((), b.friction)]
    yield ("static friction" if sticking else ""), [x for b in sticking for x in b.drive.static_friction]
    inert = [x for b in parts if b.dynamics == "none" for x in (*b.damping, *b.friction)]
    yield ("without effect" if any(inert) else ""), inert


def by_group(force: list[Any], groups: Groups, bodies: dict[str, Any]) -> list[float]:
    names = [name for joint in sorted(groups) for name in groups[joint] if bodies[name][0].coupling is None]
    return [float(x) for name in names for x in force[bodies[name][1]]]


def loop_error(joint: joints.JointType, X: np.ndarray) -> list[float]:
    """Angle and distance from the nearest pose of the joint of a loop."""
    residual = joint.pose_residual(pose_of(X))
    return [math.hypot(*map(float, part)) for part in (residual.angular, residual.linear)]


def pose_of(X: np.ndarray) -> Pose:
    return Pose(Rotation(*(Vec3.of(row) for row in X[:3, :3].tolist())), Vec3.of(X[:3, 3].tolist()))


def bodies_before(tree: Tree, frame: str) -> set[int]:
    """Return the bodies whose joints move a frame."""
    i, result = tree.frame(frame).body, set()
    while i >= 0:
        result.add(i)
        i = tree.bodies[i].parent
    return result


def exerted(tree: Tree, actuator: Any, q: State, v: State) -> list[float]:
    """Joint forces of an actuator at the control 0.7, without limits of joints: of each joint apart, then summed."""
    couplings = {body.joint_name: body.coupling for body in tree.bodies if body.coupling is not None}
    apart = replace(tree, bodies=tuple(replace(body, coupling=None) for body in tree.bodies))
    q = q | {name: coupling.q(q[coupling.joint]) for name, coupling in couplings.items()}
    v = v | {name: coupling.v(v[coupling.joint]) for name, coupling in couplings.items()}
    Q, V = stacked(apart, q), stacked(apart, v)
    moment, length = np.zeros(apart.nv), actuator.offset
    for name, gears in actuator.joints:
        i = apart.joint_index(name)
        moment[apart.v_slices[i]], joint = gears, apart.bodies[i].joint
        length += np.dot(gears, np.array(joint.difference(joint.zero(), q[name]), dtype=float))
    if (frame := actuator.frame) is not None:
        axes, wrench = actuator.relative_to or frame, np.array(actuator.wrench)
        pair = {frame: wrench} | ({} if actuator.relative_to is None else {axes: -wrench})
        moving = [(name, axes, [*x]) for name, x in pair.items() if apart.frame(name).body >= 0]
        moment = np.array(static_torque(apart, Q, moving), dtype=float)
        if len(pair) == 2:
            for i in set.intersection(*(bodies_before(apart, name) for name in pair)):
                moment[apart.v_slices[i]] = 0.0  # of a joint that moves both frames
            poses = frame_poses(apart, Q)
            X = pose_of(np.linalg.inv(poses[axes]) @ poses[frame])
            length += wrench @ np.array(Pose.identity().difference(X).elements(), dtype=float)
    force = moment * float(actuator.force(0.7, length, moment @ V))
    result = np.zeros(tree.nv)
    for i, body in enumerate(tree.bodies):
        result[tree.v_slices[i]] += body.ratio * force[apart.v_slices[i]]
    return result.tolist()


def near(value: Any, result: Any) -> bool:
    x, y = np.ravel(value).astype(float), np.ravel(result).astype(float)
    scale = max([1.0, *np.abs(x[np.isfinite(x)])])
    return len(x) == len(y) and np.allclose(x, y, rtol=1e-9, atol=1e-9 * scale)


def check(tree: Tree, before: Values, after: Values, report: Report) -> None:
    """Each quantity is the same in both, or a finding names its element and says what differs."""
    followers = {b.coupling.joint: b.joint_name for b in tree.bodies if b.coupling is not None}
    texts = [str(issue) for issue in report.warnings]
    for (quantity, element), value in before.items():
        result = after.get((quantity, element))
        if (result is None and not np.any(value)) or (result is not None and near(value, result)):
            continue
        names = "|".join(map(re.escape, {element, followers.get(element, element)}))
        named = [text for text in texts if re.search(rf"\[({names})(_\d)?\]|'({names})'|/({names}):", text)]
        is_found = any(re.search(WORDS.get(quantity, "^$"), text) for text in named)
        assert is_found, (quantity, element, value, result, texts)
    for quantity, element in after.keys() - before.keys():
        assert quantity in ("pose", "weight", "inverse dynamics", "shapes", "friction of shapes"), (quantity, element)


def parts_in(tree: Tree, back: Tree) -> Groups:
    """The joints of a tree that was read in the place of each joint: those of its name with a number."""
    result: Groups = {}
    for body in tree.bodies:
        if body.joint.nv:
            numbered = [body.joint_name, *(f"{body.joint_name}_{k}" for k in range(2, 8))]
            known = {b.joint_name for b in back.bodies if b.coupling is None or b.joint_name == body.joint_name}
            names = (f"{body.name}::floating_base", "floating_base", "floating_base_2")  # of a link that moves freely
            free = [name for name in names if name in known][:1]
            result[body.joint_name] = [name for name in numbered if name in known] or free
    return result


def check_read(tree: Tree, back: Tree, report: Report, q: State, v: State, a: State) -> None:
    groups = parts_in(tree, back)
    states: list[State] = []
    kinds = {body.joint_name: body.joint for body in tree.bodies}
    in_file = {name: with_quaternion(kinds[name], values) for name, values in q.items()}
    for values, size in ((in_file, lambda joint: joint.nq), (v, lambda joint: joint.nv), (a, lambda joint: joint.nv)):
        state: State = {}
        for joint, names in groups.items():
            remaining = values.get(joint, [])
            for name in names:
                count = size(back.bodies[back.joint_index(name)].joint)
                state[name], remaining = remaining[:count], remaining[count:]
            assert not remaining, joint
        states.append(state)
    check(tree, values_of(tree, q, v, a, alone(tree)), values_of(back, *states, groups), report)


def options(tree: Tree, report: Report) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options of the reader and of the builder that the findings of a report ask for."""
    hints = " ".join(str(issue.hint) for issue in report.warnings)
    built: dict[str, Any] = {"mimic": "coupled"} if 'mimic="coupled"' in hints else {}
    built |= {"floating_base": True} if "floating_base=True" in hints else {}
    built |= {"gravity": tree.gravity} if "has no gravity" in str(report) else {}
    return ({"continuous": "sincos"} if 'continuous="sincos"' in hints else {}), built


def written(write: Callable[..., tuple[str, Report]], tree: Tree, **options: Any) -> tuple[str, Report] | None:
    """The text of a tree and the report; None if a joint is refused."""
    try:
        return write(tree, **options)
    except ModelError as error:
        if not re.search("joint.* (has no|cannot couple|connects a body to the world only)", str(error)):
            raise
        return None


def check_saved(tree: Tree, *_: State) -> None:
    assert parse_robot(robot_text(tree)) == tree


def check_urdf(tree: Tree, *state: State) -> None:
    for beside in (False, True):
        if (file := written(urdf_text, tree, with_loops_file=beside)) is None:
            return
        read, built = options(tree, file[1])
        back = build_tree(parse_urdf(file[0], **read), **built)
        if beside:
            back = attached(back, parse_loops(loops_text(with_written_joints(tree))))
        check_read(tree, back, file[1], *state)


def check_sdf(tree: Tree, *state: State) -> None:
    if (file := written(sdf_text, tree, world="room")) and "with other coordinates" not in str(file[1]):
        read, built = options(tree, file[1])
        check_read(tree, build_tree(parse_sdf(file[0], **read), **built), file[1], *state)


def check_mujoco(tree: Tree, q: State, v: State, a: State) -> None:
    pytest.importorskip("mujoco")
    file = written(mjcf_text, tree.with_unchecked(named_configurations=keys(tree, q, v)))
    if file is None or "MuJoCo refuses" in str(file[1]):  # a link that moves without mass
        return
    before = values_of(tree, q, v, a, alone(tree)) | coordinates(tree, q, v)
    check(tree, {key: x for key, x in before.items() if key[0] not in UNSEEN}, values_of_mujoco(tree, file[0]), file[1])


def check_pinocchio(tree: Tree, q: State, v: State, a: State) -> None:
    pytest.importorskip("pinocchio")
    if file := written(urdf_text, tree):
        before = values_of(tree, q, v, a, alone(tree))
        known = {key: x for key, x in before.items() if key[0] in ("pose", "weight", "inverse dynamics")}
        check(tree, known, values_of_pinocchio(tree, q, v, a, file[0]), file[1])


CHECKS = (check_saved, check_urdf, check_sdf, check_mujoco, check_pinocchio)


@pytest.mark.parametrize("check_file", CHECKS)
@every_kind
def test_random_robot_written_to_a_file_is_read_equal_or_a_finding_names_the_difference(
    kind: type[joints.JointType], form: str, check_file: Callable[..., None]
) -> None:
    for seed in range(2):
        check_file(*drawn_robot(kind, form, seed))


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("check_file", CHECKS)
def test_hundreds_of_random_robots_written_to_files_are_read_equal(check_file: Callable[..., None], drawn: Any) -> None:
    for seed in drawn(range(2, 6)):
        for kind, form in KINDS:
            check_file(*drawn_robot(kind, form, seed))


@pytest.mark.parametrize("form", ["alone", "part"])
@pytest.mark.parametrize("kind", [joints.Floating, joints.FloatingMRP])
def test_named_configurations_saved_beside_a_urdf_have_the_poses_of_the_robot(
    kind: type[joints.JointType], form: str
) -> None:
    """Also of joints with other coordinates in URDF."""
    for seed in range(4):
        tree, q, *_ = drawn_robot(kind, form, seed)
        text, report = urdf_text(tree, with_loops_file=True)
        read, built = options(tree, report)
        back = build_tree(parse_urdf(text, **read), **built)
        (state,) = attached(back, parse_loops(loops_text(with_written_joints(tree)))).named_configurations
        after = frame_poses(back, stacked(back, dict(state.q)))
        before = frame_poses(tree, stacked(tree, q))
        for name in before.keys() & after.keys():
            np.testing.assert_allclose(after[name], before[name], rtol=0.0, atol=1e-12)


class DoubledHinge(joints.Revolute):
    """A hinge of a user that turns twice as far: no joint of a file, though it is derived from one."""

    def X(self, q: Any) -> Any:
        return super().X([2.0 * q[0]])


def test_writing_joint_types_derived_by_users_is_refused() -> None:
    tree, *_ = drawn_robot(joints.Revolute, "alone", 0)
    body = tree.bodies[0]
    hinge = DoubledHinge(body.joint.axis)
    for joint in (hinge, joints.Composite((hinge,), (body.placement,)), joints.Reversed(hinge)):
        changed = tree.with_unchecked(bodies=(replace(body, joint=joint), *tree.bodies[1:]), constraints=())
        for write in (urdf_text, sdf_text, mjcf_text):
            assert written(write, changed) is None
        with pytest.raises(TypeError, match="cannot be written to a file"):
            robot_text(changed)
