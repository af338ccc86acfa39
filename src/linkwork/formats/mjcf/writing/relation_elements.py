"""Constraints, springs, collision pairs, actuators and named configurations of a robot as elements of MJCF."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from linkwork._util.messages import quoted
from linkwork.constraints import (
    Ball,
    Belt,
    Constraint,
    Coupling,
    Gear,
    LoopJoint,
    PolynomialCoupling,
    Rack,
    Screw,
    Weld,
)
from linkwork.force_elements import SpringDamper
from linkwork.formats.description import Actuator, NamedState
from linkwork.formats.mjcf.writing.joint_elements import BALL, FREE, JointMap, Part, qpos_of, qvel_of
from linkwork.formats.mjcf.writing.mjcf_document import MjcfDocument, bounds
from linkwork.formats.written_content import is_own
from linkwork.formats.xml_text import number_list_text, number_text
from linkwork.joints import Fixed, Revolute, Spherical
from linkwork.model import WORLD, Body, pair_filter, pairs_of_links
from linkwork.spatial import Pose, Quaternion, Rotation, Vec3

__all__ = ["add_actuators", "add_keyframes", "add_relations"]

_COEFFICIENTS = 5  # of MuJoCo's polynomials
_ARM = 0.1  # [m] between the two points by which connects replace a hinge


def add_relations(document: MjcfDocument) -> None:
    """Add couplings, constraints, springs and excluded pairs of links."""
    tree = document.tree
    for body in tree.bodies:
        if body.coupling is not None:
            coupling = body.coupling
            _couple(document, None, body.joint_name, coupling.joint, (coupling.offset, coupling.ratio))
    implied = {companion.name for constraint in tree.constraints for companion in constraint.implied_constraints}
    for constraint in tree.constraints:
        if not _add_constraint(document, constraint) and constraint.name not in implied:
            kind = type(constraint).__name__
            if isinstance(constraint, LoopJoint):
                kind = f"{constraint.joint.type_name()} loop joint"
            document.log.lost(f"constraint[{constraint.name}]", f"MJCF has no constraint like a {kind}")
    for element in tree.force_elements:
        if isinstance(element, SpringDamper) and is_own(element):
            _add_spring(document, element)
        else:
            kind = type(element).__name__
            document.log.lost(f"force_element[{element.name}]", f"MJCF has no force element like a {kind}")
    _add_excluded_pairs(document)


def _add_excluded_pairs(document: MjcfDocument) -> None:
    """Exclude the pairs of links from contacts that MuJoCo would check and the robot does not.

    By itself MuJoCo skips links of one rigid body, and a link of a body with a link of its moving parent.
    """
    tree = document.tree
    is_checked = pair_filter(tree)

    def carrier(i: int) -> int:
        """Return the nearest ancestor of body i that has an element in the document; massless bodies may have none."""
        parent = tree.bodies[i].parent if i != WORLD else WORLD
        while parent != WORLD and tree.bodies[parent].name not in document.links:
            parent = tree.bodies[parent].parent
        return parent

    before = {i: carrier(i) for i in (WORLD, *range(len(tree.bodies)))}
    for a, b in pairs_of_links(tree):
        if a.body == b.body:
            continue
        skipped = WORLD not in (a.body, b.body) and (before[a.body] == b.body or before[b.body] == a.body)
        if is_checked(a, b) and skipped:
            message = f"MuJoCo does not check links {quoted(a.name)} and {quoted(b.name)}, which a joint connects"
            document.log.lost("contact", message)
        elif not (is_checked(a, b) or skipped):
            document.section("contact").add("exclude", body1=a.name, body2=b.name)


def _couple(
    document: MjcfDocument, name: str | None, joint: str, second_joint: str | None, coefficients: Sequence[float]
) -> None:
    """Add the equality q_a = Σ cₖ q_bᵏ between the coordinates of two joints a and b.

    Without a second joint it is q_a = c₀.
    """
    full = (*coefficients, *(0.0,) * (_COEFFICIENTS - len(coefficients)))
    equality = document.section("equality")
    unique_name = None if name is None else document.equalities.new(name)
    equality.add("joint", name=unique_name, joint1=joint, joint2=second_joint, polycoef=number_list_text(full))


def _add_constraint(document: MjcfDocument, constraint: Constraint) -> bool:
    """Add a constraint, and return True if MJCF can state it."""
    if not is_own(constraint) or (isinstance(constraint, LoopJoint) and not is_own(constraint.joint)):
        return False
    match constraint:
        case Weld():
            _weld(document, constraint, constraint.frame, constraint.other, constraint.pose)
        case LoopJoint(joint=Fixed()):
            _weld(document, constraint, constraint.frame, constraint.relative_to, Pose.identity())
        case LoopJoint(joint=Spherical()):
            _connect(document, constraint.name, constraint.frame, constraint.relative_to, [Vec3.zero()])
            message = "a spherical loop joint is written as a connect, which is read as a ball without coordinates"
            document.log.changed(f"constraint[{constraint.name}]", message)
        case LoopJoint(joint=Revolute(axis=axis)):
            points = [Vec3.zero(), axis * _ARM]
            _connect(document, constraint.name, constraint.frame, constraint.relative_to, points)
            message = "a revolute loop joint is written as two connects, with six equations in place of five"
            document.log.changed(f"constraint[{constraint.name}]", message)
        case Ball():
            tree = document.tree
            a, b = tree.point(constraint.a), tree.point(constraint.b)
            site_M = document.site(f"{constraint.name}_M", a.frame, _at(a.position))
            site_F = document.site(f"{constraint.name}_F", b.frame, _at(b.position + constraint.point))
            document.section("equality").add(
                "connect", name=document.equalities.new(constraint.name), site1=site_F, site2=site_M
            )
        case Gear() | Rack() | Screw() | Belt():
            w_a, w_b = constraint.weights
            pair = (constraint.offset / w_a, w_b / w_a)
            _couple(document, constraint.name, constraint.a, constraint.b, pair)
            _report_coupling(document, constraint)
        case Coupling(function=None):
            _add_coupling(document, constraint)
        case PolynomialCoupling() if len(constraint.coefficients) <= _COEFFICIENTS:
            _couple(document, constraint.name, constraint.a, constraint.b, _about_zero(constraint))
            _report_coupling(document, constraint)
        case _:
            return False
    if isinstance(constraint, LoopJoint) and any(
        math.isfinite(x) for x in (*constraint.lower, *constraint.upper, *constraint.effort, *constraint.velocity_bound)
    ):
        document.log.lost(f"constraint[{constraint.name}]", "limits of joints that close loops")
    if isinstance(constraint, LoopJoint) and constraint.resists:
        message = "damping, friction and springs of joints that close loops"
        document.log.lost(f"constraint[{constraint.name}]", message)
    return True


def _report_coupling(document: MjcfDocument, constraint: Constraint) -> None:
    kind = type(constraint).__name__
    message = f"a {kind} is written as an equality of coordinates, and read as a coupling of them"
    document.log.changed(f"constraint[{constraint.name}]", message)


def _about_zero(constraint: PolynomialCoupling) -> list[float]:
    """Return the coefficients of q_a as a polynomial in q_b, without reference positions."""
    shifted = np.polynomial.Polynomial(constraint.coefficients)(
        np.polynomial.Polynomial([-constraint.b_reference, 1.0])
    )
    first, *higher = shifted.coef.tolist() if constraint.b_reference else constraint.coefficients
    return [first + constraint.a_reference, *higher]


def _weld(document: MjcfDocument, constraint: Constraint, frame: str, second_frame: str, pose: Pose) -> None:
    """Add a weld that holds frame M (``frame``) at the pose X_FM in frame F (``second_frame``).

    The anchor of the weld is the origin of M. ``relpose`` has the rotation between the two MuJoCo bodies, and the
    position of the anchor.
    """
    (link_M, X_M), (link_F, X_F) = (document.pose_in_link(name) for name in (frame, second_frame))
    anchor = X_F @ pose
    turn = anchor.rotation @ X_M.rotation.T
    relative = number_list_text((*anchor.translation, *Quaternion.of(turn).elements()))
    document.section("equality").add(
        "weld",
        name=document.equalities.new(constraint.name),
        body1=link_F,
        body2=link_M,
        relpose=relative,
        anchor=number_list_text(X_M.translation),
    )


def _connect(document: MjcfDocument, name: str, frame: str, second_frame: str, points: Iterable[Vec3]) -> None:
    """Add a <connect> for each point, which has the same coordinates in ``frame`` and in ``second_frame``."""
    for point in points:
        unique_name = document.equalities.new(name)
        sites = [
            document.site(f"{unique_name}_{letter}", end, _at(point))
            for letter, end in (("F", second_frame), ("M", frame))
        ]
        document.section("equality").add("connect", name=unique_name, site1=sites[0], site2=sites[1])


def _at(position: Vec3) -> Pose:
    return Pose(Rotation.identity(), position)


def _add_coupling(document: MjcfDocument, constraint: Coupling) -> None:
    """Add a linear coupling: for up to two joints an equality of joints, for more an equality of a fixed tendon."""
    (first, weight), *further = constraint.joints
    if len(further) < 2:
        second_joint, ratio = (further[0][0], -further[0][1] / weight) if further else (None, 0.0)
        _couple(document, constraint.name, first, second_joint, (constraint.offset / weight, ratio))
        return
    message = "a coupling of three joints or more is written as one of a fixed tendon, without its unit"
    document.log.changed(f"constraint[{constraint.name}]", message)
    tendon = _fixed_tendon(document, constraint.name, constraint.joints)
    polynomial = number_list_text((constraint.offset, 0.0, 0.0, 0.0, 0.0))
    document.section("equality").add(
        "tendon", name=document.equalities.new(constraint.name), tendon1=tendon, polycoef=polynomial
    )


def _fixed_tendon(document: MjcfDocument, name: str, weights: Iterable[tuple[str, float]]) -> str:
    """Add a fixed tendon with the weights of joints (name, weight), and return its name."""
    unique = document.tendons.new(name)
    node = document.section("tendon").add("fixed", name=unique)
    for joint, weight in weights:
        node.add("joint", joint=joint, coef=number_text(weight))
    return unique


def _add_spring(document: MjcfDocument, element: SpringDamper) -> None:
    tree = document.tree
    ends = []
    for letter, point in (("a", tree.point(element.a)), ("b", tree.point(element.b))):
        ends.append(document.site(f"{element.name}_{letter}", point.frame, _at(point.position)))
    node = document.section("tendon").add(
        "spatial",
        name=document.tendons.new(element.name),
        stiffness=number_text(element.stiffness),
        damping=number_text(element.damping),
        springlength=number_text(element.rest_length),
    )
    for site in ends:
        node.add("site", site=site)


# -- actuators


def add_actuators(document: MjcfDocument) -> None:
    """Add the robot's actuators."""
    for actuator in document.tree.actuators:
        element = f"actuator[{actuator.name}]"
        target = _target(document, actuator)
        if target is None:
            message = "MJCF has no transmission of an actuator on a free joint, on a ball and other joints, or along"
            document.log.lost(element, f"{message} velocities that MuJoCo's joints do not have")
            continue
        b0, b1, b2 = actuator.bias
        gain = actuator.gain
        if actuator.offset != 0.0:  # MuJoCo's lengths have no offset
            b0 += b1 * actuator.offset
            gain = (gain[0] + gain[1] * actuator.offset, *gain[1:])
        document.section("actuator").add(
            "general",
            name=actuator.name,
            **target,
            gaintype="fixed" if gain[1:] == (0.0, 0.0) else "affine",
            gainprm=number_list_text(gain),
            biastype="none" if (b0, b1, b2) == (0.0, 0.0, 0.0) else "affine",
            biasprm=number_list_text((b0, b1, b2)),
            **bounds(document.log, element, "ctrl", *actuator.control_range),
            **bounds(document.log, element, "force", *actuator.force_range),
        )


