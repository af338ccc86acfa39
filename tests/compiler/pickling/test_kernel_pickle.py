"""Pickles of kernels: equal bits of results, other processes, sizes, and classes of nested values."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler.backend import Backend
from linkwork.compiler.pickling import kernel_pickle
from linkwork.compiler.pickling.byte_stream import compressed
from linkwork.compiler.pickling.kernel_pickle import packed
from linkwork.compiler.pickling.program_bytes import read_values, write_values
from linkwork.compiler.program import Program
from linkwork.expr.autodiff.custom_derivative import CustomDerivative, apply_rule
from linkwork.joints import JointType
from linkwork.spatial import Pose, Rotation, Vec3


class State(NamedTuple):
    """Nested argument."""

    position: Any
    speed: Any


@dataclass(frozen=True)
class Result:
    """Nested result."""

    energy: Any
    force: Any


@dataclass(frozen=True)
class Cube(CustomDerivative):
    """x³ with a derivative rule that returns its half, to recognize it."""

    factor: float

    def compute(self, inputs: Any) -> Any:
        return [self.factor * inputs[0] ** 3], []

    def tangent(self, inputs: Any, results: Any, extra: Any, direction: Any) -> Any:
        return [1.5 * self.factor * inputs[0] ** 2 * direction[0]]

    def cotangent(self, inputs: Any, results: Any, extra: Any, weights: Any) -> Any:
        return [1.5 * self.factor * inputs[0] ** 2 * weights[0]]


@dataclass(frozen=True)
class Turn(JointType):
    """Joint type of the user: a rotation about z by 2 q."""

    nq, nv = 1, 1
    q_units, v_units = ("rad",), ("rad/s",)

    @classmethod
    def example(cls, rng: Any) -> Turn:
        return cls()

    def X(self, q: Any) -> Pose:
        return Pose(Rotation.about(Vec3(0.0, 0.0, 1.0), 2.0 * q[0]), Vec3(0.0, 0.0, 0.0))


def collatz(x: Any) -> Any:
    return lw.while_loop(lambda s: s[0] < 50.0, lambda s: (s[0] * x + 1.0, s[1] + 1.0), (x, 0.0 * x), max_iterations=40)


ARM = lw.load("arm7")
FREE = lw.load("arm7", floating_base=True)
EXAMPLES: dict[str, Callable[[], lw.Kernel]] = {
    "pose": lambda: ARM.compile(("pose", "hand")),
    "several functions": lambda: ARM.compile([("pose", "hand"), "gravity_force"]),
    "ruled": lambda: ARM.compile("forward_dynamics"),
    "derivative": lambda: FREE.compile("forward_dynamics").jacobian("q", "v"),
    "second derivative": lambda: FREE.compile(("pose", "hand")).vjp("q").jvp("q"),
    "sparse": lambda: ARM.compile("mass_matrix").jacobian("q", sparse=True),
    "function": lambda: lw.compile(lambda q: FREE.pose(q, "hand")[:3, 3], q=FREE.configuration_space, name="tip"),
    "of a space": lambda: lw.compile(lambda q: q * 1.0, q=FREE.configuration_space).jacobian(
        "q", of={"output": FREE.configuration_space}
    ),
    "loop": lambda: lw.compile(collatz, x=()),
    "solve": lambda: lw.compile(lambda A, b: lw.solve(A, b), A=(4, 4), b=(4,)).jacobian("b"),
    "table": lambda: lw.compile(lambda x: lw.take([1.0, 2.0, 5.0], x) + lw.put(np.ones(3), x, 2.0), x=()),
    "user rule": lambda: lw.compile(lambda x: apply_rule(Cube(2.0), [x])[0], x=()),
    "without passes": lambda: lw.Kernel(ARM.compile("gravity_force").program, without_passes=["schedule"]),
}


def arguments(kernel: lw.Kernel, size: tuple[int, ...] = (5,)) -> list[np.ndarray]:
    """Return a batch of arguments; matrices are regular."""
    rng = np.random.default_rng(3)
    result = [rng.uniform(0.2, 1.0, (*size, *port.shape)) for port in kernel.inputs]
    return [x + 5.0 * np.eye(x.shape[-1]) if x.ndim == 3 and x.shape[-2] == x.shape[-1] else x for x in result]


def results(kernel: lw.Kernel) -> list[np.ndarray]:
    values = kernel(*arguments(kernel))
    return [np.asarray(x) for x in (values if isinstance(values, tuple) else (values,))]


def same(first: lw.Kernel, second: lw.Kernel) -> bool:
    pairs = zip(results(first), results(second), strict=True)
    return all(np.array_equal(x, y, equal_nan=True) for x, y in pairs)


def as_in_another_process(kernel: lw.Kernel, monkeypatch: pytest.MonkeyPatch) -> lw.Kernel:
    """Return the kernel of a pickle as a process without other kernels builds it."""
    data = pickle.dumps(kernel)
    with monkeypatch.context() as patch:
        patch.setattr(kernel_pickle, "_loaded", type(kernel_pickle._loaded)())
        patch.setattr(kernel_pickle, "_recent", type(kernel_pickle._recent)())
        loaded = pickle.loads(data)
        assert pickle.loads(data) is loaded is not kernel
    return loaded  # type: ignore[no-any-return]


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("name", EXAMPLES)
def test_unpickled_kernel_has_the_same_results_and_derivatives(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = EXAMPLES[name]()
    loaded = as_in_another_process(kernel, monkeypatch)
    assert (loaded.name, loaded.inputs, loaded.outputs, repr(loaded)) == (
        kernel.name,
        kernel.inputs,
        kernel.outputs,
        repr(kernel),
    )
    assert same(kernel, loaded)
    assert loaded._source.identity == kernel._source.identity
    assert loaded.operations == kernel.operations and loaded._source.traced.marks == kernel._source.traced.marks
    assert pickle.dumps(loaded) == pickle.dumps(kernel)
    if name != "loop":
        assert same(kernel.vjp(), loaded.vjp())
        assert same(as_in_another_process(loaded.jvp(), monkeypatch), kernel.jvp())
    with pytest.raises(TypeError, match="kernels from pickles and files have no function"):
        loaded.function  # noqa: B018


def test_nested_outputs_of_an_unpickled_kernel_have_the_classes_of_the_loading_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def work(state: Any, k: Any) -> Any:
        return Result(k["low"] * state.speed @ state.speed, {"at": -k["high"][1] * state.position})

    kernel = lw.compile(work, state=State((2,), (2,)), k={"low": (), "high": ((), ())})
    loaded = as_in_another_process(kernel, monkeypatch)
    arguments = State(np.array([1.0, 2.0]), np.array([3.0, 4.0])), {"low": 0.5, "high": (1.0, 2.0)}
    result = loaded(*arguments)
    assert type(result) is Result and result.energy == 12.5 and result.force["at"].tolist() == [-2.0, -4.0]
    with pytest.raises(TypeError, match="expected State"):
        loaded(3.0, arguments[1])
    data = pickle.dumps(loaded).replace(b"Result", b"Gone12")
    assert b"Gone12" in data
    with pytest.raises(ModuleNotFoundError, match=r"Gone12 of its arguments or results is needed: .* has no class"):
        pickle.loads(data)


def test_kernels_with_joint_types_of_the_user_are_pickled_as_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    links = [lw.Link("base"), lw.Link("arm", mass=1.0)]
    robot = lw.Robot.build("one", links, [lw.Joint.of(Turn(), name="turn", parent="base", child="arm")])
    kernel = robot.compile(("pose", "arm"))
    assert same(kernel, as_in_another_process(kernel, monkeypatch))


IN_ANOTHER_PROCESS = """
import json, pickle, sys
import numpy as np
import linkwork as lw
from linkwork.compiler.pickling.kernel_pickle import packed
arm = lw.load("arm7")
made = [arm.compile("forward_dynamics"), arm.compile("mass_matrix").jacobian("q"),
        lw.compile(lambda q: arm.pose(q, "hand")[:3, 3], q=arm.configuration_space, name="tip")]
