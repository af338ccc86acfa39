"""Texts of URDF for the tests, and what reading them gives."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from linkwork.errors import Issue, ModelError
from linkwork.formats import parse_urdf
from linkwork.model.tree import Tree
from linkwork.model.tree_builder import build_tree

LIMIT = '<limit lower="-1" upper="2" effort="3" velocity="4"/>'
INERTIAL = '<inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


def link(name: str, inner: str = INERTIAL) -> str:
    return f'<link name="{name}">{inner}</link>\n'


def joint(name: str, parent: str, child: str, kind: str = "revolute", inner: str = LIMIT) -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inner}</joint>\n'


def robot(*parts: str) -> str:
    return '<robot name="r">\n' + "".join(parts) + "</robot>\n"


def arm(inner: str = LIMIT, kind: str = "revolute") -> str:
    """Two links and one joint with something in it."""
    return robot(link("a"), link("b"), joint("j", "a", "b", kind, inner))


def one(inner: str) -> str:
    """One link with something in it."""
    return robot(link("a", inner))


def read(text: str | bytes, *, strict: bool = False, floating_base: bool = False) -> Tree:
    return build_tree(parse_urdf(text, strict=strict), strict=strict, floating_base=floating_base)


def errors(text: str | bytes, *, strict: bool = False, floating_base: bool = False) -> tuple[Issue, ...]:
    """Return the issues of the error that a text raises."""
    with pytest.raises(ModelError, match=r"\[[A-Z_]+\]") as caught:
        read(text, strict=strict, floating_base=floating_base)
    return caught.value.issues


def error(text: str | bytes, *, strict: bool = False, floating_base: bool = False) -> Issue:
    """The one error of a text."""
    issues = errors(text, strict=strict, floating_base=floating_base)
    assert len(issues) == 1, [str(issue) for issue in issues]
    return issues[0]


def warnings(text: str | bytes) -> Sequence[Issue]:
    return read(text).report.warnings


def warning(text: str | bytes) -> Issue:
    """The one warning of a text, which is an error of the same code where strict."""
    (issue,) = warnings(text)
    assert error(text, strict=True).code == issue.code
    return issue
