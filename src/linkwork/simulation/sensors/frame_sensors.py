"""Sensors on frames of a robot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.validation import names
from linkwork.errors import UnknownNameError
from linkwork.geometry.fields import Ground, ground_arrays, ground_ray
from linkwork.geometry.ray_casting import ray_length
from linkwork.geometry.scene import Scene
from linkwork.geometry.solids import SOLIDS, solid
from linkwork.model.collision_pairs import collision_links, link_shapes
from linkwork.shapes import HeightField, Shape
from linkwork.simulation.contacts.contact_candidates import frame_pose
from linkwork.simulation.sensors.sensor import Sensor, SensorInput
from linkwork.spatial import Pose, Vec3

__all__ = ["IMU", "RangeSensor", "TouchSensor"]

_RAY_SHAPES = (*SOLIDS, HeightField)  # shapes at which rays end


@public_constructor
@dataclass(frozen=True)
class IMU(Sensor):
    """Inertial measurement unit: angular velocity (3) [rad/s] and specific force (3) [m/s²], in the frame's axes.

    ``of`` is "both", or "angular_velocity" (a gyroscope) or "specific_force" (an accelerometer) for one of them.

    The angular velocity is its value at the step's end.  The specific force is the acceleration of the frame's origin
    minus gravity, so it points up at rest.  It is the mean of the last step, with v̇ = (v⁺ − v)/h at the step's middle:
    its value h/2 before the end, to second order.  It includes the change of v in a jump.  A step that an event stops
    is shorter.  Before the first step v̇ is 0.  For a floating body v̇ is in its own axes: with ω and v its reading is
    then ω × v.

    ``noise``, ``bias`` and ``delay`` are described at `Sensor`.

    >>> from linkwork.simulation import IMU
    >>> IMU("base", noise=(0.01,) * 3 + (0.1,) * 3, delay=0.002).frame
    'base'
    """

    frame: str
    of: str = "both"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.of not in ("both", "angular_velocity", "specific_force"):
            raise ValueError(f"IMU: of: expected 'both', 'angular_velocity' or 'specific_force', got {self.of!r}")

    def checked(self, robot: Any, has_contacts: bool) -> None:
        _check_frame("IMU", robot, self.frame)
        super().checked(robot, has_contacts)

    def size(self, robot: Any) -> int:
        return 6 if self.of == "both" else 3

    @property
    def _reads_middle(self) -> bool:
        return self.of != "angular_velocity"

    def readings(self, state: SensorInput) -> Sequence[Any]:
        robot, frame = state.robot, self.frame
        turning: Sequence[Any] = []
        if self.of != "specific_force":
            twist = robot.twist(state.q, state.v, frame, expressed_in=frame)
            turning = [twist[i] for i in range(3)]
        if self.of == "angular_velocity":
            return turning
        state = state.midway
        moved = robot.acceleration(state.q, state.v, state.a, frame, expressed_in=frame)
        R = robot.pose(state.q, frame)[:3, :3]
        g = robot.gravity
        felt = [moved[3 + i] - sum(R[j, i] * g[j] for j in range(3)) for i in range(3)]
        return [*turning, *felt]


@public_constructor
@dataclass(frozen=True)
class TouchSensor(Sensor):
    """Contact force on each of ``links`` [N]: the sum of the normal components of its contacts.

    A contact of a `ContactPoint` belongs to the point's frame: name that frame.  A simulation raises ValueError for a
    link or frame without contact points, which would always read 0.

    ``noise``, ``bias`` and ``delay`` are described at `Sensor`.

    >>> from linkwork.simulation import TouchSensor
    >>> TouchSensor(("left_foot", "right_foot")).links
    ('left_foot', 'right_foot')
    """

    links: tuple[str, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "links", names("TouchSensor", "links", self.links, description="names of links"))

    def checked(self, robot: Any, has_contacts: bool) -> None:
        if not has_contacts:
            raise ValueError("TouchSensor: expected a simulation with contacts, got none; pass contacts=")
        for link in self.links:
            _check_frame("TouchSensor", robot, link)
        super().checked(robot, has_contacts)

    @property
    def _touched(self) -> tuple[str, ...]:
        return self.links

    def size(self, robot: Any) -> int:
        return len(self.links)

    def readings(self, state: SensorInput) -> Sequence[Any]:
        result = []
        for link in self.links:
            total: Any = 0.0
            for candidate, force in state.contacts:
                if link in (candidate.first, candidate.second):
                    total = total + sum(n * f for n, f in zip(candidate.axes[2], force, strict=True))
            result.append(total)
        return result


@public_constructor
@dataclass(frozen=True)
class RangeSensor(Sensor):
    """Distances [m] from a frame's origin along ``directions`` in the frame's axes, to obstacles and links.

    Rays end at obstacles of a ``scene`` and at collision shapes of the robot's ``links``.  A reading is ``max_range``
    where nothing is nearer, and 0 from inside a shape.  Rays end at convex shapes and at the triangles of height
    fields, not at other fields.

    ``noise``, ``bias`` and ``delay`` are described at `Sensor`.

    >>> import linkwork as lw
    >>> from linkwork.simulation import RangeSensor
    >>> scene = lw.Scene().with_half_space("floor")
    >>> RangeSensor("hand", [(1, 0, 0), (1, 1, 0)], scene=scene, max_range=5.0).max_range
    5.0
    """

    frame: str
    directions: tuple[tuple[float, float, float], ...] = ((1.0, 0.0, 0.0),)
    scene: Scene | None = None
    links: tuple[str, ...] = ()
    max_range: float = 10.0

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            rays = np.atleast_2d(np.array(self.directions, dtype=float))
            lengths = np.linalg.norm(rays, axis=-1, keepdims=True)
            fits = rays.ndim == 2 and rays.shape[1] == 3 and np.isfinite(rays).all() and (lengths > 0.0).all()
        except (TypeError, ValueError):
            fits = False
        if not fits:
            raise ValueError(f"RangeSensor: directions: expected non-zero vectors (n, 3), got {self.directions!r}")
        object.__setattr__(self, "directions", tuple(map(tuple, (rays / lengths).tolist())))
        object.__setattr__(self, "links", names("RangeSensor", "links", self.links, description="names of links"))
        if not (isinstance(self.scene, Scene) or self.scene is None):
            raise TypeError(f"RangeSensor: scene: expected a linkwork.Scene, got {self.scene!r}")
        if self.scene is None and not self.links:
            raise ValueError("RangeSensor: scene, links: expected a scene or links at which rays may end, got neither")
        if not 0.0 < self.max_range < math.inf:
            raise ValueError(f"RangeSensor: max_range: expected a finite number > 0 [m], got {self.max_range!r}")

    def checked(self, robot: Any, has_contacts: bool) -> None:
        _check_frame("RangeSensor", robot, self.frame)
        links = collision_links(robot.tree)
        for link in self.links:
            if link not in links:
                raise UnknownNameError("link with a collision shape, for a sensor of kind RangeSensor,", link, links)
        for name, shape in self._shapes(robot):
            if type(shape) not in _RAY_SHAPES:
                raise ValueError(
                    f"RangeSensor: {name!r}: expected {', '.join(kind.__name__ for kind in _RAY_SHAPES)}, got "
                    f"{type(shape).__name__}, at which rays do not end; remove it from the sensor's scene or links"
                )
        super().checked(robot, has_contacts)

    def _shapes(self, robot: Any) -> list[tuple[str, Shape]]:
        """Return the shapes at which rays may end, by name."""
        standing = [] if self.scene is None else [(name, self.scene[name].shape) for name in self.scene.names]
        return [
            *standing,
            *(
                (link_shape.name, link_shape.shape)
                for link_shape in link_shapes(robot.tree)
                if link_shape.link in self.links
            ),
        ]

    def size(self, robot: Any) -> int:
        return len(self.directions)

    def readings(self, state: SensorInput) -> Sequence[Any]:
        robot, X = state.robot, frame_pose(state.robot, state.q, self.frame)
        shapes: list[tuple[Shape, Pose]] = []
        for name in self.scene.names if self.scene is not None else ():
            obstacle = self.scene[name]  # type: ignore[index]
            shapes.append((obstacle.shape, obstacle.pose))
        for part in link_shapes(robot.tree):
            if part.link in self.links:
                placed = robot.tree.frame(part.link).placement.inv() @ part.placement
                shapes.append((part.shape, frame_pose(robot, state.q, part.link) @ placed))
        return [self._length(X, Vec3(*d), shapes) for d in self.directions]

    def _length(self, X: Pose, ray: Vec3, shapes: Sequence[tuple[Shape, Pose]]) -> Any:
        origin, direction, length = X.translation, X.rotation @ ray, self.max_range
        for shape, placed in shapes:
            if isinstance(shape, HeightField):
                R, ground = placed.rotation, Ground(**ground_arrays(shape))
                start, along = R.inv_act(origin - placed.translation), R.inv_act(direction)
                length = ground_ray(ground, start, along, length)
        solids = [solid(shape, placed) for shape, placed in shapes if type(shape) in SOLIDS]
        return ray_length(origin, direction, solids, length)


def _check_frame(caller: str, robot: Any, frame: str) -> None:
    if frame not in robot.frames:
        raise UnknownNameError(f"frame, for a sensor of kind {caller},", str(frame), robot.frames)
