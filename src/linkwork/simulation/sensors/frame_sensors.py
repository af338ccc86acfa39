"""Sensors on frames of a robot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public_constructor
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

_MET = (*SOLIDS, HeightField)  # shapes at which rays end


@public_constructor
@dataclass(frozen=True)
class IMU(Sensor):
    """An inertial unit at a frame: angular velocity (3) [rad/s] and specific force (3) [m/s²], in the frame's axes.

    The specific force is what its accelerometers feel: the acceleration of the frame's origin less gravity, so at rest
    it points up.  The acceleration is that of the last step, v̇ = (v⁺ − v)/h, or where an event stopped it that of the
    part of the step until then; where one jumps, this has the jump's change of v too, as if it took all that time.
    Before the first step v̇ is 0, of a floating body by its own axes: one that turns at ω and moves at v feels ω × v.

    >>> from linkwork.simulation import IMU
    >>> IMU("base", noise=(0.01,) * 3 + (0.1,) * 3, delay=0.002).frame
    'base'
    """

    frame: str

    def checked(self, robot: Any, has_contacts: bool) -> None:
        _check_frame("IMU", robot, self.frame)
        super().checked(robot, has_contacts)

    def size(self, robot: Any) -> int:
        return 6

    def readings(self, seen: SensorInput) -> Sequence[Any]:
        robot, frame = seen.robot, self.frame
        turning = robot.twist(seen.q, seen.v, frame, expressed_in=frame)
        moved = robot.acceleration(seen.q, seen.v, seen.a, frame, expressed_in=frame)
        R = robot.pose(seen.q, frame)[:3, :3]
        g = robot.gravity
        felt = [moved[3 + i] - sum(R[j, i] * g[j] for j in range(3)) for i in range(3)]
        return [*(turning[i] for i in range(3)), *felt]


@public_constructor
@dataclass(frozen=True)
class TouchSensor(Sensor):
    """How hard something presses on each of ``links`` [N]: the normal parts of its contacts' forces, in sum.

    A contact of a point on a frame is one of that frame: name it here.

    >>> from linkwork.simulation import TouchSensor
    >>> TouchSensor(("left_foot", "right_foot")).links
    ('left_foot', 'right_foot')
    """

    links: tuple[str, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "links", (self.links,) if isinstance(self.links, str) else tuple(self.links))

    def checked(self, robot: Any, has_contacts: bool) -> None:
        if not has_contacts:
            raise ValueError("TouchSensor: there are no contacts that it could feel: give contacts")
        for link in self.links:
            _check_frame("TouchSensor", robot, link)
        super().checked(robot, has_contacts)

    def size(self, robot: Any) -> int:
        return len(self.links)

    def readings(self, seen: SensorInput) -> Sequence[Any]:
        result = []
        for link in self.links:
            total: Any = 0.0
            for place, force in seen.contacts:
                if link in (place.first, place.second):
                    total = total + sum(n * f for n, f in zip(place.axes[2], force, strict=True))
            result.append(total)
        return result


@public_constructor
@dataclass(frozen=True)
class RangeSensor(Sensor):
    """How far it is [m] from a frame's origin along each of some ``directions`` in the frame's axes, to what stands in
    a ``scene`` or is a collision shape of one of the robot's ``links``: ``max_range`` where there is nothing so far, 0
    from inside.  Rays end at convex shapes and at height fields' triangles, not at other fields.

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
            ways = np.atleast_2d(np.array(self.directions, dtype=float))
            lengths = np.linalg.norm(ways, axis=-1, keepdims=True)
            fits = ways.ndim == 2 and ways.shape[1] == 3 and np.isfinite(ways).all() and (lengths > 0.0).all()
        except (TypeError, ValueError):
            fits = False
        if not fits:
            raise ValueError(f"RangeSensor: directions: expected directions (n, 3), got {self.directions!r}")
        object.__setattr__(self, "directions", tuple(map(tuple, (ways / lengths).tolist())))
        object.__setattr__(self, "links", (self.links,) if isinstance(self.links, str) else tuple(self.links))
        if not (isinstance(self.scene, Scene) or self.scene is None):
            raise TypeError(f"RangeSensor: scene: expected a linkwork.Scene, got {self.scene!r}")
        if self.scene is None and not self.links:
            raise ValueError("RangeSensor: scene or links: expected a scene, or links that it may see")
        if not 0.0 < self.max_range < math.inf:
            raise ValueError(f"RangeSensor: max_range: expected a length above 0 [m], got {self.max_range!r}")

    def checked(self, robot: Any, has_contacts: bool) -> None:
        _check_frame("RangeSensor", robot, self.frame)
        there = collision_links(robot.tree)
        for link in self.links:
            if link not in there:
                raise UnknownNameError("link with a collision shape, for a sensor of kind RangeSensor,", link, there)
        for name, shape in self._shapes(robot):
            if type(shape) not in _MET:
                raise ValueError(
                    f"RangeSensor: {name!r} is a {type(shape).__name__}, at which no ray ends: expected "
                    f"{', '.join(kind.__name__ for kind in _MET)}; leave it out of the scene or the links that it sees"
                )
        super().checked(robot, has_contacts)

    def _shapes(self, robot: Any) -> list[tuple[str, Shape]]:
        """What rays may end at, by name."""
        standing = [] if self.scene is None else [(name, self.scene[name].shape) for name in self.scene.names]
        return [*standing, *((one.name, one.shape) for one in link_shapes(robot.tree) if one.link in self.links)]

    def size(self, robot: Any) -> int:
        return len(self.directions)

    def readings(self, seen: SensorInput) -> Sequence[Any]:
        robot, X = seen.robot, frame_pose(seen.robot, seen.q, self.frame)
        shapes: list[tuple[Shape, Pose]] = []
        for name in self.scene.names if self.scene is not None else ():
            one = self.scene[name]  # type: ignore[index]
            shapes.append((one.shape, one.pose))
        for part in link_shapes(robot.tree):
            if part.link in self.links:
                placed = robot.tree.frame(part.link).placement.inv() @ part.placement
                shapes.append((part.shape, frame_pose(robot, seen.q, part.link) @ placed))
        return [self._length(X, Vec3(*d), shapes) for d in self.directions]

    def _length(self, X: Pose, way: Vec3, shapes: Sequence[tuple[Shape, Pose]]) -> Any:
        origin, direction, length = X.translation, X.rotation @ way, self.max_range
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
