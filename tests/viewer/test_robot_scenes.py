"""Scene documents of robots: poses of links, layers, instances, motions, missing mesh files and wrong arguments."""

import importlib.metadata
import warnings
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork import errors, robots
from linkwork.constraints import References
from linkwork.viewer import scene_builder, triangles
from linkwork.viewer import surfaces as surface_sets
from linkwork.viewer.document import HIDDEN_LAYERS, PART_LAYERS
from linkwork.viewer.scenes.robot_scenes import robot_document


def require_consistent(document):
    """Check shapes of arrays, indices and finite values of a document."""
    T = len(document.times)
    for surface in document.surfaces:
        assert surface.vertices.dtype == np.float32 and surface.triangles.dtype == np.uint32
        assert np.isfinite(surface.vertices).all() and surface.triangles.max(initial=0) < len(surface.vertices)
        for values in (surface.normals, surface.colors, surface.uv):
            assert values is None or len(values) == len(surface.vertices)
    for actor in document.actors:
        n = actor.q.shape[1]
        assert len(actor.q) == len(actor.poses) == T and actor.poses.shape[1:2] == (n,)
        assert (np.isfinite(actor.poses).all() and actor.offsets is None) or actor.offsets.shape == (n, 4, 4)
        for part in actor.parts:
            assert part.surface < len(document.surfaces) and -1 <= part.body < actor.poses.shape[2]
            assert part.placement.shape == (4, 4) and len(part.color) == 4 and part.layer in PART_LAYERS
            R = part.placement[:3, :3]
            assert np.allclose(R @ R.T, np.eye(3), atol=1e-9) and np.linalg.det(R) > 0.0
    for prop in document.props:
        assert prop.surface < len(document.surfaces) and prop.pose.shape in ((4, 4), (T, 4, 4))
    for text in document.texts:
        assert text.position.shape in ((3,), (T, 3))
    for plot in document.plots:
        assert plot.values.shape == (T, len(plot.names))


def test_viewer_page_shows_only_the_layer_of_visual_shapes_at_first():
    (actor,) = (document := robot_document(lw.load("double_pendulum"))).actors
    assert {part.layer for part in actor.parts} - document.hidden == {"visual"}
    assert document.hidden < set(PART_LAYERS)


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("name", robots.names())
def test_bundled_robots_can_be_converted_to_scene_documents(name):
    robot = lw.load(name)
    document = robot_document(robot)
    require_consistent(document)
    assert document.notes == () and document.hidden == HIDDEN_LAYERS
    (actor,) = document.actors
    q = actor.q[0, 0]
    drawn = [part for part in actor.parts if part.layer == "visual" and part.end is None]
    stated = [(frame, geometry) for frame in robot.tree.frames for geometry in frame.visuals]
    assert len(drawn) == len(stated)
    for part, (frame, geometry) in zip(drawn, stated, strict=True):
        body = np.eye(4) if part.body < 0 else actor.poses[0, 0, part.body]
        expected = robot.pose(q, frame.name) @ geometry.origin.matrix()
        assert part.link == frame.name and body @ part.placement == pytest.approx(expected, abs=1e-12)
        assert geometry.material is None or part.color == geometry.material.rgba
    if robot.tree.constraints:
        beside_joints = any(
            constraint.references != References(joints=constraint.references.joints) for constraint in robot.constraints
        )
        assert beside_joints == any(part.layer == "constraints" for part in actor.parts)
        assert np.abs(robot.assemble(q, check=False).q - q).max() < 1e-6, "shown assembled"


def test_scene_documents_have_layers_of_axes_frames_and_collision_shapes():
    robot = lw.load("arm7")
    (actor,) = robot_document(robot, {"elbow": 0.3}).actors
    count = {layer: sum(part.layer == layer for part in actor.parts) for layer in PART_LAYERS}
    links = sum(frame.inertia.mass > 0.0 for frame in robot.tree.frames)
    assert count["frames"] == len(robot.frames) and count["joint axes"] == 7
    assert count["inertia"] == count["center of mass"] == links
    assert count["collision"] == sum(len(frame.collisions) for frame in robot.tree.frames)
    axes = [part for part in actor.parts if part.layer == "joint axes"]
    for joint, part in zip(robot.joints, axes, strict=True):
        S = joint.axes()
        assert part.placement[:3, 2] == pytest.approx(S.direction[0]) and part.link == joint.name


