"""Coupled joints: q = ratio · q_master + offset, exactly.

A tree with couplings has coordinates for its independent joints only.  Its equations of motion are Lagrange's: the
equations of the free tree with v_joint = G v substituted, M = Gᵀ M_free G.  The coupling does no work.  G occurs in two
classes: `Body` (X, S and bias with respect to the master's coordinates) and `Tree.gathered` (forces of followers add
up).

A chain of joints that follow each other is resolved to the joint that follows none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from linkwork._util.messages import first_of, listed, nearest, quoted
from linkwork.errors import Findings, Issue
from linkwork.joints.base.plain_coordinates import is_plain
from linkwork.model.body import Following
from linkwork.model.description import Description, JointDescription
from linkwork.model.tree import Tree
from linkwork.model.value_check import all_finite
from linkwork.spatial.arguments import LARGEST

__all__ = [
    "bounds",
    "coupling_text",
    "flatten_mimics",
    "ignored_mimics",
    "read_couplings",
    "read_mimic",
    "with_couplings",
]


def read_couplings(tree: Tree, couplings: Mapping[str, Any]) -> dict[str, Following]:
    """Return couplings by the follower's name, read from ``{"follower": ("master", ratio, offset)}``.

    The defaults are ratio 1 and offset 0.  Raises TypeError and ValueError for another form, UnknownNameError for an
    unknown joint.
    """
    if not isinstance(couplings, Mapping):
        raise TypeError(
            f'with_couplings: expected a dict such as {{"follower": ("master", ratio, offset)}}, got {couplings!r}'
        )
    result = {}
    for follower, coupling in couplings.items():
        tree.joint_index(follower)
        if not isinstance(coupling, Following):
            coupling = Following(*_parts(f"with_couplings: joint {quoted(follower)}", coupling))
        tree.joint_index(coupling.joint)
        result[follower] = coupling
    return result


def read_mimic(follower: str, value: Any) -> Following:
    """Return a mimic relation, read from ``(master, ratio, offset)``.  Raises TypeError for another form."""
    return value if isinstance(value, Following) else Following(*_parts(f"joint {follower!r}: mimic", value))


def with_couplings(tree: Tree, couplings: Mapping[str, Following]) -> Tree:
    """Return the tree with coupled joints; chains are resolved to the joint that follows no other joint.

    Existing couplings stay unless they are replaced.  Raises UnknownNameError for an unknown joint, and ValueError,
    with joints and values, for a cycle, for a ratio or offset that is not finite, and for joints that cannot follow
    each other: both must have q̇ = v and the same number of coordinates.
    """
    merged = {body.joint_name: body.coupling for body in tree.bodies if body.coupling is not None}
    merged |= couplings
    for follower, coupling in couplings.items():
        _check(tree, follower, coupling)
    flat = _flattened(merged)
    bodies = [replace(body, coupling=flat.get(body.joint_name)) for body in tree.bodies]
    states = tuple(state.without(joints=flat) for state in tree.named_configurations)  # masters determine followers
    return replace(tree, bodies=tuple(bodies), named_configurations=states)


def bounds(tree: Tree) -> dict[int, tuple[list[float], list[float]]]:
    """Return the (lower, upper) configurations (nq each) of each independent joint, by body index.

    The bounds respect the limits of the joint and of all its followers.  Raises ValueError, with the joints' names, if
    no configuration does.
    """
    result: dict[int, tuple[list[float], list[float]]] = {}
    for i, body in tree.stacked():
        lower_limits, upper_limits = body.limits.positions
        result[i] = list(lower_limits), list(upper_limits)
    for body in tree.bodies:
        coupling = body.coupling
        if coupling is None:
            continue
        lower, upper = result[tree.joint_index(coupling.joint)]
        for k, (low, high) in enumerate(zip(*body.limits.positions, strict=True)):
            possible = True
            if coupling.ratio == 0.0:
                possible = low <= coupling.offset <= high
            else:
                ends = sorted((limit - coupling.offset) / coupling.ratio for limit in (low, high))
                lower[k], upper[k] = (
                    max(lower[k], ends[0]) + 0.0,
                    min(upper[k], ends[1]) + 0.0,
                )  # -0.0 becomes 0.0
            if not possible or lower[k] > upper[k]:
                raise ValueError(
                    f"joint {quoted(body.joint_name)} cannot be within its limits [{low:.6g}, {high:.6g}] while "
                    f"all joints coupled to it are within theirs: {coupling_text(body.joint_name, coupling)}"
                )
    return result


def coupling_text(follower: str, coupling: Following) -> str:
    """Return a coupling as an equation, for messages."""
    sign = "-" if coupling.offset < 0.0 else "+"
    return f"{follower} = {coupling.ratio:.6g} * {coupling.joint} {sign} {abs(coupling.offset):.6g}"


def _parts(caller: str, value: Any) -> tuple[Any, ...]:
    """Return the tuple (master, ratio, offset), without ratio and offset if ``value`` does not state them.

    Raises TypeError for another form.
    """
    parts = (value,) if isinstance(value, str) else value
    if not isinstance(parts, Sequence) or not 1 <= len(parts) <= 3:
        raise TypeError(f"{caller}: expected (master, ratio, offset), got {value!r}")
    if any(isinstance(x, (str, bytes)) for x in parts[1:]):
        raise TypeError(f"{caller}: expected numbers for ratio and offset, got {value!r}")
    try:
        return parts[0], *(float(x) for x in parts[1:])
    except (TypeError, ValueError):
        raise TypeError(f"{caller}: expected numbers for ratio and offset, got {value!r}") from None


def _check(tree: Tree, follower: str, coupling: Following) -> None:
    """Raise ValueError if a joint cannot follow the master that ``coupling`` names."""
    driven, driver = (tree.bodies[tree.joint_index(name)].joint for name in (follower, coupling.joint))
    if not all_finite((coupling.ratio, coupling.offset)):
        raise ValueError(f"couplings: expected a finite ratio and offset, got {coupling_text(follower, coupling)}")
    if follower == coupling.joint:
        raise ValueError(f"joint {quoted(follower)} cannot follow itself: {coupling_text(follower, coupling)}")
    for name, joint in ((follower, driven), (coupling.joint, driver)):
        if joint.nv == 0 or not is_plain(joint):
            raise ValueError(
                f"joint {quoted(name)} can neither follow another joint nor be followed: it is of type "
                f"{joint.type_name()} with nq = {joint.nq} and nv = {joint.nv}, whose configuration rate is not its "
                f"velocity: {coupling_text(follower, coupling)}"
            )
    if driven.nv != driver.nv:
        raise ValueError(
            f"joint {quoted(follower)} with {driven.nv} coordinates cannot follow joint {quoted(coupling.joint)} "
            f"with {driver.nv}: {coupling_text(follower, coupling)}"
        )


def _flattened(couplings: Mapping[str, Following]) -> dict[str, Following]:
    """Return couplings in which each master follows no other joint: chains of couplings become one coupling each.

    Raises ValueError for a cycle, and for a chain whose ratio or offset overflows.
    """

    def refuse(cycle: list[str]) -> None:
        equations = first_of([coupling_text(name, couplings[name]) for name in cycle], _SHOWN)
        raise ValueError(f"joints follow each other in a cycle: {equations}")

    result = resolve_chains(couplings, refuse)
    for name, coupling in result.items():
        if not all_finite((coupling.ratio, coupling.offset)):
            raise ValueError(
                f"the product of ratios along a chain of couplings overflows: {coupling_text(name, coupling)}"
            )
    return result


_SHOWN = 10  # joints of a cycle


def resolve_chains(couplings: Mapping[str, Following], on_cycle: Callable[[list[str]], None]) -> dict[str, Following]:
    """Return the coupling of each follower to the joint at the start of its chain of couplings, by follower's name.

    ``on_cycle`` is called with the joints of each cycle, in the order in which they follow each other. If it returns,
    these joints and the chain that led to them are left out.
    """
    left, done = dict(couplings), dict[str, Following]()
    for start in tuple(left):
        if start not in left:  # on a cycle that is already reported
            continue
        chain = [start]  # from the follower on, as long as the next one follows another and is not done
        passed = {start}
        while chain[-1] not in done and (after := left[chain[-1]].joint) in left:
            if after in passed:
                on_cycle(chain[chain.index(after) :])
                for name in chain:
                    del left[name]
                chain = []
                break
            chain.append(after)
            passed.add(after)
        for name in reversed(chain):
            if name not in done:
                master = done.get(left[name].joint)
                done[name] = left[name] if master is None else left[name].through(master)
    return done


def flatten_mimics(findings: Findings, description: Description) -> dict[str, Following]:
    """Return the mimic relation of each joint to the joint at the start of its chain, by follower's name.

    If q_a = m q_b + n and q_b = k q_c + l, then q_a = m k q_c + (m l + n). Errors: MIMIC_UNKNOWN, MIMIC_SELF,
    MIMIC_CYCLE, MIMIC_FIXED, MIMIC_TYPE, MAGNITUDE. Warning: MIMIC_ZERO. A mimic relation of a fixed joint is noted.
    """
    joints: dict[str, JointDescription] = {}
    for joint in description.joints:
        joints.setdefault(joint.name, joint)
    fixed = [joint for joint in joints.values() if joint.mimic is not None and joint.joint.nq == 0]
    if fixed:
        message = f"the mimic of a fixed joint is ignored ({len(fixed)} times, first here)"
        findings.note(Issue("IGNORED", message, fixed[0].where))
    moving = [joint for joint in joints.values() if joint.mimic is not None and joint.joint.nq > 0]
    followers = [joint for joint in moving if _is_sound(findings, joint, joints)]
    mimics = {joint.name: joint.mimic for joint in followers if joint.mimic is not None}

    def report_cycle(cycle: list[str]) -> None:
        message = f"joints mimic each other in a cycle: {listed((*cycle, cycle[0]), ' -> ')}"
        findings.error(Issue("MIMIC_CYCLE", message, joints[cycle[0]].where, _WITHOUT))

    done = resolve_chains(mimics, report_cycle)
    for name, mimic in done.items():
        if not max(abs(mimic.ratio), abs(mimic.offset)) <= LARGEST:
            message = f"joint {quoted(name)}: the multipliers of the joints that it mimics become too large"
            findings.error(Issue("MAGNITUDE", message, joints[name].where))
    return done


def ignored_mimics(findings: Findings, description: Description) -> dict[str, Following]:
    """Return {}, and note that the mimic relations of the description are ignored."""
    following = [joint for joint in description.joints if joint.mimic is not None]
    if following:
        message = f"<mimic> is ignored ({len(following)} times, first here)"
        findings.note(Issue("IGNORED", message, following[0].where))
    return {}


def _is_sound(findings: Findings, joint: JointDescription, joints: dict[str, JointDescription]) -> bool:
    """Return True if the mimic relation of a joint is possible; else record an error and return False."""
    mimic, where, caller = joint.mimic, joint.where, f"joint {quoted(joint.name)}"
    assert mimic is not None
    master = joints.get(mimic.joint)
    if master is None:
        message = f"{caller} mimics joint {quoted(mimic.joint)}, which does not exist"
        findings.error(Issue("MIMIC_UNKNOWN", message, where, f"{nearest(mimic.joint, joints)}; {_WITHOUT}"))
    elif master is joint:
        findings.error(Issue("MIMIC_SELF", f"{caller} mimics itself", where, _WITHOUT))
    elif master.joint.nq == 0:
        findings.error(
            Issue("MIMIC_FIXED", f"{caller} mimics joint {quoted(mimic.joint)}, which is fixed", where, _WITHOUT)
        )
    elif joint.joint.nq != 1 or master.joint.nq != 1:
        message = f"{caller} mimics joint {quoted(mimic.joint)}: both must have one coordinate"
        with_angle = 'joints whose coordinate is an angle can: load with continuous="angle", or build with Revolute'
        hint = with_angle if joint.joint.nv == master.joint.nv == 1 else None
        findings.error(Issue("MIMIC_TYPE", message, where, hint))
    else:
        if mimic.ratio == 0.0:
            message = f"{caller} mimics joint {quoted(mimic.joint)} with multiplier 0: it never moves"
            findings.warn(Issue("MIMIC_ZERO", message, where))
        return True
    return False


_WITHOUT = 'mimic="ignore" loads the robot without mimic relations'
