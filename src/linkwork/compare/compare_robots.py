"""Comparison of two robots: inertias by link or by body, joints, shapes, poses, mass matrix and gravity force."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linkwork.compare.joint_matching import JointPair, Names, Pairing, axis_at_zero, neutral_of, paired
from linkwork.compare.robot_comparison import Comparer, RobotComparison
from linkwork.compare.state_comparison import (
    Dynamics,
    Functions,
    Matrices,
    compare_dynamics,
    compare_poses,
    dynamics_of,
    poses_of,
    size_of,
)
from linkwork.formats.description import Drive, mass_properties
from linkwork.joints import JointType
from linkwork.model import Frame, Tree, frames_with_inertias
from linkwork.shapes import Mesh
from linkwork.spatial import Inertia, Pose

__all__ = ["GROUPS", "compare_trees"]

GROUPS: Mapping[str, str] = {
    "names": "what only one robot has",
    "inertias": "masses, centres of mass and rotational inertias of links or bodies, and the total mass",
    "poses": "poses of links and frames, at zero and at random configurations",
    "joints": "types and axes of joints, and relations between them",
    "limits": "limits of positions, speeds and efforts",
    "drives": "damping, friction, armature, gear ratios and springs of joints",
    "constraints": "constraints and force elements",
    "actuators": "actuators and named configurations",
    "collisions": "collision shapes",
    "visuals": "visual shapes",
    "dynamics": "gravity, mass matrix and gravity force at random configurations",
}
"""Groups of quantities with what is in them."""

_MOST_VELOCITIES = 2000  # up to which the dynamics are compared: the maps between velocities are full matrices
_ROUNDING = 16.0 * float(np.finfo(float).eps)  # of moments about another point, relative to m c²


def compare_trees(
    left: Tree,
    right: Tree,
    names: Names,
    *,
    functions: Functions,
    by: str,
    ignore: tuple[str, ...],
    tolerance: float,
    samples: int,
    seed: int | np.random.Generator,
    labels: tuple[str, str],
) -> RobotComparison:
    """Compare two robots, and return the comparison: see `Robot.compare`."""
    to = Comparer(tolerance, ignore)
    pairing = paired(functions, left, right, names)
    frames = _Frames(left, right, names)
    _unmatched(to, pairing, frames, by, names)
    neutral = pairing.configurations(np.array(neutral_of(left)))
    poses = [poses_of(functions, tree, q) for tree, q in zip((left, right), neutral, strict=True)]
    size = max(map(size_of, poses))
    if left.inertias_ignored or right.inertias_ignored:
        to.notes.append("inertias and dynamics are not compared: a robot was loaded without inertias")
    else:
        to.values("inertias", "total mass [kg]", "robot", left.mass, right.mass)
        _inertias(to, pairing, frames, by, size)
    for pair in pairing.pairs:
        _compare_joint(to, pairing, pair, poses, names)
    for name, right_name in frames.shared:
        _compare_shapes(to, name, frames.left[name], frames.right[right_name])
    _compare_parts(to, left, right, names)
    compare_poses(to, [_frame_poses(pairing, frames, *neutral)], size, " at zero")
    to.values("dynamics", "gravity [m/s²]", "robot", [*left.gravity], [*right.gravity])
    _random(to, pairing, frames, size, samples, seed)
    return to.result(*labels, samples)


# -- what is in both


class _Frames:
    """Links and frames of two robots by name, without those called "world" that have neither inertia nor shapes."""

    def __init__(self, left: Tree, right: Tree, names: Names) -> None:
        self.left, self.right = ({frame.name: frame for frame in _stated(tree)} for tree in (left, right))
        self.shared = [(name, names.right(name)) for name in self.left if names.right(name) in self.right]
        known = {name for _, name in self.shared}
        self.left_only = [name for name in self.left if names.right(name) not in self.right]
        self.right_only = [name for name in self.right if name not in known]


def _stated(tree: Tree) -> Sequence[Frame]:
    frames = frames_with_inertias(tree.bodies, tree.frames)
    return [f for f in frames if f.name != "world" or not f.inertia.is_zero or f.visuals or f.collisions]


def _unmatched(to: Comparer, pairing: Pairing, frames: _Frames, by: str, names: Names) -> None:
    """Record links, frames and joints that only one robot has; note joints with another name or direction."""
    if by == "links":
        for on_left, only in ((True, frames.left_only), (False, frames.right_only)):
            all_frames = frames.left if on_left else frames.right
            for name in only:
                to.only("names", "link" if all_frames[name].is_link else "frame", name, left=on_left)
    for tree, only_joints, on_left in (
        (pairing.left, pairing.left_only, True),
        (pairing.right, pairing.right_only, False),
    ):
        for i in only_joints:
            to.only("names", "joint", tree.bodies[i].joint_name, left=on_left)
    for pair in pairing.pairs:
        left, right = pairing.left.bodies[pair.left], pairing.right.bodies[pair.right]
        if pair.by_link and names.right(left.joint_name) != right.joint_name:
            to.notes.append(
                f"joint {left.joint_name!r} is matched with {right.joint_name!r}: both carry link {left.name!r}"
            )
        if pair.direction < 0:
            to.notes.append(
                f"joint {left.joint_name!r} has the opposite axis: its position, speed and force are compared with the "
                f"opposite sign"
            )


# -- inertias


def _inertias(to: Comparer, pairing: Pairing, frames: _Frames, by: str, size: float) -> None:
    if by == "links":
        for name, right_name in frames.shared:
            _inertia(to, "", name, frames.left[name].inertia, frames.right[right_name].inertia, size)
        return
    bodies = {pair.left: pair.right for pair in pairing.pairs}
    right_of = dict(frames.shared)
    for i, j in bodies.items():
        left, right = pairing.left.bodies[i], pairing.right.bodies[j]
        link = frames.right.get(right_of.get(left.name, ""))
        inertia = right.inertia
        if link is not None and link.body == j:
            inertia = link.placement.inv() @ inertia  # in the axes of the link of this name
        _inertia(to, " of body", left.name, left.inertia, inertia, size)
    _inertia(to, " of body", "world", pairing.left.fixed_inertia, pairing.right.fixed_inertia, size)


def _inertia(to: Comparer, of_body: str, name: str, left: Inertia, right: Inertia, size: float) -> None:
    (mass, center, J), (other_mass, other_center, other_J) = mass_properties(left), mass_properties(right)
    to.values("inertias", f"mass{of_body} [kg]", name, mass, other_mass)
    if mass > 0.0 and other_mass > 0.0:
        to.values("inertias", f"center of mass{of_body} [m]", name, [*center], [*other_center], size)
    if any(J.elements()) or any(other_J.elements()):
        far = max(m * (c.x * c.x + c.y * c.y + c.z * c.z) for m, c in ((mass, center), (other_mass, other_center)))
        scale = _ROUNDING * far / to.tolerance if to.tolerance > 0.0 else 0.0
        to.values("inertias", f"inertia{of_body} [kg m²]", name, J.elements(), other_J.elements(), scale)


# -- random configurations


def _random(
    to: Comparer, pairing: Pairing, frames: _Frames, size: float, samples: int, seed: int | np.random.Generator
) -> None:
    """Compare poses, mass matrix and gravity force at random configurations.

    Without the group of inertias, only poses are compared.
    """
    left, right = pairing.left, pairing.right
    rng = np.random.default_rng(seed)
    has_masses = not (left.inertias_ignored or right.inertias_ignored)
    if has_masses and max(left.nv, right.nv) > _MOST_VELOCITIES:
        has_masses = False
        to.notes.append(f"mass matrices and gravity forces of more than {_MOST_VELOCITIES} velocities are not compared")
    poses: list[tuple[Matrices, Matrices]] = []
    states: list[tuple[Dynamics, Dynamics]] = []
    velocities: list[str] = []
    for _ in range(samples):
        q, q_right = pairing.random_configurations(rng)
        poses.append(_frame_poses(pairing, frames, q, q_right))
        if has_masses:
            G, T, velocities = pairing.velocity_maps(q, q_right)
            a = rng.normal(size=(G.shape[1],))
            states.append(
                (dynamics_of(pairing.functions, left, q, G, a), dynamics_of(pairing.functions, right, q_right, T, a))
            )
    compare_poses(to, poses, size, "")
    compare_dynamics(to, velocities, states)


def _frame_poses(pairing: Pairing, frames: _Frames, q: list[float], q_right: list[float]) -> tuple[Matrices, Matrices]:
    """Return the world poses of all links and frames that both robots have, in the left and in the right robot.

    Keys are the names in the left robot.
    """
    functions = pairing.functions
    placed = poses_of(functions, pairing.left, q), poses_of(functions, pairing.right, q_right)
    left = {a: (placed[0][frames.left[a].body] @ frames.left[a].placement).matrix() for a, _ in frames.shared}
    right = {a: (placed[1][frames.right[b].body] @ frames.right[b].placement).matrix() for a, b in frames.shared}
    return left, right


def _compare_joint(to: Comparer, pairing: Pairing, pair: JointPair, poses: list[dict[int, Pose]], names: Names) -> None:
    """Compare type, axis, couplings, limits and drive of a joint; values of the right robot get the left direction."""
    left, right = pairing.left.bodies[pair.left], pairing.right.bodies[pair.right]
    name, sign = left.joint_name, pair.direction or 1
    to.texts("joints", "joint type", name, left.joint.type_name(), _type_of(right.joint, pair.swapped))
    axes = [
        axis_at_zero(tree, k, X[k])
        for tree, k, X in ((pairing.left, pair.left, poses[0]), (pairing.right, pair.right, poses[1]))
    ]
    if axes[0] is not None and axes[1] is not None:
        axis = -axes[1][1] if pair.swapped else axes[1][1]
        to.values("joints", "axis in the world at zero", name, axes[0][1], axis, 1.0)
    for quantity, relation, twin in (("mimic", left.mimic, right.mimic), ("coupling", left.coupling, right.coupling)):
        if relation is not None or twin is not None:
            masters = ("-" if relation is None else names.right(relation.joint), "-" if twin is None else twin.joint)
            to.texts("joints", f"{quantity}: master", name, *masters)
            if relation is not None and twin is not None and masters[0] == masters[1]:
                turned = sign * _direction(pairing, twin.joint)
                values = (relation.ratio, relation.offset), (turned * twin.ratio, sign * twin.offset)
                to.values("joints", f"{quantity}: ratio, offset", name, *values, 1.0)
    if left.joint.nq == right.joint.nq:
        low, high = right.limits.positions
        if sign < 0:
            low, high = (tuple(-x for x in values) for values in (high, low))
        to.values("limits", "lower limit [rad, m]", name, left.limits.positions[0], low)
        to.values("limits", "upper limit [rad, m]", name, left.limits.positions[1], high)
    if left.joint.nv != right.joint.nv:
        return
    to.values("limits", "speed limit [rad/s, m/s]", name, left.limits.velocity, right.limits.velocity)
    to.values("limits", "effort limit [N·m, N]", name, left.limits.effort, right.limits.effort)
    no_limits = (float("inf"),) * left.joint.nv
    for key, unit in (("acceleration", "[rad/s², m/s²]"), ("jerk", "[rad/s³, m/s³]")):
        ours, theirs = (getattr(side.limits, key) or no_limits for side in (left, right))
        to.values("limits", f"{key} limit {unit}", name, ours, theirs)
    to.values("drives", "damping", name, left.damping, right.damping)
    to.values("drives", "friction", name, left.friction, right.friction)
    nv = left.joint.nv
    for key, default in (("armature", 0.0), ("gear_ratio", 1.0), ("stiffness", 0.0)):
        values_left, values_right = (Drive.full(getattr(body.drive, key), nv, default) for body in (left, right))
        if any(x != default for x in (*values_left, *values_right)):
            to.values("drives", key.replace("_", " "), name, values_left, values_right)
    if any(left.drive.stiffness) and any(right.drive.stiffness) and left.joint.nq == right.joint.nq:
        zero = left.joint.zero()
        rests = [np.array(body.drive.rest or zero) for body in (left, right)]
        to.values("drives", "rest position of springs", name, rests[0], sign * rests[1] if sign < 0 else rests[1], 1.0)


def _direction(pairing: Pairing, joint: str) -> int:
    """Return −1 if the joint has opposite directions in the two robots, else 1."""
    directions = {pairing.right.bodies[pair.right].joint_name: pair.direction for pair in pairing.pairs}
    return directions.get(joint, 1) or 1


def _type_of(joint: JointType, swapped: bool) -> str:
    return (joint.reversed() if swapped else joint).type_name()


def _compare_shapes(to: Comparer, name: str, left: Frame, right: Frame) -> None:
    """Compare the shapes of a link: kinds in order; if they are equal, also sizes and poses."""
    for group, quantity, shapes_left, shapes_right in (
        ("collisions", "collision shapes", left.collisions, right.collisions),
        ("visuals", "visual shapes", left.visuals, right.visuals),
    ):
        if not shapes_left and not shapes_right:
            continue
        kinds = [
            ", ".join(type(geometry.shape).__name__ for geometry in shapes) or "-"
            for shapes in (shapes_left, shapes_right)
        ]
        to.texts(group, quantity, name, *kinds)
        if kinds[0] != kinds[1]:
            continue
        for k, (a, b) in enumerate(zip(shapes_left, shapes_right, strict=True)):
            label = name if len(shapes_left) == 1 else f"{name}/{k}"
            _compare_values(to, group, f"{quantity}: size [m]", label, a.shape, b.shape)
            to.values(group, f"{quantity}: pose", label, a.origin.matrix(), b.origin.matrix(), 1.0)


def _compare_parts(to: Comparer, left: Tree, right: Tree, names: Names) -> None:
    """Compare constraints, force elements, actuators and named configurations, by name."""
    for group, quantity, parts, candidates in (
        ("constraints", "constraint", left.constraints, right.constraints),
        ("constraints", "force element", left.force_elements, right.force_elements),
        ("actuators", "actuator", left.actuators, right.actuators),
        ("actuators", "named configuration", left.named_configurations, right.named_configurations),
    ):
        known: dict[str, Any] = {part.name: part for part in candidates}
        matched = set()
        for part in parts:
            partner = known.get(names.right(part.name))
            if partner is None:
                if not _is_added(quantity, part.name):
                    to.only(group, quantity, part.name, left=True)
            else:
                matched.add(partner.name)
                _compare_values(to, group, quantity, part.name, part, partner, names)
        for name in known:
            if name not in matched and not _is_added(quantity, name):
                to.only(group, quantity, name, left=False)


def _is_added(quantity: str, name: str) -> bool:
    """Return True for the named configuration that linkwork's MJCF reader adds to every robot."""
    return quantity == "named configuration" and name == "qpos0"


