"""Different descriptions of one robot: reordered bodies, reversed axes, other units, and more."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ET
from dataclasses import fields, replace
from typing import Any

import numpy as np

from helpers.joints import scaled
from linkwork.constraints import Constraint, Coupling, LoopJoint
from linkwork.force_elements import ForceElement, SpringDamper
from linkwork.joints import Fixed, JointType, Prismatic, Spherical
from linkwork.mechanisms.algorithms.constraint_rows import rebind_constraints
from linkwork.model.body import FRICTION_VELOCITY, WORLD, Body, Following, Limits
from linkwork.model.composite_body import frames_with_inertias, without_inertias
from linkwork.model.random_tree import random_pose
from linkwork.model.tree import Tree
from linkwork.spatial import Inertia, Pose, Symmetric3, Vec3

__all__ = [
    "flipped",
    "in_other_units",
    "on_sliders_and_a_ball",
    "reframed",
    "renamed",
    "renamed_text",
    "reordered",
    "split_text",
    "turned",
    "with_split_body",
]


# -- trees


def reordered(tree: Tree, seed: int = 0) -> Tree:
    """Return the tree with its bodies in another order, parents before children, and other names."""
    rng = np.random.default_rng(seed)
    waiting, order = list(range(len(tree.bodies))), []
    while waiting:
        ready = [i for i in waiting if tree.bodies[i].parent == WORLD or tree.bodies[i].parent in order]
        order.append(int(rng.choice(ready)))
        waiting.remove(order[-1])
    new_index = {old: new for new, old in enumerate(order)} | {WORLD: WORLD}
    bodies = [_renamed_body(tree.bodies[i], new_index) for i in order]
    frames = [replace(f, name=renamed(f.name), body=new_index[f.body]) for f in tree.frames]
    rng.shuffle(frames)
    return Tree(tree.name, tuple(bodies), tuple(frames), tree.gravity)


def renamed(name: str) -> str:
    return f"other {name}"


def _renamed_body(body: Body, new_index: dict[int, int]) -> Body:
    coupling = body.coupling and replace(body.coupling, joint=renamed(body.coupling.joint))
    return replace(
        body,
        name=renamed(body.name),
        joint_name=renamed(body.joint_name),
        parent=new_index[body.parent],
        coupling=coupling,
        mimic=None,
        links=None,
    )


def with_split_body(tree: Tree, host: int, seed: int = 0) -> tuple[Tree, Tree]:
    """Return a body with a load in one piece, and in two pieces that a fixed joint connects."""
    offset = random_pose(np.random.default_rng(seed))
    load = tree.bodies[(host + 1) % len(tree.bodies)].inertia
    combined = replace(tree.bodies[host], inertia=tree.bodies[host].inertia + offset @ load)
    bodies, frames = (*tree.bodies[:host], combined, *tree.bodies[host + 1 :]), without_inertias(tree.frames)
    together = replace(tree, bodies=bodies, frames=frames)
    weld = Body("load", host, "weld", Fixed(), offset, Pose.identity(), load, Limits.none(Fixed()), (), ())
    stacking = (*tree.stacking, len(tree.bodies)) if tree.stacking else ()
    return together, replace(tree, bodies=(*tree.bodies, weld), frames=frames, stacking=stacking)


def flipped(tree: Tree) -> tuple[Tree, np.ndarray, np.ndarray]:
    """Every joint about or along an axis has it turned round; the signs that numbers of q and v get."""
    flips = [-1.0 if hasattr(body.joint, "axis") else 1.0 for body in tree.bodies]
    s_q, s_v = np.ones(tree.nq), np.ones(tree.nv)
    for i, body in tree.stacked():
        names = body.joint.q_names or ("",) * body.joint.nq
        s_q[tree.q_slices[i]] = [1.0 if name == "cos" else flips[i] for name in names]
        s_v[tree.v_slices[i]] = flips[i]

    def turned_round(i: int, body: Body) -> Body:
        coupling = body.coupling
        if coupling is not None:
            of_master = flips[tree.joint_index(coupling.joint)]
            coupling = replace(coupling, ratio=coupling.ratio * flips[i] * of_master, offset=coupling.offset * flips[i])
        joint = replace(body.joint, axis=-body.joint.axis) if flips[i] < 0.0 else body.joint
        return replace(body, joint=joint, coupling=coupling)

    return replace(tree, bodies=tuple(turned_round(*x) for x in enumerate(tree.bodies))), s_q, s_v


def turned(tree: Tree, X: Pose) -> Tree:
    """The whole world moved, and gravity with it."""
    return rebind_constraints(
        replace(
            tree,
            bodies=tuple(replace(b, placement=X @ b.placement) if b.parent == WORLD else b for b in tree.bodies),
            frames=tuple(replace(f, placement=X @ f.placement) if f.body == WORLD else f for f in tree.frames),
            gravity=X.rotation @ tree.gravity,
        )
    )


def reframed(tree: Tree, seed: int = 0, size: float = 0.0) -> Tree:
    """Rotate the frames of all bodies at random and move them by ``size``, with the axes of their joints."""
    rng = np.random.default_rng(seed)

    def drawn(size: float) -> Pose:
        return Pose(random_pose(rng).rotation, Vec3(*(float(x) for x in size * rng.normal(size=3))))

    moved = [drawn(size) for _ in tree.bodies]
    of = {k: X.inv() for k, X in enumerate(moved)} | {WORLD: Pose.identity()}
    bodies = []
    for i, body in enumerate(tree.bodies):
        Q = drawn(0.0)
        joint = _with_axis(body.joint, Q)
        Q = Pose.identity() if joint is body.joint else Q
        placement, rotor = of[body.parent] @ body.placement @ Q.inv(), Q @ body.rotor @ moved[i]
        bodies.append(replace(body, joint=joint, placement=placement, rotor=rotor, inertia=of[i] @ body.inertia))
    frames = {f.name: replace(f, placement=of[f.body] @ f.placement) for f in without_inertias(tree.frames)}
    constraints = []
    for constraint in tree.constraints:
        Q = drawn(0.0)
        if isinstance(constraint, LoopJoint) and _with_axis(constraint.joint, Q) is not constraint.joint:
            for name in (constraint.frame, constraint.relative_to):
                frames[f"{constraint.name} {name}"] = replace(
                    frames[name], name=f"{constraint.name} {name}", placement=frames[name].placement @ Q.inv()
                )
            names = {key: f"{constraint.name} {getattr(constraint, key)}" for key in ("frame", "relative_to")}
            constraint = replace(constraint, joint=_with_axis(constraint.joint, Q), **names)
        constraints.append(constraint)
    return rebind_constraints(
        replace(tree, bodies=tuple(bodies), frames=tuple(frames.values()), constraints=tuple(constraints))
    )


def _with_axis(joint: JointType, Q: Pose) -> JointType:
    axis = getattr(joint, "axis", None)
    return replace(joint, axis=Vec3(*map(float, Q.rotation @ axis))) if isinstance(axis, Vec3) else joint


_LENGTHS = ("length", "offset", "radius", "radius_a", "radius_b", "pitch", "height")  # of constraints
_OF_JOINTS = {  # by name: powers of mass, length and time for an angle, and the change of the length's for a length
    "lower": (0, 0, 0, 1), "upper": (0, 0, 0, 1), "rest": (0, 0, 0, 1),
    "velocity": (0, 0, -1, 1), "velocity_bound": (0, 0, -1, 1), "friction_velocity": (0, 0, -1, 1),
    "effort": (1, 2, -2, -1), "friction": (1, 2, -2, -1), "static_friction": (1, 2, -2, -1),
    "damping": (1, 2, -1, -2), "stiffness": (1, 2, -2, -2), "armature": (1, 2, 0, -2),
}  # fmt: skip


def in_other_units(tree: Tree, L: float, m: float, T: float = 1.0) -> tuple[Tree, np.ndarray, np.ndarray]:
    """Scale lengths by L, masses by m and times by T; return the factors of q and v, too."""

    def pose(X: Pose) -> Pose:
        return Pose(X.rotation, X.translation * L)

    def inertia(I: Inertia) -> Inertia:
        return Inertia(I.mass * m, I.moment * (m * L), Symmetric3(*(x * (m * L * L) for x in I.about.elements())))

    def size(body: Body) -> float:
        return L if body.joint.q_units == ("m",) else 1.0

    def scaled_limits_and_drive(value: Any, joint: JointType) -> Any:
        """Scale a joint's limits or drive, or a single value."""
        changed = {}
        for name, (mass, length, time, less) in _OF_JOINTS.items():
            units = joint.q_units if name in ("lower", "upper", "rest") else joint.v_units
            entries = getattr(value, name, None)
            if name == "friction_velocity" and entries == ():
                entries = (FRICTION_VELOCITY,) * joint.nv
            if isinstance(entries, tuple) and entries:
                factors = [m**mass * L ** (length + less * unit.startswith("m")) * T**time for unit in units]
                changed[name] = tuple(x * s for x, s in zip(entries, factors, strict=True))
        return replace(value, **changed)

    def coupling(body: Body) -> Following | None:
        if body.coupling is None:
            return None
        master = size(tree.bodies[tree.joint_index(body.coupling.joint)])
        ratio, offset = body.coupling.ratio * size(body) / master, body.coupling.offset * size(body)
        return replace(body.coupling, ratio=ratio, offset=offset)

    def constraint(single: Constraint) -> Constraint:
        if isinstance(single, LoopJoint):
            return replace(scaled_limits_and_drive(single, single.joint), joint=scaled(single.joint, L))
        if isinstance(single, Coupling) and single.function is None:
            row = L if single.unit == "m" else 1.0
            weights = {name: x * row / size(tree.bodies[tree.joint_index(name)]) for name, x in single.joints}
            return replace(single, joints=weights, offset=single.offset * row)
        lengths = {f.name: getattr(single, f.name) * L for f in fields(single) if f.name in _LENGTHS}
        return replace(single, **lengths) if lengths else single

    def element(single: ForceElement) -> ForceElement:
        if not isinstance(single, SpringDamper):
            raise TypeError(f"{type(single).__name__} is not implemented")
        stiffness, damping = single.stiffness * m / T**2, single.damping * m / T
        return replace(single, stiffness=stiffness, damping=damping, rest_length=single.rest_length * L)

    bodies = [
        replace(
            scaled_limits_and_drive(body, body.joint),
            joint=scaled(body.joint, L),
            placement=pose(body.placement),
            rotor=pose(body.rotor),
            inertia=inertia(body.inertia),
            coupling=coupling(body),
            limits=scaled_limits_and_drive(body.limits, body.joint),
            drive=scaled_limits_and_drive(body.drive, body.joint),
        )
        for body in tree.bodies
    ]
    s_q, s_v = np.ones(tree.nq), np.ones(tree.nv)
    for i, body in tree.stacked():
        s_q[tree.q_slices[i]] = [L if unit == "m" else 1.0 for unit in body.joint.q_units]
        s_v[tree.v_slices[i]] = [(L if unit == "m/s" else 1.0) / T for unit in body.joint.v_units]
    frames = tuple(replace(f, placement=pose(f.placement)) for f in without_inertias(tree.frames))
    changed = replace(
        tree,
        bodies=tuple(bodies),
        frames=frames,
        points=tuple(replace(p, position=p.position * L) for p in tree.points),
        constraints=tuple(map(constraint, tree.constraints)),
        force_elements=tuple(map(element, tree.force_elements)),
        gravity=tree.gravity * (L / T**2),
    )
    return rebind_constraints(changed), s_q, s_v


