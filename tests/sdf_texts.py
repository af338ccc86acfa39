"""Texts of SDF for the tests, and what reading them gives."""

from __future__ import annotations

from typing import Any

import pytest

from linkwork.errors import Issue, ModelError
from linkwork.formats import parse_sdf
from linkwork.model.tree import Tree
from linkwork.model.tree_builder import build_tree

INERTIAL = (
    "<inertial><mass>2</mass><inertia><ixx>1</ixx><ixy>0</ixy><ixz>0</ixz><iyy>1</iyy><iyz>0</iyz><izz>1</izz>"
    "</inertia></inertial>"
)


def link(name: str, inner: str = INERTIAL) -> str:
    return f'<link name="{name}">{inner}</link>\n'


def axis(inner: str = "", xyz: str = "0 0 1", tag: str = "axis") -> str:
    return f"<{tag}><xyz>{xyz}</xyz>{inner}</{tag}>"


def joint(name: str, parent: str, child: str, kind: str = "revolute", inner: str | None = None) -> str:
    inner = axis() if inner is None else inner
    return f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{inner}</joint>\n'


def model(*parts: str, name: str = "m", more: str = "") -> str:
    return f'<model name="{name}"{more}>\n' + "".join(parts) + "</model>\n"


def sdf(*parts: str, version: str = "1.9") -> str:
    return f'<sdf version="{version}">\n' + "".join(parts) + "</sdf>\n"


def world(*parts: str, version: str = "1.9") -> str:
    return sdf('<world name="w">\n', *parts, "</world>\n", version=version)


def one(inner: str, version: str = "1.9") -> str:
    """One link with something in it."""
    return sdf(model(link("a", inner)), version=version)


def arm(inner: str | None = None, kind: str = "revolute", version: str = "1.9", more: str = "") -> str:
    """A link that is fixed to the world, another one, and a joint with something in it."""
    base = joint("base", "world", "a", "fixed", "")
    return sdf(model(link("a"), link("b"), base, joint("j", "a", "b", kind, inner), more), version=version)


def read(text: str | bytes, *, strict: bool = False, mimic: str = "free", **options: Any) -> Tree:
    return build_tree(parse_sdf(text, strict=strict, **options), strict=strict, mimic=mimic)


def errors(text: str | bytes, **options: Any) -> tuple[Issue, ...]:
    """Return the issues of the error that a text raises."""
    with pytest.raises(ModelError, match=r"\[[A-Z_]+\]") as caught:
        read(text, **options)
    return caught.value.issues


def error(text: str | bytes, **options: Any) -> Issue:
    """The one error of a text."""
    issues = errors(text, **options)
    assert len(issues) == 1, [str(issue) for issue in issues]
    return issues[0]


def warnings(text: str | bytes, **options: Any) -> tuple[Issue, ...]:
    return tuple(read(text, **options).report.warnings)


def warning(text: str | bytes, **options: Any) -> Issue:
    """The one warning of a text, which is an error of the same code where strict."""
    (issue,) = warnings(text, **options)
    assert error(text, strict=True, **options).code == issue.code
    return issue
