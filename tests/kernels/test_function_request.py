"""Functions of robots and joints: one type of entry, one checker, one guard, and kernels compiled once."""

from __future__ import annotations

import threading
import time
import types
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ConfigurationWarning, UnknownNameError
from linkwork.joints import JointType, Revolute, Spherical, UnboundedRevolute
from linkwork.kernels import function_kernels as kernels
from linkwork.kernels.function_request import read_request
from linkwork.kernels.function_trace import elements_of, output_ports, run
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.kernels.owners import JointOwner, RobotOwner, shape_of
from linkwork.kinematics.algorithms.joint_functions import TABLE as JOINT
from linkwork.model.body import PlacedJoint
from linkwork.model.function_spec import (
    QUANTITIES,
    FunctionSpec,
    Option,
    Output,
    frame_options,
    quantity_of,
    table,
)
from linkwork.model.random_tree import random_tree
from linkwork.robot.robot_table import ROBOT, robot_owner
from linkwork.spatial import Inertia, Pose, Rotation, Vec3
from oracles.scalars import names_for
from oracles.trees import TREES, state

# -- rows


def test_entries_of_both_function_tables_are_complete() -> None:
    for name, row in (*ROBOT.items(), *JOINT.items()):
        assert row.name == name and row.doc.endswith(".") and row.outputs, name
        assert all(quantity in QUANTITIES for quantity in (*row.inputs, *row.optional)), name
        assert len(row.outputs) == 1 or len({output.name for output in row.outputs} - {""}) == len(row.outputs), name
    with pytest.raises(ValueError, match="two functions are named 'pose'"):
        table([ROBOT["pose"], replace(ROBOT["pose"])])


def _everything(tree: Any, q: Any, wrench: Any = None, frame: str = "", kind: str = "sum") -> Any:
    total = q[0] * 2.0 if wrench is None else q[0] + wrench[5]
    return [[total, 0.0]] if kind == "sum" else [[0.0, total]], total


EVERYTHING = FunctionSpec.of(
    _everything,
    "q",
    (Output((1, 2), "m", "matrix"), Output((), "m", "number")),
    "A function with everything that a row can say.",
    optional=("wrench",),
    options=(*frame_options("frame"), Option("kind", "sum", ("sum", "difference"))),
)


@pytest.fixture
def unusual_owner() -> RobotOwner:
    return RobotOwner(lw.load("double_pendulum").tree, {**ROBOT, "_everything": EVERYTHING})


def test_kernels_can_be_requested_with_optional_inputs_choices_and_several_results(unusual_owner: RobotOwner) -> None:
    """A wrench that may be left out, an option that is no frame, results of any rank with names."""
    frame = unusual_owner.tree.frames[-1].name
    plain = read_request(unusual_owner, ("_everything", frame))
    request = read_request(unusual_owner, ("_everything", frame, {"kind": "difference"}), optional_inputs=("wrench",))
    assert plain == read_request(unusual_owner, ("_everything", frame, {"kind": "sum"})) and plain.inputs == ("q",)
    assert request.inputs == ("q", "wrench")
    kernel = kernels.compile_requests(unusual_owner, "one", {"_everything": plain})
    matrix, number = kernel([1.0, 0.0])
    assert matrix.tolist() == [[2.0, 0.0]] and number == 2.0 and kernel([1.0, 0.0])._fields == ("matrix", "number")
    both = kernels.compile_requests(unusual_owner, "two", {"a": plain, "b": request})
    assert [port.name for port in both.inputs] == ["q", "wrench"]
    assert [port.name for port in both.outputs] == ["a_matrix", "a_number", "b_matrix", "b_number"]
    assert both([1.0, 0.0], [0, 0, 0, 0, 0, 3.0]).b_matrix.tolist() == [[0.0, 4.0]]
    assert output_ports(unusual_owner, {"a": plain})[0].name == "matrix"


