"""Reading and writing of constraints, force elements, points and directions as entries of JSON and YAML files.

A constraint's or force element's entry has a ``kind``, the name of its class in lower case with underscores, and the
arguments of the class. A joint that closes a loop has its ``type`` and the type's parameters instead.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from typing import Any

from linkwork._util.messages import did_you_mean, quoted
from linkwork.constraints import Constraint, LoopJoint
from linkwork.force_elements import ForceElement
from linkwork.formats.constructor_reader import BOUNDS, RESISTING, PlainReader
from linkwork.formats.constructor_schema import (
    ELEMENTS,
    KINDS,
    TYPES,
    arguments,
    constructor_arguments,
    in_words,
    is_plain,
    plain,
)
from linkwork.formats.data_values import Value
from linkwork.model.description import ConstraintDescription, ForceElementDescription, MarkDescription

__all__ = [
    "LOOP",
    "EntryReader",
    "constraint_entry",
    "document_lines",
    "element_entry",
    "loop_entry",
    "one_or_list",
]

LOOP = "loop"  # the kind of a loop among constraints
_LOOP_KEYS = ("name", "frame", "other", "limits", *RESISTING)


class EntryReader:
    """Reader of lists of constraints, loops, force elements, points and directions in a loops file or robot file.

    A `PlainReader` reads the values of each entry.
    """

    def __init__(self, reader: PlainReader) -> None:
        self.reader = reader

    def each(self, root: Value, key: str, read: Callable[[Value], Any]) -> tuple[Any, ...]:
        """Return the results of ``read`` for the entries of the list ``root[key]``, without entries that have errors.

        The result is empty if the key is missing.
        """
        values = root.content.get(key)
        if values is None or values.content is None:
            return ()
        if not isinstance(values.content, list):
            self.reader.error(values, "DATA_TYPE", f"{key}: expected a list, got {values.kind}")
            return ()
        result = [read(item) for item in values.items if self.reader.is_object(item, key)]
        return tuple(item for item in result if item is not None)

    def point(self, value: Value) -> MarkDescription:
        """Return the point that an entry describes."""
        return self._mark(value, "xyz")

    def direction(self, value: Value) -> MarkDescription:
        """Return the direction that an entry describes."""
        return self._mark(value, "vector")

    def _mark(self, value: Value, key: str) -> MarkDescription:
        reader = self.reader
        reader.known(value, ("name", "on", key))
        components = reader.required(value, key)
        vector = reader.number_list(components, 3) if components is not None else (0.0, 0.0, 1.0)
        return MarkDescription(reader.text(value, "name"), reader.text(value, "on"), vector, reader.where(value))

    # -- loops, constraints and force elements

    def loop(self, value: Value, *more: str) -> ConstraintDescription | None:
        """Return the joint that closes a loop, from its entry; None after an error.

        ``more`` are further keys that the entry may have.
        """
        reader = self.reader
        errors = len(reader.findings.errors)
        name, frame, second_frame = (reader.text(value, key) for key in ("name", "frame", "other"))
        joint = reader.joint(value, "type", more=(*_LOOP_KEYS, *more))
        values = reader.loop_values(value, joint) if joint is not None else {}
        if len(reader.findings.errors) > errors or joint is None:
            return None
        return self._constructed(
            value, LoopJoint, dict(name=name, joint=joint, frame=second_frame, relative_to=frame, **values)
        )

    def constraint(self, value: Value) -> ConstraintDescription | None:
        """Return the constraint, or loop, that an entry describes; None after an error."""
        reader = self.reader
        errors = len(reader.findings.errors)
        word = reader.text(value, "kind")
        if word == LOOP:
            return self.loop(value, "kind")
        kind = KINDS.get(word)
        if kind is None:
            if word:
                expected = "expected one of " + ", ".join(sorted([LOOP, *(k for k in KINDS if is_plain(KINDS[k]))]))
                where = value.content["kind"]
                hint = (
                    "write joints that close loops under loops" if word in TYPES else did_you_mean(word, [*KINDS, LOOP])
                )
                reader.error(where, "CONSTRAINT_KIND", f"unknown kind {quoted(word)}: {expected}", hint or None)
            return None
        if not is_plain(kind):
            hint = f"add it in Python: robot.with_constraints(linkwork.constraints.{kind.__name__}(...))"
            message = f"a constraint of kind {quoted(word)} needs a function, which a file cannot represent"
            reader.error(value.content["kind"], "CONSTRAINT_KIND", message, hint)
            return None
        values = reader.arguments(value, kind, more=("kind",))
        if len(reader.findings.errors) > errors:
            return None
        return self._constructed(value, kind, values)

    def element(self, value: Value) -> ForceElementDescription | None:
        """Return the spring, damper or bushing that an entry describes; None after an error."""
        reader = self.reader
        errors = len(reader.findings.errors)
        kind = reader.kind(value, dict(sorted(ELEMENTS.items())), "FORCE_ELEMENT")
        if kind is None:
            return None
        values = reader.arguments(value, kind, more=("kind",))
        if len(reader.findings.errors) > errors:
            return None
        try:
            return ForceElementDescription(kind(**values), reader.where(value))
        except (TypeError, ValueError) as error:
            reader.error(value, "FORCE_ELEMENT", f"{in_words(kind)}: {error}")
            return None

    def _constructed(
        self, value: Value, kind: type[Constraint], values: dict[str, Any]
    ) -> ConstraintDescription | None:
        try:
            return ConstraintDescription(kind(**values), self.reader.where(value))
        except (TypeError, ValueError) as error:
            self.reader.error(value, "CONSTRAINT", f"{in_words(kind)}: {error}")
            return None


# -- writing


def loop_entry(loop: LoopJoint) -> dict[str, Any]:
    """Return the data of the entry of a joint that closes a loop.  Raises TypeError for a user-defined type."""
    owner = f"loop {loop.name!r}"
    result = {"name": loop.name, **plain(loop.joint, owner), "frame": loop.relative_to, "other": loop.frame}
    limits = {key: one_or_list(getattr(loop, name)) for key, name in BOUNDS.items() if getattr(loop, name)}
    resisting = {key: one_or_list(getattr(loop, key)) for key in RESISTING if getattr(loop, key)}
    return result | ({"limits": limits} if limits else {}) | resisting


def one_or_list(components: tuple[float, ...]) -> Any:
    """Return the values of a joint's coordinates as data: one number, or a list; null for infinity."""
    result = [None if math.isinf(x) else x for x in components]
    return result[0] if len(result) == 1 else result


