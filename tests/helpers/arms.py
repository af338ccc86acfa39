"""Small arms whose answers are known in closed form."""

from __future__ import annotations

import linkwork as lw


def chain_text(joints, tool="0 0 0"):
    """A URDF of joints one after the other: (type, axis, place in the body before, lower, upper)."""
    links = "".join(
        f'<link name="l{k}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        "</inertial></link>"
        for k in range(len(joints) + 2)
    )
    text = ""
    for k, (kind, axis, index, lower, upper) in enumerate([*joints, ("fixed", "0 0 1", tool, 0, 0)]):
        text += (
            f'<joint name="j{k}" type="{kind}"><parent link="l{k}"/><child link="l{k + 1}"/><origin xyz="{index}"/>'
            f'<axis xyz="{axis}"/><limit lower="{lower}" upper="{upper}" effort="1" velocity="1"/></joint>'
        )
    return lw.Robot.from_urdf_string(f'<robot name="r">{links}{text}</robot>')


def planar(lengths, limit=3.0, limits=None):
    limits = limits or [(-limit, limit)] * len(lengths)
    positions = ["0 0 0", *(f"{x} 0 0" for x in lengths[:-1])]
    joints = [("revolute", "0 0 1", position, *pair) for position, pair in zip(positions, limits, strict=True)]
    return chain_text(joints, f"{lengths[-1]} 0 0"), f"l{len(lengths) + 1}"