def test_drawn_axes_of_rotation_and_translation_differ_in_color_and_pass_through_the_joint():
    kinds = (lw.joints.Revolute((0.6, 0.0, 0.8)), lw.joints.Prismatic((0.48, 0.6, 0.64)), lw.joints.Revolute((0, 0, 1)))
    names = ("world", "one", "two", "three")
    links = [lw.Link(name, mass=1.0) for name in names[1:]]
    hinges = [lw.Joint.of(kind, name=f"j{k}", parent=names[k], child=names[k + 1], rotor=lw.pose((0.3, -0.2, 0.5)))
              for k, kind in enumerate(kinds)]  # fmt: skip
    (actor,) = robot_document(lw.Robot.build("three", *links, *hinges)).actors
    first, second, third = (part for part in actor.parts if part.layer == "joint axes")
    assert first.color == third.color != second.color
    offset = first.placement[:3, 3] - np.array([-0.3, 0.2, -0.5])  # of a point of the axis from the joint's origin
    assert np.cross(offset, first.placement[:3, 2]) == pytest.approx(np.zeros(3), abs=1e-6)


MOMENTS = np.array([[0.02, 0.001, 0.002], [0.001, 0.03, -0.003], [0.002, -0.003, 0.04]])


def test_drawn_inertia_ellipsoids_have_mass_and_moments_of_the_link():
    link = lw.Link("body", mass=2.0, com=(0.1, 0.2, 0.3), inertia=MOMENTS)
    robot = lw.Robot.build(
        "one", [link], [lw.Joint.of(lw.joints.Floating(), name="free", parent="world", child="body")]
    )
    document = robot_document(robot)
    (part,) = [part for part in document.actors[0].parts if part.layer == "inertia"]
    radii = np.abs(document.surfaces[part.surface].vertices).max(axis=0).astype(float)
    R = part.placement[:3, :3]
    moments = 2.0 / 5.0 * (np.sum(radii**2) - radii**2)
    assert R @ np.diag(moments) @ R.T == pytest.approx(MOMENTS, rel=1e-5)
    assert part.placement[:3, 3] == pytest.approx([0.1, 0.2, 0.3])


def test_scene_documents_have_motions_instances_ghosts_and_obstacles():
    robot = lw.load("arm6")
    q = robot.random_configuration(seed=0, size=(5, 3))
    scene = lw.Scene().with_box("table", (1, 1, 0.1), (0, 0, -1)).with_point_cloud("dust", np.eye(3), 0.01)
    scene = scene.with_half_space("floor", (0, 0, -2)).with_compound("lamp", [lw.shapes.Sphere(0.1)])
    ghosts = robot.random_configuration(seed=1, size=4)
    document = robot_document(
        robot, q, times=np.arange(5.0), scene=scene, frames="tool", ghosts=ghosts, nearest=2, spacing=2.0, title="trio"
    )
    require_consistent(document)
    assert document.title == "trio" and "frames" not in document.hidden
    moving, still_actor = document.actors
    poses = robot.forward_kinematics(q)
    assert moving.q == pytest.approx(q) and moving.offsets[:, :3, 3].tolist() == [[-1, -1, 0], [-1, 1, 0], [1, -1, 0]]
    assert moving.poses == pytest.approx(moving.offsets[:, None] @ poses)
    assert (
        still_actor.robot is None
        and still_actor.opacity < 1.0
        and still_actor.poses.shape[:2] == (5, 4)
        and still_actor.poses.strides[0] == 0
    )
    assert [prop.name for prop in document.props] == ["table", "floor", "lamp[0]"]
    assert [cloud.name for cloud in document.points] == ["dust"]
    path = next(lines for lines in document.lines if lines.layer == "paths")
    assert path.points == pytest.approx(robot.pose(q[:, 0], "tool")[:, :3, 3])
    nearest = next(lines for lines in document.lines if lines.segments)
    distances = np.sort(robot.distances(q[:, 0], scene).distance, axis=-1)[:, :2]
    assert np.linalg.norm(nearest.points[:, 0] - nearest.points[:, 1], axis=-1) == pytest.approx(
        np.abs(distances[:, 0])
    )
    assert [plot.title for plot in document.plots] == ["distance", "position"]
    assert document.plots[1].lower == pytest.approx(robot.lower)


@pytest.mark.slow(every=5)
def test_nearest_pairs_of_links_are_drawn_in_a_scene():
    robot = lw.load("arm7")
    document = robot_document(robot, nearest=3)
    assert len(document.lines[0].points) == 6
    first = robot.nearest_pair(robot.neutral())
    assert document.texts[0].text == f"{' – '.join(first.pairs[0])}: {float(first.distance[0]):.4f} m"