def test_wrong_function_requests_are_refused_with_the_expected_form(unusual_owner: RobotOwner) -> None:
    frame = unusual_owner.tree.frames[-1].name
    with pytest.raises(ValueError, match="_everything: kind: expected one of sum, difference, got 'product'"):
        read_request(unusual_owner, ("_everything", frame, {"kind": "product"}))
    with pytest.raises(UnknownNameError, match="no frame named 'hnad'"):
        read_request(unusual_owner, ("_everything", "hnad"))
    for wrong in ("_everything", ("_everything", frame, "sum"), ("_everything", frame, {"point": "world"})):
        with pytest.raises(TypeError, match=r'expected \("_everything", frame\) or .*options kind, wrench'):
            read_request(unusual_owner, wrong)
    with pytest.raises(TypeError, match="_everything: it has no input 'tau'; its optional inputs are wrench"):
        read_request(unusual_owner, ("_everything", frame), optional_inputs=("tau",))


def test_joint_functions_may_have_options_with_choices() -> None:
    def sized(site: Any, q: Any, kind: str = "once") -> Any:
        return [x * (2.0 if kind == "twice" else 1.0) for x in q]

    row = FunctionSpec.of(
        sized, "q", Output(("nq",)), "q, or twice.", options=(Option("kind", "once", ("once", "twice")),)
    )
    hinge = JointOwner("hinge", PlacedJoint(Revolute((0.0, 0.0, 1.0))), {**JOINT, "sized": row})
    kernel = kernels.joint_kernel(hinge, read_request(hinge, ("sized", {"kind": "twice"})))
    assert kernel([1.5]).tolist() == [3.0]
    with pytest.raises(ValueError, match="kind: expected one of once, twice, got 'thrice'"):
        read_request(hinge, ("sized", {"kind": "thrice"}))


# -- configurations that are none


@dataclass(frozen=True)
class Circle(JointType):
    """A hinge whose q is a point of the unit circle: with `normalize`, and nothing said of unit lengths."""

    nq, nv = 2, 1
    q_units, v_units = ("1", "1"), ("rad/s",)

    @classmethod
    def example(cls, rng: np.random.Generator) -> Circle:
        return cls()

    def X(self, q: Sequence[Any]) -> Pose:
        s, c = q
        zero = 0.0 * s
        return Pose(Rotation(Vec3(c, -s, zero), Vec3(s, c, zero), Vec3(zero, zero, zero + 1.0)), Vec3(c, s, zero))

    def q_dot(self, q: Sequence[Any], v: Sequence[Any]) -> list[Any]:
        return [q[1] * v[0], -q[0] * v[0]]

    def velocity_from_rate(self, q: Sequence[Any], q_dot: Sequence[Any]) -> list[Any]:
        return [q[1] * q_dot[0] - q[0] * q_dot[1]]

    def integrate(self, q: Sequence[Any], phi: Sequence[Any]) -> list[Any]:
        s, c = lw.expr.sin(phi[0]), lw.expr.cos(phi[0])
        return [q[0] * c + q[1] * s, q[1] * c - q[0] * s]

    def difference(self, q: Sequence[Any], point: Sequence[Any]) -> list[Any]:
        return [lw.expr.atan2(point[0] * q[1] - point[1] * q[0], point[1] * q[1] + point[0] * q[0])]

    def zero(self) -> list[float]:
        return [0.0, 1.0]

    def normalize(self, q: Sequence[Any]) -> list[Any]:
        length = lw.expr.hypot(q[0], q[1])
        return [q[0] / length, q[1] / length]


@pytest.mark.parametrize("kind", [Circle, UnboundedRevolute, Spherical])
def test_robot_and_joint_methods_check_every_configuration_manifold(kind: type[JointType]) -> None:
    """One sample, a batch and ``out=``: slightly off it is normalized with a warning, far off it is refused."""
    joint = kind.example(np.random.default_rng(0))
    tree = random_tree(np.random.default_rng(1), 2, types=[Revolute], shape="chain")
    robot = lw.Robot(tree)
    robot = robot.with_joint(robot.joints[1].with_type(joint))
    name = robot.joints[1].name
    zero = np.array([0.3, *joint.zero()])
    for owner, q, columns in ((robot, zero, slice(1, None)), (robot.joint(name), zero[1:], slice(None))):
        f = owner.mass_matrix if isinstance(owner, lw.Robot) else owner.transform
        expected = f(q)
        for factor, far in ((1.0 + 1e-4, False), (2.0, True)):
            off = q.copy()
            off[columns] *= factor
            for argument in (off, np.stack([q, off, q]), off.astype(np.float32)):
                for out in (None, np.zeros((*argument.shape[:-1], *expected.shape))):
                    if far:
                        with pytest.raises(ValueError, match=f"joint '{name}'"):
                            f(argument, out=out)
                        continue
                    with pytest.warns(ConfigurationWarning, match=f"joint '{name}' .*: normalised") as warning:
                        result = f(argument, out=out)
                    assert warning[0].filename == __file__
                    assert np.allclose(result, expected, atol=1e-6)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            f(q.astype(np.float32))
            f(q * (1.0 + 1e-8))
        assert np.array_equal(f(q), expected)


