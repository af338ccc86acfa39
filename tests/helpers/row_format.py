"""A format of robot files for tests of the registry: a chain of hinges, one line "name length [m] mass [kg]" each."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from linkwork.formats import Format
from linkwork.joints import Revolute
from linkwork.model.body import Limits
from linkwork.model.description import Description, JointDescription, LinkDescription
from linkwork.spatial import Inertia, Pose, Rotation, Symmetric3, Vec3

__all__ = ["ROWS", "read_rows"]


def read_rows(path: str | os.PathLike[str], *, strict: bool, unit: float = 1.0) -> Description:
    links, joints, parent, reach = [LinkDescription("base", Inertia.zero())], [], "base", 0.0
    hinge: Any = Revolute((0, 1, 0))
    for line in Path(path).read_text(encoding="utf-8").split("\n")[1:]:
        name, length, mass = line.split()
        middle = Vec3(unit * float(length) / 2, 0.0, 0.0)
        links.append(LinkDescription(name, Inertia.at_center(float(mass), middle, Symmetric3.zero())))
        position = Pose(Rotation.identity(), Vec3(reach, 0.0, 0.0))
        joints.append(JointDescription(f"to_{name}", parent, name, hinge, position, Limits.none(hinge), (0.0,), (0.0,)))
        parent, reach = name, unit * float(length)
    return Description("rows", tuple(links), tuple(joints), source=os.fspath(path))


ROWS = Format(
    name="rows",
    title="a file of rows",
    reader="helpers.row_format:read_rows",
    suffixes=(".rows",),
    roots=("rows",),
    starts=(b"rows",),
)
