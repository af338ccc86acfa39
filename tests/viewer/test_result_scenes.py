"""Scene documents of results: right poses and times, and one file of each kind of result."""

import inspect
import pickle

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulation import ContactGround, ContactPair, ContactPoint, ContactScene
from linkwork.viewer import scene_document
from linkwork.viewer.document import check_document
from linkwork.viewer.scenes.document_of import _MODULES, document_of


def poses_are_kinematics(actor, robot):
    expected = robot.forward_kinematics(actor.q)
    if actor.offsets is not None:
        expected = actor.offsets[:, None] @ expected
    assert actor.poses == pytest.approx(expected, abs=1e-12)


def checked(contents, **options):
    document = scene_document(contents, **options)
    assert check_document("test", document) is document
    return document


BALL = lw.Robot.build("ball", lw.Link("body", lw.shapes.Sphere(0.1), mass=1.0), floating_base=True)


def rolling(**options):
    q = np.stack([BALL.neutral()] * 2)
    q[:, -1] = 0.1
    v = np.zeros((2, 6))
    v[1, 3] = 1.0
    ground = ContactGround(ContactPoint("body", radius=0.1), height=0.0)
    return BALL.simulate(q, v, duration=0.1, dt=0.005, contacts=ground, **options), ground


@pytest.mark.slow(every=5)
def test_scene_of_a_simulation_shows_contact_forces(tmp_path):
    run, ground = rolling()
    document = checked(run)
    (actor,) = document.actors
    assert actor.q.shape == (6, 2, 7) and document.times == pytest.approx(np.arange(6) * 0.02, abs=1e-9)
    assert actor.q[-1] == pytest.approx(run.q[:, -1])
    poses_are_kinematics(actor, BALL)
    (arrows,) = document.arrows
    assert arrows.vectors[-1] == pytest.approx(run.records["contact_forces"][:, -1].reshape(2, 3))
    lowest = actor.q[..., -3:] - [0.0, 0.0, 0.1]
    assert arrows.starts == pytest.approx(lowest) and arrows.visible[-1].all() and not arrows.visible[0].any()
    assert arrows.scale * 9.81 == pytest.approx(0.2, rel=0.01), "the weight is as long as the ball"
    assert [plot.title for plot in document.plots] == ["position", "velocity", "velocity", "energy", "contact force"]
    (floor,) = document.props
    assert floor.name == "ground" and floor.pose[:3, 3] == pytest.approx([0.0, 0.0, -1e-3])

    single_document = checked(run, environment=(1,), frames="body", spacing=None, rate=1000.0)
    assert single_document.actors[0].q[:, 0] == pytest.approx(run.q[1]) and len(single_document.lines) == 1
    apart = checked(run, spacing=3.0)
    assert apart.arrows[0].starts == pytest.approx(lowest + apart.actors[0].offsets[:, :3, 3])

    run.save(tmp_path / "run.npz")
    again = lw.simulation.Simulation.load(tmp_path / "run.npz", robot=BALL)
    silent = checked(again)
    assert silent.arrows == () and "pass the contacts" in silent.notes[0]
    assert checked(again, contacts=ground).arrows[0].starts == pytest.approx(arrows.starts)


@pytest.mark.slow(every=9)
def test_scene_of_a_simulation_that_stops_ends_at_that_time():
    robot = lw.load("double_pendulum")
    run = robot.simulate(
        np.zeros(2), controller=lambda t, q, v: [lw.expr.where(t > 0.045, np.inf, 1.0), 0.0], duration=0.1, dt=1e-3
    )
    assert not run.success and run.stopped_at == pytest.approx(0.046, abs=2e-3)
    assert checked(run).times[-1] == pytest.approx(run.stopped_at, abs=2e-3)


