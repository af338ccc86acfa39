"""Writing what a robot obeys besides its joints: the file of loops, as JSON text."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

from linkwork.constraints import Constraint, LoopJoint
from linkwork.force_elements import ForceElement
from linkwork.formats.constructor_reader import BOUNDS, RESISTING
from linkwork.formats.constructor_schema import ELEMENTS, KINDS, arguments, in_words, made_from, plain
from linkwork.formats.loops_file import LOOP, VERSION
from linkwork.model.body import WORLD, Frame
from linkwork.model.composite_body import composed
from linkwork.model.tree import Tree

__all__ = ["loops_text"]


def loops_text(tree: Tree) -> str:
    """The JSON text that says a tree's constraints and force elements, and its frames, points and directions that are
    no links'.

    Read again on the tree without them it gives the same.  Raises TypeError, naming it, for a constraint or force
    element that no file can say.
    """
    document: dict[str, Any] = {
        "version": VERSION,
        "frames": [_frame(tree, frame) for frame in tree.frames if _is_mark(frame)],
        "points": [{"name": p.name, "on": p.frame, "xyz": [*p.position]} for p in tree.points],
        "directions": [{"name": d.name, "on": d.frame, "vector": [*d.vector]} for d in tree.directions],
    }
    own = _own(tree)
    first = next((i for i, c in enumerate(own) if not isinstance(c, LoopJoint)), len(own))
    document["loops"] = [_loop(c) for c in own[:first] if isinstance(c, LoopJoint)]
    document["constraints"] = [_constraint(c) for c in own[first:]]  # loops among them: rows keep their order
    document["force_elements"] = [_element(element) for element in tree.force_elements]
    lines = "\n".join(_lines({key: value for key, value in document.items() if value}))
    return lines + "\n"


def _own(tree: Tree) -> list[Constraint]:
    """The constraints but for companions of others, which come with them; without those that were taken off."""
    by_name = {c.name: c for c in tree.constraints}
    companions = {companion.name: companion for c in tree.constraints for companion in c.companions}
    own = [c for c in tree.constraints if companions.get(c.name) != c]
    for i, c in enumerate(own):
        if any(by_name.get(companion.name) != companion for companion in c.companions):
            own[i] = replace(cast(Any, c), contact=False)
    return own


def _is_mark(frame: Frame) -> bool:
    """Whether a frame is one of a user's own: no link, which has a joint before it or is a root."""
    return frame.fixed_joint is None and frame.welded_to is not None


def _frame(tree: Tree, frame: Frame) -> dict[str, Any]:
    """By its pose on the frame that it was put on, where that gives the same numbers, or else on its body."""
    assert frame.welded_to is not None
    carrier = tree.frame(frame.welded_to)
    X = frame.placement if carrier.placement.is_identity else (carrier.placement.inv() @ frame.placement)
    on = carrier.name
    if composed(carrier.placement, X) != frame.placement:
        on, X = "world" if frame.body == WORLD else tree.bodies[frame.body].name, frame.placement
    found: dict[str, Any] = {"name": frame.name, "on": on}
    return found if X.is_identity else found | {"placement": plain(X, frame.name)}


def _loop(loop: LoopJoint) -> dict[str, Any]:
    what = f"loop {loop.name!r}"
    found = {"name": loop.name, **plain(loop.joint, what), "frame": loop.relative_to, "other": loop.frame}
    limits = {key: _each(getattr(loop, name)) for key, name in BOUNDS.items() if getattr(loop, name)}
    resisting = {key: _each(getattr(loop, key)) for key in RESISTING if getattr(loop, key)}
    return found | ({"limits": limits} if limits else {}) | resisting


def _each(numbers: tuple[float, ...]) -> Any:
    """A number, or one for each; null where there is none."""
    found = [None if math.isinf(x) else x for x in numbers]
    return found[0] if len(found) == 1 else found


def _constraint(constraint: Constraint) -> dict[str, Any]:
    if isinstance(constraint, LoopJoint):
        return {"kind": LOOP, **_loop(constraint)}
    what, kind = f"constraint {constraint.name!r}", type(constraint)
    if KINDS.get(in_words(kind)) is not kind:
        raise TypeError(f"{what}: its kind {kind.__name__} is none of linkwork.constraints, and can stand in no file")
    found = {"kind": in_words(kind), "name": constraint.name}
    if not any(argument.name == "name" for argument in arguments(kind)):
        found.pop("name")
    return found | made_from(constraint, kind, what)


def _element(element: ForceElement) -> dict[str, Any]:
    """A force element as plain data.  Raises TypeError for a kind that is none of linkwork's own."""
    what, kind = f"force element {element.name!r}", type(element)
    if ELEMENTS.get(in_words(kind)) is not kind:
        raise TypeError(
            f"{what}: its kind {kind.__name__} is none of linkwork.force_elements, and can stand in no file"
        )
    return {"kind": in_words(kind)} | made_from(element, kind, what)


def _lines(document: dict[str, Any]) -> Iterator[str]:
    """A line an entry, as people would write it."""
    yield "{"
    keys = [*document]
    for key, value in document.items():
        comma = "," if key != keys[-1] else ""
        if isinstance(value, list):
            yield f"  {json.dumps(key)}: ["
            yield ",\n".join(f"    {json.dumps(item, ensure_ascii=False, allow_nan=False)}" for item in value)
            yield f"  ]{comma}"
        else:
            yield f"  {json.dumps(key)}: {json.dumps(value)}{comma}"
    yield "}"
