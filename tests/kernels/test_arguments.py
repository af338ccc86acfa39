"""Arguments of a robot's functions: accepted forms, and refusals with a reason before the computation."""

import re

import numpy as np
import pytest

from linkwork.errors import UnknownNameError
from oracles.example_robots import shipped

N = 9  # of arm7_gripper


@pytest.fixture(scope="module")
def robot():
    return shipped("arm7_gripper")


@pytest.fixture(scope="module")
def legs():
    return shipped("quadruped")


@pytest.fixture
def q(robot):
    return robot.random_configuration(seed=0, size=(2, 3))


# -- wrong ones

REFUSED = {
    "too short": (np.zeros(N - 1), r"got shape \(8,\)"),
    "too long": (np.zeros((4, N + 1)), r"got shape \(4, 10\)"),
    "a column": (np.zeros((N, 1)), r"got shape \(9, 1\).*drop its last dimension, q\[\.\.\., 0\]"),
    "columns": (np.zeros((5, N, 1)), r"got shape \(5, 9, 1\).*drop its last dimension"),
    "samples in columns": (np.zeros((N, 4)), r"got shape \(9, 4\).*transpose it, q\.T"),
    "a number": (3.0, r"got shape \(\)"),
    "nothing": ([], r"got shape \(0,\)"),
    "complex": (np.zeros(N, dtype=complex), "complex128"),
    "objects": (np.zeros(N, dtype=object), "object"),
    "None": (None, "got None"),
    "long double": (np.zeros(N, dtype=np.longdouble), "float128|longdouble|float96"),
    "dates": (np.zeros(N, dtype="M8[s]"), "datetime64"),
    "texts": (["1.0"] * N, "<U3"),
    "ragged": ([[1.0, 2.0], [3.0]], "not an array"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_invalid_configurations_of_robot_methods_are_refused(robot, kind):
    if kind == "long double" and np.dtype(np.longdouble).itemsize == 8:
        pytest.skip("long double is float64 here")
    value, message = REFUSED[kind]
    with pytest.raises(ValueError, match=message) as caught:
        robot.mass_matrix(value)
    text = str(caught.value)
    assert text.startswith("mass_matrix: q: expected an array of shape (..., 9)")
    with pytest.raises(ValueError, match=r"inverse_dynamics: a: expected an array of shape \(\.\.\., 9\)"):
        robot.inverse_dynamics(np.zeros(N), np.zeros(N), np.zeros(7))


def test_arguments_of_robot_methods_with_batches_that_do_not_broadcast_are_refused(robot, q):
    with pytest.raises(ValueError, match=r"do not broadcast: q \(2, 3, 9\), v \(9,\), a \(2, 9\)"):
        robot.inverse_dynamics(q, np.zeros(N), np.zeros((2, N)))


def test_nan_in_a_robot_methods_argument_is_refused_with_its_index_and_joint(robot, q):
    zero = np.zeros(N)
    bad = q[0, 0].copy()
    bad[3] = np.nan
    with pytest.raises(ValueError, match=r"mass_matrix: q\[3\] is NaN \(joint 'elbow'\); 1 NaN in this argument$"):
        robot.mass_matrix(bad)
    with pytest.raises(ValueError, match=r"q\[3\] is NaN"):
        robot.mass_matrix(bad.tolist())
    with pytest.raises(ValueError, match=r"q\[3\] is NaN"):
        robot.mass_matrix(bad.astype(np.float32))
    many = q.copy()
    many[1, 2, 5] = many[1, 2, 6] = np.nan
    with pytest.raises(
        ValueError, match=r"q\[1, 2, 5\] is NaN \(joint 'wrist_flex'\); 2 NaN in this argument; a kernel"
    ):
        robot.mass_matrix(many)
    with pytest.raises(ValueError, match=r"inverse_dynamics: a\[0\] is NaN"):
        robot.inverse_dynamics(q, zero, np.full(N, np.nan))
    with pytest.raises(ValueError, match=r"pose: q\[3\] is NaN"):
        robot.pose(bad, "hand")
    assert np.all(np.isfinite(robot.mass_matrix(q)))  # and nothing is left behind


def test_nan_at_any_index_of_a_long_batch_is_reported(robot):
    q = robot.random_configuration(seed=0, size=37)
    for row in (0, 7, 8, 31, 36):
        bad = q.copy()
        bad[row, -1] = np.nan
        with pytest.raises(ValueError, match=rf"q\[{row}, 8\] is NaN"):
            robot.gravity_force(bad)


def test_robot_method_arguments_with_overflowing_products_are_refused():
    """One state, a batch, and out=; finite results are returned unchanged, and kernels do not check."""
    robot = shipped("double_pendulum")
    q, v, large = np.zeros(2), np.ones(2), np.array([-1e300, 1.0])
    many = np.array([v, large])
    message = r"forward_dynamics: v: expected numbers whose products do not overflow, got v\[{}\] = -1e\+300"
    for call, where in (
        (lambda: robot.forward_dynamics(q, large, q), "0"),
        (lambda: robot.forward_dynamics(q, np.array([1e300, -1e300]) * -1.0, q), "0"),  # whose sum is 0
        (lambda: robot.forward_dynamics(q, many, q), "1, 0"),
        (lambda: robot.forward_dynamics(np.zeros((3, 1, 2)), many, q), "1, 0"),
        (lambda: robot.forward_dynamics(q, large, q, out=np.zeros(2)), "0"),
        (lambda: robot.forward_dynamics(q, large.tolist(), q), "0"),
    ):
        with pytest.raises(ValueError, match=message.format(where)):
            call()
    np.testing.assert_array_equal(robot.integrate(q, large), large)
    np.testing.assert_array_equal(robot.integrate(q, many), many)
    assert not np.isfinite(robot.compile("forward_dynamics")(q, many, q)[1]).all()
    for function in ("inverse_dynamics", "forward_dynamics_derivatives", "centroidal_momentum_rate"):
        with pytest.raises(ValueError, match=rf"{function}: v: expected numbers"):
            getattr(robot, function)(q, large, q)


def test_nan_of_a_floating_joint_is_refused_with_its_name(legs):
    q = np.stack([legs.neutral()] * 3)
    q[2, 5] = np.nan
    with pytest.raises(ValueError, match=r"q\[2, 5\] is NaN \(joint 'floating_base'\)"):
        legs.gravity_force(q)


def test_refused_robot_method_call_leaves_the_output_array_unchanged(robot, q):
    into = np.full((2, 3, N, N), 7.0)
    bad = q.copy()
    bad[1, 1, 1] = np.nan
    for value in (bad, bad[..., :-1], bad + 0j):
        with pytest.raises(ValueError, match="q"):
            robot.mass_matrix(value, out=into)
    single = np.full((N, N), 7.0)
    with pytest.raises(ValueError, match=r"q\[1\] is NaN"):
        robot.mass_matrix(bad[1, 1], out=single)
    assert np.all(into == 7.0)
    assert np.all(single == 7.0)


def test_unsuitable_output_arrays_of_robot_methods_are_refused(robot, q):
    with pytest.raises(ValueError, match=r"mass_matrix: out: expected an array of float64 of shape .* got shape"):
        robot.mass_matrix(q, out=np.zeros((2, 3, 4, 4)))
    for wrong in (np.zeros((2, 3, N, N), dtype=int), [[0.0]], 3.0, "here"):
        with pytest.raises(TypeError, match="mass_matrix: out: expected an array of float64"):
            robot.mass_matrix(q, out=wrong)
    with pytest.raises(ValueError, match="out: expected 1 arrays"):
        robot.mass_matrix(q, out=(np.zeros((2, 3, N, N)), None))
    with pytest.raises(ValueError, match="read-only"):
        robot.mass_matrix(q, out=np.broadcast_to(0.0, (2, 3, N, N)))


def test_unknown_frames_and_joints_are_refused_with_a_suggestion(robot):
    q = robot.neutral()
    with pytest.raises(KeyError, match=r"no frame named 'hnad'; did you mean 'hand'\?"):
        robot.pose(q, "hnad")
    for option in ("relative_to", "expressed_in", "point"):
        with pytest.raises(UnknownNameError, match=r"no frame named 'hnad'; did you mean 'hand'\?"):
            robot.twist(q, q, "hand", **{option: "hnad"})
    with pytest.raises(UnknownNameError, match="no frame named None"):
        robot.pose(q, None)
    with pytest.raises(UnknownNameError, match=r"no joint named 'elbw'; did you mean 'elbow'\?"):
        robot.joint("elbw")


# -- right ones

FORMS = {
    "a list": lambda x: x.tolist(),
    "a tuple of rows": lambda x: tuple(map(tuple, x.reshape(-1, N))),
    "read-only": lambda x: read_only(x),
    "in Fortran's order": lambda x: np.asfortranarray(x),
    "every other one": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "backwards in memory": lambda x: x[::-1, ::-1, ::-1].copy()[::-1, ::-1, ::-1],
    "a transposed array": lambda x: np.ascontiguousarray(x.T).T,
    "not aligned": lambda x: unaligned(x),
    "big-endian": lambda x: x.astype(">f8"),
    "little-endian": lambda x: x.astype("<f8"),
}
NARROW = {
    "float32": np.float32,
    "float16": np.float16,
    "int64": np.int64,
    "int8": np.int8,
    "uint32": np.uint32,
    "bool": np.bool_,
    "big-endian float32": np.dtype(">f4"),
}


def read_only(x):
    y = x.copy()
    y.setflags(write=False)
    return y


def unaligned(x):
    raw = np.zeros(x.nbytes + 1, dtype=np.uint8)[1:]
    y = raw.view(np.float64).reshape(x.shape)
    y[:] = x
    assert not y.flags.aligned
    return y


@pytest.mark.parametrize("form", FORMS)
def test_robot_methods_give_equal_bits_for_arrays_of_any_memory_layout(robot, q, form):
    value = FORMS[form](q)
    shape = np.shape(value)[:-1]
    assert np.array_equal(robot.mass_matrix(value), robot.mass_matrix(q).reshape(*shape, N, N))
    single = FORMS[form](q)[1][2] if form != "a tuple of rows" else FORMS[form](q)[5]
    assert np.array_equal(robot.mass_matrix(single), robot.mass_matrix(q)[1, 2])
    before = np.array(value, dtype=float)
    robot.inverse_dynamics(value, value, value)
    assert np.array_equal(before, np.array(value, dtype=float))


@pytest.mark.parametrize("kind", NARROW)
def test_robot_methods_convert_integers_and_float16_as_numpy_does(robot, q, kind):
    """The result is float32 where that type holds all values, and else float64."""
    value = np.abs(q * 3.0).astype(NARROW[kind])
    matrix = robot.mass_matrix(value)
    assert matrix.dtype == (np.float32 if np.can_cast(value.dtype, np.float32) else np.float64)
    assert np.array_equal(matrix, robot.mass_matrix(value.astype(matrix.dtype)))
    assert np.array_equal(robot.mass_matrix(value, out=np.empty_like(matrix)), matrix)
    assert np.allclose(matrix, robot.mass_matrix(value.astype(np.float64)), rtol=1e-5, atol=1e-5)
    assert np.array_equal(robot.mass_matrix(value[0, 0]), matrix[0, 0])


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (1, 0, 2)], ids=str)
def test_robot_methods_return_an_empty_result_for_an_empty_batch(robot, shape):
    q, v = np.zeros((*shape, N)), np.zeros((*shape, N))
    assert robot.forward_kinematics(q).shape == (*shape, N, 4, 4)
    assert robot.inverse_dynamics(q, v, np.zeros(N)).shape == (*shape, N)
    assert robot.mass_matrix(q).shape == (*shape, N, N)
    assert robot.jacobian(q, "hand").shape == (*shape, 6, N)


