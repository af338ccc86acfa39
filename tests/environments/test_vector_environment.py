"""Vector environments: motion as in simulations, independent environments, and resets as gymnasium defines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw

pytest.importorskip("gymnasium")

from linkwork.environments import TASKS, ControlTask, SingleEnvironment, VectorEnvironment
from linkwork.environments.rendered_frames import robot_frames
from linkwork.simulation import ContactGround, ContactScene


@pytest.mark.slow(every=3)
def test_vector_environments_of_all_tasks_are_independent_of_each_other():
    rng = np.random.default_rng(5)
    for name, make in TASKS.items():
        task = replace(make(), horizon=9)
        many, alone = VectorEnvironment(task, num_envs=5), VectorEnvironment(task)
        observation, _ = many.reset(seed=11)
        same, _ = alone.reset(seed=11)
        assert observation.shape == many.observation_space.shape and np.array_equal(observation[:1], same), name
        for count in range(1, 13):
            actions = rng.uniform(-1.0, 1.0, many.action_space.shape)
            observation, rewards, terminated, truncated, _ = many.step(actions)
            single_step = alone.step(actions[:1])
            for a, b in zip((observation, rewards, terminated, truncated), single_step, strict=False):
                assert np.array_equal(a[:1], b), name
            assert np.isfinite(observation).all() and np.isfinite(rewards).all(), name
            assert (truncated == (count == 9)).all() or terminated.any(), name
        q, v = many.state
        assert q.shape == (5, task.robot.nq) and v.shape == (5, task.robot.nv)
        again, _ = many.reset(seed=11)
        assert np.array_equal(again[:1], same), name


def test_masses_and_lengths_of_environment_tasks_are_as_documented():
    """Forces that hold each robot with its rods along x, in a gravity of 1 m/s²: sums of masses and levers."""
    thigh, shank, sole = 1.0 * 0.175, 0.7 * np.array([0.525, 0.175]), 0.3 * np.array([0.72, 0.37, 0.02])
    legs = [thigh + shank[0] + sole[0], shank[1] + sole[1], sole[2]]
    rods = [0.25 + 0.5 + 0.25, 0.25]
    hopper = [0.0, 0.05 + 4.0 + 1.0 + 0.7 + 0.3, 0.15 * (1.0 + 0.7 + 0.3) + legs[0], *legs]
    levers = {"pendulum": [0.5], "cart_pole": [0.0, 0.1 * 0.3], "acrobot": rods, "reacher": rods, "hopper": hopper}
    for name, expected in levers.items():
        robot = TASKS[name]().robot.with_gravity((0.0, 0.0, -1.0))
        q = np.zeros(robot.nq)
        q[-4 if name == "hopper" else 1 if name == "cart_pole" else 0] = 0.5 * np.pi
        np.testing.assert_allclose(robot.inverse_dynamics(q, 0.0 * q, 0.0 * q), expected, rtol=0.0, atol=1e-12)
        slides = {"cart_pole": 1.1, "hopper": 6.1}
        if name in slides:
            assert abs(robot.mass_matrix(q)[0, 0] - slides[name]) < 1e-12
    rod, r, length = 1.0, 0.03, 1.0  # of the pendulum: a cylinder and half balls, about its end
    tube, caps = length * r * r, 4.0 / 3.0 * r**3
    share, across = rod / (tube + caps), length * length / 12.0 + r * r / 4.0
    inertia = share * (tube * across + caps * (0.4 * r * r + 0.25 * length * length + 0.375 * length * r))
    assert abs(TASKS["pendulum"]().robot.mass_matrix([0.3])[0, 0] - inertia - 0.25 * rod) < 1e-12


def test_environment_actions_are_limited_torques_constant_over_one_step():
    task = TASKS["reacher"]()
    envs = VectorEnvironment(task, num_envs=3)
    envs.reset(seed=0)
    q, v = envs.state
    actions = np.array([[0.5, -0.2], [3.0, -3.0], [0.0, 0.0]])  # what is beyond 1 is 1
    rewards = envs.step(actions)[1]
    limited = VectorEnvironment(task, num_envs=3)
    limited.reset(seed=0)
    assert np.array_equal(limited.step(np.clip(actions, -1.0, 1.0))[1], rewards)  # the reward is that of what acts
    for k in range(3):
        tau = np.clip(actions[k], -1.0, 1.0) * task.efforts
        run = task.robot.simulate(
            q[k], v[k], controller=lambda t, q, v, tau: tau, constants={"tau": tau}, duration=0.02, dt=5e-3
        )
        assert np.allclose(envs.state[0][k], run.q[-1], rtol=0, atol=1e-12)
        assert np.allclose(envs.state[1][k], run.v[-1], rtol=0, atol=1e-12)


def test_failed_vector_environments_reset_at_the_next_action():
    envs = VectorEnvironment("cart_pole", num_envs=4)
    envs.reset(seed=2)
    push = np.array([[1.0], [-1.0], [0.0], [1.0]])
    over = np.zeros(4, dtype=bool)
    for _ in range(60):
        before = over
        observation, rewards, terminated, truncated, _ = envs.step(push)
        over = terminated | truncated
        q, _ = envs.state
        assert (rewards[before] == 0.0).all() and not over[before].any()
        assert np.abs(observation[before]).max(initial=0.0) < 0.1  # near the start
        assert ((np.abs(q[:, 1] - np.pi) > 0.25) | (np.abs(q[:, 0]) > 2.4) == terminated).all()
        if before.any():
            break
    else:
        pytest.fail("pushed to a side, a pole falls")


def test_seeds_give_each_environment_its_own_reproducible_start_state():
    envs = VectorEnvironment("cart_pole", num_envs=3)
    same, _ = envs.reset(seed=4)
    draws = envs.np_random.random(3)
    assert np.array_equal(envs.reset(seed=4)[0], same) and np.array_equal(envs.np_random.random(3), draws)
    assert envs.np_random_seed == 4 and not np.array_equal(envs.reset()[0], same)
    single = [VectorEnvironment("cart_pole").reset(seed=seed)[0][0] for seed in (7, 8, 7)]
    assert np.array_equal(envs.reset(seed=[7, 8, 7])[0], single)
    for seed in (-1, 1.5, [1, 2], "x", True):
        with pytest.raises(ValueError, match="seed: expected an integer from 0 on, or 3 of them"):
            envs.reset(seed=seed)
    with pytest.raises(KeyError, match=r"VectorEnvironment.reset: options: no option named 'x'"):
        envs.reset(options={"x": 1})


def test_invalid_tasks_and_actions_of_environments_are_refused():
    task = TASKS["pendulum"]()
    envs = VectorEnvironment(task, num_envs=2)
    for call, error, words in (
        (lambda: VectorEnvironment("pendulm"), lw.errors.UnknownNameError, "did you mean 'pendulum'"),
        (lambda: VectorEnvironment(3), TypeError, "expected a name or a ControlTask"),
        (lambda: VectorEnvironment(task, num_envs=0), ValueError, "num_envs: expected an integer >= 1"),
        (lambda: envs.step(np.zeros((2, 1))), RuntimeError, "step: call reset"),
        (lambda: (envs.reset(seed=0), envs.step(np.zeros((1, 2)))), ValueError, r"shape \(2, 1\), got shape \(1, 2\)"),
        (lambda: envs.step([[0.0], [np.nan]]), ValueError, "finite numbers, got nan for 'hinge' of environment 1"),
        (lambda: envs.step([["a"], ["b"]]), ValueError, "actions: expected numbers"),
        (lambda: VectorEnvironment(task, render_mode="rgb"), lw.errors.UnknownNameError, "there is 'rgb_array'"),
        (envs.render, RuntimeError, "VectorEnvironment.render: render_mode: expected"),
        (SingleEnvironment(task).render, RuntimeError, "SingleEnvironment.render: render_mode: expected"),
        (lambda: VectorEnvironment(task, render_size=(640, 8)), ValueError, "an integer from 16 to 8192, got 8"),
        (lambda: SingleEnvironment(task, render_size=640), ValueError, "SingleEnvironment: render_size: expected"),
        (lambda: SingleEnvironment(task, width=640), TypeError, r"render_size=\(width, height\)"),
        (lambda: replace(task, efforts=(1.0, 2.0)), ValueError, "one for each of 1"),
        (lambda: replace(task, joints=("hing",)), lw.errors.UnknownNameError, "did you mean 'hinge'"),
        (lambda: replace(task, steps_per_action=0), ValueError, "steps_per_action: expected an integer >= 1"),
    ):
        with pytest.raises(error, match=words):
            call()
    assert isinstance(task, ControlTask)


def test_invalid_start_states_of_environments_are_refused():
    task = TASKS["reacher"]()
    nq, nv = task.robot.nq, task.robot.nv
    for start, message in (
        ((np.full(nq, np.nan), np.zeros(nv)), "VectorEnvironment: task: start: q: expected .*, got nan at 0"),
        ((np.zeros(nq), np.zeros(nv + 1)), "VectorEnvironment: task: start: v: expected"),
        (np.zeros(nq), "VectorEnvironment: task: start: expected a pair"),
    ):
        with pytest.raises(ValueError, match=message):
            VectorEnvironment(replace(task, start=lambda rng, start=start: start))
    with pytest.raises(ValueError, match="VectorEnvironment: task: goal: expected finite numbers"):
        VectorEnvironment(replace(task, goal=lambda rng: [np.inf, 0.0]))


def test_gymnasium_make_vec_creates_and_renders_the_environments():
    """Environments by name equal those of direct construction."""
    gymnasium = pytest.importorskip("gymnasium")
    for name in TASKS:
        assert gymnasium.spec(f"linkwork/{name}-v0").kwargs == {"task": name}
    envs = gymnasium.make_vec("linkwork/pendulum-v0", num_envs=2, render_mode="rgb_array")
    same = VectorEnvironment("pendulum", num_envs=2)
    assert isinstance(envs.unwrapped, VectorEnvironment) and envs.spec.id == "linkwork/pendulum-v0"
    assert np.array_equal(envs.reset(seed=3)[0], same.reset(seed=3)[0])
    assert np.array_equal(envs.step(np.ones((2, 1)))[0], same.step(np.ones((2, 1)))[0])
    assert envs.metadata["render_fps"] == 20 and "rgb_array" in envs.metadata["render_modes"]
    pytest.importorskip("matplotlib")
    frames = envs.render()
    assert len(frames) == 2 and all(x.shape == (320, 320, 3) and x.dtype == np.uint8 for x in frames)
    assert (frames[0] != 255).any() and (frames[0] != frames[1]).any()
    for width, height in ((640, 480), (161, 333)):  # width and height as in films, and odd ones
        wide = gymnasium.make_vec("linkwork/pendulum-v0", 1, render_mode="rgb_array", render_size=(width, height))
        wide.reset(seed=3)
        (image,) = wide.render()
        assert image.shape == (height, width, 3) and (image != 255).any()


def test_pictures_of_pendulums_are_in_their_plane_with_one_scale_and_the_pivot():
    pytest.importorskip("matplotlib")
    robot = TASKS["pendulum"]().robot
    angles = np.array([0.0, 1.0, 2.5, -2.0])
    images = robot_frames(robot, angles[:, None])
    plates, lengths = [], []
    for angle, image in zip(angles, images, strict=True):
        pixels = image.astype(int)
        rod = np.argwhere(pixels[..., 2] - pixels[..., 0] > 25)  # blue
        plate = np.argwhere((np.ptp(pixels, axis=-1) < 5) & (pixels[..., 0] < 200))
        plates.append(plate.mean(axis=0))
        farthest = rod[np.linalg.norm(rod - plates[0], axis=1).argmax()] - plates[0]
        lengths.append(np.linalg.norm(farthest))
        x, _, z = -robot.pose([angle], "rod")[:3, 2]
        assert np.abs(farthest / lengths[-1] - (-z, x)).max() < 0.1, angle
    assert np.ptp(plates, axis=0).max() < 5.0 and np.ptp(lengths) < 6.0 and min(lengths) > 80.0  # pixels


@pytest.mark.slow(every=3)
def test_pictures_of_legged_robots_are_large_and_not_cut():
    """Legs within 0.5 rad of the neutral configuration stay in the image, at any heading and position."""
    pytest.importorskip("matplotlib")
    robot, rng = lw.load("quadruped", floating_base=True), np.random.default_rng(2)
    for size, least in (((320, 320), 0.5), ((480, 160), 0.5), ((160, 400), 0.5)):
        q = robot.neutral()
        q[:4] = np.array([1.0, 0.0, 0.0, rng.uniform(-1.0, 1.0)])
        q[4:7], q[7:] = rng.uniform(-5.0, 5.0, 3), rng.uniform(-0.5, 0.5, 12)
        (image,) = robot_frames(robot, robot.normalize(q)[None], size=size)
        rows, columns = np.nonzero((image != 255).any(axis=-1))
        shares = np.ptp(columns) / size[0], np.ptp(rows) / size[1]
        assert max(shares) > least, shares
        assert rows.min() > 0 and rows.max() < size[1] - 1 and columns.min() > 0 and columns.max() < size[0] - 1, size


@pytest.mark.slow(every=3)
def test_pictures_of_environments_show_ground_obstacles_and_goals():
    pytest.importorskip("matplotlib")
    robot = lw.load("quadruped", floating_base=True)
    q, vermilion = robot.neutral()[None], np.array([0xD5, 0x5E, 0x00])

    def close_to(image, color):
        return (np.abs(image.astype(int) - color).max(axis=-1) < 25).sum()

    (plain,) = robot_frames(robot, q)
    ground = ContactGround([name for name in robot.frames if name.endswith("foot")], height=-0.4)
    (grid,) = robot_frames(robot, q, ground)
    grey, before = ((np.ptp(x, axis=-1) == 0) & (x[..., 0] < 250) for x in (grid, plain))
    assert grey.sum() > 500 + before.sum()  # lines of a light grey
    rows = np.nonzero(grey)[0]
    assert rows.min() > 120 and np.ptp(rows) > 60  # below the body, and seen from above
    (marked,) = robot_frames(robot, q, None, [np.array([0.5, 0.0, 0.3])])
    assert close_to(marked, vermilion) > 10 and not close_to(plain, vermilion)
    red = lw.Scene().with_box("step", (0.4, 0.4, 0.1), (1.0, 0.0, -0.4)).with_color("step", (1.0, 0.0, 0.0))
    (step,) = robot_frames(robot, q, (ground, ContactScene(red)))
    assert (step[..., 0].astype(int) - step[..., 1] > 100).sum() > 50

    envs = VectorEnvironment("reacher", num_envs=2, render_mode="rgb_array")
    envs.reset(seed=1)
    assert all(close_to(image, vermilion) > 10 for image in envs.render())
    wrong = VectorEnvironment(replace(TASKS["reacher"](), marker=lambda goal: goal), render_mode="rgb_array")
    wrong.reset(seed=1)
    with pytest.raises(ValueError, match=r"ControlTask: marker: expected .*\(3,\)"):
        wrong.render()


@pytest.mark.slow(every=3)
def test_environments_of_mechanisms_start_assembled_and_move_as_in_simulations():
    robot = lw.load("fourbar")
    q0 = robot.assemble(hold={"crank_hinge": 0.4}).q
    task = ControlTask(
        robot,
        start=lambda rng: (q0, np.zeros(3)),
        observe=lambda q, v, goal: [q[0], v[0]],
        reward=lambda q, v, action, goal: q[0],
        joints=("crank_hinge",),
        efforts=(2.0,),
    )
    envs = VectorEnvironment(task, num_envs=2)
    envs.reset(seed=0)
    for _ in range(5):
        observation = envs.step(np.array([[1.0], [-0.5]]))[0]
    for k, action in enumerate((2.0, -1.0)):
        push = np.array([action, 0.0, 0.0])
        alone = robot.simulate(q0, duration=0.1, dt=2e-3, controller=lambda t, q, v, push=push: push)
        np.testing.assert_allclose(observation[k], [alone.q[-1, 0], alone.v[-1, 0]], rtol=0, atol=1e-9)
    assert np.abs(robot.constraint_error(envs.state[0])).max() < 1e-9
    for start, message in (
        ((q0 + 0.1, np.zeros(3)), "start: .*q"),
        ((q0, np.array([1.0, 0.0, 0.0])), "start: .*v"),
    ):
        with pytest.raises(ValueError, match=message):
            VectorEnvironment(replace(task, start=lambda rng, start=start: start))
    coupled = lw.load("double_pendulum")
    master, follower = (joint.name for joint in coupled.joints)
    with pytest.raises(ValueError, match=f"'{follower}' follows joint '{master}': name that joint"):
        replace(task, robot=coupled.with_couplings({follower: (master, 2.0)}), joints=(follower,))
    driven = coupled.with_actuators(lw.Actuator.motor("winch", master))
    with pytest.raises(ValueError, match=f"'winch' is an actuator: name its joint '{master}'"):
        replace(task, robot=driven, joints=("winch",))


def test_rendered_frames_contain_no_notes_about_the_file(tmp_path) -> None:
    pytest.importorskip("matplotlib")
    floor = '<geom name="floor" type="plane" size="1 1 1" contype="0" conaffinity="0"/>'
    arm = '<body><joint name="hinge" axis="0 1 0"/><geom type="capsule" size="0.05 0.2" mass="1"/></body>'
    robots = {}
    for name, more in (("plain", ""), ("noted", floor)):
        (tmp_path / f"{name}.xml").write_text(f"<mujoco><worldbody>{more}{arm}</worldbody></mujoco>")
        robots[name] = lw.load(tmp_path / f"{name}.xml")
    q = np.array([[0.3]])
    (plain,) = robot_frames(robots["plain"], q)
    with pytest.warns(lw.errors.PictureWarning, match="not drawn: 'floor'"):
        (noted,) = robot_frames(robots["noted"], q)
    assert np.array_equal(plain, noted)
