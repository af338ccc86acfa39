"""coal as a peer: its shapes, its distances from Python, and the time of its own loop without Python.

The loop is Pinocchio's `computeDistances` over pairs of a geometry model, which calls coal in C++.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.ik.peers import module, version
from benchmarks.peers.pinocchio_peer import CannotCompare

__all__ = ["Coal", "CoalRobot", "coal_shape", "coal_version"]

_PAIRS = 128  # in one geometry model, which grows with the square


def coal_version() -> str:
    return version("coal") if version("coal") != "-" else str(getattr(module("coal"), "__version__", "-"))


def coal_shape(shape: Any) -> Any:
    """Raises CannotCompare for a shape that has no like."""
    coal, name = module("coal"), type(shape).__name__
    if name == "Sphere":
        return coal.Sphere(shape.radius)
    if name == "Box":
        return coal.Box(*shape.size)
    if name in ("Capsule", "Cylinder", "Cone"):
        return getattr(coal, name)(shape.radius, shape.length)
    if name == "Ellipsoid":
        return coal.Ellipsoid(*shape.radii)
    if name == "HalfSpace":
        return coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
    if name == "Polytope":
        return _convex(np.asarray(shape.vertices))
    raise CannotCompare(f"coal has no {name}")


def _convex(vertices: np.ndarray) -> Any:
    coal, hull = module("coal"), module("scipy.spatial").ConvexHull(vertices)
    points, faces = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for x in vertices:
        points.append(x)
    for simplex, plane in zip(hull.simplices, hull.equations, strict=True):
        i, j, k = (int(x) for x in simplex)
        outward = np.cross(vertices[j] - vertices[i], vertices[k] - vertices[i]) @ plane[:3] > 0.0
        faces.append(coal.Triangle(i, j, k) if outward else coal.Triangle(i, k, j))
    return coal.Convex(points, faces)


class Coal:
    """A pair of shapes, B at poses in A."""

    def __init__(self, a: Any, b: Any) -> None:
        self.coal, self.pin = module("coal"), module("pinocchio")
        self.a, self.b = coal_shape(a), coal_shape(b)
        self.request, self.result = self.coal.DistanceRequest(), self.coal.DistanceResult()
        self.request.enable_signed_distance = True
        self.at = self.coal.Transform3s.Identity()

    def transforms(self, X: np.ndarray) -> list[Any]:
        return [self.coal.Transform3s(np.array(x[:3, :3]), np.array(x[:3, 3])) for x in X]

    def distances(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Distances, normals and witnesses on A and B."""
        result = np.empty((len(X), 10))
        for row, T in zip(result, self.transforms(X), strict=True):
            self.result.clear()
            row[0] = self.coal.distance(self.a, self.at, self.b, T, self.request, self.result)
            row[1:4] = self.result.normal
            row[4:7], row[7:] = self.result.getNearestPoint1(), self.result.getNearestPoint2()
        return result[:, 0], result[:, 1:4], result[:, 4:7], result[:, 7:]

    def loop_seconds(self, X: np.ndarray, rounds: int = 3) -> float:
        """Return the time for one pair in a C++ loop: the median over rounds through all poses."""
        pin, model = self.pin, self.pin.GeometryModel()
        identity = pin.SE3.Identity()
        for k in range(_PAIRS):
            for name, shape in (("a", self.a), ("b", self.b)):
                model.addGeometryObject(pin.GeometryObject(f"{name}{k}", 0, 0, identity, shape))
            model.addCollisionPair(pin.CollisionPair(2 * k, 2 * k + 1))
        data, seconds = pin.GeometryData(model), np.zeros(rounds)
        chunks = X[: len(X) // _PAIRS * _PAIRS].reshape(-1, _PAIRS, 4, 4)
        for chunk in chunks:
            for k, x in enumerate(chunk):
                data.oMg[2 * k], data.oMg[2 * k + 1] = identity, pin.SE3(np.array(x))
            pin.computeDistances(model, data)
            for j in range(rounds):
                start = time.perf_counter()
                pin.computeDistances(model, data)
                seconds[j] += time.perf_counter() - start
        return float(np.median(seconds)) / (len(chunks) * _PAIRS)


class CoalRobot:
    """A robot's shapes and a scene's, in the pairs that linkwork measures, in Pinocchio's loop.

    linkwork computes the poses of shapes: kinematics is not compared, and not part of coal's time.
    """

    def __init__(self, robot: Any, scene: Any, pairs: Any) -> None:
        pin, identity = module("pinocchio"), module("pinocchio").SE3.Identity()
        self.pin, self.robot = pin, robot
        placed = [(frame.name, geometry) for frame in robot.tree.frames for geometry in frame.collisions]
        self.shapes = dict(zip(robot.collision_shapes, placed, strict=True))
        self.model, positions = pin.GeometryModel(), {}
        for name in dict.fromkeys(name for pair in pairs for name in pair):
            shape = self.shapes[name][1].shape if name in self.shapes else scene[name].shape
            positions[name] = self.model.addGeometryObject(pin.GeometryObject(name, 0, 0, identity, coal_shape(shape)))
        for a, b in pairs:
            self.model.addCollisionPair(pin.CollisionPair(positions[a], positions[b]))
        self.data, self.indices = pin.GeometryData(self.model), positions
        for name, k in positions.items():
            if name not in self.shapes:
                self.data.oMg[k] = pin.SE3(_matrix(scene[name].pose))
        self.moving = [(name, k) for name, k in positions.items() if name in self.shapes]

    def set_configuration(self, q: np.ndarray) -> None:
        for name, k in self.moving:
            link, geometry = self.shapes[name]
            self.data.oMg[k] = self.pin.SE3(self.robot.pose(q, link) @ _matrix(geometry.origin))

    def distances(self, q: np.ndarray) -> np.ndarray:
        self.set_configuration(q)
        self.pin.computeDistances(self.model, self.data)
        return np.array([result.min_distance for result in self.data.distanceResults])

    def seconds(self, q: np.ndarray, yes: bool) -> float:
        """Return the time for one configuration: all distances, or the collision test if `yes`."""
        seconds = []
        for x in q:
            self.set_configuration(x)
            start = time.perf_counter()
            if yes:
                self.pin.computeCollisions(self.model, self.data, True)
            else:
                self.pin.computeDistances(self.model, self.data)
            seconds.append(time.perf_counter() - start)
        return float(np.mean(seconds))


def _matrix(pose: Any) -> np.ndarray:
    return np.array(pose.elements(), float).reshape(4, 4)