def test_leading_dimensions_of_robot_method_arguments_broadcast(robot, q):
    v, a = np.ones((3, 1, N)), np.linspace(0.0, 1.0, N)
    many = q[:, None, None]  # (2, 1, 1, 3, 9)
    torque = robot.inverse_dynamics(many, v, a)
    assert torque.shape == (2, 1, 3, 3, N)
    assert np.array_equal(torque[1, 0, 2, 1], robot.inverse_dynamics(q[1, 1], v[2, 0], a))


def test_argument_out_of_robot_methods_accepts_any_array_of_the_required_shape(robot, q):
    expected = robot.mass_matrix(q)
    for into in (np.zeros((2, 3, N, N)), np.zeros((2, 3, N, 2 * N))[..., ::2], np.zeros((N, N, 3, 2)).T,
                 np.zeros((2, 3, N, N), dtype=">f8")):  # fmt: skip
        assert robot.mass_matrix(q, out=into) is into
        assert np.array_equal(into, expected)
    narrow = robot.mass_matrix(q, out=np.zeros((2, 3, N, N), dtype=np.float32))
    assert np.array_equal(narrow, expected.astype(np.float32))
    wide = robot.mass_matrix(q[0, 0], out=np.zeros((4, N, N)))
    assert np.array_equal(wide, np.broadcast_to(expected[0, 0], (4, N, N)))