def test_kernels_do_not_check_configuration_manifolds() -> None:
    robot = lw.load("quadruped", floating_base=True)
    q = robot.neutral()
    q[:4] *= 2.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(robot.compile("mass_matrix")(q)).all()


@pytest.mark.parametrize("robot", [lw.load("quadruped", floating_base=True)], ids=["quadruped"])
def test_configurations_without_a_unique_projection_on_the_manifold_are_refused(robot: lw.Robot) -> None:
    q = np.stack([robot.neutral()] * 3)
    q[1, :4] = 0.0
    out = np.full_like(q, 7.0)
    for call in (lambda: robot.normalize(q), lambda: robot.normalize(q, out=out), lambda: robot.normalize(q[1])):
        with pytest.raises(ValueError, match=r"normalize: joint 'floating_base' .* has no nearest configuration"):
            call()
    assert (out == 7.0).all()


# -- arguments


def test_masked_arrays_are_refused_by_robot_and_joint_methods() -> None:
    robot = lw.load("arm7")
    hinge, q = robot.joints[0], robot.neutral()
    masked = np.ma.masked_array(np.stack([q, q]), mask=np.eye(2, 7, dtype=bool))
    with pytest.raises(ValueError, match=r"mass_matrix: q: .* got a masked array"):
        robot.mass_matrix(masked)
    with pytest.raises(ValueError, match=r"twist: v: .* got a masked array"):
        hinge.twist([0.0], np.ma.masked_array([0.0], mask=[True]))
    kernel = robot.compile("mass_matrix")
    for masked_value in (masked, masked[0]):
        with pytest.raises(ValueError, match=r"mass_matrix: .* got a masked array for q: replace its masked"):
            kernel(masked_value)
    for v in ([np.nan], [[0.0], [np.nan]]):
        with pytest.raises(ValueError, match=rf"joint '{hinge.name}': twist: v\[.*0\] is NaN"):
            hinge.twist([0.0], v)
    for wrong, error in ((np.zeros(5), ValueError), (np.zeros(6, int), TypeError), ("here", TypeError)):
        with pytest.raises(error, match=rf"joint '{hinge.name}': twist: out: expected an array of float64"):
            hinge.twist([0.0], [1.0], out=wrong)
    locked = np.zeros(6)
    locked.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        hinge.twist([0.0], [1.0], out=locked)


# -- kernels of joints


