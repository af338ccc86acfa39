"""Arguments and requests of functions on both sides of each limit, without calls of compiled code."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.expr.scalar.symbol import Graph
from linkwork.kernels.array_arguments import ArgumentReader, _shown, scalar_array
from linkwork.kernels.check_function import _batches, _compiled, _derivative, _Trial
from linkwork.kernels.compiler_api import Port
from linkwork.kernels.function_kernels import RequestOrigin
from linkwork.kernels.function_request import _forms, read_request
from linkwork.kernels.operation_report import _computed
from linkwork.kernels.owners import JointOwner
from linkwork.kernels.robot_arguments import _put, read_configuration
from linkwork.kernels.robot_base import _call_of_single

ARM = lw.load("double_pendulum")
READER = ArgumentReader(ARM._subject, "f", (Port("q", (2,)), Port("v", (2,))), (Port("M", (2, 2)), Port("h", (2,))))


def test_output_arrays_must_fit_the_results_and_may_be_omitted() -> None:
    q = np.zeros((3, 2))
    M, h = np.zeros((3, 2, 2)), np.zeros((3, 2))
    fixed = np.zeros((3, 2))
    fixed.flags.writeable = False
    for out in ((M, h), (None, h), (M, None), (None, None)):
        READER.check_out([q, q], out)
    for out, error, words in (
        ((M,), ValueError, r"f: out: expected 2 arrays \(M, h\), got 1"),
        (
            (None, M),
            ValueError,
            r"f: out: expected an array of float64 of shape \(3, 2\) to write to, got shape \(3, 2, 2\)",
        ),
        (([1.0], h), TypeError, "to write to, got list"),
        ((M, h.astype(int)), TypeError, "to write to, got numbers of type int64"),
        ((M, np.ma.masked_array(h)), TypeError, "to write to, got MaskedArray"),
        ((None, fixed), ValueError, "to write to, got a read-only array"),
    ):
        with pytest.raises(error, match=words):
            READER.check_out([q, q], out)


def test_arrays_of_symbols_may_contain_constants() -> None:
    x = Graph().input("x")
    for beside in (2.0, 2, np.float32(2.0), True):
        assert scalar_array("f: q: expected an array", np.array([x, beside], dtype=object))[0] is x
    for wrong in ("2", None, {}):
        with pytest.raises(
            ValueError, match=r"f: q: expected an array; got an array with .* in it, which is not a number"
        ):
            scalar_array("f: q: expected an array", np.array([x, wrong], dtype=object))
    with pytest.raises(ValueError, match="f: q: expected an array; got a truth value"):
        scalar_array("f: q: expected an array", np.array([x, x < 1.0], dtype=object))


def test_overflow_errors_name_the_largest_argument() -> None:
    with pytest.raises(
        ValueError, match=r"f: v: expected numbers whose products do not overflow, got v\[1\] = -3e\+200"
    ):
        READER.refuse_overflow(
            [np.array([1e160, 2.0]), np.array([0.5, -3e200])], (np.full((2, 2), np.inf), np.zeros(2))
        )
    READER.refuse_overflow([np.array([1.0, 2.0]), np.array([0.5, -3.0])], (np.full((2, 2), np.nan), np.zeros(2)))
    READER.refuse_overflow([np.array([1e160, 2.0]), np.array([0.5, 3e200])], (np.zeros((2, 2)), np.zeros(2)))


def test_values_in_messages_have_at_most_twelve_elements() -> None:
    assert _shown(np.arange(12.0)).count(",") == 11 and _shown(np.arange(13.0)) == ""
    assert (
        _shown(np.array(0.25)) == ": [0.25]" and _shown(np.zeros((2, 2))) == _shown(np.array(["a"], dtype=object)) == ""
    )


def test_pose_matrices_are_not_accepted_as_configurations_of_four_coordinates() -> None:
    free = lw.joints.Revolute((0.0, 1.0, 0.0))
    links = [lw.Link(f"l{k}", mass=1.0, inertia=(0.1, 0.2, 0.3)) for k in range(4)]
    parents = ("world", "l0", "l1", "l2")
    hinges = [lw.Joint.of(free, name=f"j{k}", parent=parents[k], child=f"l{k}") for k in range(4)]
    robot = lw.Robot.build("four", *links, *hinges)
    four = np.array([[0.1, 0.2, 0.3, 0.4]] * 4)
    assert np.array_equal(read_configuration(robot, "f", "start", four), four)
    for wrong in (np.eye(4), lw.pose(xyz=(0.1, 0.2, 0.3))):
        with pytest.raises(ValueError, match=r"f: start: expected a configuration \(\.\.\., 4\), got a pose \(4, 4\)"):
            read_configuration(robot, "f", "start", wrong)


def test_joint_limits_may_be_one_number_or_one_for_each_coordinate() -> None:
    result, two, single = np.zeros(4), np.array([1, 3]), np.array([2])
    _put(result, two, "lower", [0.5, 0.25])
    _put(result, single, "lower", 7.0)
    assert result.tolist() == [0.0, 0.5, 7.0, 0.25]
    for indices, wrong, words in (
        (two, [1.0, 2.0, 3.0], "lower: expected a number, or 2 of them, got"),
        (single, [1.0, 2.0], r"lower: expected a number, got \[1.0, 2.0\]"),
    ):
        with pytest.raises(ValueError, match=words):
            _put(result, indices, "lower", wrong)


def test_errors_of_function_requests_show_required_and_optional_options() -> None:
    def row(*options: Any, optional: tuple[str, ...] = (), wrenches: tuple[str, ...] = ()) -> Any:
        return SimpleNamespace(name="f", options=options, optional=optional, wrench_arguments=wrenches)

    frame, passive = SimpleNamespace(name="frame", required=True), SimpleNamespace(name="passive", required=False)
    assert _forms(row()) == "'f'"
    assert _forms(row(frame, passive)) == '("f", frame) or ("f", frame, {option: value}), options passive'
    assert _forms(row(passive)) == '("f") or ("f", {option: value}), options passive'
    assert _forms(row(optional=("time",))) == '("f") or ("f", {option: value}), options time'
    assert _forms(row(wrenches=("wrenches", "x"))) == '("f") or ("f", {option: value}), options wrenches'
    assert _forms(row(frame)).startswith('("f", frame) or')


def test_frame_options_of_single_joints_are_refused() -> None:
    subject: Any = JointOwner.__new__(JointOwner)
    subject.check(SimpleNamespace(name="passive", choices=(True, False)), True)
    with pytest.raises(ValueError, match="frame: a single joint has no frames, got 'tip'"):
        subject.check(SimpleNamespace(name="frame", choices=()), "tip")


def test_operation_report_uses_the_computed_values_of_results_with_derivative_rules() -> None:
    graph = Graph()
    x, y = graph.inputs("x", (2,))
    assert _computed(x) is x and _computed(x + y).op.name == "add"
    total, _ = lw.scan(lambda s, z: (s + z * s, None), x, np.array([x, y], dtype=object))
    assert _computed(total) is total


def fake_trial(**values: Any) -> Any:
    result: Any = _Trial.__new__(_Trial)
    result.__dict__.update(values)
    return result


def test_check_function_compares_batches_and_single_calls_to_the_last_bit() -> None:
    alone = [np.array([0.1, 0.2]), np.array([0.3, 0.4]), *[np.zeros(2)] * 20]
    count = 22
    batch = np.stack(alone)
    trial = fake_trial(
        outputs=["h"],
        batch=(batch,),
        arrays=[np.arange(float(count))],
        results=lambda k: (alone[int(k)],),
        quantities=[],
        kernel=None,
    )
    assert _batches(trial) == [] and _derivative(trial) == []
    batch[1, 1] = np.nextafter(0.4, 1.0)
    with pytest.raises(ValueError, match="h: sample 1 of a batch differs from a single call"):
        _batches(trial)
    assert trial.compare("h", np.array([0.5, 3.0 + 3e-12]), np.array([0.5, 3.0]), 1e-12) < 1.01e-12
    with pytest.raises(ValueError, match="h is off by 4e-12; the largest element is 3"):
        trial.compare("h", np.array([0.5, 3.0 + 4e-12]), np.array([0.5, 3.0]), 1e-12)
    assert trial.compare("h", np.array([1.0]), np.array([0.5]), 0.5) == 0.5


def test_check_function_compares_each_of_several_outputs() -> None:
    def plain(tree: Any, x: float) -> Any:
        return [2.0 * x], [3.0 * x]

    request = SimpleNamespace(spec=SimpleNamespace(compute=lambda tree, x: plain(tree, x)), options=())
    both = fake_trial(
        outputs=["a", "b"],
        request=request,
        robot=SimpleNamespace(tree=None),
        arrays=[np.linspace(0.1, 0.5, 30)],
        results=lambda x: (np.array([2.0 * x]), np.array([3.0 * x])),
    )
    assert max(_compiled(both, 1e-12)) == 0.0
    both.results = lambda x: (np.array([2.0 * x]), np.array([2.0 * x]))
    with pytest.raises(ValueError, match=r"b of sample 0, compiled, is off by 0.1"):
        _compiled(both, 1e-12)


def test_functions_outside_the_function_tables_are_pickled_without_a_robot_and_request() -> None:
    request = read_request(ARM._subject, "mass_matrix")
    origin = RequestOrigin(ARM._subject, "mass_matrix", {"mass_matrix": request})
    assert origin.packed() is not None
    of_user: Any = SimpleNamespace(spec=SimpleNamespace(name="mass_matrix"))
    assert RequestOrigin(ARM._subject, "mass_matrix", {"mass_matrix": of_user}).packed() is None
    deleted: Any = lambda: None  # noqa: E731
    assert _call_of_single(deleted, request) is None


def test_times_steps_and_restitutions_are_accepted_at_their_bounds() -> None:
    for name, inside, outside in (("dt", (1e-9, 0.4), (0.0, 0.9e-9)), ("restitution", (0.0, 0.4, 1.0), (-1e-12, 1.01))):
        reader = ArgumentReader(ARM._subject, "f", (Port(name, ()),), ())
        for value in inside:
            assert reader.on_manifold([np.array(value)])[0] == value
        for value in outside:
            with pytest.raises(ValueError, match=f"f: {name}: expected the .*, got"):
                reader.on_manifold([np.array([0.5, value])])
