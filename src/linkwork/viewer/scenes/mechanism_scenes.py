"""Scene documents of assembled configurations and of driven motions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.file_search import Folders
from linkwork._util.validation import positive
from linkwork.mechanisms import Assembly, DrivenMotion
from linkwork.viewer.document import Plot, SceneDocument
from linkwork.viewer.scenes.document_of import document_of
from linkwork.viewer.scenes.robot_scenes import FRAME_RATE, moving_scene

__all__ = ["assembly_document", "driven_motion_document"]


@document_of.register(Assembly)
def assembly_document(result: Any, *, meshes: Folders | None = None, title: str | None = None) -> SceneDocument:
    """Return the scene document of assembled configurations; see `linkwork.mechanisms.Assembly.show`."""
    robot = result.robot
    q = np.asarray(result.q, dtype=float).reshape(1, -1, robot.nq)
    builder = moving_scene(robot, np.zeros(1), q, title=title, meshes=meshes)
    builder.show_layer("constraints")
    if result.branches is not None:
        branches = np.asarray(result.branches.q, dtype=float).reshape(-1, robot.nq)
        builder.add_ghosts(robot, branches[np.isfinite(branches).all(axis=1)], name="branches")
    return builder.document()


@document_of.register(DrivenMotion)
def driven_motion_document(
    result: Any,
    *,
    frames: str | Sequence[str] | None = None,
    times: ArrayLike | None = None,
    rate: float | None = None,
    ghosts: int = 0,
    meshes: Folders | None = None,
    title: str | None = None,
) -> SceneDocument:
    """Return the scene document of a driven motion; see `linkwork.mechanisms.DrivenMotion.show`."""
    robot = result.robot
    if result.reached.ndim > 1:
        batch = result.reached.shape[:-1]
        raise ValueError(f"show: robot {robot.name!r} has a batch {batch} of motions; use trajectory(index).show()")
    pace = FRAME_RATE if rate is None else positive("show", "rate", rate, unit="1/s")
    if times is not None and rate is not None:
        raise ValueError(f"show: rate: expected None with times, which say when states are shown, got {rate!r}")
    reached = result.reached
    if not reached.any():
        raise ValueError(f"show: expected a motion with states that were reached, got none: {result.message}")
    q, v, a, t, notes = result.q, result.v, result.a, None, []
    if rate is None:
        try:
            _, t, q, v, a = result._timed("show", (), times)
        except ValueError as error:
            if times is not None:
                raise
            notes = [f"shown by states, as no time is known: {error}"]
    axis = np.arange(len(q), dtype=float) if t is None else t
    rates = None if t is None else v[reached]
    options: dict[str, Any] = {"title": title, "frames": frames, "ghosts": ghosts, "meshes": meshes}
    builder = moving_scene(robot, axis[reached], q[reached], v=rates, **options)
    if t is None:
        builder.is_timed, builder.axis, builder.pace = False, "state", pace
    builder.surfaces.notes += notes
    builder.show_layer("constraints")
    for name, unit, lines in result._force_lines((), v, a) if reached.sum() > 1 else ():
        values = np.stack([*lines.values()], axis=-1)[reached]
        builder.plots.append(Plot(name, unit, tuple(lines), values))
    return builder.document()
