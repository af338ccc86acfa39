"""Force elements put on a tree and taken off it, and what can be wrong with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..errors import UnknownNameError
from ..force_elements import ForceElement
from .constrained import check_references
from .tree import Tree

__all__ = ["with_force_elements", "without_force_elements"]


def with_force_elements(tree: Tree, elements: Iterable[ForceElement]) -> Tree:
    """Return the tree with further force elements, after those that it has.

    Raises TypeError for what is no force element, UnknownNameError for a frame or point that is not there, ValueError
    for a name that is taken, and for ends on one rigid body.
    """
    found = list(tree.force_elements)
    for element in elements:
        if not isinstance(element, ForceElement):
            raise TypeError(
                f"with_force_elements: expected force elements, as in linkwork.force_elements, got {element!r}"
            )
        name = element.name
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"with_force_elements: name: expected a text, got {name!r}")
        if name in [other.name for other in found]:
            raise ValueError(
                f"with_force_elements: the robot has a force element {name!r} already: give this one another name"
            )
        check_references(tree, element.references)
        problems = [*element.checked(tree)]
        if problems:
            raise ValueError(f"with_force_elements: {name!r}: {'; '.join(problems)}")
        found.append(element)
    return replace(tree, force_elements=tuple(found))


def without_force_elements(tree: Tree, names: Iterable[str]) -> Tree:
    """Return the tree without some of its force elements.  Raises UnknownNameError for a name that none has."""
    known = [element.name for element in tree.force_elements]
    left = set(names)
    for name in left:
        if name not in known:
            raise UnknownNameError("force element", name, known)
    return replace(tree, force_elements=tuple(e for e in tree.force_elements if e.name not in left))
