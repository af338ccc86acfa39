"""Explanations of arguments that many functions have, for the docstrings of their methods."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable

from linkwork.model.function_spec import QUANTITIES, FunctionSpec

__all__ = ["with_explanations"]

_TEXTS = {
    "actuators": "names of the joints that have motors; by default all joints that do not float.",
    "directions": "names of the robot's directions.",
    "expressed_in": "name of the frame in whose axes the result is.",
    "frame": "name of the frame.",
    "gravity": "gravity in the world's axes (..., 3) [m/s²]; by default the robot's own.",
    "impulses": "impulses by the frame that each acts on, (..., 6): (moment [N·m·s]; force [N·s]) at its origin.",
    "impulses_expressed_in": "name of the frame in whose axes the impulses are, or a dict of one for each.",
    "independent": "names of the independent velocities; by default those that `minimal_coordinates` chooses.",
    "out": "array for the result, or a tuple of arrays for several results.",
    "part": 'rows that count: "all", "position" or "angular".',
    "passive": "True includes armature, damping, dry friction and springs of the joints.",
    "position_limits": "True keeps positions within the joints' limits.",
    "point": "name of the frame whose origin is the point of reference; by default the frame's own.",
    "points": "names of the robot's points.",
    "positions": "positions of points in their frames (..., 3) or (..., n, 3) [m]; by default the frames' origins.",
    "relative_to": "name of the frame relative to which the motion is.",
    "subtree": "name of a frame: only the body that carries it and all bodies behind it count; by default all.",
    "vectors": "directions in their frames (..., 3) or (..., n, 3) [1].",
    "wrenches": "external wrenches by the frame that each acts on, (..., 6): (moment [N·m]; force [N]) at its origin.",
    "wrenches_expressed_in": "name of the frame in whose axes the wrenches are, or a dict of one for each.",
}


def with_explanations(doc: str, row: FunctionSpec, names: Iterable[str]) -> str:
    """Return the docstring of a function's method, and a line for each argument that it does not mention."""
    doc = inspect.cleandoc(doc)
    texts = _TEXTS | {"friction": _laws(row)}
    if "expressed_in" in row.wrench_arguments:
        texts["expressed_in"] = _TEXTS[f"{row.wrench_argument}_expressed_in"]
    lines = []
    for name in names:
        if re.search(rf"\b{name}\b", doc) is None:
            text = texts.get(name) or (f"{QUANTITIES[name].doc}." if name in QUANTITIES else "")
            lines += [f"    {name}: {text}"] if text else []
    return "\n".join([doc, "", "Args:", *lines]) if lines else doc


def _laws(row: FunctionSpec) -> str:
    """Return the explanation of a function's laws of dry friction."""
    laws = [f'"{law}"' for option in row.options if option.name == "friction" for law in option.choices]
    return f"law of dry friction: {', '.join(laws)}, or a `FrictionLaw`."
