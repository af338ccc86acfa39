"""Randomised environments: identities with plain environments and simulations, and distributions of random values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import linkwork as lw

gymnasium = pytest.importorskip("gymnasium")
stats = pytest.importorskip("scipy.stats")

from linkwork.environments import TASKS, Push, Randomization, SingleEnvironment, VectorEnvironment  # noqa: E402
from linkwork.simulation import IMU, Encoder  # noqa: E402

ALONG = np.array([0.0, 0.0, 0.0, 5.0, 0.0, 0.0])
VARIED = Randomization(
    parameters={"damping": ([0.0, 0.1], [0.2, 0.3]), "gravity": lambda rng: [0.1, 0.0, -9.8 + 0.2 * rng.normal()]},
    scales={"inertia:pole": (0.5, 2.0)},
    noise=0.01,
    bias=(-0.1, 0.1),
    action_delay=(0, 2),
    observation_delay=(0, 3),
    pushes=Push("cart", (-ALONG, ALONG), interval=(0.05, 0.2), duration=(0.01, 0.05)),
)


def _measured_cart_pole(horizon: int = 25) -> Any:
    base = TASKS["cart_pole"]()
    noisy = {"imu": IMU("pole", noise=0.1, delay=0.02), "encoder": Encoder(noise=1e-3, resolution=1e-2)}

    def observe(q: Any, v: Any, goal: Any, last_action: Any, imu: Any, encoder: Any) -> list[Any]:
        return [*base.observe(q, v, goal), *last_action, *imu, *encoder]

    return replace(base, observe=observe, sensors=noisy, horizon=horizon, observation_bounds=None)


def _endless(task: Any) -> Any:
    """Return a task whose episodes do not end by failure."""
    return replace(task, failed=lambda q, v, goal: 0.0)


@pytest.mark.costly
@pytest.mark.parametrize("name", TASKS)
def test_randomization_with_ranges_of_zero_width_changes_no_bit(name: str) -> None:
    task = TASKS[name]()
    robot: Any = task.robot
    link = next(link.name for link in robot.links[1:] if link.mass > 0.0)
    constant = Randomization(
        parameters={"gravity": robot.gravity},
        scales={f"inertia:{link}": 1.0, "damping": (1.0, 1.0)},
        pushes=Push(link, np.zeros(6)),
        action_delay=(0, 0),
    )
    plain, varied = VectorEnvironment(name, 3), VectorEnvironment(name, 3, randomization=constant)
    assert np.array_equal(plain.reset(seed=4)[0], varied.reset(seed=4)[0])
    rng = np.random.default_rng(1)
    for _ in range(30):
        actions = rng.uniform(-1.2, 1.2, plain.action_space.shape)
        for a, b in zip(plain.step(actions)[:4], varied.step(actions)[:4], strict=True):
            assert np.array_equal(a, b)


@pytest.mark.costly
@pytest.mark.parametrize("delay", [1, 3])
def test_action_delay_equals_actions_shifted_in_time(delay: int) -> None:
    task = _endless(replace(TASKS["hopper"](), horizon=40))
    late = VectorEnvironment(task, 2, randomization=Randomization(action_delay=delay))
    plain = VectorEnvironment(task, 2)
    assert np.array_equal(late.reset(seed=1)[0], plain.reset(seed=1)[0])
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (30, 2, 3))
    shifted = np.concatenate([np.zeros((delay, 2, 3)), actions])[:30]
    for action, acting in zip(actions, shifted, strict=True):
        for a, b in zip(late.step(action)[:4], plain.step(acting)[:4], strict=True):
            assert np.array_equal(a, b)


@pytest.mark.parametrize("delay", [1, 4])
def test_observation_delay_shifts_all_entries_except_the_goal_and_the_last_action(delay: int) -> None:
    base = TASKS["reacher"]()
    task = replace(
        base,
        observe=lambda q, v, goal, last_action: [*base.observe(q, v, goal), *last_action],
        observation_bounds=None,
        horizon=12,
    )
    late, plain = (VectorEnvironment(task, 2, randomization=Randomization(observation_delay=d)) for d in (delay, 0))
    rows: list[list[Any]] = [[], []]
    rng = np.random.default_rng(0)
    actions = [None, *rng.uniform(-1.0, 1.0, (26, 2, 2))]
    for action in actions:
        for envs, row in zip((late, plain), rows, strict=True):
            row.append(envs.reset(seed=2)[0] if action is None else envs.step(action)[0])
    observed, exact = (np.array(x) for x in rows)
    for first, last in ((0, 13), (13, 26)):  # two episodes
        shown, true = observed[first:last], exact[first:last]
        shifted = true[np.maximum(np.arange(last - first) - delay, 0)]
        np.testing.assert_allclose(shown[..., :6], shifted[..., :6], rtol=0, atol=1e-12)
        assert np.array_equal(shown[..., 6:8], true[..., 6:8]) and np.array_equal(shown[..., 10:], true[..., 10:])


@pytest.mark.slow(every=5)
def test_a_random_push_equals_an_external_wrench_of_a_simulation() -> None:
    task = _endless(replace(TASKS["cart_pole"](), horizon=30))
    robot: Any = task.robot
    drawn = Push("pole", lambda rng: 2.0 * rng.normal(size=6), (0.01, 0.1), (0.003, 0.06), expressed_in="pole")
    turned = Push("cart", (-ALONG, ALONG), (0.02, 0.1), 0.011)
    again = Push("pole", np.full(6, 0.3), (0.0, 0.05), (0.02, 0.03), expressed_in="pole")
    envs = VectorEnvironment(task, 3, randomization=Randomization(pushes=(drawn, turned, again)))
    info = envs.reset(seed=3)[1]["randomization"]
    q0, v0 = envs.state
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (30, 3, 1))
    for action in actions:
        envs.step(action)
    steps = 30 * task.steps_per_action
    counts = [1 + int(30 * 0.02 / low) for low in (0.013, 0.031, 0.02)]
    assert info["push_times"].shape == (3, sum(counts), 2)
    frames = np.repeat([0, 1, 0], counts)
    for k in range(3):
        rows = np.zeros((2, steps, 6))
        for frame, (begin, end), wrench in zip(frames, info["push_times"][k], info["push_wrenches"][k], strict=True):
            rows[frame, round(begin / task.dt) : round(end / task.dt)] += wrench
        assert (rows[0] != 0.0).any() and (rows[1] != 0.0).any()
        tau = np.repeat([task.efforts[0] * actions[:, k, 0]], task.steps_per_action, axis=0).T.ravel()
        run = robot.simulate(
            q0[k],
            v0[k],
            controller=lambda t, q, v, tau: [tau, 0.0],
            time_inputs={"tau": tau},
            duration=steps * task.dt,
            dt=task.dt,
            wrenches={"pole": rows[0], "cart": rows[1]},
            expressed_in={"pole": "pole", "cart": "world"},
        )
        np.testing.assert_allclose(envs.state[0][k], run.q[-1], rtol=0, atol=1e-10)
        np.testing.assert_allclose(envs.state[1][k], run.v[-1], rtol=0, atol=1e-10)


@pytest.mark.slow(every=3)
def test_environments_with_random_parameters_equal_simulations_of_edited_robots() -> None:
    """Each environment moves as one of a robot with the masses, lengths and damping that `info` states."""
    task = _endless(replace(TASKS["cart_pole"](), horizon=20))

    def observe(q: Any, v: Any, goal: Any, robot: Any) -> list[Any]:
        return [*q, *v, robot.pose(q, "pole")[0, 3]]

    task = replace(task, observe=observe, observation_bounds=None)
    varied = Randomization(
        parameters={"damping": ([0.0, 0.1], [0.2, 0.3]), "placement:pivot": lambda rng: 0.1 * rng.normal(size=6)},
        scales={"inertia:p*": (0.5, 2.0), "inertia:cart": (0.8, 1.2)},
    )
    envs = VectorEnvironment(task, 3, randomization=varied)
    info = envs.reset(seed=5)[1]["randomization"]
    names = ("damping", "placement_pivot", "inertia_pole", "inertia_cart")
    assert all(np.ptp(info[name], axis=0).max() > 1e-3 and info[f"_{name}"].all() for name in names)
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (12, 3, 1))
    rows = np.array([envs.step(action)[0] for action in actions])
    plain = VectorEnvironment(task, 3)
    plain.reset(seed=5)
    nominal = np.array([plain.step(action)[0] for action in actions])
    for k in range(3):
        robot: Any = task.robot
        edited = robot.with_parameters({name: info[name][k] for name in names})
        alone = VectorEnvironment(replace(task, robot=edited), 3)
        alone.reset(seed=5)
        expected = np.array([alone.step(action)[0] for action in actions])
        np.testing.assert_allclose(rows[:, k], expected[:, k], rtol=0, atol=1e-10)
        assert np.abs(rows[:, k] - nominal[:, k]).max() > 1e-3


@pytest.mark.slow(every=3)
def test_each_environment_uses_its_random_contact_friction() -> None:
    """The sole of each hopper that slides is braked by its own friction."""
    base = TASKS["hopper"]()

    def start(rng: Any) -> Any:
        q, v = base.start(rng)
        v[0] = 1.0
        return q, v

    task = replace(base, start=start, horizon=50)
    envs = VectorEnvironment(task, 2, randomization=Randomization(parameters={"contact_friction": (0.0, 1.0)}))
    info = envs.reset(seed=6)[1]["randomization"]
    for _ in range(6):
        envs.step(np.zeros((2, 3)))
    for k in range(2):
        ground = replace(base.contacts, friction=float(info["contact_friction"][k]))
        alone = VectorEnvironment(replace(task, contacts=ground), 2)
        alone.reset(seed=6)
        for _ in range(6):
            alone.step(np.zeros((2, 3)))
        np.testing.assert_allclose(envs.state[1][k], alone.state[1][k], rtol=0, atol=1e-7)
    assert abs(envs.state[1][0, 0] - envs.state[1][1, 0]) > 1e-3


@pytest.mark.slow(every=5)
def test_seeds_determine_all_random_values_for_any_number_of_environments() -> None:
    task = _measured_cart_pole()
    seeds = [7, 8, 7, 2**40]
    many = VectorEnvironment(task, 4, randomization=VARIED)
    few = VectorEnvironment(task, 2, randomization=VARIED)
    single = [SingleEnvironment(task, randomization=VARIED) for _ in seeds]
    observations, info = many.reset(seed=seeds)
    for k, seed in enumerate(seeds):
        observation, alone = single[k].reset(seed=seed)
        assert np.array_equal(observation, observations[k])
        for name, value in alone["randomization"].items():
            assert np.array_equal(value, info["randomization"][name][k])
    assert not np.array_equal(observations[0], observations[1])
    rng, ends, over = np.random.default_rng(0), 0, np.zeros(4, bool)
    for _ in range(60):
        actions = rng.uniform(-1.0, 1.0, (4, 1))
        actions[2] = actions[0]
        observations, rewards, terminated, truncated, info = many.step(actions)
        for k in range(4):
            if over[k]:
                observation, alone = single[k].reset()
                assert info["_randomization"][k] and np.array_equal(
                    alone["randomization"]["inertia_pole"], info["randomization"]["inertia_pole"][k]
                )
            else:
                observation, reward, *_ = single[k].step(actions[k])
                assert reward == rewards[k]
            assert np.array_equal(observation, observations[k])
        assert np.array_equal(observations[0], observations[2])
        over = terminated | truncated
        ends += int(over.sum())
    assert ends >= 6
    assert np.array_equal(many.reset(seed=11)[0][:2], few.reset(seed=11)[0])
    for actions in rng.uniform(-1.0, 1.0, (30, 4, 1)):
        assert np.array_equal(many.step(actions)[0][:2], few.step(actions[:2])[0])


@pytest.mark.slow(every=3)
def test_random_values_have_the_stated_distributions() -> None:
    """Kolmogorov-Smirnov and chi-squared tests; each fails for a right distribution in one of 10⁴ seeds."""
    n, task = 4000, _endless(replace(TASKS["cart_pole"](), horizon=50))
    varied = Randomization(
        scales={"inertia:pole": (0.5, 2.0)},
        parameters={"gravity": ([0.0, -1.0, -11.0], [1.0, 1.0, -9.0])},
        noise=[0.1, 0.0, 0.2, 0.3],
        bias=([-1.0, 2.0, 0.0, 0.0], [1.0, 3.0, 0.0, 0.0]),
        action_delay=(1, 4),
        observation_delay=(0, 2),
        pushes=Push("cart", (-ALONG, ALONG), interval=(0.3, 0.5), duration=(0.1, 0.2)),
    )
    envs = VectorEnvironment(task, n, randomization=varied)
    exact = VectorEnvironment(task, n).reset(seed=0)[0]
    observations, info = envs.reset(seed=0)
    drawn = info["randomization"]

    def uniform(values: Any, low: float, high: float) -> None:
        assert values.min() >= low and values.max() <= high
        assert stats.kstest(values, stats.uniform(low, high - low).cdf).pvalue > 1e-4

    uniform(drawn["inertia_pole"][:, 0] / 0.1, 0.5, 2.0)
    for k, (low, high) in enumerate(((0.0, 1.0), (-1.0, 1.0), (-11.0, -9.0))):
        uniform(drawn["gravity"][:, k], low, high)
    assert abs(np.corrcoef(drawn["gravity"].T) - np.eye(3)).max() < 4.0 / np.sqrt(n)
    uniform(drawn["bias"][:, 0], -1.0, 1.0)
    uniform(drawn["bias"][:, 1], 2.0, 3.0)
    assert (drawn["bias"][:, 2:] == 0.0).all()
    for name, values in (("action_delay", range(1, 5)), ("observation_delay", range(3))):
        counts = [int((drawn[name] == x).sum()) for x in values]
        assert sum(counts) == n and stats.chisquare(counts).pvalue > 1e-4
    times, half = drawn["push_times"], 0.5 * task.dt  # times are rounded to steps
    gaps = np.concatenate([times[:, :1, 0], times[:, 1:, 0] - times[:, :-1, 1]], axis=1).ravel()
    lengths = (times[..., 1] - times[..., 0]).ravel()
    rng = np.random.default_rng(1)
    for values, low, high in ((gaps, 0.3, 0.5), (lengths, 0.1, 0.2)):
        assert values.min() >= low - 2.0 * half and values.max() <= high + 2.0 * half
        spread = stats.uniform(low, high - low).cdf
        smooth = values + rng.triangular(-2.0 * half, 0.0, 2.0 * half, values.shape)
        assert stats.kstest(rng.choice(smooth, 2000, replace=False), spread).pvalue > 1e-4
    uniform(drawn["push_wrenches"][:, 0, 3], -5.0, 5.0)
    noise = observations - exact - drawn["bias"]
    for k, size in enumerate((0.1, None, 0.2, 0.3)):
        if size is None:
            assert np.abs(noise[:, k]).max() < 1e-14
        else:
            assert stats.kstest(noise[:, k], stats.norm(0.0, size).cdf).pvalue > 1e-4
    assert abs(np.corrcoef(noise[:, 0], noise[:, 2])[0, 1]) < 4.0 / np.sqrt(n)
    plain = VectorEnvironment(task, 1, randomization=Randomization(noise=0.1))
    row = [plain.reset(seed=1)[0][0], *(plain.step(np.zeros((1, 1)))[0][0] for _ in range(40))]
    true = VectorEnvironment(task, 1)
    expected = [true.reset(seed=1)[0][0], *(true.step(np.zeros((1, 1)))[0][0] for _ in range(40))]
    samples = (np.array(row) - expected).ravel() / 0.1
    assert stats.kstest(samples, "norm").pvalue > 1e-4 and len(set(samples.round(9))) == samples.size


@pytest.mark.slow(every=5)
def test_sensor_readings_of_environments_equal_those_of_simulations() -> None:
    """Without noise readings equal those of one long simulation; noise, bias, delay and resolution act on them."""
    base = TASKS["cart_pole"]()
    exact = {"imu": IMU("pole"), "rate": Encoder(of="velocity")}

    def observe(q: Any, v: Any, goal: Any, imu: Any, rate: Any) -> list[Any]:
        return [*imu, *rate]

    task = _endless(replace(base, observe=observe, sensors=exact, horizon=20, observation_bounds=None))
    envs = VectorEnvironment(task, 2)
    rows = [envs.reset(seed=3)[0]]
    q0, v0 = envs.state
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (15, 2, 1))
    rows += [envs.step(action)[0] for action in actions]
    observed = np.array(rows)
    robot: Any = task.robot
    for k in range(2):
        run = robot.simulate(
            q0[k],
            v0[k],
            controller=lambda t, q, v, tau: [tau, 0.0],
            time_inputs={"tau": np.repeat(task.efforts[0] * actions[:, k, 0], 4)},
            duration=60 * task.dt,
            dt=task.dt,
            sensors=exact,
            record_every=4,
        )
        both = np.concatenate([run.records["imu"], run.records["rate"]], axis=-1)
        np.testing.assert_allclose(observed[:, k], both, rtol=0, atol=1e-9)
    period = task.dt * task.steps_per_action
    late = {"imu": IMU("pole", bias=0.25, delay=2 * period), "rate": Encoder(of="velocity", resolution=0.1, bias=0.07)}
    disturbed = VectorEnvironment(replace(task, sensors=late), 2, randomization=Randomization(observation_delay=1))
    rows = [disturbed.reset(seed=3)[0], *(disturbed.step(action)[0] for action in actions)]
    at = np.arange(16)
    np.testing.assert_allclose(
        np.array(rows)[..., :6], observed[np.maximum(at - 3, 0), :, :6] + 0.25, rtol=0, atol=1e-12
    )
    rounded = 0.1 * np.floor((observed[np.maximum(at - 1, 0), :, 6:] + 0.07) / 0.1 + 0.5)
    np.testing.assert_allclose(np.array(rows)[..., 6:], rounded, rtol=0, atol=1e-12)
    noisy = {"imu": IMU("pole", noise=(0.1, 0.2, 0.3, 0.0, 0.0, 0.0)), "rate": Encoder(of="velocity")}
    many = VectorEnvironment(replace(task, sensors=noisy), 3000)
    noise = many.reset(seed=1)[0] - VectorEnvironment(task, 3000).reset(seed=1)[0]
    assert np.abs(noise[:, 3:]).max() < 1e-12
    for k, size in enumerate((0.1, 0.2, 0.3)):
        assert stats.kstest(noise[:, k], stats.norm(0.0, size).cdf).pvalue > 1e-4


@pytest.mark.slow(every=5)
def test_checks_of_gymnasium_and_its_wrappers_accept_randomised_environments() -> None:
    from gymnasium.utils.env_checker import check_env
    from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics

    environment = gymnasium.make("linkwork.environments:linkwork/cart_pole-v0", randomization=VARIED)
    assert "action_delay" in environment.reset(seed=0)[1]["randomization"]
    with pytest.warns(UserWarning, match="A Box observation space"):  # noise has no bounds
        check_env(SingleEnvironment(_measured_cart_pole(), randomization=VARIED), skip_render_check=True)
    envs = gymnasium.make_vec("linkwork/cart_pole-v0", num_envs=3, randomization=VARIED)
    listed = DictInfoToList(RecordEpisodeStatistics(envs))
    _, info = listed.reset(seed=1)
    assert len(info) == 3 and info[1]["randomization"]["inertia_pole"].shape == (10,)
    for _ in range(5):
        listed.step(envs.action_space.sample())


@pytest.mark.slow(every=9)
def test_stable_baselines_accepts_randomised_environments() -> None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its imports
        baselines = pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed")
        from stable_baselines3.common.env_checker import check_env
        from stable_baselines3.common.env_util import make_vec_env
    check_env(SingleEnvironment(_measured_cart_pole(), randomization=VARIED))
    environments = make_vec_env("linkwork/cart_pole-v0", n_envs=2, seed=1, env_kwargs={"randomization": VARIED})
    model = baselines.PPO("MlpPolicy", environments, n_steps=16, batch_size=16, n_epochs=1, seed=0, device="cpu")
    model.learn(32)
    assert np.isfinite(environments.step(model.predict(environments.reset())[0])[1]).all()


@pytest.mark.parametrize("name", TASKS)
def test_observations_of_randomised_environments_stay_within_the_bounds_of_the_space(name: str) -> None:
    space = VectorEnvironment(name).single_observation_space
    finite = {"pendulum": 2, "cart_pole": 0, "acrobot": 4, "reacher": 8, "hopper": 0}
    assert np.isfinite(space.low).sum() == np.isfinite(space.high).sum() == finite[name]
    task = TASKS[name]()
    if not finite[name]:
        return
    observe = lw.compile(
        lambda q, v, goal: lw.expr.array(list(task.observe(q, v, goal))),
        q=task.robot.configuration_space,  # type: ignore[attr-defined]
        v=(task.robot.nv,),
        goal=np.shape(task.goal(np.random.default_rng(0))),
    )
    rng, largest = np.random.default_rng(0), 0.0
    turns = np.linspace(-8.0, 8.0, 65) * np.pi
    for _ in range(200):
        q = rng.choice(turns, task.robot.nq)
        row = observe(q, rng.normal(size=task.robot.nv), np.asarray(task.goal(rng), float))
        assert space.contains(np.asarray(row))
        largest = max(largest, float(np.max(np.abs(row) / np.where(np.isfinite(space.high), space.high, np.inf))))
    assert largest > 0.99  # bounds are reached
    widened = VectorEnvironment(name, randomization=Randomization(bias=(-0.5, 0.25))).single_observation_space
    fits = np.isfinite(space.low)
    assert np.allclose(widened.low[fits], space.low[fits] - 0.5) and np.allclose(
        widened.high[fits], space.high[fits] + 0.25
    )
    noisy = VectorEnvironment(name, randomization=Randomization(noise=0.1)).single_observation_space
    assert np.isinf(noisy.low).all() and np.isinf(noisy.high).all()


def test_invalid_randomizations_are_refused() -> None:
    def cart(**values: Any) -> Any:
        return lambda: VectorEnvironment("cart_pole", randomization=Randomization(**values))

    unknown = lw.errors.UnknownNameError
    for call, error, words in (
        (
            lambda: VectorEnvironment("cart_pole", randomization={}),
            TypeError,
            "randomization: expected a Randomization",
        ),
        (cart(scales={"inertia:pol": 2.0}), unknown, "randomization: no link named 'pol'; did you mean 'pole'"),
        (cart(scales={"inertia:pole": (2.0, 1.0)}), ValueError, r"scales\['inertia:pole'\]: expected .* low <= high"),
        (
            cart(scales={"inertia:pole": (-1.0, 1.0)}),
            ValueError,
            r"scales\['inertia:pole'\]: the robot does not accept",
        ),
        (cart(scales={"friction": (0.5, 2.0)}), ValueError, "are 0, which factors do not change; use parameters="),
        (cart(scales={"inertia:pole": "x"}), TypeError, r"expected a number, an array of shape \(10,\), a pair"),
        (
            cart(parameters={"damping": ([0.0] * 3, [1.0] * 3)}),
            ValueError,
            r"expected a number, an array of shape \(2,\)",
        ),
        (
            cart(parameters={"gravity": lambda rng: [1.0, 2.0]}),
            ValueError,
            r"expected values of shape \(3,\), got \(2,\)",
        ),
        (
            cart(parameters={"gravity": lambda rng: np.nan}),
            ValueError,
            "expected a function that returns finite numbers",
        ),
        (
            cart(scales={"inertia:pole": 2.0}, parameters={"inertia:pole": lambda rng: np.ones(10)}),
            ValueError,
            "inertia_pole also has another range",
        ),
        (
            cart(parameters={"gravity": (-10.0, -9.0)}),
            ValueError,
            r"'gravity'\]: expected arrays \(3,\): gravity in the",
        ),
        (cart(parameters={"inertia:pole": 0.5}), ValueError, r"expected arrays \(10,\): .*scales=.* for factors"),
        (cart(parameters={"placement:pivot": (-0.1, 0.1)}), ValueError, r"arrays \(6,\): .*rotation vector"),
        (cart(parameters={"contact_friction": 0.5}), ValueError, "expected a task with contacts"),
        (cart(noise=-1.0), ValueError, "noise: expected standard deviations >= 0"),
        (cart(noise=[1.0, 2.0]), ValueError, r"noise: expected a number or shape \(4,\)"),
        (cart(bias=([0.0] * 3, [1.0] * 3)), ValueError, r"bias: expected a number, an array of shape \(4,\)"),
        (cart(action_delay=(2, 1)), ValueError, "action_delay: expected low <= high"),
        (cart(action_delay=-1), ValueError, "action_delay: expected a number of actions, or a pair of them, >= 0"),
        (cart(observation_delay=1.5), TypeError, "observation_delay: expected a number of actions"),
        (cart(pushes=["cart"]), TypeError, r"pushes\[0\]: expected a Push"),
        (cart(pushes=Push("crt", ALONG)), unknown, "did you mean 'cart'"),
        (lambda: Push("cart", [1.0]), TypeError, r"Push: wrench: expected a number, an array of shape \(6,\)"),
        (lambda: Push("cart", ALONG, interval=0.0, duration=0.0), ValueError, "at least one lower bound > 0"),
        (lambda: Push("cart", ALONG, interval=(-1.0, 1.0)), ValueError, "interval: expected durations >= 0"),
        (cart(pushes=Push("cart", ALONG, 0.0, 1e-4)), ValueError, "expected at most 1000 pushes"),
        (
            cart(pushes=(Push("cart", ALONG), Push("cart", ALONG, expressed_in="cart"))),
            ValueError,
            "expressed_in: expected the same axes for all pushes on 'cart'",
        ),
    ):
        with pytest.raises(error, match=words):
            call()
