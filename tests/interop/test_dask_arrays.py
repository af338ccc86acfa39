"""Functions of robots and kernels with Dask's arrays: lazy, and equal to NumPy's results to the bit."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import dask
import dask.array as da
import dask.bag
import numpy as np
import pytest
import xarray as xr

import linkwork as lw
from linkwork.model.function_spec import QUANTITIES
from linkwork.robot.robot_table import ROBOT
from oracles.scalars import names_for

CUTS = (7, 20, (1, 30, 19))  # chunks of 50 samples


@pytest.fixture(scope="module")
def arm() -> lw.Robot:
    return lw.load("arm7")


@pytest.fixture(scope="module")
def walker() -> lw.Robot:
    return lw.load("quadruped", floating_base=True)


def lazy(x: np.ndarray, cut: Any = 20) -> Any:
    return da.from_array(x, chunks=(cut, *x.shape[1:]))


def states(robot: lw.Robot, count: int = 50) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [robot.random_configuration(rng, size=count), *rng.normal(size=(2, count, robot.nv))]


def assert_same(result: Any, expected: Any) -> None:
    """Assert that lazy results have the type and shape of NumPy's, and the same bits when computed."""
    if isinstance(expected, tuple):
        assert result._fields == expected._fields
        for x, y in zip(result, expected, strict=True):
            assert_same(x, y)
        return
    assert isinstance(result, da.Array) and (result.shape, result.dtype) == (expected.shape, expected.dtype)
    computed = np.asarray(result.compute(scheduler="threads"))
    assert (computed.shape, computed.dtype) == (expected.shape, expected.dtype)
    assert computed.tobytes() == np.asarray(expected).tobytes()


@pytest.mark.parametrize("name", ROBOT)
def test_every_robot_function_of_dask_arrays_is_lazy_and_gives_numpys_bits(arm: lw.Robot, name: str) -> None:
    robot, row = arm, ROBOT[name]
    rng = np.random.default_rng(0)
    arrays = [
        robot.random_configuration(rng, size=9) if QUANTITIES[key].configuration else rng.normal(size=(9, robot.nv))
        for key in row.inputs
    ]
    names = names_for(robot.tree, row)
    method = getattr(robot, name)
    assert_same(method(*(lazy(x, 4) for x in arrays), *names), method(*arrays, *names))


def test_any_argument_of_a_robot_function_may_be_a_dask_array_with_any_chunks(walker: lw.Robot) -> None:
    q, v, a = states(walker)
    expected = walker.inverse_dynamics(q, v, a)
    for cut in CUTS:
        assert_same(walker.inverse_dynamics(lazy(q, cut), lazy(v, cut), lazy(a, cut)), expected)
        assert_same(walker.inverse_dynamics(lazy(q, cut), lazy(v, 13), a), expected)
    assert_same(walker.inverse_dynamics(q, v, lazy(a)), expected)
    assert_same(walker.inverse_dynamics(q.tolist(), lazy(v), a), expected)
    single = walker.inverse_dynamics(q[0], v[0], a[0])
    assert_same(walker.inverse_dynamics(lazy(q)[0], v[0], a[0].tolist()), single)
    assert_same(
        walker.inverse_dynamics(lazy(q)[:, None], v[:3], a[0]), walker.inverse_dynamics(q[:, None], v[:3], a[0])
    )
    assert_same(walker.kinetic_energy(lazy(q)[0], v[0]), np.asarray(walker.kinetic_energy(q[0], v[0])))


def test_dtypes_of_lazy_dask_results_equal_numpys(arm: lw.Robot, walker: lw.Robot) -> None:
    q, v, _ = states(arm)
    rough = q.astype(np.float32)
    for x, y in (
        (rough, v.astype(np.float32)),
        (rough, v),
        (np.round(q).astype(np.int8), rough),
        (q.astype(int), rough),
    ):
        assert_same(arm.integrate(lazy(x), lazy(y)), arm.integrate(x, y))
    whole, _, _ = states(walker)
    rough = whole.astype(np.float32)
    assert_same(walker.pose(lazy(rough), "hind_right_foot"), walker.pose(rough, "hind_right_foot"))


def test_lazy_functions_computed_in_float64_round_to_float32_and_accept_empty_batches(arm: lw.Robot) -> None:
    bars = lw.load("fourbar")
    q = np.tile(bars.neutral(), (6, 1)).astype(np.float32)
    v = np.zeros((6, bars.nv), dtype=np.float32)
    expected = bars.constrained_forward_dynamics(q, v, v)
    assert expected.a.dtype == np.float32
    assert_same(bars.constrained_forward_dynamics(lazy(q, 4), v, v), expected)
    assert_same(bars.constrained_forward_dynamics(q, lazy(v, 4), v), expected)
    kernel = bars.compile("constrained_forward_dynamics")
    assert_same(kernel(q, v, lazy(v, 4)), kernel(q, v, v))
    assert_same(arm.pose(da.zeros((0, 7)), "hand"), arm.pose(np.zeros((0, 7)), "hand"))