@pytest.mark.slow(every=9)
def test_scene_of_a_simulation_shows_contacts_between_shapes():
    boxes = lw.Robot.build(
        "boxes",
        *[
            part
            for name in ("low", "high")
            for part in (
                lw.Link(name, lw.shapes.Box((0.2, 0.2, 0.2)), mass=1.0),
                lw.Joint.of(lw.joints.Floating(), name=f"free_{name}", parent="world", child=name),
            )
        ],
    )
    q = boxes.neutral()
    q[[6, 13]] = 0.1, 0.3
    touching = [ContactScene(lw.Scene().with_half_space("floor")), ContactPair("low", "high")]
    document = checked(boxes.simulate(q, duration=0.3, dt=0.01, contacts=touching))
    (arrows,) = document.arrows
    shown = arrows.starts[-1][arrows.visible[-1]]
    assert len(shown) >= 6 and np.abs(np.abs(shown[:, :2]) - 0.1).max() < 1e-3, "corners"
    total = arrows.vectors[-1][np.abs(arrows.starts[-1][:, 2]) < 1e-3].sum(axis=0)
    assert total == pytest.approx([0.0, 0.0, 2.0 * 9.81], abs=0.05)
    assert [prop.name for prop in document.props] == ["floor"]


ARM = lw.load("arm6")
SCENE = lw.Scene().with_sphere("ball", 0.05, (0.2, 0.3, 1.2))


def plan():
    return ARM.plan(ARM.neutral(), ARM.neutral() + 0.4, SCENE)


@pytest.mark.slow(every=5)
def test_scene_of_a_plan_shows_path_tree_and_ghosts():
    result = plan()
    document = checked(result, ghosts=3, tree=True)
    moving, ghosts = document.actors
    assert moving.q[0, 0] == pytest.approx(result.path[0]) and moving.q[-1, 0] == pytest.approx(result.path[-1])
    poses_are_kinematics(moving, ARM)
    assert ghosts.opacity < 1.0 and ghosts.q.shape[1] == 3
    assert [prop.name for prop in document.props] == ["ball"]
    path = next(lines for lines in document.lines if lines.layer == "paths")
    along = ARM.pose(moving.q[:, 0], ARM.frames[-1])[:, :3, 3]
    assert len(path.points) > len(along)
    assert np.linalg.norm(path.points[:, None] - along, axis=-1).min(axis=0).max() < 1e-9


@pytest.mark.slow(every=5)
def test_scene_of_a_failed_plan_shows_start_goal_and_the_colliding_pair():
    start = ARM.neutral()
    goal = start + 0.4
    for q, status in ((goal, "goal_in_collision"), (start, "start_in_collision")):
        box = lw.Scene().with_box("crate", (0.1, 0.1, 0.1), ARM.pose(q, "tool")[:3, 3])
        blocked = ARM.plan(start, goal, box)
        assert blocked.status == status and "show() draws it" in blocked.message
        document = checked(blocked)
        shown, ghosts = document.actors
        assert shown.q[0, 0] == pytest.approx(start) and ghosts.q[0, 0] == pytest.approx(goal) and ghosts.opacity < 1.0
        (crate,) = document.props
        red = {part.link for part in (shown if q is start else ghosts).parts if part.color[:3] == crate.color[:3]}
        assert red and not {
            part.link for part in (ghosts if q is start else shown).parts if part.color[:3] == crate.color[:3]
        }
        texts = [text.text for text in document.texts if text.layer == "collisions"]
        assert len(texts) >= len(red) and all("crate" in text and any(link in text for link in red) for text in texts)
        assert all(link in blocked.message for link in red) and status in document.title
    far = (9.0, 0.0, 1.0)
    for target in (far, lw.pose(far)):  # the pose is shown, to which no configuration leads
        (frame,) = checked(ARM.plan(start, target, frame="tool")).frames
        assert frame.name == "goal of tool" and frame.poses[:3, 3] == pytest.approx(far)


@pytest.mark.slow(every=5)
def test_scene_of_a_roadmap_shows_nodes_and_edges():
    roadmap = lw.planning.Roadmap(ARM, SCENE, num_nodes=20, lazy=True)
    document = checked(roadmap, robots=2)
    (nodes,) = document.points
    assert nodes.points == pytest.approx(ARM.pose(roadmap.nodes, ARM.frames[-1])[:, :3, 3])
    (edges,) = document.lines
    assert edges.segments and edges.points[::2] == pytest.approx(nodes.points[roadmap.edges[:, 0]])
    assert document.actors[0].q.shape == (1, 2, 6)


def spline():
    return ARM.spline([0.0, 0.5, 1.0], [ARM.neutral(), ARM.neutral() + 0.3, ARM.neutral()])


