"""Small scene documents, written by hand: a box on each body, and one of every kind of thing that a picture shows."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.viewer.document import (
    Actor,
    Arrows,
    FrameAxes,
    Lines,
    Part,
    Plot,
    Points,
    Prop,
    SceneDocument,
    Surface,
    Text,
)

__all__ = ["BLUE", "box", "everything", "robot_document", "wave"]

BLUE = (0.1, 0.3, 0.9, 1.0)
PNG = bytes.fromhex(  # a red pixel
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8cfc0000003010100"
    "18dd8db00000000049454e44ae426082"
)


def box(size: float = 0.1, **more: Any) -> Surface:
    """A cube around the origin, of flat triangles."""
    corners = np.array([[(k >> i) & 1 for i in range(3)] for k in range(8)], dtype="f4")
    sides = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
    triangles = [t for a, b, c, d in sides for t in ((a, b, c), (a, c, d))]
    return Surface(np.float32(size) * (corners - np.float32(0.5)), np.array(triangles, dtype="u4"), **more)


def wave(robot: Any, steps: int, instances: int = 1, seed: int = 0) -> np.ndarray:
    """Configurations (steps, instances, nq) along random directions."""
    rng = np.random.default_rng(seed)
    start = robot.random_configuration(rng, size=instances)
    direction = rng.uniform(-0.5, 0.5, (instances, robot.nv))
    return np.asarray(robot.integrate(start[None], np.sin(np.linspace(0.0, 3.0, steps))[:, None, None] * direction))


def robot_document(robot: Any, q: np.ndarray, *, offsets: np.ndarray | None = None, **more: Any) -> SceneDocument:
    """A document of a robot with a box at each link, in configurations (steps, instances, nq)."""
    poses = robot.forward_kinematics(q)
    if offsets is not None:
        poses = offsets[None, :, None] @ poses
    parts = tuple(
        Part(0, frame.body, np.reshape(frame.placement.elements(), (4, 4)), BLUE, "visual", frame.name)
        for frame in robot.tree.links
    )
    times = np.linspace(0.0, 2.0, len(q)) if len(q) > 1 else np.zeros(1)
    actor = Actor(robot.name, robot, q, poses, parts, offsets=offsets)
    return SceneDocument(robot.name, times, (box(), *more.pop("surfaces", ())), (actor,), **more)


def everything(robot: Any, steps: int = 5) -> SceneDocument:
    """A document with robots, a ghost, moving and still obstacles, lines, points, arrows, frames, texts and plots."""
    document = robot_document(robot, wave(robot, steps))
    [actor] = document.actors
    moving = np.tile(np.eye(4), (steps, 1, 1))
    moving[:, 0, 3] = np.linspace(0.5, 1.0, steps)
    track = np.zeros((steps, 3, 3))
    track[:, 1:, 2] = np.linspace(0.1, 0.6, steps)[:, None]
    ghost = Actor("ghost", None, actor.q[:1], actor.poses[:1], actor.parts, 0.3)
    colors = np.full((8, 4), 255, dtype="u1")
    uv = np.zeros((8, 2), dtype="f4")
    values = np.linspace(-1.0, 1.0, 2 * steps).reshape(steps, 2)
    values[0, 0] = np.nan
    return SceneDocument(
        "everything",
        document.times,
        (box(), box(0.2, colors=colors), box(0.3, uv=uv, texture=PNG)),
        (actor, ghost),
        props=(Prop("block", 1, moving, (0.8, 0.2, 0.2, 1.0)), Prop("crate", 2, np.eye(4), (1.0, 1.0, 1.0, 0.5))),
        lines=(
            Lines("path", track, (0.9, 0.4, 0.0, 1.0)),
            Lines("edges", np.eye(4)[:, :3], (0.0, 0.6, 0.5, 1.0), segments=True, layer="roadmap"),
        ),
        points=(Points("cloud", track, np.array([[200, 30, 30, 255]], dtype="u1"), size=0.03),),
        arrows=(
            Arrows(
                "contact",
                track[:, :2],
                np.ones((steps, 2, 3)),
                np.arange(2 * steps).reshape(steps, 2) % 2 == 0,
                (0.9, 0.2, 0.1, 1.0),
                0.1,
            ),
        ),
        frames=(FrameAxes("tool", moving), FrameAxes("base", np.eye(4))),
        texts=(Text("start", np.zeros(3)), Text("target", track[:, 2])),
        plots=(Plot("position", "rad", ("a", "b"), values, np.array([-0.8, -0.8]), np.array([0.8, np.inf])),),
        notes=("mesh 'arm.stl' is missing",),
    )
