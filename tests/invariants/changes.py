"""The same robot, described otherwise: trees with their bodies reordered, their axes turned round, other units ..."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import numpy as np

from helpers.joints import scaled
from linkwork.joints import Fixed, Prismatic, Spherical
from linkwork.model.body import WORLD, Body, Following, Limits
from linkwork.model.composite_body import frames_with_inertias, without_inertias
from linkwork.model.random_tree import random_pose
from linkwork.model.tree import Tree
from linkwork.spatial import Inertia, Pose, Symmetric3, Vec3

__all__ = [
    "flipped",
    "in_other_units",
    "on_sliders_and_a_ball",
    "renamed",
    "renamed_text",
    "reordered",
    "split_text",
    "turned",
    "with_split_body",
]


# -- trees


def reordered(tree: Tree, seed: int = 0) -> Tree:
    """The bodies in another order, parents before children, with other names."""
    rng = np.random.default_rng(seed)
    waiting, order = list(range(len(tree.bodies))), []
    while waiting:
        ready = [i for i in waiting if tree.bodies[i].parent == WORLD or tree.bodies[i].parent in order]
        order.append(int(rng.choice(ready)))
        waiting.remove(order[-1])
    place = {old: new for new, old in enumerate(order)} | {WORLD: WORLD}
    bodies = [_renamed_body(tree.bodies[i], place) for i in order]
    frames = [replace(f, name=renamed(f.name), body=place[f.body]) for f in tree.frames]
    rng.shuffle(frames)
    return Tree(tree.name, tuple(bodies), tuple(frames), tree.gravity)


def renamed(name: str) -> str:
    return f"other {name}"


def _renamed_body(body: Body, place: dict[int, int]) -> Body:
    coupling = body.coupling and replace(body.coupling, joint=renamed(body.coupling.joint))
    return replace(
        body,
        name=renamed(body.name),
        joint_name=renamed(body.joint_name),
        parent=place[body.parent],
        coupling=coupling,
        mimic=None,
        links=None,
    )


def with_split_body(tree: Tree, host: int, seed: int = 0) -> tuple[Tree, Tree]:
    """A body with a load in one piece, and in two that a fixed joint connects."""
    place = random_pose(np.random.default_rng(seed))
    load = tree.bodies[(host + 1) % len(tree.bodies)].inertia
    one = replace(tree.bodies[host], inertia=tree.bodies[host].inertia + place @ load)
    bodies, frames = (*tree.bodies[:host], one, *tree.bodies[host + 1 :]), without_inertias(tree.frames)
    together = replace(tree, bodies=bodies, frames=frames)
    weld = Body("load", host, "weld", Fixed(), place, Pose.identity(), load, Limits.none(Fixed()), (), ())
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
    return replace(
        tree,
        bodies=tuple(replace(b, placement=X @ b.placement) if b.parent == WORLD else b for b in tree.bodies),
        frames=tuple(replace(f, placement=X @ f.placement) if f.body == WORLD else f for f in tree.frames),
        gravity=X.rotation @ tree.gravity,
    )


def in_other_units(tree: Tree, L: float, m: float) -> tuple[Tree, np.ndarray, np.ndarray]:
    """Lengths × L and masses × m; by how much the numbers of q and v grow."""

    def pose(X: Pose) -> Pose:
        return Pose(X.rotation, X.translation * L)

    def inertia(I: Inertia) -> Inertia:
        return Inertia(I.mass * m, I.moment * (m * L), Symmetric3(*(x * (m * L * L) for x in I.about.elements())))

    def size(body: Body) -> float:
        return L if body.joint.q_units == ("m",) else 1.0

    def coupling(body: Body) -> Following | None:
        if body.coupling is None:
            return None
        master = size(tree.bodies[tree.joint_index(body.coupling.joint)])
        ratio, offset = body.coupling.ratio * size(body) / master, body.coupling.offset * size(body)
        return replace(body.coupling, ratio=ratio, offset=offset)

    bodies = [
        replace(
            body,
            joint=scaled(body.joint, L),
            placement=pose(body.placement),
            rotor=pose(body.rotor),
            inertia=inertia(body.inertia),
            coupling=coupling(body),
        )
        for body in tree.bodies
    ]
    s_q, s_v = np.ones(tree.nq), np.ones(tree.nv)
    for i, body in tree.stacked():
        s_q[tree.q_slices[i]] = [L if unit == "m" else 1.0 for unit in body.joint.q_units]
        s_v[tree.v_slices[i]] = [L if unit == "m/s" else 1.0 for unit in body.joint.v_units]
    frames = tuple(replace(f, placement=pose(f.placement)) for f in without_inertias(tree.frames))
    return replace(tree, bodies=tuple(bodies), frames=frames, gravity=tree.gravity * L), s_q, s_v


def on_sliders_and_a_ball(tree: Tree) -> Tree:
    """The floating base, the first body, hangs on three massless bodies that slide, and turns as a ball."""
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
    others = [replace(body, parent=body.parent + 3) for body in tree.bodies[1:]]
    frames = [
        replace(f, body=f.body + 3) if f.body != WORLD else f for f in frames_with_inertias(tree.bodies, tree.frames)
    ]
    stacking = (0, 1, 2, *(i + 3 for i in tree.stacking)) if tree.stacking else ()
    return replace(tree, bodies=(*sliders, ball, *others), frames=tuple(frames), stacking=stacking)


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
    """A URDF in which each joint hangs on a link of its own, and each link's mass is a link of its own."""
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
            place = (origin.get("xyz", "0 0 0"), origin.get("rpy", "0 0 0")) if origin is not None else ("0 0 0",) * 2
            mass = _add_fixed(xml, f"mass of {link.get('name')}", link.get("name", ""), *place)
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