def _compare_values(
    to: Comparer, group: str, quantity: str, subject: str, left: Any, right: Any, names: Names | None = None
) -> None:
    """Compare two objects field by field: texts, names and structure exactly, numbers by the tolerance."""
    if type(left) is not type(right):
        to.texts(group, quantity, subject, type(left).__name__, type(right).__name__)
        return
    flat_left, flat_right = _flat(left, names), _flat(right, None)
    words = [[x for x in values if not isinstance(x, float)] for values in (flat_left, flat_right)]
    if len(flat_left) != len(flat_right) or words[0] != words[1]:
        a, b = next(
            ((a, b) for a, b in zip(*words, strict=False) if a != b),
            (f"{len(flat_left)} values", f"{len(flat_right)} values"),
        )
        to.texts(group, quantity, subject, str(a), str(b))
        return
    floats = [[x for x in values if isinstance(x, float)] for values in (flat_left, flat_right)]
    if floats[0] or floats[1]:
        to.values(group, quantity, subject, floats[0], floats[1], 1.0)
    else:
        to.texts(group, quantity, subject, "", "")


def _flat(value: Any, names: Names | None) -> list[float | str]:
    """Return the numbers and texts in an object, in the order of its fields; names become those of the right robot.

    Of the path of a mesh file only the file name counts.
    """
    if isinstance(value, (bool, type(None))):
        return [str(value)]
    if isinstance(value, (int, float)):
        return [float(value)]
    if isinstance(value, str):
        return [names.right(value) if names is not None else value]
    if isinstance(value, np.ndarray):
        return [float(x) for x in value.ravel()]
    if isinstance(value, Mesh):
        return [value.uri.replace("\\", "/").rpartition("/")[2], *value.scale]
    if isinstance(value, Mapping):
        return [x for key in sorted(value) for x in (key, *_flat(value[key], names))]
    if isinstance(value, Sequence):
        return [x for element in value for x in _flat(element, names)]
    if dataclasses.is_dataclass(value):
        kind: list[float | str] = [type(value).__name__] if isinstance(value, JointType) else []
        return kind + [
            x for field in dataclasses.fields(value) if field.compare for x in _flat(getattr(value, field.name), names)
        ]
    return [repr(value)]
