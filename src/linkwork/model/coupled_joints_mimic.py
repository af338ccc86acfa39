"""Joints that follow others: every chain of them is led back to the joint it starts from."""

from __future__ import annotations

from linkwork._util.messages import listed, nearest, quoted
from linkwork.errors import Findings, Issue
from linkwork.model.body import Following
from linkwork.model.coupled_joints_chains import led_back
from linkwork.model.description import Description, JointDescription
from linkwork.spatial.arguments import LARGEST

__all__ = ["flatten_mimics", "ignored_mimics"]


def flatten_mimics(findings: Findings, description: Description) -> dict[str, Following]:
    """By the name of each joint that follows another: the joint at the start of the chain, and how it follows that one.

    If q_a = m q_b + n and q_b = k q_c + l, then q_a = m k q_c + (m l + n).  Errors: MIMIC_UNKNOWN, MIMIC_SELF,
    MIMIC_CYCLE, MIMIC_FIXED, MIMIC_TYPE, MAGNITUDE.  Warning: MIMIC_ZERO.  A fixed joint's own mimic is only noted.
    """
    joints: dict[str, JointDescription] = {}
    for joint in description.joints:
        joints.setdefault(joint.name, joint)
    fixed = [joint for joint in joints.values() if joint.mimic is not None and joint.joint.nq == 0]
    if fixed:
        message = f"the mimic of a fixed joint is ignored ({len(fixed)} times, here first)"
        findings.note(Issue("IGNORED", message, fixed[0].where))
    moving = [joint for joint in joints.values() if joint.mimic is not None and joint.joint.nq > 0]
    followers = [joint for joint in moving if _is_sound(findings, joint, joints)]
    mimics = {joint.name: joint.mimic for joint in followers if joint.mimic is not None}

    def found_cycle(cycle: list[str]) -> None:
        message = f"joints mimic each other in a cycle: {listed((*cycle, cycle[0]), ' -> ')}"
        findings.error(Issue("MIMIC_CYCLE", message, joints[cycle[0]].where, _WITHOUT))

    done = led_back(mimics, found_cycle)
    for name, mimic in done.items():
        if not max(abs(mimic.ratio), abs(mimic.offset)) <= LARGEST:
            message = f"joint {quoted(name)}: the multipliers of the joints that it mimics become too large"
            findings.error(Issue("MAGNITUDE", message, joints[name].where))
    return done


def ignored_mimics(findings: Findings, description: Description) -> dict[str, Following]:
    """The same where joints are asked to follow none: nothing, which is noted."""
    following = [joint for joint in description.joints if joint.mimic is not None]
    if following:
        message = f"<mimic> is ignored ({len(following)} times, here first)"
        findings.note(Issue("IGNORED", message, following[0].where))
    return {}


def _is_sound(findings: Findings, joint: JointDescription, joints: dict[str, JointDescription]) -> bool:
    """Whether a joint can follow the one that it names."""
    mimic, where, who = joint.mimic, joint.where, f"joint {quoted(joint.name)}"
    assert mimic is not None
    master = joints.get(mimic.joint)
    if master is None:
        message = f"{who} mimics joint {quoted(mimic.joint)}, which does not exist"
        findings.error(Issue("MIMIC_UNKNOWN", message, where, f"{nearest(mimic.joint, joints)}; {_WITHOUT}"))
    elif master is joint:
        findings.error(Issue("MIMIC_SELF", f"{who} mimics itself", where, _WITHOUT))
    elif master.joint.nq == 0:
        findings.error(
            Issue("MIMIC_FIXED", f"{who} mimics joint {quoted(mimic.joint)}, which is fixed", where, _WITHOUT)
        )
    elif joint.joint.nq != 1 or master.joint.nq != 1:
        message = (
            f"{who} mimics joint {quoted(mimic.joint)}: only joints with one coordinate can do that, or be mimicked"
        )
        with_angle = 'joints with an angle can: load with continuous="angle", or build with Revolute'
        hint = with_angle if joint.joint.nv == master.joint.nv == 1 else None
        findings.error(Issue("MIMIC_TYPE", message, where, hint))
    else:
        if mimic.ratio == 0.0:
            message = f"{who} mimics joint {quoted(mimic.joint)} with multiplier 0: it never moves"
            findings.warn(Issue("MIMIC_ZERO", message, where))
        return True
    return False


_WITHOUT = 'mimic="ignore" loads the robot without any'