def test_output_array_of_a_robot_method_may_be_an_input(robot, legs):
    for r in (robot, legs):
        q = r.random_configuration(seed=0, size=20)
        v = np.random.default_rng(0).normal(size=(20, r.nv))
        expected = r.integrate(q, v)
        assert r.integrate(q, v, out=q) is q
        assert np.array_equal(q, expected)


# -- dicts by joint name


def test_states_of_robot_methods_may_be_dicts_by_joint_name(robot):
    q, rate = robot.neutral(), np.zeros(N)
    q[robot.joint("elbow").q_slice] = 0.4
    rate[robot.joint("wrist_roll").v_slice] = -2.0
    by_name = robot.inverse_dynamics({"elbow": 0.4}, {"wrist_roll": -2.0}, {})
    assert by_name.shape == (N,)
    assert np.array_equal(by_name, robot.inverse_dynamics(q, rate, np.zeros(N)))
    torque = robot.forward_dynamics({"elbow": 0.4}, {}, {"wrist_roll": -2})
    assert np.array_equal(torque, robot.forward_dynamics(q, np.zeros(N), rate))
    assert np.array_equal(robot.difference({"elbow": 0.4}, {}), robot.difference(q, robot.neutral()))
    assert np.array_equal(robot.mass_matrix({}), robot.mass_matrix(robot.neutral()))


