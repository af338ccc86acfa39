"""Chains by Denavit and Hartenberg's parameters: four numbers a joint, in either convention.

Sources: Denavit and Hartenberg, A kinematic notation for lower-pair mechanisms, ASME J. Applied Mechanics 22, 1955
(standard, or distal); Craig, Introduction to Robotics, 1986, section 3.4 (modified, or proximal).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from numpy.typing import ArrayLike

from linkwork._util.messages import nearest, quoted
from linkwork.errors import Findings, Issue, Location
from linkwork.joints import Prismatic, Revolute
from linkwork.parts.construction.link import Link
from linkwork.parts.joint.joint import Joint
from linkwork.parts.joint.passive_parameters import DRIVE
from linkwork.spatial import Pose, Rotation, Vec3
from linkwork.spatial.arguments import given_numbers, given_pose
from linkwork.spatial.rotation import cos_sin

__all__ = ["dh_parts"]


_NUMBERS = {"a": "m", "alpha": "rad", "d": "m", "theta": "rad"}
_OF_JOINT = ("lower", "upper", "velocity", "effort", "damping", "friction", *DRIVE)
_OF_LINK = ("mass", "com", "inertia")
_COLUMNS = (*_NUMBERS, "prismatic", "joint", *_OF_JOINT, "link", *_OF_LINK)
_Z = Vec3(0.0, 0.0, 1.0)


def dh_parts(
    robot: str, rows: Iterable[Mapping[str, Any]], convention: str, base: ArrayLike | None, tool: ArrayLike | None
) -> list[Link | Joint]:
    """The links and joints of a table: see `Robot.from_dh`.  Raises ModelError with all rows that are none."""
    if convention not in ("standard", "modified"):
        raise ValueError(f"convention: expected 'standard' (distal) or 'modified' (proximal), got {convention!r}")
    if isinstance(rows, (Mapping, str)) or not isinstance(rows, Iterable):
        raise TypeError(f"rows: expected a list with a dict for each joint, got {rows!r}")
    before, X_before = "base", given_pose(base, "base")
    parts: list[Link | Joint] = [Link("base")]
    findings = Findings()
    for k, row in enumerate(rows, 1):
        try:
            joint, link = _parts(row, k, convention, before, X_before)
        except (TypeError, ValueError) as error:
            where = Location(element=f"robot[{robot}]/row[{k}]")
            findings.error(Issue("DH_ROW", str(error), where))
            continue
        parts += [joint, link]
        before, X_before = link.name, Pose.identity()
    findings.raise_errors()
    if len(parts) == 1:
        raise ValueError("rows: expected at least one, got none")
    return parts if tool is None else _with_frame(parts, "tool", given_pose(tool, "tool"))


def _parts(row: Any, k: int, convention: str, before: str, X_before: Pose) -> tuple[Joint, Link]:
    """The joint of row k, which hangs from the link before it, and the link that it carries."""
    if not isinstance(row, Mapping):
        order = "the order of columns is not the same in all books, so they are named"
        raise TypeError(f'expected a dict such as {{"a": 0.3, "alpha": 0.0}}, got {row!r}; {order}')
    for key in row:
        if key not in _COLUMNS:
            close = nearest(str(key), _COLUMNS)
            hint = close if close.startswith("did") else f"there are {', '.join(_COLUMNS)}"
            raise ValueError(f"{quoted(str(key))} is no column: {hint}")
    prismatic = row.get("prismatic", False)
    if not isinstance(prismatic, bool):
        raise ValueError(f"prismatic: expected True or False, got {prismatic!r}")
    numbers = (
        float(given_numbers(row.get(column, 0.0), f"{column}: expected a number [{unit}]", ()))
        for column, unit in _NUMBERS.items()
    )
    placement, rotor = _step(convention, *numbers)
    link = _link(row, k)
    joint = Joint.of(
        Prismatic(_Z) if prismatic else Revolute(_Z),
        name=row.get("joint", f"joint{k}"),
        parent=before,
        child=link.name,
        placement=placement if X_before == Pose.identity() else X_before @ placement,
        rotor=rotor,
        **{key: row[key] for key in _OF_JOINT if key in row},
    )
    return joint, link


def _link(row: Mapping[str, Any], k: int) -> Link:
    link, weight = row.get("link", f"link{k}"), {key: row[key] for key in _OF_LINK if key in row}
    if not isinstance(link, Link):
        return Link(link, **weight)
    if weight:
        raise ValueError(f"link {link.name!r} says itself what it weighs: expected no {' and no '.join(weight)}")
    return link


def _step(convention: str, a: float, alpha: float, d: float, theta: float) -> tuple[Pose, Pose]:
    """What stands before the joint about z, and what after it.

    The turn by θ and the travel along d commute with the joint's own motion, which is about and along the same z.
    """
    (c, s), (ca, sa) = cos_sin(theta), cos_sin(alpha)
    if convention == "standard":
        return Pose.identity(), Pose(Rotation.from_rpy(alpha, 0.0, theta), Vec3(a * c, a * s, d))
    tilt = Rotation.from_rpy(alpha, 0.0, 0.0)
    turned = tilt if theta == 0.0 else tilt @ Rotation.from_rpy(0.0, 0.0, theta)
    return Pose(turned, Vec3(a, 0.0 - d * sa, d * ca)), Pose.identity()


def _with_frame(parts: list[Link | Joint], name: str, X: Pose) -> list[Link | Joint]:
    """The parts with a further frame on the last link."""
    last = parts[-1]
    assert isinstance(last, Link)
    return [*parts[:-1], last.with_frame(name, X)]
