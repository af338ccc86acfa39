"""Ranges of random values, delays of sensors and spaces of tasks, on both sides of what is accepted."""

from dataclasses import replace

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

import linkwork as lw  # noqa: E402
from linkwork.environments import TASKS, Push, Randomization, randomization, stable_baselines  # noqa: E402
from linkwork.environments.environment_kernels import _InEpisode  # noqa: E402
from linkwork.environments.randomization import RandomizedTask  # noqa: E402
from linkwork.simulation import Encoder  # noqa: E402

BELOW_ZERO = -5e-324
WRENCH = [1.0, -2.0, 3.0, 0.5, 0.25, -0.125]


def refused(words, function, *arguments, error=ValueError, **options):
    with pytest.raises(error, match=words):
        function(*arguments, **options)


def test_ranges_of_random_values_that_are_empty_or_negative_are_refused():
    seconds = randomization._read_seconds
    assert float(seconds("f", "x", 0.5).low) == 0.5 and float(seconds("f", "x", (0.0, 0.25)).high) == 0.25
    refused(r"f: x: expected durations >= 0 \[s\]", seconds, "f", "x", (BELOW_ZERO, 1.0))
    refused("f: x: expected finite bounds with low <= high", seconds, "f", "x", (0.5, 0.25))
    Push("cart", WRENCH, interval=0.25, duration=0.25)
    Push("cart", WRENCH, interval=(0.0, 1.0), duration=1e-3)
    words = "Push: interval, duration: expected at least one lower bound > 0"
    refused(words, Push, "cart", WRENCH, interval=(0.0, 1.0), duration=0.0)
    refused(
        "Push: interval: expected a number or a pair", Push, "cart", WRENCH, interval=lambda rng: 1.0, error=TypeError
    )
    Randomization(noise=0.5), Randomization(noise=[0.0, 0.25])
    for noise in (BELOW_ZERO, [0.5, -0.1], [[0.5]]):
        refused("Randomization: noise: expected standard deviations >= 0", Randomization, noise=noise)


def test_parameters_of_contacts_have_values_and_no_scales():
    hopper = TASKS["hopper"]()
    task = RandomizedTask(hopper, Randomization(parameters={"contact_friction": (0.25, 0.5)}))
    drawn = task.parameters["contact_friction"].draw(np.random.default_rng(1))
    assert ((drawn >= 0.25) & (drawn <= 0.5)).all()
    words = "contact_friction.*: expected a parameter of the robot; use parameters= with values"
    refused(words, RandomizedTask, hopper, Randomization(scales={"contact_friction": 0.5}))
    words = "contact_friction.*: expected values >= 0"
    refused(words, RandomizedTask, hopper, Randomization(parameters={"contact_friction": (BELOW_ZERO, 0.5)}))
    RandomizedTask(hopper, Randomization(parameters={"contact_friction": (0.0, 0.5)}))
    words = "contact_friction.*: expected a task with contacts, got one without"
    refused(words, RandomizedTask, TASKS["cart_pole"](), Randomization(parameters={"contact_friction": 0.5}))


def test_pushes_of_an_episode_beyond_the_limit_are_refused():
    task = TASKS["cart_pole"]()
    duration = task.horizon * task.steps_per_action * task.dt

    def pushes(count):
        return Randomization(pushes=Push("cart", WRENCH, interval=duration / (count - 0.5), duration=0.0))

    most = randomization._MOST_PUSHES
    assert most == 1000
    RandomizedTask(task, pushes(most))
    words = f"Push: interval, duration: expected at most 1000 pushes in an episode of {duration:g} s, got up to 1001"
    refused(words, RandomizedTask, task, pushes(most + 1))


def test_noise_and_bias_widen_the_bounds_of_observations():
    task = replace(TASKS["cart_pole"](), observation_bounds=([-2.0] * 3, [3.0] * 3))
    randomized = RandomizedTask(task, Randomization(noise=[0.5, 0.0, 0.0], bias=(-0.25, 0.5)))
    randomized.fit_observations(3)
    low, high = randomized.bounds
    assert low.tolist() == [-np.inf, -2.25, -2.25] and high.tolist() == [np.inf, 3.5, 3.5]


def test_invalid_contacts_joints_and_delays_of_tasks_are_refused():
    task = TASKS["cart_pole"]()
    refused("ControlTask: contacts: expected", replace, task, contacts=(), error=TypeError)
    period = task.dt * task.steps_per_action
    for delay in (0.0, 2.0 * period, 3.0 * period * (1.0 + 1e-7)):
        replace(task, sensors={"angle": Encoder(delay=delay)})
    for delay in (0.5 * period, period * (1.0 + 3e-6)):
        words = r"ControlTask: sensors\['angle'\]: expected a delay that is a multiple of dt · steps_per_action"
        refused(words, replace, task, sensors={"angle": Encoder(delay=delay)})
    links = lw.Link("base"), lw.Link("body", mass=1.0)
    robot = lw.Robot.build("free", *links, lw.Joint.of(lw.joints.Floating(), name="float", parent="base", child="body"))
    words = "ControlTask: joints: 'float' has 6 degrees of freedom, expected 1"
    refused(words, replace, task, robot=robot, joints=("float",), efforts=(1.0,))


def test_spaces_and_observations_of_goals_are_in_single_precision():
    Box, Dict = gymnasium.spaces.Box, gymnasium.spaces.Dict
    space = Box(-np.arange(1.0, 4.0), np.arange(1.0, 4.0), (3,), np.float64)
    for result in (
        stable_baselines._single_precision(space),
        stable_baselines._single_precision(Dict({"goal": space}))["goal"],
    ):
        assert (
            result.dtype == np.float32
            and result.low.tolist() == [-1.0, -2.0, -3.0]
            and result.high.tolist() == [1, 2, 3]
        )
    x = np.array([0.1, 0.2])
    for result in (stable_baselines._as_float32(x), stable_baselines._as_float32({"goal": x})["goal"]):
        assert result.dtype == np.float32 and (result == x.astype(np.float32)).all()


def test_controllers_within_episodes_have_a_start_if_their_law_has_one():
    law = lw.control.PD(lw.load("double_pendulum"), 1.0, 1.0)
    assert _InEpisode(law, 0.0, {}, np.array([0.5])).start.tolist() == [0.5]
    assert not hasattr(_InEpisode(law, 0.0, {}, None), "start")