def _target(document: MjcfDocument, actuator: Actuator) -> dict[str, str] | None:
    """Return the attributes of <actuator> that name where it acts; None if MJCF cannot represent it."""
    if actuator.frame is not None:
        moment, force = actuator.wrench[:3], actuator.wrench[3:]
        site = document.site(f"{actuator.name}_site", actuator.frame, Pose.identity())
        result = {"site": site, "gear": number_list_text((*force, *moment))}
        if actuator.relative_to is not None:
            result["refsite"] = document.site(f"{actuator.name}_refsite", actuator.relative_to, Pose.identity())
        return result
    weights: list[tuple[str, float]] = []
    written = {body.joint_name: (names, parts, JointMap(body, parts)) for body, names, parts in document.joints}
    for joint, gears in actuator.joints:
        names, parts, map_ = written[joint]
        values = map_.gears(gears)
        if values is None or parts[0].kind == FREE or (parts[0].kind == BALL and len(actuator.joints) > 1):
            return None
        if parts[0].kind == BALL or (len(actuator.joints) == 1 and len(parts) == 1):
            return {"joint": names[0], "gear": number_list_text(values)}
        weights += zip(names, values, strict=True)
    return {"tendon": _fixed_tendon(document, actuator.name, [pair for pair in weights if pair[1] != 0.0])}


