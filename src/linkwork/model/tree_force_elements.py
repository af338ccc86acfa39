"""Force elements put on a tree and taken off it, and what can be wrong with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from linkwork.errors import UnknownNameError
from linkwork.force_elements import ForceElement
from linkwork.model.tree import Tree
from linkwork.model.tree_constraints import check_references

__all__ = ["ForceElementBuilder", "with_force_elements", "without_force_elements"]


class ForceElementBuilder:
    """Force elements that are added to a tree, each after a look at it, in time that is linear."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._found = list(tree.force_elements)
        self._taken = {element.name for element in tree.force_elements}

    def tree(self) -> Tree:
        """The tree with all that was added."""
        return replace(self._tree, force_elements=tuple(self._found))

    def add(self, element: ForceElement) -> None:
        """Add a force element; see `with_force_elements`."""
        if not isinstance(element, ForceElement):
            raise TypeError(
                f"with_force_elements: expected force elements, as in linkwork.force_elements, got {element!r}"
            )
        name = element.name
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"with_force_elements: name: expected a text, got {name!r}")
        if name in self._taken:
            raise ValueError(
                f"with_force_elements: the robot has a force element {name!r} already: give this one another name"
            )
        check_references(self._tree, element.references)
        problems = [*element.checked(self._tree)]
        if problems:
            raise ValueError(f"with_force_elements: {name!r}: {'; '.join(problems)}")
        self._found.append(element)
        self._taken.add(name)


def with_force_elements(tree: Tree, elements: Iterable[ForceElement]) -> Tree:
    """Return the tree with further force elements, after those that it has.

    Raises TypeError for what is no force element, UnknownNameError for a frame or point that is not there, ValueError
    for a name that is taken, and for ends on one rigid body.
    """
    builder = ForceElementBuilder(tree)
    for element in elements:
        builder.add(element)
    return builder.tree()


def without_force_elements(tree: Tree, names: Iterable[str]) -> Tree:
    """Return the tree without some of its force elements.  Raises UnknownNameError for a name that none has."""
    known = [element.name for element in tree.force_elements]
    left = [*names]
    for name in left:
        if name not in known:
            raise UnknownNameError("force element", name, known)
    return replace(tree, force_elements=tuple(e for e in tree.force_elements if e.name not in left))