def constraint_entry(constraint: Constraint) -> dict[str, Any]:
    """Return the data of a constraint's entry.  Raises TypeError for a constraint that a file cannot represent."""
    if isinstance(constraint, LoopJoint):
        return {"kind": LOOP, **loop_entry(constraint)}
    owner, kind = f"constraint {constraint.name!r}", type(constraint)
    if KINDS.get(in_words(kind)) is not kind:
        raise TypeError(
            f"{owner}: its kind {kind.__name__} is not one of linkwork.constraints, so it cannot be written to a file"
        )
    result = {"kind": in_words(kind), "name": constraint.name}
    if not any(argument.name == "name" for argument in arguments(kind)):
        result.pop("name")
    return result | constructor_arguments(constraint, kind, owner)


def element_entry(element: ForceElement) -> dict[str, Any]:
    """Return the data of a force element's entry.  Raises TypeError for a kind that linkwork does not define."""
    owner, kind = f"force element {element.name!r}", type(element)
    if ELEMENTS.get(in_words(kind)) is not kind:
        raise TypeError(
            f"{owner}: its kind {kind.__name__} is not one of linkwork.force_elements, so it cannot be written to "
            f"a file"
        )
    return {"kind": in_words(kind)} | constructor_arguments(element, kind, owner)


def document_lines(document: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a JSON document, with a separate line for each entry of a list.

    Lists of numbers or strings are on one line.
    """
    yield "{"
    keys = [*document]
    for key, value in document.items():
        comma = "," if key != keys[-1] else ""
        if isinstance(value, list) and not isinstance(next(iter(value), None), (float, int, str)):
            yield f"  {json.dumps(key)}: ["
            yield ",\n".join(f"    {json.dumps(item, ensure_ascii=False, allow_nan=False)}" for item in value)
            yield f"  ]{comma}"
        else:
            yield f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False, allow_nan=False)}{comma}"
    yield "}"