@pytest.mark.slow(every=5)
def test_scene_of_a_trajectory_shows_frame_paths_ghosts_and_obstacles():
    curve = spline()
    document = checked(curve, frames=["tool"], ghosts=2, scene=SCENE, rate=20.0)
    assert document.times == pytest.approx(np.linspace(0.0, 1.0, 21))
    assert document.actors[0].q[:, 0] == pytest.approx(curve(document.times).q)
    assert document.actors[1].q[0] == pytest.approx(curve([0.5, 1.0]).q)  # the robot is at the start
    assert [plot.title for plot in document.plots] == ["position", "velocity"]
    assert document.plots[1].values == pytest.approx(curve(document.times).v)
    timed = lw.motion.time_optimal(curve, velocity=1.0, acceleration=5.0)
    assert checked(timed).times[-1] == pytest.approx(timed.duration)
    with pytest.raises(ValueError, match="plain coordinates have no shapes"):
        scene_document(lw.motion.spline([0.0, 1.0], [[0.0], [1.0]]))


def test_scene_of_inverse_kinematics_shows_the_target():
    target = ARM.pose(ARM.neutral() + 0.3, "tool")
    solution = ARM.inverse_kinematics(target, "tool")
    document = checked(solution, initial=True, scene=SCENE)
    assert document.frames[0].poses == pytest.approx(target) and document.lines == ()
    shown = {part.body for part in document.actors[0].parts if part.layer == "frames"}
    assert "frames" not in document.hidden and shown == {ARM.tree.frame("tool").body}
    assert document.actors[0].q[0, 0] == pytest.approx(solution.q) and document.actors[1].name == "initial guesses"
    far = target.copy()
    far[:3, 3] += 5.0
    failed = checked(ARM.inverse_kinematics(np.stack([target, far]), "tool"))
    assert failed.title == "arm6: 1 of 2 solved" and len(failed.frames) == 2
    assert failed.lines[0].points[1] == pytest.approx(far[:3, 3])


def test_scene_of_path_ik_shows_the_configurations_over_time():
    q = ARM.neutral() + np.linspace(0.0, 0.2, 5)[:, None]
    problem = ARM.ik_problem(lw.ik.PoseTask("tool"))
    (name,) = problem.shapes
    followed = problem.follow(q[0], **{name: ARM.pose(q, "tool")})
    document = checked(followed, rate=10.0, ghosts=2)
    assert document.times == pytest.approx(np.arange(5) * 0.1)
    assert document.actors[0].q[:, 0] == pytest.approx(followed.q)


HOME = np.array([0.3, -1.2, 1.4, -0.9, -1.1, 0.2])


def tracked():
    start = ARM.pose(HOME, "tool")
    return ARM.track_cartesian_path(lw.motion.line(start, lw.pose((0.03, 0.0, 0.04)) @ start), "tool", q_init=HOME)


def test_scene_of_a_tracked_cartesian_path_shows_the_path():
    result = tracked()
    document = checked(result)
    assert document.actors[0].q[:, 0] == pytest.approx(result.q)
    assert document.times[-1] == pytest.approx(0.05)
    line = next(lines for lines in document.lines if lines.layer == "targets")
    assert line.points[[0, -1]] == pytest.approx(result.path(np.array([0.0, 0.05]))[:, :3, 3])


def test_scene_of_an_optimal_trajectory_shows_the_motion():
    problem = lw.TrajectoryProblem(ARM, num_steps=5, duration=1.0).add("acceleration", "least_squares")
    problem = problem.add(lw.ik.PositionTask("tool"), "equality", steps=-1, name="reach")
    result = problem.solve(HOME, targets={"reach": ARM.pose(HOME + 0.1, "tool")[:3, 3]})
    with pytest.raises(ValueError, match="show: index: expected 0 indices"):
        result.show(3)
    document = checked(result, rate=10.0)
    assert document.actors[0].q[-1, 0] == pytest.approx(result.q[-1], abs=1e-9)