def joint_calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Record the kernels that are compiled."""
    calls: list[Any] = []
    compiled = kernels.compile_requests
    monkeypatch.setattr(kernels, "compile_requests", lambda *a: calls.append(a[1]) or compiled(*a))
    return calls


def test_threads_that_request_a_joint_kernel_compile_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = joint_calls(monkeypatch)
    ready = threading.Barrier(8)
    subject = JointOwner("hinge", PlacedJoint(lw.joints.Helical((0.1, 0.2, 0.97), 0.123456)), JOINT)
    results = []

    def ask() -> None:
        ready.wait()
        results.append(kernels.joint_kernel(subject, read_request(subject, "transform")))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == ["transform"] and len({id(kernel) for kernel in results}) == 1


def test_threads_wait_for_a_lazy_cache_key_that_another_thread_computes() -> None:
    once, created = LazyCache[int](), list[int]()
    is_begun, may_end = threading.Event(), threading.Event()

    def slow() -> int:
        created.append(1)
        is_begun.set()
        assert may_end.wait(60.0)
        return 7

    threads = [threading.Thread(target=once.get, args=(0, slow)) for _ in range(2)]
    threads[0].start()
    assert is_begun.wait(60.0)
    threads[1].start()
    while len(once._key_locks[0].calls) < 2:  # until the second thread waits for the first
        time.sleep(1e-3)
    may_end.set()
    for thread in threads:
        thread.join()
    assert created == [1] and not once._key_locks and once.get(1, lambda: 8) == 8


def test_lazy_cache_drops_the_least_recently_used_key() -> None:
    once: LazyCache[int] = LazyCache(2)
    created = []
    for key in (1, 2, 1, 3, 1, 2):
        assert once.get(key, lambda key=key: created.append(key) or key) == key  # type: ignore[misc,func-returns-value]
    assert created == [1, 2, 3, 2] and len(once) == 2
    with pytest.raises(ZeroDivisionError, match="division"):
        once.get(9, lambda: 1 // 0)
    assert once.get(9, lambda: 5) == 5


_SCALE = 1.0


def _scaled(x: Any) -> Any:
    return x * _SCALE


@dataclass(frozen=True)
class Crank(Revolute):
    """A type of one's own, part of which takes no part in comparisons."""

    reach: float = field(default=1.0, compare=False)
    table: Any = field(default=None, compare=False, repr=False)

    def X(self, q: Sequence[Any]) -> Pose:
        return Pose(Rotation.about(self.axis, q[0]), self.axis * (_scaled(q[0]) * self.reach))


def test_kernels_are_recompiled_if_code_of_users_joint_types_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaced methods, helpers that they call, and fields outside of comparisons."""

    def height(crank: Crank) -> float:
        return float(lw.Joint.of(crank).transform([2.0])[2, 3])

    crank = Crank((0, 0, 1))
    assert height(crank) == 2.0
    assert crank == Crank((0, 0, 1), 3.0) and height(Crank((0, 0, 1), 3.0)) == 6.0
    monkeypatch.setitem(globals(), "_SCALE", 5.0)
    assert height(crank) == 10.0
    monkeypatch.setitem(globals(), "_scaled", lambda x: x + 1.0)
    assert height(crank) == 3.0
    original = Crank.X
    moved = types.FunctionType(
        original.__code__.replace(co_consts=original.__code__.co_consts), {**globals(), "_scaled": lambda x: -x}
    )
    monkeypatch.setattr(Crank, "X", moved)
    assert height(crank) == -2.0
    calls = joint_calls(monkeypatch)
    assert height(crank) == -2.0 and height(Crank((0, 0, 1))) == -2.0 and calls == []
    assert height(Crank((0, 0, 1), table=np.zeros(2))) == -2.0 and calls == []  # it does not read the table


@pytest.mark.slow(every=3)
def test_functions_that_depend_on_inertias_are_marked_and_raise_errors_without_them(drawn: Any) -> None:
    """They are refused by name for a robot that was loaded without inertias; all others work."""
    tree = TREES["mixed_0"]
    bodies = [replace(body, inertia=Inertia.zero()) if i == 2 else body for i, body in enumerate(tree.bodies)]
    frames = [replace(frame, inertia=Inertia.zero()) if frame.body == 2 else frame for frame in tree.frames]
    lighter, subject = replace(tree, bodies=tuple(bodies), frames=tuple(frames)), robot_owner(tree)
    ignored = robot_owner(lw.load("double_pendulum", inertia="ignore").tree)
    q = state(tree, size=1)[0][0]
    rng = np.random.default_rng(0)
    for row in drawn(ROBOT.values()):
        request = read_request(subject, (row.name, *names_for(tree, row)))
        shapes = {name: shape_of(subject, quantity_of(name).shape, request.sizes) for name in request.inputs}
        arguments = {name: list(np.ravel(q if name == "q" else rng.normal(size=shapes[name]))) for name in shapes}
        result, lighter_result = ([float(x) for x in elements_of(run(request, t, arguments))] for t in (tree, lighter))
        assert row.needs_inertias or result == lighter_result, row.name
        requested = (row.name, *names_for(ignored.tree, row))
        if row.needs_inertias:
            with pytest.raises(ValueError, match=f"{row.name}: robot 'double_pendulum' was loaded without inertias"):
                read_request(ignored, requested)
        else:
            read_request(ignored, requested)