def test_batches_of_states_may_be_dicts_by_joint_name(robot):
    angles = np.linspace(-1.0, 1.0, 5)
    for count in (5, 1, 0):  # whatever the size of the batch
        q = np.zeros((count, N))
        q[:, robot.joint("elbow").q_slice] = angles[:count, None]
        result = robot.mass_matrix({"elbow": angles[:count]})
        assert result.shape == (count, N, N)
        assert np.array_equal(result, robot.mass_matrix(q))
    result = robot.pose({"elbow": angles, "shoulder_pan": angles[:3, None]}, "hand")
    assert result.shape == (3, 5, 4, 4)
    assert np.array_equal(result[2, 4], robot.pose({"elbow": angles[4], "shoulder_pan": angles[2]}, "hand"))
    with_array = robot.bias_force({"elbow": angles}, np.ones((3, 1, N)))
    assert with_array.shape == (3, 5, N)


def test_floating_joint_can_be_set_by_name_in_a_dict(legs):
    at = np.array([0.0, 1.0, 0.0, 0.0, 0.1, 0.2, 0.3])
    q, v = legs.neutral(), np.zeros(legs.nv)
    q[:7], v[:6] = at, np.arange(6.0)
    force = legs.bias_force({"floating_base": at}, {"floating_base": np.arange(6)})
    assert np.array_equal(force, legs.bias_force(q, v))
    many = legs.gravity_force({"floating_base": np.stack([at, at]), "front_left_knee": [0.0, 1.0]})
    assert np.array_equal(many[0], legs.gravity_force(q))


def test_wrong_dicts_of_joints_are_refused(robot, legs):
    refused = [
        (lambda: robot.mass_matrix({"elbw": 1.0}), UnknownNameError, "no joint named 'elbw'; did you mean 'elbow'?"),
        (lambda: robot.mass_matrix({"hand": 1.0}), UnknownNameError, "no joint named 'hand'"),
        (lambda: robot.mass_matrix({3: 1.0}), UnknownNameError, "no joint named 3"),
        (lambda: robot.mass_matrix({"elbow": "1.0"}), ValueError, "q['elbow']: expected a number"),
        (lambda: robot.mass_matrix({"elbow": None}), ValueError, "q['elbow']: expected a number"),
        (lambda: robot.mass_matrix({"elbow": 1j}), ValueError, "complex128"),
        (lambda: robot.mass_matrix({"elbow": np.nan}), ValueError, "q[3] is NaN (joint 'elbow')"),
        (
            lambda: robot.mass_matrix({"elbow": np.zeros(5), "shoulder_pan": np.zeros(3)}),
            ValueError,
            "q: the joints' values do not broadcast: elbow (5,), shoulder_pan (3,)",
        ),
        (lambda: robot.bias_force({"elbow": np.zeros(5)}, np.zeros((3, N))), ValueError, "do not broadcast"),
        (lambda: legs.gravity_force({"floating_base": 1.0}), ValueError, "q['floating_base']: expected 7 numbers"),
        (
            lambda: legs.bias_force({}, {"floating_base": np.zeros(7)}),
            ValueError,
            "v['floating_base']: expected 6 numbers, got shape (7,)",
        ),
    ]
    for call, error, message in refused:
        with pytest.raises(error, match=re.escape(message)):
            call()