def test_scene_of_a_driven_mechanism_shows_the_motion():
    fourbar = lw.load("fourbar")
    crank = fourbar.joints[0].name
    assembled = fourbar.assemble(hold={crank: 0.3}, branches=4)
    document = checked(assembled)
    assert "constraints" not in document.hidden
    assert document.actors[0].q[0, 0] == pytest.approx(assembled.q)
    assert document.actors[1].q.shape[1] == int(assembled.branches.count)
    driven = fourbar.drive_mechanism({crank: np.linspace(0.3, 0.5, 4)}, assembled.q)
    moving = checked(driven, rate=10.0, frames="coupler")
    assert moving.actors[0].q[:, 0] == pytest.approx(driven.q) and moving.seconds[-1] == pytest.approx(0.3)
    (curve,) = (lines for lines in moving.lines if "coupler" in lines.name)
    assert curve.points == pytest.approx(fourbar.pose(driven.q, "coupler")[:, :3, 3], abs=1e-6)


@pytest.mark.costly
@pytest.mark.parametrize(("speed", "times"), [(6.0, None), (-6.0, None), (None, [0.0, 0.1, 0.4, 0.5])])
def test_pages_of_driven_mechanisms_have_the_times_of_their_trajectories(speed, times):
    fourbar = lw.load("fourbar")
    velocity = {} if speed is None else {"velocity": {"crank_hinge": speed}}
    turns = np.linspace(0.3, 0.3 + 0.5 * np.sign(speed or 1.0), 4)
    driven = fourbar.drive_mechanism({"crank_hinge": turns}, **velocity)
    document, path = checked(driven, times=times), driven.trajectory(times=times)
    assert document.is_timed and document.pace == 1.0 and np.ptp(document.times) == pytest.approx(path.duration)
    state = path(document.times)
    assert document.actors[0].q[:, 0] == pytest.approx(state.q, abs=1e-9)
    speeds = next(plot for plot in document.plots if plot.title == "velocity")
    assert speeds.values == pytest.approx(state.v, abs=1e-9)


def test_pages_of_driven_mechanisms_without_times_count_states(tmp_path):
    fourbar = lw.load("fourbar")
    turns = {"crank_hinge": np.linspace(0.3, 0.5, 4)}
    plain = fourbar.drive_mechanism(turns)
    wrong = fourbar.drive_mechanism(turns, velocity={"crank_hinge": -1.0})
    for driven, options in ((plain, {}), (plain, {"rate": 5.0}), (wrong, {}), (wrong, {"rate": 5.0})):
        document = checked(driven, **options)
        assert not document.is_timed and document.axis == "state" and document.times.tolist() == [0, 1, 2, 3]
        assert document.seconds == pytest.approx(np.arange(4) / (options.get("rate") or 50.0))
        assert bool(document.notes) == (driven is wrong and not options)
    assert "state, not timed" in plain.show(html=tmp_path / "states.html").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match=r"times: expected None"):
        wrong.show(times=[0.0, 0.1, 0.2, 0.3], html=tmp_path / "page.html")
    with pytest.raises(ValueError, match="rate: expected None with times"):
        plain.show(times=[0.0, 0.1, 0.2, 0.3], rate=5.0, html=tmp_path / "page.html")
    both = lw.viewer.side_by_side([plain, fourbar.spline([0.0, 1.0], [driven.q[0], driven.q[-1]])])
    assert both.axis == "time of playing [s]" and both.times[-1] == 1.0 and 3 / 50 in both.times
    assert lw.viewer.side_by_side([plain, plain]).axis == "state"


def test_scene_of_a_workspace_map_shows_its_voxels():
    robot = lw.load("double_pendulum")
    reach = robot.workspace_map("tip", samples=2000, voxel_size=0.2)
    document = checked(reach, section=None, q=[0.1, 0.2])
    cloud, bar = document.points
    free = reach.collision_free > 0
    assert cloud.points == pytest.approx(reach.points[free]) and cloud.size < reach.voxel_size
    values = reach.collision_free[free]
    assert cloud.colors[values.argmax()].tolist() == [250, 226, 50, 255]
    assert cloud.colors[values.argmin()].tolist() == [43, 24, 82, 255]
    assert document.actors[0].q[0, 0].tolist() == [0.1, 0.2] and "tip of double_pendulum" in document.title
    assert bar.colors[[0, -1]].tolist() == [[43, 24, 82, 255], [250, 226, 50, 255]]
    labels = {text.text.partition(" ")[0] for text in document.texts}
    assert {str(values.min()), str(values.max())} <= labels
    (length,) = document.lines
    assert f"{np.ptp(length.points[:, 0]):g} m" in {text.text for text in document.texts}
    section = checked(reach)  # shows the inside, with the robot
    assert section.actors and section.points[0].size == cloud.size  # a section of a plane does not show the robot
    assert checked(reach, section="x").points[0].size > cloud.size
    assert section.notes == ()
    half = checked(reach, name="limit_margin", section="z").points[0].points
    assert 0 < len(half) < len(cloud.points) and half[:, 2].max() < cloud.points[:, 2].max()
    for arguments, text in (
        ({"name": "reach"}, "name: expected one of 'reached'"),
        ({"section": "w"}, "section: expected one of 'x', 'y', 'z'"),
        ({"robot": robot, "q": [[0.0, 0.0]]}, "expected a configuration"),
    ):
        with pytest.raises(ValueError, match=text):
            reach.show(**arguments)
    stored = pickle.loads(pickle.dumps(reach))
    with pytest.raises(ValueError, match="expected the argument robot too"):
        stored.show(q=[0.0, 0.0])
    assert stored == reach and "pass robot=" in checked(stored).notes[0]


