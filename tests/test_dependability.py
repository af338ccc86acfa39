"""Equal calls have equal bits: alone or in a batch, in any thread, process or order, beside any other work."""

import hashlib
import multiprocessing
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import linkwork as lw
from linkwork.model.function_spec import QUANTITIES
from linkwork.robot.robot_table import ROBOT
from oracles.example_robots import shipped
from oracles.scalars import listed, names_for, share

every_function = pytest.mark.parametrize("name", ROBOT)


@pytest.fixture(scope="module")
def arm():
    return shipped("arm7_gripper")


@pytest.fixture(scope="module")
def legs():
    return shipped("quadruped")


def arguments(robot, name, size, seed=0):
    """Arrays for a function, and a frame if it takes one."""
    rng = np.random.default_rng(seed)
    row = ROBOT[name]
    arrays = [
        robot.random_configuration(rng, size=size)
        if QUANTITIES[key].shape == ("nq",)
        else rng.normal(size=(size, robot.nv))
        for key in row.inputs
    ]
    return arrays, names_for(robot.tree, row)


def flat(result, batch):
    """All the numbers of a function's arrays, sample by sample."""
    return np.concatenate([x.reshape(*batch, -1) for x in listed(result)], axis=-1)


# -- batches


@every_function
def test_single_sample_of_every_function_has_the_bits_of_a_batch(arm, legs, name):
    # no actuator moves a free base, so accelerations drawn at random are refused there
    both = name in share(0, 5) and name != "constrained_inverse_dynamics"
    for robot in (arm, legs) if both else (arm,):
        arrays, frame = arguments(robot, name, 19)
        method = getattr(robot, name)
        together = listed(method(*arrays, *frame))
        for k in range(19):
            sample = [np.ascontiguousarray(x[k]) for x in arrays]
            alone, numpys = method(*sample, *frame), method(*(x.tolist() for x in sample), *frame)
            for single, sample_value, all_of_it in zip(listed(alone), listed(numpys), together, strict=True):
                assert np.array_equal(single, all_of_it[k])  # the single call
                assert np.array_equal(sample_value, all_of_it[k])  # and NumPy's way


@every_function
def test_results_do_not_depend_on_the_division_or_order_of_a_batch(arm, name):
    arrays, frame = arguments(arm, name, 67)
    method = lambda *x: flat(getattr(arm, name)(*x), x[0].shape[:-1])  # noqa: E731
    together = method(*arrays, *frame)
    for size in (1, 2, 3, 7, 8, 9, 16, 17, 33):
        chunks = [method(*(x[k : k + size] for x in arrays), *frame) for k in range(0, 67, size)]
        assert np.array_equal(np.concatenate(chunks), together), size
    order = np.random.default_rng(1).permutation(67)
    assert np.array_equal(method(*(x[order] for x in arrays), *frame), together[order])
    backwards = method(*(x[::-1] for x in arrays), *frame)
    assert np.array_equal(backwards, together[::-1])
    assert np.array_equal(method(*(x.reshape(1, 67, 1, -1) for x in arrays), *frame)[0, :, 0], together)


def test_large_batch_has_the_bits_of_small_batches(arm):
    arrays, _ = arguments(arm, "inverse_dynamics", 100_000)
    dynamics_result = arm.inverse_dynamics(*arrays)
    for start in (0, 49_999, 99_990):
        assert np.array_equal(
            dynamics_result[start : start + 10], arm.inverse_dynamics(*(x[start : start + 10] for x in arrays))
        )
    assert np.all(np.isfinite(dynamics_result))


def test_repeated_call_gives_equal_bits_and_leaves_inputs_unchanged(legs):
    arrays, _ = arguments(legs, "forward_dynamics", 20)
    copies = [x.copy() for x in arrays]
    first = legs.forward_dynamics(*arrays)
    for _ in range(3):
        assert np.array_equal(legs.forward_dynamics(*arrays), first)
    assert all(np.array_equal(x, y) for x, y in zip(arrays, copies, strict=True))


def test_results_of_two_calls_share_no_memory(arm):
    q = arm.neutral()
    first, second = arm.mass_matrix(q), arm.mass_matrix(q)
    first[:] = 0.0
    assert np.any(second)
    assert np.array_equal(arm.mass_matrix(q), second)


