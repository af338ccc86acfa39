"""Pictures of the robots of the guides, as `show` draws them: PNG files of few colours.

`python docs/images/guides.py [name ...]` draws all, or some.  It takes Chromium, Playwright and Pillow.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

import linkwork as lw
from linkwork.viewer import SceneDocument, scene_document, side_by_side
from linkwork.viewer.document import Lines, Text
from linkwork.viewer.html.page import write_page
from linkwork.viewer.layout import document_bounds
from linkwork.viewer.pictures import write_png

FOLDER = Path(__file__).parent
SIZE = (800, 400)
COLORS = (256, 96, 64, 48, 32)  # of a file's palette: the first with which the file is small
LARGEST = 60_000  # [bytes]
BENT = {"shoulder_lift": 0.5, "elbow": -1.4, "wrist_flex": 1.2}
ROOM = (
    lw.Scene()
    .with_box("wall", (0.6, 0.04, 0.5), (0.6, 0.0, 0.25))
    .with_box("table", (0.8, 1.4, 0.04), (0.7, 0.0, -0.05))
)
START = np.array([0.6, 0.9, 0.0, -1.2, 0.0, 0.6, 0.0])
GOAL = START * [-1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]

FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]

Drawn = tuple[SceneDocument, dict[str, Any]]


def shown(document: SceneDocument, *layers: str) -> SceneDocument:
    """Return a document with further layers visible."""
    return replace(document, hidden=document.hidden - {*layers})


def clear(document: SceneDocument, first: int = 1) -> SceneDocument:
    """Return a document whose ghosts lack the bodies before the first, which the robot shows in the same place."""
    actors = [
        actor if actor.opacity == 1.0 else replace(actor, parts=tuple(p for p in actor.parts if p.body >= first))
        for actor in document.actors
    ]
    return replace(document, actors=tuple(actors))


def eye(position: tuple[float, float, float], target: tuple[float, float, float]) -> dict[str, Any]:
    """Return options of a picture seen from a position [m]."""
    return {"camera": (position, target)}


def standing(name: str, angles: dict[str, float]) -> SceneDocument:
    """Return a robot with legs on the ground; joints whose name ends with that of an angle have this angle."""
    robot = lw.load(name, floating_base=True)
    q = np.asarray(robot.neutral()).copy()
    for k, joint in enumerate(robot.q_names):
        q[k] = next((x for end, x in angles.items() if joint.endswith(end)), q[k])
    height = robot.q_index(["floating_base.z"])
    q[height] = -document_bounds(scene_document(robot, q=q))[0][2]
    return scene_document(robot, q=q)


def robots() -> Drawn:
    """Return an arm with a gripper, a humanoid, an arm of six joints and a quadruped, side by side."""
    arm = lw.load("arm6")
    documents = [
        scene_document(lw.load("arm7_gripper"), q=BENT),
        standing("humanoid", {"left_shoulder_pitch": 0.3, "right_shoulder_pitch": -0.2, "elbow": -0.6}),
        scene_document(arm, q=dict(zip(arm.q_names, (0.4, -1.1, 1.3, -0.6, -0.8, 0.0), strict=True))),
        standing("quadruped", {"hip_flexion": 0.6, "knee": -1.2}),
    ]
    return side_by_side(documents, spacing=0.75), eye((3.0, -1.5, 1.5), (0.0, 0.0, 0.72))


def planning() -> Drawn:
    """Return an arm on its planned way around a wall."""
    arm = lw.load("arm7")
    motion = arm.plan(START, GOAL, ROOM).trajectory(smooth=True)
    t = np.linspace(0.0, motion.duration, 61)
    q = motion(t).q
    document = scene_document(arm, q=q, times=t, scene=ROOM, frames="hand", ghosts=q[[20, 40, 60]])
    return clear(replace(document, plots=())), eye((1.75, -1.0, 1.05), (0.35, 0.02, 0.22))


def solutions() -> Drawn:
    """Return an arm and its other configurations with the same pose of the hand."""
    arm = lw.load("arm7")
    X = arm.pose(BENT, "hand")
    rng = np.random.default_rng(2)
    guesses = arm.random_configuration(rng, size=60)
    answer = arm.inverse_kinematics(X, "hand", q_init=guesses)
    q = answer.q[answer.success]
    chosen = [q[0]]
    for candidate in q:
        if len(chosen) < 4 and min(np.abs(candidate - x).max() for x in chosen) > 1.2:
            chosen.append(candidate)
    document = scene_document(arm, q=chosen[0], ghosts=np.array(chosen[1:]), frames="hand")
    return clear(document), eye((1.0, -1.0, 0.8), (0.2, 0.0, 0.38))


def distances() -> Drawn:
    """Return an arm beside obstacles, with the nearest pairs of shapes."""
    arm = lw.load("arm7")
    scene = (
        lw.Scene()
        .with_box("table", (0.7, 1.1, 0.04), (0.65, 0.0, -0.02))
        .with_cylinder("post", 0.06, 0.6, (0.45, 0.4, 0.3))
        .with_sphere("ball", 0.09, (0.62, -0.28, 0.55))
    )
    document = scene_document(arm, q=BENT, scene=scene)
    lines, texts = [], []
    for link, obstacle in (("flange", "table"), ("forearm_distal", "post"), ("wrist", "ball")):
        near = arm.nearest_pair(BENT, scene=scene, pairs=[(link, obstacle)])
        ends = np.array([near.point_a[0], near.point_b[0]])
        lines.append(Lines(f"{link}, {obstacle}", ends, (0.84, 0.2, 0.35, 1.0), width=4.0))
        texts.append(Text(f"{link} – {obstacle}: {1e3 * float(near.distance[0]):.0f} mm", ends.mean(axis=0)))
    return replace(document, lines=tuple(lines), texts=tuple(texts)), eye((1.55, -0.8, 0.9), (0.38, 0.08, 0.28))


def shapes() -> Drawn:
    """Return solids of each kind in a row."""
    rng = np.random.default_rng(1)
    kinds = {
        "sphere": lw.shapes.Sphere(0.12),
        "box": lw.shapes.Box((0.2, 0.2, 0.24)),
        "cylinder": lw.shapes.Cylinder(0.11, 0.24),
        "capsule": lw.shapes.Capsule(0.08, 0.12),
        "cone": lw.shapes.Cone(0.12, 0.24),
        "ellipsoid": lw.shapes.Ellipsoid((0.08, 0.12, 0.14)),
        "polytope": lw.shapes.Polytope(0.13 * _unit(rng.normal(size=(24, 3)))),
        "rounded": lw.shapes.Rounded(lw.shapes.Box((0.16, 0.16, 0.18)), 0.03),
    }
    scene = lw.Scene()
    for k, (name, shape) in enumerate(kinds.items()):
        scene = scene.with_shape(name, shape, lw.pose((0.0, 0.33 * (k - 3.5), 0.13)))
    robot = lw.Robot.build("shapes", lw.Link("base"))
    palette = [(0, 114, 178), (213, 94, 0), (0, 158, 115), (204, 121, 167), (86, 180, 233), (230, 159, 0)]
    document = scene_document(robot, scene=scene)
    props = [replace(p, color=(*(x / 255 for x in palette[k % 6]), 1.0)) for k, p in enumerate(document.props)]
    return replace(document, props=tuple(props), actors=()), eye((2.5, -0.3, 0.85), (0.0, 0.0, 0.1))


def joints() -> Drawn:
    """Return an arm with a gripper and the axes of its joints."""
    robot = lw.load("arm7_gripper")
    document = shown(scene_document(robot, q=BENT, ghosts=[_configuration(robot, BENT)]), "joint axes")
    solid, ghost = document.actors
    axes = replace(solid, parts=tuple(part for part in solid.parts if part.layer == "joint axes"))
    return replace(document, actors=(axes, ghost)), eye((0.95, -1.0, 0.75), (0.2, 0.0, 0.38))


def building() -> Drawn:
    """Return the arm of the guide, with its frames."""
    pan, tilt = lw.joints.Revolute((0, 0, 1)), lw.joints.Revolute((0, 1, 0))
    cylinder, joint = lw.shapes.Cylinder, lw.Joint.of
    arm = lw.Robot.build(
        "arm",
        lw.Link("base", cylinder(radius=0.1, length=0.2).at((0, 0, 0.1)), density=2700),
        lw.Link("turret", lw.shapes.Sphere(0.08), density=2700),
        lw.Link("upper_arm", cylinder(0.05, 0.4).at((0, 0, 0.2)), mass=3.0),
        lw.Link("forearm", cylinder(0.04, 0.3).at((0, 0, 0.15)), mass=1.5),
        lw.Link("hand", lw.shapes.Box((0.1, 0.02, 0.1)).at((0, 0, 0.05)), mass=0.4, frames={"tip": (0, 0, 0.1)}),
        joint(pan, name="waist", parent="base", child="turret", placement=(0, 0, 0.25)),
        joint(tilt, name="shoulder", parent="turret", child="upper_arm", lower=-2.0, upper=2.0),
        joint(tilt, name="elbow", parent="upper_arm", child="forearm", placement=(0, 0, 0.4), lower=0, upper=2.6),
        joint(tilt, name="wrist", parent="forearm", child="hand", placement=(0, 0, 0.3)),
    )
    q = {"shoulder": 0.3, "elbow": 1.2, "wrist": 0.5}
    document = scene_document(arm, q=q, frames=["turret", "upper_arm", "forearm", "tip"])
    return document, eye((1.0, -1.25, 0.85), (0.2, 0.0, 0.42))


def mechanisms() -> Drawn:
    """Return six of the bundled mechanisms with their constraints."""
    names = ("fourbar", "delta", "stewart", "leg", "differential_drive", "bicycle")
    document = side_by_side([scene_document(lw.load(name)) for name in names], spacing=0.85)
    return document, eye((5.0, -0.3, 2.1), (0.0, 0.3, 0.2))


def tracking() -> Drawn:
    """Return an arm whose hand follows a circle."""
    arm = lw.load("arm7")
    X = arm.pose(BENT, "hand")
    center = X[:3, 3] + (0.0, 0.0, 0.16)
    path = lw.motion.arc(X, center=center, axis=(1, 0, 0), angle=2.0 * np.pi)
    followed = arm.track_cartesian_path(path, "hand", q_init=_configuration(arm, BENT), orientation="free")
    motion = followed.trajectory()
    t = np.linspace(0.0, motion.duration, 81)
    q = motion(t).q
    document = scene_document(arm, q=q, times=t, frames="hand", ghosts=q[[20, 40, 60]])
    return clear(replace(document, plots=())), eye((1.6, -1.0, 0.9), (0.25, 0.0, 0.45))


def loops() -> Drawn:
    """Return a four-bar in several positions, and the path of its coupler."""
    robot = lw.load("fourbar")
    crank = np.linspace(0.0, 2.0 * np.pi, 73)
    q = robot.drive_mechanism({"crank_hinge": crank}).q
    document = scene_document(robot, q=q[8:9], ghosts=q[[26, 44, 62]])
    points = (robot.pose(q, "coupler") @ (0.2, 0.0, 0.06, 1.0))[:, :3]  # above the middle of the coupler
    line = Lines("coupler", points, (0.84, 0.37, 0.0, 1.0), width=3.0)
    return clear(replace(document, lines=(line,)), 0), eye((0.35, -1.05, 0.45), (0.17, 0.0, 0.14))


def springs() -> Drawn:
    """Return an arm that a spring balances at every angle."""
    hinge = lw.joints.Revolute((0, 1, 0))
    post = lw.shapes.Box((0.04, 0.06, 0.42)).at((-0.03, 0.0, 0.2))
    arm = lw.Robot.build(
        "arm",
        lw.Link("post", visuals=[post]),
        lw.Link("arm", lw.shapes.Capsule(0.025, 0.5).at(lw.pose((0.25, 0, 0), rpy=(0, np.pi / 2, 0))), mass=2.0),
        lw.Joint.of(hinge, name="shoulder", parent="post", child="arm"),
    )
    document = scene_document(arm, q=[0.35], ghosts=[[-0.5], [0.9]])
    lines = []
    for q in ([0.35], [-0.5], [0.9]):
        eye_ = arm.pose(q, "arm") @ (0.25, 0.0, 0.0, 1.0)
        start, end = np.array([0.0, 0.0, 0.4]), eye_[:3]
        lines.append(Lines("spring", _coil(start, end), (0.84, 0.37, 0.0, 1.0), width=3.0 if q == [0.35] else 1.0))
    return clear(replace(document, lines=tuple(lines)), 0), eye((0.6, -1.25, 0.5), (0.2, 0.0, 0.1))


def contacts() -> Drawn:
    """Return a quadruped that lands on its feet, with the forces of the ground."""
    robot = lw.load("quadruped", floating_base=True)
    q = np.asarray(robot.neutral()).copy()
    for end, x in (("hip_flexion", 0.6), ("knee", -1.2)):
        q[[k for k, joint in enumerate(robot.q_names) if joint.endswith(end)]] = x
    q[robot.q_index(["floating_base.z"])] = 0.36
    feet = lw.simulation.ContactGround([name for name in robot.frames if name.endswith("foot")])
    hold = lw.control.PD(robot, kp=60.0, kd=1.5)
    stand = {"target_q": q}
    run = robot.simulate(q, controller=hold, duration=0.5, dt=5e-4, contacts=feet, constants=stand, record_every=10)
    document = scene_document(run)
    view = {"time": 0.45} | eye((0.95, -1.05, 0.55), (0.0, 0.0, 0.2))
    return replace(document, plots=()), view


def environments() -> Drawn:
    """Return a batch of quadrupeds in a grid."""
    robot = lw.load("quadruped")
    rng = np.random.default_rng(0)
    q = np.zeros((16, robot.nq))
    for name, x in (("hip_flexion", 0.6), ("knee", -1.2)):
        q[:, [k for k, joint in enumerate(robot.q_names) if joint.endswith(name)]] = x
    q += rng.uniform(-0.25, 0.25, q.shape)
    return scene_document(robot, q=q, spacing=0.8), eye((3.1, -2.2, 1.5), (0.0, 0.1, -0.2))


_PICTURES = (robots, planning, solutions, distances, shapes, joints, building, mechanisms)
_MOTIONS = (tracking, loops, springs, contacts, environments)
ALL: dict[str, Callable[[], Drawn]] = {x.__name__: x for x in (*_PICTURES, *_MOTIONS)}


def _configuration(robot: Any, values: dict[str, float]) -> np.ndarray:
    q = np.zeros(robot.nq)
    q[robot.q_index(values)] = [*values.values()]
    return q


def _coil(start: np.ndarray, end: np.ndarray, turns: int = 12, radius: float = 0.015) -> np.ndarray:
    """Return the points of a helical spring in the plane y = 0."""
    s = np.linspace(0.0, 1.0, 20 * turns + 1)[:, None]
    along = _unit(end - start)
    side = np.cross(along, (0.0, 1.0, 0.0))
    inside = np.clip(10.0 * np.minimum(s, 1.0 - s), 0.0, 1.0)
    turn = 2.0 * np.pi * turns * s
    wave = np.cos(turn) * side + np.sin(turn) * np.array([0.0, 1.0, 0.0])
    return start + s * (end - start) + radius * inside * wave


def _unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def saved(name: str) -> None:
    """Write the picture of a guide with few colours."""
    if name == "page":
        page(name)
        return
    document, options = ALL[name]()
    with tempfile.TemporaryDirectory() as folder:
        compress(write_png(document, Path(folder, "picture.png"), **({"size": SIZE} | options)), name)


def compress(picture: Path, name: str, method: Image.Quantize = Image.Quantize.MEDIANCUT) -> None:
    """Write a picture with so few colours that the file is small."""
    path = FOLDER / f"guide_{name}.png"
    for count in COLORS:
        few = Image.open(picture).convert("RGB").quantize(count, method, dither=Image.Dither.NONE)
        few.save(path, optimize=True)
        if path.stat().st_size <= LARGEST:
            break


def page(name: str) -> None:
    """Write a picture of the page of a planned motion, with its controls."""
    arm = lw.load("arm7")
    motion = arm.plan(START, GOAL, ROOM).trajectory(smooth=True)
    document = scene_document(motion, scene=ROOM, frames="hand")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        path = write_page(document, Path(folder, "page.html"))
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        tab = browser.new_page(viewport={"width": 1000, "height": 520})
        tab.goto(path.as_uri())
        tab.evaluate("window.linkwork.ready")
        tab.evaluate("(t) => { linkwork.seek(t); linkwork.draw(); }", 0.4 * motion.duration)
        tab.screenshot(path=Path(folder, "picture.png"))
        browser.close()
        compress(Path(folder, "picture.png"), name, Image.Quantize.MAXCOVERAGE)  # keeps the colours of thin lines


if __name__ == "__main__":
    for drawn in sys.argv[1:] or (*ALL, "page"):
        saved(drawn)