def test_open_loops_are_drawn_with_a_note_and_a_warning(tmp_path):
    robot = lw.load("fourbar")
    closed, rocked = robot.assemble(hold={"crank_hinge": 1.0}).q, np.array([0.0, 1.0, 0.0])
    opened = closed + 0.2 * rocked
    residual = np.abs(robot.constraint_error(opened)).max()
    words = rf"does not close the loops: error {residual:.3g} m of 'pin: translation [xyz]'; robot.project"
    with pytest.warns(errors.PictureWarning, match=f"show: the configuration {words}"):
        page = robot.show(opened, html=tmp_path / "open.html")
    assert "does not close the loops" in page.read_text(encoding="utf-8")
    with pytest.warns(errors.PictureWarning, match=rf"the configuration at 0.5 s of robot 1 {words}"):
        document = robot_document(robot, [[closed, closed], [closed, opened]], times=[0.0, 0.5])
    assert len(document.notes) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert robot_document(robot, closed).notes == () == robot_document(robot).notes
        assert robot_document(robot, closed + 1e-5 * rocked).notes == ()  # too little to be visible


def test_robot_without_shapes_is_drawn_as_a_skeleton():
    robot = lw.Robot.from_dh("planar", [{"a": 0.3}, {"a": 0.2}], convention="standard")
    (actor,) = robot_document(robot).actors
    rods = [part for part in actor.parts if part.body >= 0 and part.placement[:3, 3].any()]
    assert [(part.body, part.link) for part in rods[:2]] == [(0, "link1"), (1, "link2")]
    ends = [actor.poses[0, 0, part.body] @ part.placement @ [0.0, 0.0, 0.0, 1.0] for part in rods[:2]]
    assert np.array(ends)[:, :3] == pytest.approx(np.array([[0.15, 0, 0], [0.4, 0, 0]]))


URDF = """<robot name="r"><link name="a"><visual><geometry><mesh filename="none/{mesh}"/></geometry></visual></link>
<link name="b"><visual><origin xyz="0 0 0.5"/><geometry><mesh filename="none/{mesh}"/></geometry></visual></link>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="1 0 0"/></joint></robot>"""


def test_missing_mesh_files_are_drawn_as_placeholders(tmp_path):
    file = tmp_path / "r.urdf"
    file.write_text(URDF.format(mesh="hand &lt;b&gt; ü.stl"), encoding="utf-8")
    robot = lw.load(file, inertia="ignore")
    with pytest.warns(errors.PictureWarning, match="1 mesh file is drawn as a placeholder"):
        document = robot_document(robot, [[0.0], [np.pi]], times=[0.0, 1.0])
    require_consistent(document)
    assert [text.text for text in document.texts] == ["hand <b> ü.stl"] * 2
    assert document.texts[1].position == pytest.approx(np.array([[0, 0, 0.5], [0, 0, -0.5]]))
    assert len(document.notes) == 1 and "was not found" in document.notes[0]


@pytest.mark.parametrize(("count", "end"), [(5, "'4.stl', '5.stl'; "), (6, "'4.stl', '5.stl', ...; ")])
def test_warning_of_missing_mesh_files_names_at_most_five(tmp_path, count, end):
    visuals = "".join(f'<visual><geometry><mesh filename="{k + 1}.stl"/></geometry></visual>' for k in range(count))
    file = tmp_path / "r.urdf"
    file.write_text(f'<robot name="r"><link name="a">{visuals}</link></robot>', encoding="utf-8")
    with pytest.warns(errors.PictureWarning) as warned:
        robot_document(lw.load(file, inertia="ignore"))
    assert end in str(warned[0].message)


def example_robots():
    try:
        paths = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        return []
    return sorted(str(path.locate()) for path in paths if path.suffix == ".urdf")


@pytest.mark.slow
def test_example_robots_have_consistent_scene_documents(drawn):
    files = drawn(example_robots())
    if not files:
        pytest.skip("example-robot-data is not installed")
    for file in files:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                robot = lw.load(file)
            except errors.ModelError:
                continue
            document = robot_document(robot)
        require_consistent(document)
        assert document.actors[0].parts, file