# -- NaN


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e308], ids=str)
@pytest.mark.parametrize("size", [1, 8, 21])
def test_nan_and_infinity_affect_only_their_own_sample(legs, bad, size):
    kernel = legs.compile(["inverse_dynamics", "mass_matrix", "forward_kinematics"])
    arrays, _ = arguments(legs, "inverse_dynamics", size)
    clean = kernel(*arrays)
    for position in {0, size // 2, size - 1}:
        spoiled = [x.copy() for x in arrays]
        spoiled[0][position, 9] = bad
        outputs = kernel(*spoiled)
        remaining = np.arange(size) != position
        for x, y in zip(outputs, clean, strict=True):
            assert np.array_equal(x[remaining], y[remaining])
        if np.isnan(bad):
            assert np.any(np.isnan(outputs.mass_matrix[position]))


# -- threads


def in_threads(work, count=8):
    """Runs the work in many threads at once, and gives what each returned; an error in one is raised here."""
    barrier, results = threading.Barrier(count), [None] * count

    def run(k):
        barrier.wait()
        try:
            results[k] = work(k)
        except BaseException as error:
            results[k] = error

    threads = [threading.Thread(target=run, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


@pytest.mark.parametrize("name", ["inverse_dynamics", "pose"])
def test_threads_that_call_a_function_for_the_first_time_get_equal_results(name):
    expected_from = shipped("arm7")
    for _ in range(3):
        robot = lw.load("arm7")  # nothing is compiled yet
        arrays, frame = arguments(robot, name, 11)
        result = in_threads(lambda k: getattr(robot, name)(*arrays, *frame))  # noqa: B023 - done when it returns
        expected = getattr(expected_from, name)(*arrays, *frame)
        assert all(np.array_equal(x, expected) for x in result)


def test_threads_share_one_kernel_of_a_robot_function():
    robot = lw.load("double_pendulum")
    kernels = in_threads(lambda k: robot.compile("mass_matrix"))
    assert len({id(kernel) for kernel in kernels}) == 1


def test_threads_with_different_samples_do_not_affect_each_other(legs):
    """Each thread has its own samples; one is refused for its NaN, and the others are unaffected."""
    inputs = [arguments(legs, "inverse_dynamics", 200, seed=k)[0] for k in range(8)]
    expected = [legs.inverse_dynamics(*arrays) for arrays in inputs]

    def work(k):
        for _ in range(20):
            if k == 3:
                spoiled = inputs[k][0].copy()
                spoiled[57, 3] = np.nan
                with pytest.raises(ValueError, match=r"q\[57, 3\] is NaN"):
                    legs.inverse_dynamics(spoiled, *inputs[k][1:])
            assert np.array_equal(legs.inverse_dynamics(*inputs[k]), expected[k])
        return True

    assert all(in_threads(work))


# -- processes


def test_another_process_computes_equal_bits(arm):
    arrays, _ = arguments(arm, "inverse_dynamics", 9)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        dynamics_result = pool.apply(arm.inverse_dynamics, arrays)  # the robot travels with its method
    assert np.array_equal(dynamics_result, arm.inverse_dynamics(*arrays))


DIGEST = """
import hashlib, linkwork as lw, numpy as np
robot = lw.load("arm7_gripper", floating_base=True)
q = robot.random_configuration(seed=0, size=5)
v = np.ones(robot.nv)
parts = [robot.inverse_dynamics(q, v, v).tobytes(), robot.jacobian(q, "tool").tobytes(), repr(robot.joints).encode(),
         repr(robot.frames).encode(), repr(robot.report).encode(),
         repr(robot.compile("mass_matrix").program.instructions).encode()]
print(hashlib.sha256(b"".join(parts)).hexdigest())
"""


@pytest.mark.slow
def test_results_do_not_depend_on_pythons_hash_seed():
    digests = set()
    for seed in ("0", "1", "2", "3"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", DIGEST], env=environment, capture_output=True, text=True, check=True
        )
        digests.add(done.stdout.strip())
    assert len(digests) == 1
    assert len(digests.pop()) == len(hashlib.sha256().hexdigest())