def test_scene_of_a_simulation_plots_records_over_time():
    pytest.importorskip("matplotlib")
    robot = lw.load("double_pendulum")
    sensors = {"imu": lw.simulation.IMU("tip")}
    run = robot.simulate(
        np.full((2, 2), 0.3), duration=0.02, dt=0.005, record=["tau", ("pose", "tip")], sensors=sensors
    )
    lines = {title: (unit, drawn) for title, unit, drawn in run._record_lines((1,))}
    assert {*lines} == {"tau", "pose_tip", "imu"} and lines["tau"][0] == "N·m"
    assert [*lines["tau"][1]] == [*robot.v_names] and len(lines["imu"][1]) == 6
    for k, values in enumerate(lines["imu"][1].values()):
        assert np.array_equal(values, run.records["imu"][1, :, k])
    plots = {plot.title: plot for plot in document_of(run, (1,)).plots}
    assert {*lines} < {*plots} and plots["imu"].values.shape == (len(plots["energy"].values), 6)
    axes = run.plot(1)
    assert [axis.get_ylabel() for axis in axes[3:]] == ["tau [N·m]", "pose_tip [1, m]", "imu"]
    assert [len(axis.lines) for axis in axes[3:]] == [2, 16, 6]


def test_scene_of_vector_environments_shows_them_side_by_side():
    pytest.importorskip("gymnasium")
    batch = lw.environments.VectorEnvironment("cart_pole", num_envs=5)
    batch.reset(seed=1)
    document = checked(batch)
    (actor,) = document.actors
    assert actor.q[0] == pytest.approx(batch.state[0])
    assert len(np.unique(actor.offsets[:, :2, 3], axis=0)) == 5


def test_scene_of_obstacles_can_be_shown():
    document = checked(SCENE, title="one ball")
    assert document.title == "one ball" and [prop.name for prop in document.props] == ["ball"]
    assert checked(lw.Scene()).title == "0 obstacles"


def test_pages_models_and_plots_show_the_colors_of_obstacles(tmp_path):
    red, glass = (1.0, 0.0, 0.0, 1.0), (0.2, 0.6, 1.0, 0.3)
    scene = lw.Scene().with_box("table", (1.0, 1.0, 0.1)).with_compound("shelf", [lw.shapes.Sphere(0.1)] * 2)
    scene = scene.with_box("wall", (0.1, 1.0, 1.0)).with_point_cloud("scan", [[0.0, 0.0, 1.0]])
    colored = scene.with_color("table", red[:3]).with_color("shelf", glass).with_color("scan", red)
    assert colored != scene and colored.with_color("table", None)["table"] == scene["table"]
    document = checked(colored)
    colors = {prop.name: prop.color for prop in document.props}
    assert colors["table"] == red and colors["shelf[0]"] == colors["shelf[1]"] == glass
    assert colors["wall"] == checked(scene).props[0].color
    assert document.points[0].colors.tolist() == [[255, 0, 0, 255]]
    ground = checked(lw.Scene().with_half_space("floor").with_height_field("hill", np.zeros((2, 2)), 1.0)).props
    floor, hill = (np.array(prop.color[:3]) for prop in ground)
    assert (floor > hill + 0.15).all()  # the floor is lighter than what stands on it
    moved = colored.with_pose("table", (1.0, 0.0, 0.0))
    assert moved["table"].color == red and pickle.loads(pickle.dumps(moved)) == moved
    (surfaces,) = lw.load("arm7").plot(scene=colored.only(["table"]), color="0.5").collections
    is_red = surfaces.colors[:, 0] > surfaces.colors[:, 1] + 0.2
    assert is_red.sum() == 12 and not np.ptp(surfaces.colors[~is_red], axis=1).any()
    for name, color, error, message in (
        ("tabel", red, lw.errors.UnknownNameError, "did you mean 'table'"),
        ("table", (255, 0, 0), ValueError, "'table': color: expected three or four numbers between 0 and 1"),
        ("table", (1.0, 0.0), ValueError, "color: expected three or four numbers"),
    ):
        with pytest.raises(error, match=message):
            scene.with_color(name, color)