def test_lazy_dask_arrays_are_accepted_in_dicts_wrenches_and_options(arm: lw.Robot, walker: lw.Robot) -> None:
    q, v, a = states(arm)
    first, second = arm.joints[0].name, arm.joints[2].name
    assert_same(arm.pose({first: lazy(q)[:, 0], second: 0.3}, "hand"), arm.pose({first: q[:, 0], second: 0.3}, "hand"))
    wrench = np.arange(6.0)
    for w in (da.from_array(wrench), lazy(np.tile(wrench, (50, 1)))):
        result = arm.inverse_dynamics(lazy(q), v, a, wrenches={"hand": w}, gravity=[0, 0, -1.6])
        assert_same(result, arm.inverse_dynamics(q, v, a, wrenches={"hand": wrench}, gravity=[0, 0, -1.6]))
    base = walker.joints[0].name
    whole, _, _ = states(walker)
    assert_same(walker.center_of_mass({base: lazy(whole[:, :7])}), walker.center_of_mass({base: whole[:, :7]}))
    joint = arm.joint(first)
    assert_same(joint.transform(lazy(q[:, :1])), joint.transform(q[:, :1]))


def test_kernels_with_several_outputs_accept_dask_arrays(arm: lw.Robot) -> None:
    q, v, a = states(arm)
    kernel = arm.compile(["inverse_dynamics", ("pose", "hand")])
    expected = kernel(q, v, a)
    assert_same(kernel(lazy(q), v, lazy(a)), expected)
    assert_same(kernel(lazy(q), a=a, v=lazy(v)), expected)
    for results in (expected, arm.power(q, v, a)):  # workers return them in pickles
        copy = pickle.loads(pickle.dumps(results))
        assert type(copy) is type(results) and all(map(np.array_equal, copy, results))
    nested = lw.compile(lambda s: {"x": 2 * s["a"], "y": (s["b"].sum(),)}, s={"a": 7, "b": (7,)})
    result, plain = nested({"a": lazy(q), "b": v}), nested({"a": q, "b": v})
    assert_same(result["x"], plain["x"])
    assert_same(result["y"][0], plain["y"][0])
    derivative = kernel.jacobian("q", of="pose")
    assert_same(derivative(lazy(q), v, a), derivative(q, v, a))


def test_dask_computes_a_robot_function_and_its_sources_in_one_task_for_each_block(arm: lw.Robot) -> None:
    """Dask needs time for each task; the function shares one with all that is computed block by block around it."""
    q, v, a = (da.full((40, 7), value, chunks=(10, 7)) for value in (0.1, 0.2, 0.3))
    both = arm.compile(["inverse_dynamics", "kinetic_energy"])
    vectors = [arm.inverse_dynamics(q, v, a), arm.pose(q, "hand")]
    for result in (*(x.map_blocks(np.negative, dtype=float) for x in vectors), arm.kinetic_energy(q, v)):
        (used,) = dask.optimize(result)
        assert len(dict(used.__dask_graph__())) == 4
    optimized = dask.optimize(*both(q, v, a))
    assert len({**dict(optimized[0].__dask_graph__()), **dict(optimized[1].__dask_graph__())}) <= 3 * 4


def test_map_blocks_accepts_robot_functions_and_equal_calls_have_equal_dask_names(arm: lw.Robot) -> None:
    q, _, _ = states(arm)
    assert_same(lazy(q).map_blocks(arm.gravity_force, dtype=float), arm.gravity_force(q))
    first, second = (arm.pose(lazy(q), "hand") for _ in range(2))
    assert first.name == second.name != arm.pose(lazy(q), "tool").name


def test_dask_arrays_of_unknown_size_are_accepted(arm: lw.Robot) -> None:
    q, v, _ = states(arm)
    filtered = lazy(q)[lazy(q)[:, 0] > 0]
    result = arm.pose(filtered, "hand").compute()
    assert result.tobytes() == arm.pose(q[q[:, 0] > 0], "hand").tobytes()
    with pytest.raises(ValueError, match=r"integrate: .*compute_chunk_sizes\(\)"):
        arm.integrate(filtered, lazy(v))


