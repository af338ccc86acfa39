"""Scene document of a simulation: robots of all environments or of one, the ground, obstacles and contact forces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork import Scene
from linkwork._util.file_search import Folders
from linkwork.expr import array
from linkwork.kernels import compile
from linkwork.simulation import ContactGround, ContactScene, Simulation
from linkwork.viewer.document import Arrows, Plot, SceneDocument
from linkwork.viewer.scene_builder import SceneBuilder
from linkwork.viewer.scenes.document_of import document_of
from linkwork.viewer.scenes.robot_scenes import FRAME_RATE, frame_times, moving_scene, path_times

__all__ = ["simulation_document"]

_FORCE_COLOR = (0.84, 0.37, 0.00, 1.0)
_ARROW = 1.0  # length of the arrow of the robot's weight, relative to the robot's size
_LONG = 1.5  # length of the arrow of a large force, relative to the robot's size; that of an impact may be longer
_LARGE = 0.9  # share of the forces that are smaller than a large one
_LEAST_FORCE = 1e-6  # of the largest force: smaller ones are not drawn
_GROUND_OFFSET = 1e-3  # [m] of the drawn ground below the plane, so that soles on it are visible


@document_of.register(Simulation)
def simulation_document(
    result: Any,
    environment: tuple[int, ...] | None = None,
    *,
    frames: str | Sequence[str] | None = None,
    scene: Scene | None = None,
    contacts: Any = None,
    ghosts: int = 0,
    rate: float = FRAME_RATE,
    spacing: float | None = None,
    meshes: Folders | None = None,
    title: str | None = None,
) -> SceneDocument:
    """Return the scene document of a simulation; see `Simulation.show`.

    ``environment`` is the index of one environment; None shows all of them.
    """
    if np.asarray(result.q).dtype == object:
        raise TypeError("show: q: expected numbers, got symbols; show the simulation outside compiled functions")
    if environment is None and result.q.ndim == 2:
        environment = ()
    index = [*np.ndindex(result.q.shape[:-2])] if environment is None else [environment]
    robot = result.robot_of() if environment is None else result.robot_of(environment)
    rows = _rows(result, environment, rate)
    t, q = result.t[rows], np.stack([result.q[k][rows] for k in index], axis=1)
    v = result.v[index[0]][rows]
    touching = result._shown_contacts(contacts)
    options: dict[str, Any] = {"scene": scene, "ghosts": ghosts, "meshes": meshes, "spacing": spacing}
    if frames is not None and len(t) > 1:
        options["path"] = np.asarray(result.trajectory(*index[0])(path_times(t)).q)
    builder = moving_scene(robot, t, q, title=title, v=v, frames=frames, **options)
    if len(t) > 1 and not robot.tree.inertias_ignored:
        energies = result._energies(index[0], q[:, 0], v)
        builder.plots.append(Plot("energy", "J", tuple(energies), np.stack([*energies.values()], axis=1)))
    for name, unit, lines in result._record_lines(index[0]) if len(t) > 1 else ():
        builder.plots.append(Plot(name, unit, tuple(lines), np.stack([*lines.values()], axis=1)[rows]))
    if touching is not None:
        _add_surroundings(builder, touching, scene)
    if "contact_forces" in result.records and result.contact_names:
        forces = np.stack([result.records["contact_forces"][k][rows] for k in index], axis=1)
        _add_forces(builder, robot, touching, q, forces, result.contact_names)
    return builder.document()


def _rows(result: Any, environment: tuple[int, ...] | None, rate: float) -> np.ndarray:
    """Return the indices of the records to show, ``rate`` a second, up to the time at which the environment stopped."""
    stopped = np.nan if environment is None else float(result.stopped_at[environment])
    end = result.t[-1] if np.isnan(stopped) else min(stopped, result.t[-1])
    times = frame_times(float(result.t[0]), float(end), rate)
    return np.unique(np.clip(np.searchsorted(result.t, times - 1e-9 * max(end, 1.0)), 0, len(result.t) - 1))


def _add_surroundings(builder: SceneBuilder, contacts: Any, scene: Scene | None) -> None:
    """Add the ground and the obstacles of a contact model to the scene."""
    for part in contacts.parts:
        if isinstance(part, ContactGround):
            tangents = np.array(part.axes(), dtype=float)
            pose = np.eye(4)
            pose[:3, :3] = tangents.T
            pose[:3, 3] = (part.height - _GROUND_OFFSET) * tangents[2]
            builder.add_scene(Scene().with_half_space("ground", pose))
        elif isinstance(part, ContactScene) and part.scene != scene:
            builder.add_scene(part.scene)


def _add_forces(
    builder: SceneBuilder, robot: Any, contacts: Any, q: np.ndarray, forces: np.ndarray, names: Any
) -> None:
    """Add arrows of the contact forces (T, n, points, 3) [N] at the contact points, and plots for the first robot."""
    T, n, count = forces.shape[:3]
    sizes = np.linalg.norm(forces, axis=-1)
    if T > 1:
        builder.plots.append(Plot("contact force", "N", tuple(names), sizes[:, 0]))
    largest = float(sizes.max(initial=0.0))
    if largest == 0.0:
        return
    if contacts is None or len(contacts.names(robot)) != count:
        text = "contact forces are not drawn: pass the contacts of the simulation, show(contacts=...)"
        builder.surfaces.notes.append(text)
        return
    starts = _contact_points(robot, contacts, q)
    offsets = builder.actors[-1].offsets
    if offsets is not None:
        starts = starts + offsets[:, None, :3, 3]
    weight = robot.mass * float(np.linalg.norm(robot.gravity))
    shape = (T, n * count, 3)
    visible = (sizes > _LEAST_FORCE * largest).reshape(T, n * count)
    large = float(np.quantile(sizes.reshape(T, n * count)[visible], _LARGE))
    scale = builder.size * min(_ARROW / weight if weight > 0.0 else np.inf, _LONG / large)
    arrows = Arrows("contact forces", starts.reshape(shape), forces.reshape(shape), visible, _FORCE_COLOR, scale)
    builder.arrows.append(arrows)


def _contact_points(robot: Any, contacts: Any, q: np.ndarray) -> np.ndarray:
    """Return the positions of all contact points in the world (..., points, 3) [m] at q (..., nq)."""

    def points(q: Any) -> list[Any]:
        result = []
        for candidate in contacts.candidates(robot, q):
            X = robot.pose(q, candidate.second)
            result.append([X[..., k, 3] + x for k, x in enumerate(candidate.arms[1])])
        return result

    try:
        positions = points(q)
    except TypeError:  # the walk over a hull takes one state: a kernel evaluates it for many
        kernel = compile(lambda q: array(points(q)), name="contact_points", q=robot.configuration_space)
        return np.asarray(kernel(q))
    columns = [np.stack([np.broadcast_to(x, q.shape[:-1]) for x in point], axis=-1) for point in positions]
    return np.stack(columns, axis=-2)
