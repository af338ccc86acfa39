"""Scenes of viewers, pages, models and figures."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from recorded_results.case import case
from recorded_results.machines import armed, linkage, obstacles
from recorded_results.robots import arm, crane, inside


def _document(document: Any) -> dict[str, Any]:
    """Return the parts of a scene document: names, numbers and texts."""
    result: dict[str, Any] = {"title": document.title, "times": np.asarray(document.times, dtype=float)}
    for kind in ("surfaces", "actors", "props", "lines", "points", "arrows", "frames", "texts", "plots", "notes"):
        result[kind] = [_parts(x) for x in getattr(document, kind)]
    result["more"] = [str(document.axis), float(document.pace), document.is_timed, sorted(map(str, document.hidden))]
    return result


def _parts(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str | int | float | type(None)):
        return value
    if isinstance(value, np.ndarray):
        return value if value.dtype.kind in "biuf" else [str(x) for x in value.ravel()]
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, dict):
        return {str(key): _parts(x, depth + 1) for key, x in value.items()}
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return [_parts(x, depth + 1) for x in value]
    names = getattr(value, "_fields", None) or getattr(type(value), "__match_args__", ())
    return {name: _parts(getattr(value, name), depth + 1) for name in names} if depth < 5 else str(type(value).__name__)


@case(1e-6)
def scene_of_an_arm_with_obstacles(_: Any) -> Any:
    scene = obstacles().only(["crate", "pole", "drum", "egg", "floor", "dust", "hills"])
    return _document(
        lw.viewer.scene_document(armed(), q=inside(armed(), 1, 4)[0], scene=scene, frames=["tool", "elbow"])
    )


@case(1e-6)
def scenes_of_motions_and_mechanisms(_: Any) -> Any:
    curve = arm().spline([0.3, 0.9, 1.7], inside(arm(), 3, 3, 0.5))
    assembly = linkage().assemble([-0.6, 0.2, 0.3, -0.3], hold={"crank": -0.9})
    return {
        "motion": _document(lw.viewer.scene_document(curve)),
        "linkage": _document(lw.viewer.scene_document(assembly)),
        "side": _document(lw.viewer.side_by_side([arm(), crane()], titles=["a", "b"], spacing=1.3, columns=1)),
    }


@case(1e-5)
def page_and_model_of_an_arm(folder: Path) -> Any:
    q = inside(arm(), 3, 3, 0.5)
    scene = obstacles().only(["crate", "egg"])
    arm().show(q, times=[0.1, 0.5, 0.7], scene=scene, frames=["tool"], html="a.html")
    arm().show(q, times=[0.1, 0.5, 0.7], scene=scene, frames=["tool"], glb="a.glb")
    data = (folder / "a.glb").read_bytes()
    size = int.from_bytes(data[12:16], "little")
    model = json.loads(data[20 : 20 + size])
    floats = np.frombuffer(data[28 + size : 28 + size + (len(data) - 28 - size) // 4 * 4], dtype=np.float32)
    page = (folder / "a.html").read_text(encoding="utf-8")
    model.get("asset", {}).clear()
    return {
        **{name: json.dumps(part) for name, part in model.items()},
        "numbers": [len(floats), float(np.abs(floats[np.abs(floats) < 100.0]).sum())],
        "page": [page.count("<script"), len(re.findall(r"<button", page)), "tool" in page],
    }


@case(1e-6)
def figures_of_robots(_: Any) -> Any:
    result: dict[str, Any] = {}
    drawn = {
        "arm": arm().plot(inside(arm(), 1, 4)[0], frames=["tool", "elbow"], alpha=0.7, color="tab:red"),
        "linkage": linkage().plot([-0.6, 0.2, 0.3, -0.3]),
    }
    for name, axes in drawn.items():
        result[name] = {
            "lines": [np.array(x.get_data_3d()) for x in axes.lines],
            "collections": [
                np.concatenate([np.asarray(y).ravel() for y in (x._vec, x.get_facecolor(), x.get_edgecolor())])
                for x in axes.collections
                if hasattr(x, "_vec")
            ],
            "limits": [axes.get_xlim(), axes.get_ylim(), axes.get_zlim()],
            "texts": [x.get_text() for x in axes.texts],
        }
    tree = armed().plot_tree()
    result["tree"] = [[x.get_text() for x in tree.texts], np.array([x.get_position() for x in tree.texts])]
    return result