def test_errors_of_wrong_shapes_and_chunks_of_dask_arrays_are_raised_before_a_computation(arm: lw.Robot) -> None:
    q, v, a = map(lazy, states(arm))
    kernel = arm.compile("gravity_force")
    plain, labelled, first = states(arm)[0], xr.DataArray(np.zeros(7)), arm.joints[0].name
    chunks = (
        r"pose: q: expected one chunk along the last dimension, got chunks of \(3, 3, 1\); .*q\.rechunk\(\{-1: -1\}\)"
    )
    apart = "inverse_dynamics: the leading dimensions do not broadcast"
    refused: list[tuple[type[Exception], str, Any]] = [
        (ValueError, r"pose: q: .*\(\.\.\., 7\).*got shape \(7, 50\).*q\.T", lambda: arm.pose(q.T, "hand")),
        (ValueError, r"pose: q: .*got shape \(50, 6\)", lambda: arm.pose(q[:, :6], "hand")),
        (ValueError, chunks, lambda: arm.pose(q.rechunk((20, 3)), "hand")),
        (ValueError, apart, lambda: arm.inverse_dynamics(q[:9], v, a)),
        (ValueError, apart, lambda: arm.inverse_dynamics({first: q[:9, 0]}, v, a)),
        (ValueError, "pose: q: expected real numbers, .*complex128", lambda: arm.pose(q.astype(complex), "hand")),
        (
            ValueError,
            rf"pose: q\['{first}'\]: expected real numbers, .*complex128",
            lambda: arm.pose({first: q[:, 0].astype(complex)}, "hand"),
        ),
        (
            TypeError,
            rf"pose: q\['{first}'\]: .*xarray's DataArray",
            lambda: arm.pose({first: labelled[0], "elbow": q[:, 0]}, "hand"),
        ),
        (TypeError, "pose: out: .*remove out=", lambda: arm.pose(q, "hand", out=np.zeros((50, 4, 4)))),
        (TypeError, "gravity_force: out: .*remove out=", lambda: kernel(q, out=np.zeros((50, 7)))),
        (TypeError, "gravity_force: out: .*remove out=", lambda: kernel(plain, out=da.zeros((50, 7)))),
        (ValueError, r"gravity_force: q: expected an array of shape .*got shape \(50, 6\)", lambda: kernel(q[:, :6])),
        (KeyError, "no joint named 'elbo'; did you mean 'elbow'", lambda: arm.pose({"elbo": q[:, 0]}, "hand")),
        (KeyError, "no frame named 'hnad'; did you mean 'hand'", lambda: arm.pose(q, "hnad")),
        (TypeError, r"pose: q: .*xarray's DataArray; robot\.xarray\.pose", lambda: arm.pose(labelled, "hand")),
        (TypeError, "integrate: v: .*xarray's DataArray", lambda: arm.integrate(plain, labelled)),
        (TypeError, r"pose: q: .*Bag; call \.to_dask_array", lambda: arm.pose(dask.bag.from_sequence([0]), "hand")),
    ]
    for kind, message, call in refused:
        with pytest.raises(kind, match=message):
            call()


def test_functions_that_need_all_values_raise_errors_for_lazy_arrays(arm: lw.Robot) -> None:
    q, _, _ = states(arm)
    scene = lw.Scene().with_box("table", (1.0, 1.0, 0.1), (0.0, 0.0, -1.0))
    boxes = arm.with_attached("box", "hand", lw.shapes.Box((0.1, 0.1, 0.1)))
    expected = "minimum_distance: q: expected an array of NumPy, got dask's Array; .* in map_blocks"
    with pytest.raises(TypeError, match=expected):
        boxes.minimum_distance(lazy(q), scene)
    blocks = lazy(q).map_blocks(boxes.minimum_distance, scene, dtype=float, drop_axis=1)
    assert_same(blocks, boxes.minimum_distance(q, scene))


def test_errors_of_nan_in_dask_arrays_are_raised_by_the_lazy_computation(arm: lw.Robot) -> None:
    q, _, _ = states(arm)
    q[31, 3] = np.nan
    result = arm.pose(lazy(q), "hand")
    with pytest.raises(ValueError, match=r"pose: q\[11, 3\] is NaN \(joint 'elbow'\)") as raised:
        result.compute()
    assert "within a block of the Dask arrays, of shapes (20, 7)" in raised.value.__notes__[0]


@pytest.mark.slow(every=9)
def test_lazy_dask_result_can_be_computed_in_a_new_process(arm: lw.Robot) -> None:
    """The pickle has the robot and the request; it is small, and meshes of links are not in it."""
    q, _, _ = states(arm)
    hull = lw.shapes.convex_hull(np.random.default_rng(0).normal(size=(5000, 3)))
    loaded = arm.with_attached("load", "hand", hull)
    pickled, light = (pickle.dumps(robot.pose(lazy(q), "hand")) for robot in (loaded, arm))
    assert len(pickled) < len(light) + 0.1 * len(pickle.dumps(loaded))
    code = (
        "import pickle, sys; x = pickle.loads(bytes.fromhex(sys.stdin.read()))\n"
        "assert not any(name.startswith('linkwork.robot.robot.') for name in sys.modules)\n"
        "print(x.compute(scheduler='synchronous').tobytes().hex())"
    )
    done = subprocess.run([sys.executable, "-c", code], input=pickled.hex(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == arm.pose(q, "hand").tobytes().hex()