there = pickle.load(open(sys.argv[1], "rb"))
q = np.linspace(0.1, 0.7, 21).reshape(3, 7)
results = [there[0](q, q, q), there[1](q), there[2](q)]
print(json.dumps([[packed(kernel).digest.hex() for kernel in made],
                  [np.ravel(x).tolist() for x in results]]))
"""


@pytest.mark.slow
def test_kernel_digests_and_results_are_equal_in_processes_with_other_hash_seeds_and_simd_levels(
    tmp_path: Path,
) -> None:
    """Compare processes with several hash seeds and SIMD levels."""
    tip = lw.compile(lambda q: ARM.pose(q, "hand")[:3, 3], q=ARM.configuration_space, name="tip")
    kernels = [ARM.compile("forward_dynamics"), ARM.compile("mass_matrix").jacobian("q"), tip]
    path = tmp_path / "kernels.pickle"
    path.write_bytes(pickle.dumps(kernels))
    outputs = []
    for seed, level in (("1", "sse2"), ("2", "")):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "LINKWORK_EFFORT": "0"}
        if level:
            environment["LINKWORK_SIMD"] = level
        result = subprocess.run(
            [sys.executable, "-c", IN_ANOTHER_PROCESS, str(path)], env=environment, capture_output=True, text=True
        )
        assert result.returncode == 0, result.stderr
        outputs.append(json.loads(result.stdout))
    digests = [packed(kernel).digest.hex() for kernel in kernels]
    assert outputs[0][0] == outputs[1][0] == digests
    q = np.linspace(0.1, 0.7, 21).reshape(3, 7)
    expected = [kernels[0](q, q, q), kernels[1](q), kernels[2](q)]
    for _, values in outputs:  # instruction sets without fused products round differently
        for value, reference in zip(values, expected, strict=True):
            np.testing.assert_allclose(value, np.ravel(reference), rtol=1e-12, atol=1e-12)


def test_unpickling_a_kernel_of_another_linkwork_version_raises_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pickle.dumps(lw.compile(lambda x: x + 1.25, x=()))
    monkeypatch.setattr(kernel_pickle, "_loaded", type(kernel_pickle._loaded)())
    monkeypatch.setattr(kernel_pickle, "_recent", type(kernel_pickle._recent)())
    monkeypatch.setattr(kernel_pickle, "_version", lambda: "9.9")
    with pytest.raises(ValueError, match=r"expected one of linkwork 9\.9, got one of linkwork .*Kernel\.save"):
        pickle.loads(data)


def test_pickling_a_kernel_compiled_by_a_users_backend_raises_an_error() -> None:
    from linkwork.compiler.backends import default_backend

    class ForeignBackend(type(default_backend())):  # type: ignore[misc]
        name = "other"

    backend: Backend[Any] = object.__new__(ForeignBackend)
    backend.__dict__.update(default_backend().__dict__)
    kernel = lw.Kernel(lw.compile(lambda x: x * 1.75, x=()).program, backend=backend)
    with pytest.raises(TypeError, match="expected a kernel of the backend 'cpu', got one of 'other'"):
        pickle.dumps(kernel)


def test_dask_computes_equal_tokens_for_equal_kernels() -> None:
    dask = pytest.importorskip("dask.base")

    def scaled(factor: float) -> lw.Kernel:
        return lw.compile(lambda x: x * factor, x=(), name="scaled")

    assert dask.tokenize(scaled(2.25)) == dask.tokenize(scaled(2.25)) != dask.tokenize(scaled(2.5))


def test_pickled_kernels_are_smaller_than_20_kB() -> None:
    assert max(len(pickle.dumps(EXAMPLES[name]())) for name in ("pose", "ruled", "derivative", "loop")) < 20_000


def test_pickled_robot_kernel_contains_no_collision_shapes() -> None:
    kernel = lw.load("arm7").compile("gravity_force")
    kernel_again = pickle.loads(pickle.dumps(kernel))
    assert kernel_again is kernel
    from linkwork.kernels.function_kernels import kernel_of_pickle

    tree = kernel_of_pickle(packed(kernel).body)._source.recipe.origin.subject.tree
    assert not any(frame.visuals or frame.collisions for frame in tree.frames)


def test_programs_with_every_operation_are_equal_after_writing_and_reading() -> None:
    from linkwork.compiler.cache.program_digest import content
    from linkwork.compiler.checks.sample_programs import programs

    count = 0
    for program, _ in programs():
        data, objects = write_values([program])
        (again,) = read_values(data, objects)
        assert isinstance(again, Program) and again == program and content(again) == content(program)
        count += 1
    assert count > 30


def test_program_of_an_unpickled_kernel_is_read_when_it_is_needed() -> None:
    data, objects = write_values([[0.5, "x"]])
    for body in (compressed(data), b"damaged"):
        content: Any = SimpleNamespace(body=body, objects=objects)
        remade = kernel_pickle._Remade(content, {"kind": kernel_pickle._PROGRAM, "name": "half"})
        if body == b"damaged":
            with pytest.raises(ValueError, match="pickle of kernel 'half': its bytes are damaged"):
                remade.trace()
        else:
            program: Any = remade.trace()
            assert program == [0.5, "x"]