def showing():
    """Return all classes of the library with a method show."""
    modules = [getattr(lw, name) for name in lw.__all__ if inspect.ismodule(getattr(lw, name))]
    members = {getattr(module, name) for module in (lw, *modules) for name in module.__all__}
    return [member for member in members if inspect.isclass(member) and callable(getattr(member, "show", None))]


@pytest.mark.slow(every=5)
def test_each_show_method_checks_its_output_option_and_writes_files(tmp_path):
    run, _ = rolling()
    objects = [run, plan(), spline(), tracked(), SCENE, lw.load("fourbar").assemble()]
    objects += [ARM, scene_document(ARM), ARM.inverse_kinematics(ARM.pose(ARM.neutral(), "tool"), "tool")]
    for single in objects:
        with pytest.raises(TypeError, match="did you mean 'html'"):
            single.show(htm="a.html")
        with pytest.raises(ValueError, match="html: expected a path that ends in"):
            single.show(html="a.txt")
        path = tmp_path / f"{type(single).__name__}.html"
        assert single.show(html=path) == path and path.stat().st_size > 10_000
    names = {single.__name__ for single in showing()}
    assert names >= {type(single).__name__ for single in objects} | {
        "Roadmap",
        "TimedPath",
        "OptimalResult",
        "DrivenMotion",
    }
    for cls in showing():
        assert {"SceneDocument", *_MODULES} & {base.__name__ for base in cls.__mro__}, cls


def test_wrong_arguments_of_result_scenes_are_refused():
    curve = spline()
    cases = [
        ({"rate": 0.0}, ValueError, "rate"),
        ({"ghosts": -1}, ValueError, "ghosts"),
        ({"ghosts": 1.5}, TypeError, "ghosts"),
        ({"frames": "none"}, lw.errors.UnknownNameError, "frames"),
        ({"scene": 3}, TypeError, "scene"),
        ({"title": 3}, TypeError, "title"),
    ]
    for arguments, error, text in cases:
        with pytest.raises(error, match=text):
            curve.show(**arguments)
    run, _ = rolling()
    with pytest.raises(ValueError, match="expected 1 indices"):
        run.show(0, 0)
    with pytest.raises(TypeError, match="contacts"):
        run.show(contacts="ground")


def test_paths_of_fast_motions_are_drawn_without_corners():
    hinge = lw.Joint.of(lw.joints.Revolute("y"), name="hinge", parent="world", child="rod")
    rod = lw.Robot.build(
        "rod", lw.Link("rod", mass=1.0, com=(0.5, 0.0, 0.0), frames={"tip": lw.pose((1.0, 0.0, 0.0))}), hinge
    )
    motion = rod.spline([0.0, 1.0], [[0.0], [6.0]], "linear")
    run = rod.simulate([0.0], [6.0], duration=1.0, dt=0.01, record_every=5, passive=False)
    for document in (scene_document(motion, frames="tip", rate=8.0), scene_document(run, frames="tip", rate=8.0)):
        (line,) = document.lines
        assert len(document.times) < 12 and len(line.points) > 500
        assert np.abs(np.linalg.norm(line.points, axis=1) - 1.0).max() < 1e-9, "a circle about the hinge"
        steps = np.diff(line.points, axis=0)
        turns = np.abs(np.cross(steps[1:], steps[:-1])[:, 1]) / (np.linalg.norm(steps, axis=1)[1:] ** 2 + 1e-12)
        assert np.median(turns) < 0.02  # [rad] between segments