# -- named configurations


def add_keyframes(document: MjcfDocument) -> None:
    """Add a key for each named configuration."""
    for state in document.tree.named_configurations:
        controls = dict(state.controls or ())
        actuators = [node.attributes["name"] for node in document.section("actuator").children]
        document.section("keyframe").add(
            "key",
            name=state.name,
            qpos=number_list_text(chain.from_iterable(_qpos(state, *joint) for joint in document.joints)),
            qvel=None
            if state.v is None
            else number_list_text(chain.from_iterable(_qvel(state, *joint) for joint in document.joints)),
            ctrl=None if state.controls is None else number_list_text(controls.get(name, 0.0) for name in actuators),
        )


def _qpos(state: NamedState, body: Body, _names: tuple[str, ...], parts: Sequence[Part]) -> list[float]:
    """Return the coordinates qpos of the MuJoCo joints ``parts`` of a body's joint in a named configuration."""
    return qpos_of(body, parts, _values(state.q, body, body.joint.zero()))


def _qvel(state: NamedState, body: Body, _names: tuple[str, ...], parts: Sequence[Part]) -> list[float]:
    """Return the velocities qvel of the MuJoCo joints ``parts`` of a body's joint in a named configuration."""
    v = _values(state.v or (), body, (0.0,) * body.joint.nv, moving=True)
    return qvel_of(body, parts, _values(state.q, body, body.joint.zero()), v)


def _values(
    pairs: Sequence[tuple[str, Sequence[float]]], body: Body, default: Sequence[float], moving: bool = False
) -> list[float]:
    """Return q of a body's joint from ``pairs`` (joint, values), or v if ``moving``; ``default`` if it is not listed.

    A joint that mimics another is computed from the other's values.
    """
    named = dict(pairs)
    if body.coupling is not None:
        values = named.get(body.coupling.joint, default)
        return body.coupling.v(values) if moving else body.coupling.q(values)
    return [float(x) for x in named.get(body.joint_name, default)]
