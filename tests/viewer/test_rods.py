"""Rods of `Distance` constraints and springs join their points in documents, pages, plots, glTF files, live pages."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import linkwork as lw
from helpers.browser import executable
from linkwork.constraints import Distance
from linkwork.force_elements import SpringDamper
from linkwork.viewer.bounds import part_poses
from linkwork.viewer.document import Part
from linkwork.viewer.figures.shaded_surfaces import body_triangles
from linkwork.viewer.gltf import write_glb
from linkwork.viewer.pictures import write_png
from linkwork.viewer.rotations import pose_of
from linkwork.viewer.scenes.robot_scenes import robot_document
from viewer.test_gltf import Read

pytestmark = pytest.mark.filterwarnings("ignore:show.*does not close the loops")  # some configurations are random
RED = (0.9, 0.1, 0.1, 1.0)
SIDE_BY_SIDE = np.tile(np.eye(4), (2, 1, 1))
SIDE_BY_SIDE[1, :3, 3] = 0.3, -2.0, 0.5


def rod_platform():
    """Return a platform on three rods from points of the world, and a crank that a fourth rod joins to it."""
    placement = lw.pose(rpy=(0.3, -0.2, 0.5), xyz=(0.2, 0.1, -0.1))
    robot = lw.Robot.build(
        "platform on rods",
        lw.Link("crank", mass=1.0, inertia=(0.1, 0.1, 0.1)),
        lw.Link("platform", mass=2.0, inertia=(0.1, 0.2, 0.25)),
        lw.Joint.of(
            lw.joints.Revolute((0.48, 0.6, 0.64)), name="turn", child="crank", parent="world", placement=placement
        ),
        lw.Joint.of(lw.joints.Floating(), name="free", parent="world", child="platform"),
    )
    corners = {"a": (0.3, 0.1, -0.05), "b": (-0.2, 0.25, 0.04), "c": (-0.15, -0.3, 0.02)}
    feet = {"a": (0.5, 0.2, -0.6), "b": (-0.4, 0.4, -0.5), "c": (-0.2, -0.6, -0.7)}
    for name in corners:
        robot = robot.with_point(f"corner {name}", "platform", corners[name])
        robot = robot.with_point(f"foot {name}", "world", feet[name])
    robot = robot.with_point("pin", "crank", (0.25, 0.1, 0.3))
    pairs = [(f"foot {name}", f"corner {name}") for name in corners] + [("corner a", "pin")]
    lengths = [
        float(np.linalg.norm(position(robot, robot.neutral(), a) - position(robot, robot.neutral(), b)))
        for a, b in pairs
    ]
    return robot.with_constraints(*(Distance(*pair, length) for pair, length in zip(pairs, lengths, strict=True)))


def position(robot, q, name):
    """Return the positions (..., 3) of a point, or of the origin of a frame, for configurations (..., nq) [m]."""
    point = robot.tree.point(name)
    return (robot.pose(q, point.frame) @ [*point.position, 1.0])[..., :3]


def rod_ends(robot, q):
    """Return the ends (..., rods, 2, 3) of all rods for configurations (..., nq) [m]."""
    rods = [x for x in robot.constraints if isinstance(x, Distance)]
    return np.stack([np.stack([position(robot, q, x) for x in (rod.a, rod.b)], axis=-2) for rod in rods], axis=-3)


@cache
def mechanisms():
    """Return all robots with rods: the bundled ones without and with shapes, and a platform on rods from the world."""
    bundled = [lw.load(name) for name in lw.robots.names()]
    bundled = [robot for robot in bundled if any(isinstance(x, Distance) for x in robot.constraints)]
    assert bundled
    bare = [
        lw.Robot(replace(x.tree, frames=tuple(replace(f, visuals=(), collisions=()) for f in x.tree.frames)))
        for x in bundled
    ]
    return (*bundled, *bare, rod_platform())


def motion(robot, steps=5, instances=2):
    """Return configurations (steps, instances, nq): closed loops, but random ones, with open loops, at the end."""
    rng = np.random.default_rng(3)
    direction = rng.uniform(-0.3, 0.3, (instances, robot.nv))
    guesses = robot.integrate(robot.assemble().q, np.linspace(0.0, 1.0, steps)[:, None, None] * direction)
    q = robot.assemble(guesses, position_limits=False).q
    assert np.abs(robot.constraint_error(q)).max() < 1e-8 and np.ptp(q, axis=0).max() > 0.05
    return np.concatenate([q, robot.random_configuration(rng, size=(1, instances))])


def drawn_rods(document, kind=Distance):
    """Return the index and the part of each rod, or of each spring."""
    tree = document.actors[0].robot.tree
    names = {joined.name for joined in (*tree.constraints, *tree.force_elements) if isinstance(joined, kind)}
    return [(k, part) for k, part in enumerate(document.actors[0].parts) if part.end is not None and part.link in names]


def ends_of_cylinder(vertices):
    """Return the middles (2, 3) of both ends of a cylinder: the vertices at z = 0 and 1 come in this order."""
    first, second = np.split(vertices, 2)
    return np.stack([first.mean(axis=0), second.mean(axis=0)])


def placed(surface, X):
    return np.asarray(surface.vertices, dtype=float) @ X[:3, :3].T + X[:3, 3]


def ground_truth(document, robot, q, frame, instance=0):
    """Return a still document in which each rod is a plain cylinder of the world between its points."""
    (actor,) = document.actors
    offset = np.eye(4) if actor.offsets is None else actor.offsets[instance]
    parts = []
    for (_, part), (start, end) in zip(drawn_rods(document), rod_ends(robot, q[frame, instance]), strict=True):
        X, vector = np.eye(4), end - start
        length = np.linalg.norm(vector)
        x = np.cross(vector, (0.31, 0.47, 0.83))
        x /= np.linalg.norm(x)
        X[:3, :3] = np.stack([x, np.cross(vector, x) / length, vector], axis=1)
        X[:3, 3] = start
        parts.append(Part(part.surface, -1, offset @ X, RED, "visual", part.link))
    still_actor = replace(
        actor, robot=None, q=actor.q[:1, :1], poses=actor.poses[:1, :1], parts=tuple(parts), offsets=None
    )
    return replace(document, times=np.zeros(1), actors=(still_actor,), lines=(), plots=())


def red_rods(document):
    """Return the document with nothing but rods, in red."""
    (actor,) = document.actors
    parts = tuple(replace(part, color=RED) for _, part in drawn_rods(document))
    return replace(document, actors=(replace(actor, parts=parts),), lines=(), plots=())


@pytest.mark.slow(every=5)
def test_rods_of_plots_join_their_points_in_any_pose():
    for robot in mechanisms():
        for q in motion(robot)[:, 0]:
            ends = rod_ends(robot, q)
            triangles, *_ = body_triangles(robot, robot.forward_kinematics(q), None)
            for start, end in ends:
                length = np.linalg.norm(end - start)
                axis = (end - start) / length
                hits = 0
                for body, corners, _ in triangles:
                    if body == -1:
                        offsets = corners.reshape(-1, 3) - start
                        along, across = offsets @ axis, np.linalg.norm(offsets - np.outer(offsets @ axis, axis), axis=1)
                        is_rod = abs(along.min()) < 1e-5 and abs(along.max() - length) < 1e-5
                        hits += is_rod and across.max() < 0.05 * length + 0.05
                assert hits == 1, (robot.name, length)


@pytest.mark.slow(every=3)
def test_rods_in_gltf_files_join_their_points_at_all_times(tmp_path):
    for robot in mechanisms():
        q = motion(robot)
        document = robot_document(robot, q, times=np.arange(len(q)))
        document = replace(
            document,
            actors=(
                replace(
                    document.actors[0], poses=SIDE_BY_SIDE[:, None] @ document.actors[0].poses, offsets=SIDE_BY_SIDE
                ),
            ),
        )
        rods = drawn_rods(document)
        ends = rod_ends(robot, q)
        assert len(rods) == ends.shape[2]
        read = Read(write_glb(document, tmp_path / "rods.glb"))
        for k, (_, part) in enumerate(rods):
            nodes = read.nodes(part.link)
            assert len(nodes) == 2
            for instance, node in enumerate(nodes):
                X = SIDE_BY_SIDE[instance]
                for step in range(len(q)):
                    drawn = ends_of_cylinder(placed(document.surfaces[part.surface], read.pose(node, step)))
                    expected = ends[step, instance, k] @ X[:3, :3].T + X[:3, 3]
                    np.testing.assert_allclose(drawn, expected, atol=1e-5)


@pytest.mark.slow(every=5)
@pytest.mark.skipif(executable() is None, reason="pictures need Chromium: apt-get install chromium")
def test_pictures_of_rods_equal_those_of_cylinders_between_their_points(tmp_path):
    """Pixels of the page, which computes rods by itself from configurations, at two times of two robots."""
    image = pytest.importorskip("PIL.Image")
    pytest.importorskip("playwright")
    for robot in mechanisms()[1:]:
        q = motion(robot)
        document = red_rods(robot_document(robot, q, times=np.arange(len(q))))
        for frame in (2, len(q) - 1):
            ends = rod_ends(robot, q[frame, 0])
            middle = ends.reshape(-1, 3).mean(axis=0)
            camera = (
                tuple(middle + 2.0 * np.ptp(ends.reshape(-1, 3), axis=0).max() * np.array([0.5, -0.6, 0.4])),
                tuple(middle),
            )
            first_robot = replace(
                document, actors=(replace(document.actors[0], q=q[:, :1], poses=document.actors[0].poses[:, :1]),)
            )
            pictures = []
            for name, shown, time in (
                ("rods", first_robot, float(frame)),
                ("cylinders", ground_truth(document, robot, q, frame), 0.0),
            ):
                path = write_png(shown, tmp_path / f"{name}.png", time=time, camera=camera, size=(500, 400))
                pictures.append(np.asarray(image.open(path).convert("RGB")).astype(int))
            drawn, expected = (x[..., 0] - x[..., 1] > 60 for x in pictures)
            assert expected.sum() > 200
            # A cylinder of 32 sides is turned about its axis: some pixels of its edges differ.
            assert (drawn != expected).sum() < 0.08 * expected.sum(), (robot.name, frame)


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("instances", [1, 2])
def test_rods_of_live_pages_join_their_points(instances):
    pytest.importorskip("viser", reason='live pages need viser: pip install "linkwork[viewer]"')
    from linkwork.viewer.live import open_view

    robot = rod_platform()
    q = motion(robot, instances=instances)
    document = robot_document(robot, q[0, 0] if instances == 1 else q[0])
    if instances == 2:
        (actor,) = document.actors
        document = replace(
            document, actors=(replace(actor, poses=SIDE_BY_SIDE[:, None] @ actor.poses, offsets=SIDE_BY_SIDE),)
        )
    rods = drawn_rods(document)
    view = open_view(document, open_browser=False)
    try:
        for configuration in (None, q[2], q[-1]):
            if configuration is not None:
                view.update(configuration[0] if instances == 1 else configuration)
            assert view._page.worker.settle(120.0)
            (drawing,) = view._page.drawings
            ends = rod_ends(robot, q[0] if configuration is None else configuration)
            if instances == 1:
                handles = [(x.wxyz, x.position, x.scale) for _, x in drawing._rods]
            else:
                ((_, group),) = [
                    (members, x)
                    for members, x in drawing._groups
                    if len(members) == len(rods) and members[0] == rods[0][0]
                ]
                handles = list(zip(group.batched_wxyzs, group.batched_positions, group.batched_scales, strict=True))
            assert len(handles) == instances * len(rods)
            for k, (wxyz, at, scale) in enumerate(handles):
                instance, rod = divmod(k, len(rods))
                X = pose_of(wxyz, at)
                X[:3, :3] *= scale
                drawn = ends_of_cylinder(placed(document.surfaces[rods[rod][1].surface], X))
                offset = SIDE_BY_SIDE[instance]
                np.testing.assert_allclose(drawn, ends[instance, rod] @ offset[:3, :3].T + offset[:3, 3], atol=1e-5)
    finally:
        view.close()


def test_rod_between_equal_points_is_drawn_as_a_point(tmp_path):
    robot = lw.Robot.build(
        "ball on a string",
        lw.Link("ball", lw.shapes.Sphere(0.1), mass=1.0),
        lw.Joint.of(lw.joints.Floating(), name="free", parent="world", child="ball"),
    ).with_constraints(Distance("world", "ball", 0.5))
    document = robot_document(robot, robot.neutral())
    ((_, part),) = drawn_rods(document)
    read = Read(write_glb(document, tmp_path / "point.glb"))
    (node,) = read.nodes(part.link)
    vertices = placed(document.surfaces[part.surface], read.pose(node, 0))
    assert np.isfinite(vertices).all() and np.abs(vertices).max() < 0.01


def test_rods_with_an_invalid_end_are_refused(tmp_path):
    robot = rod_platform()
    document = robot_document(robot, robot.neutral())
    (actor,) = document.actors
    k, rod = drawn_rods(document)[0]
    for end, words in (
        ((9, np.zeros(3)), r"end\[0\]"),
        ((0, np.zeros(2)), r"end\[1\]"),
        ((0, np.full(3, np.nan)), r"end"),
    ):
        parts = (*actor.parts[:k], replace(rod, end=end), *actor.parts[k + 1 :])
        with pytest.raises(ValueError, match=rf"parts\[{k}\]\.{words}"):
            write_glb(replace(document, actors=(replace(actor, parts=parts),)), tmp_path / "rod.glb")


def test_springs_are_coils_and_dampers_are_cylinders_that_join_their_points():
    robot = lw.Robot.build(
        "lid",
        lw.Link("lid", mass=8.0, com=(0.4, 0.0, 0.1)),
        lw.Joint.of(lw.joints.Revolute((0.36, 0.48, 0.8)), name="hinge", parent="world", child="lid"),
    )
    positions = {"foot": ("world", (0.5, 0.1, -0.4)), "eye": ("lid", (0.3, 0.2, 0.1)), "tip": ("lid", (0.9, -0.1, 0.2))}
    for name, (frame, xyz) in positions.items():
        robot = robot.with_point(name, frame, xyz)
    pairs = [("foot", "eye"), ("tip", "foot")]
    robot = robot.with_force_elements(
        SpringDamper(*pairs[0], stiffness=2000.0, damping=3.0), SpringDamper(*pairs[1], damping=20.0)
    )
    document = robot_document(robot, [0.4])
    (_, spring), (_, damper) = drawn_rods(document, SpringDamper)
    coil, cylinder = (np.asarray(document.surfaces[x.surface].vertices, dtype=float) for x in (spring, damper))
    radii = [np.hypot(x[:, 0], x[:, 1]).max() for x in (coil, cylinder)]
    assert radii[0] > 4.0 * radii[1] > 0.0
    assert coil[:, 2].min() == 0.0 and coil[:, 2].max() == 1.0
    normals = document.surfaces[spring.surface].normals
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, atol=1e-6)
    for q in ([0.4], [1.9]):
        bodies = np.concatenate([robot.forward_kinematics(q), np.eye(4)[None]])
        for part, pair in zip((spring, damper), pairs, strict=True):
            X = part_poses(part, bodies)
            start, end = (position(robot, np.array(q), name) for name in pair)
            np.testing.assert_allclose(X[:3, 3], start, atol=1e-12)
            np.testing.assert_allclose(X[:3, 2], end - start, atol=1e-12)
    first, last = (coil[ring].mean(axis=0) for ring in (slice(6), slice(-6, None)))
    np.testing.assert_allclose([first, last], [[0, 0, 0], [0, 0, 1]], atol=0.02)