def on_sliders_and_a_ball(tree: Tree) -> Tree:
    """Put the floating base, the first body, on three massless sliding bodies and a ball joint."""
    base = tree.bodies[0]
    axes = Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0)
    sliders = []
    for k, axis in enumerate(axes):
        joint, placement = Prismatic(axis), Pose.identity() if k else base.placement
        sliders.append(_massless(f"slider{k}", k - 1, joint, placement))
    joint = Spherical(base.joint.scalar_last)
    ball = replace(
        base, parent=2, joint=joint, placement=Pose.identity(), limits=Limits.none(joint),
        damping=(0.0,) * 3, friction=(0.0,) * 3, drive=type(base.drive)(),
    )  # fmt: skip
    bodies = [replace(body, parent=body.parent + 3) for body in tree.bodies[1:]]
    frames = [
        replace(f, body=f.body + 3) if f.body != WORLD else f for f in frames_with_inertias(tree.bodies, tree.frames)
    ]
    stacking = (0, 1, 2, *(i + 3 for i in tree.stacking)) if tree.stacking else ()
    return replace(tree, bodies=(*sliders, ball, *bodies), frames=tuple(frames), stacking=stacking)


def _massless(name: str, parent: int, joint: Any, placement: Pose) -> Body:
    rotor, limits = Pose.identity(), Limits.none(joint)
    return Body(name, parent, f"{name}_joint", joint, placement, rotor, Inertia.zero(), limits, (0.0,), (0.0,))


