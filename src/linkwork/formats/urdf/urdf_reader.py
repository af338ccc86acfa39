"""Reading URDF, the Unified Robot Description Format of ROS.

Source: http://wiki.ros.org/urdf/XML.  Lengths are in m, angles in rad.  A file is read strictly: whatever cannot be
done is an error or a listed warning, and a mesh is kept by the name that the file gives it, without being looked for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from linkwork._util.messages import nearest, quoted
from linkwork.errors import Findings, Issue, Location, ModelError
from linkwork.formats.file_reading import path_text, read_regular, refuse_what_is_no_path
from linkwork.formats.registry import FOREIGN_ROOTS
from linkwork.formats.urdf.urdf_joints import read_joint
from linkwork.formats.urdf.urdf_links import read_link, read_materials
from linkwork.formats.urdf.urdf_loops import read_loop_joints
from linkwork.formats.urdf.urdf_schema import VERSIONS, check
from linkwork.formats.urdf.urdf_transmissions import Drives
from linkwork.formats.xml_attributes import Reader
from linkwork.formats.xml_document import Budget, Element, parse
from linkwork.model.description import Description

__all__ = ["parse_urdf", "read_urdf"]


def read_urdf(
    path: str | os.PathLike[str],
    *,
    strict: bool = False,
    budget: Budget | None = None,
    continuous: str = "angle",
    inertia: str = "given",
) -> Description:
    """The robot that a URDF file describes.

    ``strict`` makes errors of repairs; ``budget`` bounds the file's size; ``continuous`` says whether the configuration
    of a continuous joint is an ``"angle"`` or its ``"sincos"``; ``inertia`` whether inertias are those ``"given"``, the
    ``"nearest"`` ones that a body can have, or left out (``"ignore"``).

    Raises ModelError with all that is wrong, or the operating system's error (FileNotFoundError, PermissionError ...)
    where the file cannot be read.
    """
    budget = budget or Budget()
    refuse_what_is_no_path(path)
    data = read_regular(path, budget.max_bytes)
    return parse_urdf(
        data, source=path_text(path), strict=strict, budget=budget, continuous=continuous, inertia=inertia
    )


def parse_urdf(
    text: str | bytes,
    *,
    source: str | None = None,
    strict: bool = False,
    budget: Budget | None = None,
    continuous: str = "angle",
    inertia: str = "given",
) -> Description:
    """The robot that the text of a URDF describes.  ``source`` names it in messages.  Raises ModelError."""
    _expect_text(text, source)
    if continuous not in ("angle", "sincos"):
        raise ValueError(f"continuous: expected 'angle' or 'sincos', got {continuous!r}")
    if inertia not in ("given", "nearest", "ignore"):
        raise ValueError(f"inertia: expected 'given', 'nearest' or 'ignore', got {inertia!r}")
    root = parse(text, source, budget=budget)
    reader = Reader(source, Findings(strict=strict), version=root.attributes.get("version", "1.0").strip())
    if root.tag != "robot" or (root.first("link") is None and any(root.first(tag) for tag in _SRDF)):
        _refuse_other_format(reader, root)
    check(reader, root)
    materials = read_materials(reader, root)
    _check_version(reader, root)
    if inertia == "ignore" and (first := next(_inertials(root), None)) is not None:
        count = sum(1 for _ in _inertials(root))
        reader.note(first, "INERTIA_IGNORED", f"<inertial> is ignored ({count} times, here first), as it was asked for")
    drives, loops = Drives(reader, root), read_loop_joints(reader, root)
    description = Description(
        name=reader.name(root) or "",
        links=tuple([read_link(reader, element, materials, inertia) for element in root.all("link")]),
        joints=tuple([read_joint(reader, element, drives, continuous) for element in root.all("joint")]),
        warnings=tuple(reader.findings.warnings),
        source=source,
        where=reader.where(root),
        frames=loops.frames,
        inertias_ignored=inertia == "ignore",
        constraints=loops.constraints,
    )
    reader.findings.raise_errors()
    return description


def _expect_text(text: object, source: str | None) -> None:
    hint = "read a file with linkwork.load(path)"
    if isinstance(text, os.PathLike):
        raise ModelError(Issue("NOT_TEXT", f"expected the text of a URDF, got a path ({text})", hint=hint))
    if not isinstance(text, (str, bytes)):
        raise TypeError(f"text: expected a string or bytes, got {type(text).__name__}")
    if isinstance(text, str) and text.strip() and "<" not in text and "\n" not in text.strip():
        message = f"expected the text of a URDF, got what looks like a path ({quoted(text)})"
        raise ModelError(Issue("NOT_TEXT", message, Location(source), hint))


def _refuse_other_format(reader: Reader, root: Element) -> None:
    kind = FOREIGN_ROOTS.get(root.tag.lower())
    if root.tag == "robot":
        kind = "an SRDF file"
        message, hint = f"expected a URDF, this looks like {kind}", "give the URDF that it belongs to"
    elif kind:
        message, hint = f"expected <robot> as the root of a URDF, got <{root.tag}>: this looks like {kind}", None
    else:
        close = nearest(root.tag, ["robot", *FOREIGN_ROOTS])
        message = f"expected <robot> as the root of a URDF, got {quoted(root.tag)}"
        hint = close if close.startswith("did") else None
    raise ModelError(Issue("WRONG_FORMAT", message, reader.where(root), hint))


def _inertials(root: Element) -> Iterator[Element]:
    return (inertial for link in root.all("link") for inertial in link.all("inertial"))


def _check_version(reader: Reader, root: Element) -> None:
    if reader.version not in VERSIONS:
        message = f"version {quoted(reader.version)} of URDF is not known: read as {VERSIONS[-1]}"
        reader.warn(root, "VERSION", message)


_SRDF = ("group", "disable_collisions", "virtual_joint", "end_effector")