def test_wrong_arguments_of_robot_scenes_are_refused(tmp_path):
    robot = lw.load("arm6")
    q = np.zeros(6)
    cases = [
        ({"q": np.zeros(5)}, ValueError, "show: q"),
        ({"q": np.zeros((2, 2, 6))}, ValueError, r"expected an array of shape \(nq,\) or \(n, nq\)"),
        ({"q": np.full(6, np.nan)}, ValueError, "show: q"),
        ({"q": np.zeros((0, 6))}, ValueError, "at least one configuration"),
        ({"q": q, "times": [0.0]}, ValueError, r"expected an array of shape \(T, nq\)"),
        ({"times": [0.0]}, ValueError, "times: expected q"),
        ({"q": [q, q], "times": [0.0]}, ValueError, "expected 2 times"),
        ({"q": [q, q], "times": [0.0, 0.0]}, ValueError, "increasing"),
        ({"frames": "hnad"}, lw.errors.UnknownNameError, "show: frames: no frame named 'hnad'"),
        ({"frames": 3}, TypeError, "frames"),
        ({"nearest": -1}, ValueError, "nearest"),
        ({"spacing": 0.0}, ValueError, "spacing"),
        ({"ghosts": np.zeros(5)}, ValueError, "show: ghosts"),
        ({"title": 3}, TypeError, "title"),
        ({"scene": "table"}, TypeError, "scene"),
        ({"meshes": "/nowhere"}, ValueError, "show: meshes: '.*nowhere' is not a folder"),
        ({"html": "a.txt"}, ValueError, r"html: expected a path that ends in \.html"),
        ({"htm": "a.html"}, TypeError, "did you mean 'html'"),
        ({"html": str(tmp_path / "a.html"), "port": 3}, ValueError, "no option of the live page"),
        ({"frame": "hand"}, TypeError, "show: no option 'frame'; did you mean 'frames'"),
        ({"html": "a.html", "png": "a.png"}, ValueError, "expected one file"),
        ({"glb": str(tmp_path / "none" / "a.glb")}, FileNotFoundError, "create it first"),
        ({"port": 70000}, ValueError, "port"),
        ({"open_browser": 1}, TypeError, "open_browser"),
    ]
    for arguments, error, text in cases:
        with pytest.raises(error, match=text):
            robot.show(**arguments)
    assert list(Path(tmp_path).iterdir()) == []


def test_motions_that_time_prescribes_are_open_only_at_stated_times():
    robot = lw.load("double_pendulum").with_constraints(lw.constraints.Prescribed("shoulder", lambda t: 2.0 * t))
    closed, opened = np.array([[0.2, 0.1], [1.2, 0.4]]), np.array([[0.2, 0.1], [1.5, 0.4]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert robot_document(robot, opened[1]).notes == () == robot_document(robot, opened).notes
        assert robot_document(robot, closed, times=[0.1, 0.6]).notes == ()
    with pytest.warns(errors.PictureWarning, match=r"at 0.6 s does not close the loops: error 0.3 rad of 'pres"):
        robot_document(robot, opened, times=[0.1, 0.6])


def test_warnings_of_open_loops_name_the_line_of_the_user():
    """`show` without a file draws by a function of the standard library, which is no line of the user."""
    robot = lw.load("fourbar")
    with pytest.warns(errors.PictureWarning, match="does not close the loops") as caught:
        robot.show(np.array([0.0, 0.3, 0.1]))._repr_html_()
    assert {warning.filename for warning in caught} == {__file__}


def test_ghosts_of_detailed_robots_are_decimated_near_their_surfaces(monkeypatch):
    """A sphere of many triangles: the vertices of ghosts lie near it, and those of the robot are unchanged."""
    axis = np.linspace(0.0, 1.0, 33)
    u, v = (x.ravel() for x in np.meshgrid(2.0 * np.pi * axis, np.pi * axis))
    points = np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)], axis=1)
    corner = (np.arange(32)[:, None] * 33 + np.arange(32)).ravel()
    faces = np.concatenate([corner[:, None] + [0, 33, 1], corner[:, None] + [1, 33, 34]])
    sphere = triangles.smooth_surface(points, faces)
    monkeypatch.setattr(surface_sets, "shape_surface", lambda shape: sphere)
    robot = lw.Robot.build("r", lw.Link("a", lw.shapes.Sphere(1.0), mass=1.0), floating_base=True)
    q = np.stack([robot.neutral()] * 4)
    for budget, count in ((4_000, 1_000), (10_000, len(sphere.triangles)), (100, 200)):
        monkeypatch.setattr(scene_builder, "_GHOST_TRIANGLES", budget)
        builder = scene_builder.SceneBuilder("r")
        builder.add_robot(robot, robot.neutral())
        builder.add_ghosts(robot, q)
        document = builder.document()
        moving, ghosts = document.actors
        (part,) = [part for part in moving.parts if part.layer == "visual"]
        assert document.surfaces[part.surface] is sphere
        (ghost,) = ghosts.parts
        surface = document.surfaces[ghost.surface]
        assert 0.5 * count < len(surface.triangles) <= count
        distances = np.linalg.norm(surface.vertices, axis=1)
        assert abs(distances - 1.0).max() < 2.0 / np.sqrt(count), budget  # cells of the size of their triangles