# -- files


def renamed_text(text: str, seed: int = 3) -> str:
    """A URDF whose links and joints have other names and stand in another order."""
    xml = ET.fromstring(text)
    for element in xml.findall("link") + xml.findall("joint"):
        element.set("name", renamed(element.get("name", "")))
        for end in [*element.findall("parent"), *element.findall("child")]:
            end.set("link", renamed(end.get("link", "")))
        for mimic in element.findall("mimic"):
            mimic.set("joint", renamed(mimic.get("joint", "")))
    children = list(xml)
    random.Random(seed).shuffle(children)
    xml[:] = sorted(children, key=lambda element: element.tag in ("link", "joint"))  # materials and the like before
    return ET.tostring(xml, encoding="unicode")


def split_text(text: str) -> str:
    """Return a URDF in which each joint is on a link of its own, and each link's mass is a link of its own."""
    xml = ET.fromstring(text)
    for joint in xml.findall("joint"):
        origin = joint.find("origin")
        if origin is None:
            origin = ET.SubElement(joint, "origin")
        xyz, rpy = origin.get("xyz", "0 0 0"), origin.get("rpy", "0 0 0")
        parent = joint.find("parent")
        assert parent is not None
        mount = f"mount of {joint.get('name')}"
        _add_fixed(xml, mount, parent.get("link", ""), xyz, "0 0 0")
        parent.set("link", mount)
        origin.attrib.update(xyz="0 0 0", rpy=rpy)
    for link in xml.findall("link"):
        inertial = link.find("inertial")
        if inertial is not None:
            origin = inertial.find("origin")
            origin_texts = (
                (origin.get("xyz", "0 0 0"), origin.get("rpy", "0 0 0")) if origin is not None else ("0 0 0",) * 2
            )
            mass = _add_fixed(xml, f"mass of {link.get('name')}", link.get("name", ""), *origin_texts)
            link.remove(inertial)
            if origin is not None:
                inertial.remove(origin)
            mass.append(inertial)
    return ET.tostring(xml, encoding="unicode")


def _add_fixed(xml: ET.Element, link: str, parent: str, xyz: str, rpy: str) -> ET.Element:
    joint = ET.SubElement(xml, "joint", name=f"to {link}", type="fixed")
    ET.SubElement(joint, "parent", link=parent)
    ET.SubElement(joint, "child", link=link)
    ET.SubElement(joint, "origin", xyz=xyz, rpy=rpy)
    return ET.SubElement(xml, "link", name=link)
