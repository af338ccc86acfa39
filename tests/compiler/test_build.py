"""Kernels and the cache: cached code is neither traced nor compiled, and equals new code."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from compiler.knobs import LEVELS
from compiler.support import bits_equal
from linkwork.compiler.cache import disk_cache as cache
from linkwork.compiler.codegen import cpu_backend, target
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.trace.trace import compile, trace
from linkwork.errors import CacheWarning

TEXT = """
<robot name="{name}">
  <link name="base"/>
  <link name="{body}"><inertial><origin xyz="{x} 0 0"/><mass value="2"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="hinge" type="revolute"><parent link="base"/><child link="{body}"/><origin xyz="0.2 0 0.3" rpy="0.4 0 0"/>
    <axis xyz="0 1 0"/>
    <limit lower="-1" upper="2" effort="30" velocity="4"/></joint>
</robot>"""


def robot(name: str = "one", body: str = "arm", x: float = 0.5, **options: Any) -> lw.Robot:
    return lw.Robot.from_urdf_string(TEXT.format(name=name, body=body, x=x), **options)


class Work:
    """Counts programs that are traced, and how often something is compiled.

    That is the single call, when a kernel is made, and the loop over a batch of a type, when it is first asked for.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.traced = self.compiled = 0
        from linkwork.kernels import function_kernels as kernels

        trace_requests, emit = kernels.trace_requests, cpu_backend.emit

        def traced(*arguments: Any) -> Any:
            self.traced += 1
            return trace_requests(*arguments)

        def compiled(*arguments: Any) -> Any:
            self.compiled += 1
            return emit(*arguments)

        monkeypatch.setattr(kernels, "trace_requests", traced)
        monkeypatch.setattr(cpu_backend, "emit", compiled)

    def since(self) -> tuple[int, int]:
        """Return the numbers of traces and compilations since the last call."""
        done = self.traced, self.compiled
        self.traced = self.compiled = 0
        return done


@pytest.fixture
def work(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Work:
    return Work(monkeypatch)


Q = np.linspace(-1.0, 1.0, 40).reshape(40, 1)


def test_functions_in_the_disk_cache_are_neither_traced_nor_compiled_again(work: Work) -> None:
    first_robot = robot()
    assert bits_equal(first_robot.gravity_force(Q[3]), robot().gravity_force(Q[3]))
    assert work.since() == (1, 1)
    first = first_robot.gravity_force(Q)
    assert work.since() == (0, 1)  # the code for one sample is part of it, and there
    single = robot().gravity_force(Q.astype(np.float32))
    assert work.since() == (1, 1)  # float64 was there; float32 needs the program
    again = robot()
    assert bits_equal(again.gravity_force(Q), first)
    assert bits_equal(again.gravity_force(Q.astype(np.float32)), single) and single.dtype == np.float32
    assert bits_equal(again.gravity_force(Q[3]), first[3])
    assert work.since() == (0, 0)


@pytest.mark.slow(every=9)
def test_changing_the_robot_the_function_or_an_option_recompiles(work: Work) -> None:
    expected = robot().gravity_force(Q)
    work.since()
    assert not bits_equal(robot(x=0.25).gravity_force(Q), expected)
    assert work.since() == (1, 1)
    assert np.allclose(robot(gravity=(0, 0, -1.62)).gravity_force(Q) * (9.81 / 1.62), expected, rtol=1e-14)
    assert work.since() == (1, 1)
    assert robot(floating_base=True).gravity_force(robot(floating_base=True).neutral()).shape == (7,)
    assert work.since() == (1, 1)
    first_robot = robot()
    options = [{}, {"point": "world"}, {"expressed_in": "arm"}, {"point": "world", "expressed_in": "arm"}]
    jacobians = [first_robot.jacobian(Q, "arm", **option) for option in options]
    assert work.since() == (4, 4)
    for k, (option, jacobian) in enumerate(zip(options, jacobians, strict=True)):
        assert not any(bits_equal(jacobian, earlier) for earlier in jacobians[:k])
        assert bits_equal(jacobian, first_robot.compile(("jacobian", "arm", option))(Q))
    work.since()
    assert bits_equal(robot().jacobian(Q, "arm", point="world"), jacobians[1])
    assert work.since() == (0, 0)


def test_robots_that_differ_in_names_share_machine_code_and_name_their_own_results(work: Work) -> None:
    first = robot().compile(["gravity_force", ("pose", "arm")], name="both")
    assert work.since() == (1, 1)
    second = robot("two").compile({"g": "gravity_force", "p": ("pose", "arm")}, name="both")
    assert work.since() == (0, 0)
    assert [port.name for port in second.outputs] == ["g", "p"]
    got, expected = second(Q), first(Q)
    assert type(got).__name__ == "both_result" and got._fields == ("g", "p")
    assert bits_equal(got.g, expected[0]) and bits_equal(got.p, expected[1])


def test_equal_programs_of_functions_with_the_same_name_share_machine_code(work: Work) -> None:
    first = compile(lambda a, b: {"total": a + 2.0 * b, "twice": 2.0 * a}, name="sums", a=3, b=3)
    assert work.since()[1] == 1
    second = compile(lambda p, q: {"x": p + 2.0 * q, "y": 2.0 * p}, name="sums", p=3, q=3)
    assert work.since()[1] == 0
    a, b = np.arange(3.0), np.array([0.5, 0.25, 8.0])
    for kernel, names, fields in ((first, "ab", ("total", "twice")), (second, "pq", ("x", "y"))):
        for result in (kernel(a, b), kernel(**dict(zip(names, (a, b), strict=True))), kernel(a[None], b[None])):
            assert result._fields == fields and type(result).__name__ == "sums_result"
            assert np.array_equal(np.squeeze(result[0]), a + 2.0 * b)
    with pytest.raises(TypeError, match="sums: unexpected or repeated argument 'a'"):
        second(a=a, b=b)
    work.since()
    changed = compile(lambda p, q: {"x": p + 2.0 * q, "y": 2.5 * p}, name="sums", p=3, q=3)
    assert work.since()[1] == 1 and np.array_equal(changed(a, b).y, 2.5 * a)
    zeros = [compile(lambda a, zero=zero: (a, zero), a=3)(a)[1] for zero in (0.0, -0.0, 0.0)]
    assert np.signbit(zeros).tolist() == [False, True, False]  # zeros of both signs are not one number
    assert work.since()[1] == 2
    named = compile(lambda p, q: {"x": p + 2.0 * q, "y": 2.5 * p}, name="named", p=3, q=3)
    assert work.since()[1] == 1 and "named.sample" in named.llvm_ir  # symbols carry the name


@pytest.mark.slow(every=5)
def test_each_simd_level_has_its_own_entry_in_the_disk_cache(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    for turn in range(2):
        for level in LEVELS:
            monkeypatch.setenv(target.VARIABLE, level)
            assert np.allclose(robot().gravity_force(Q), robot().bias_force(Q, 0.0 * Q), rtol=1e-13, atol=1e-13)
            assert work.since()[1] == (0 if turn else 2)


def test_another_version_of_linkwork_or_numpy_recompiles_cached_functions(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot().gravity_force(Q)
    work.since()
    for attribute, value in (("__version__", "9.9"), ("__version__", "9.8")):
        monkeypatch.setattr(lw, attribute, value)
        robot().gravity_force(Q)
        assert work.since() == (1, 1)
    monkeypatch.setattr(cache.np, "__version__", "1.99")
    robot().gravity_force(Q)
    assert work.since() == (1, 1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("spoil", ["cut", "flipped", "empty", "another's"])
def test_damaged_entry_of_the_disk_cache_is_recompiled_with_a_warning(
    work: Work, cache_folder: Path, spoil: str, dtype: type
) -> None:
    expected = robot().gravity_force(Q.astype(dtype))
    expected_far = robot(x=0.25).gravity_force(Q.astype(dtype))
    files = sorted(cache_folder.glob("*.linkwork"))
    assert len(files) == 4  # of two robots: one sample, and batch
    work.since()
    contents = [file.read_bytes() for file in files]
    for k, (file, data) in enumerate(zip(files, contents, strict=True)):
        middle = len(data) // 2
        changed = {
            "cut": data[:middle],
            "flipped": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
            "empty": b"",
            "another's": contents[k - 1],
        }[spoil]
        file.write_bytes(changed)
    for loaded, right in ((robot(), expected), (robot(x=0.25), expected_far)):
        with pytest.warns(CacheWarning, match="damaged"):
            again = loaded.gravity_force(Q.astype(dtype))
        assert bits_equal(again, right)
    assert work.since()[1] == 2
    assert bits_equal(robot().gravity_force(Q.astype(dtype)), expected)  # and no warning: whole again
    assert work.since() == (0, 0)


def rewritten(path: Path, change: Callable[[dict[str, Any], bytes], tuple[Any, bytes]]) -> None:
    """An entry with other content, and the digest that belongs to it."""
    entry = cache._unpacked(path.stem, path.read_bytes())
    assert entry is not None
    path.write_bytes(cache._packed(path.stem, cache.Entry(*change(dict(entry.facts), entry.code))))


def without(facts: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: fact for name, fact in facts.items() if name not in names}


WRONG: dict[str, Callable[[dict[str, Any], bytes], tuple[Any, bytes]]] = {
    "no facts": lambda facts, code: ({}, code),
    "no sizes": lambda facts, code: (without(facts, "sizes"), code),
    "no seconds": lambda facts, code: (without(facts, "seconds"), code),
    "sizes that do not add up": lambda facts, code: (facts | {"sizes": [len(code) - 1]}, code),
    "more sizes": lambda facts, code: (facts | {"sizes": [*facts["sizes"], 1]}, code),
    "a negative size": lambda facts, code: (facts | {"sizes": [len(code) + 1, -1]}, code),
    "sizes of a wrong type": lambda facts, code: (facts | {"sizes": ["1"]}, code),
    "a size alone": lambda facts, code: (facts | {"sizes": len(code)}, code),
    "seconds of a wrong type": lambda facts, code: (facts | {"seconds": "many"}, code),
    "seconds that are none": lambda facts, code: (facts | {"seconds": float("nan")}, code),
    "no code": lambda facts, code: (facts | {"sizes": []}, b""),
    "text": lambda facts, code: (facts, b"x" * len(code)),
    "code that ends too soon": lambda facts, code: (facts | {"sizes": [len(code) // 2]}, code[: len(code) // 2]),
    "sections elsewhere": lambda facts, code: (facts, code[:40] + b"\xff" * 8 + code[48:]),
}


@pytest.mark.skipif(sys.platform != "linux", reason="of ELF files")
def test_malformed_entry_of_the_disk_cache_is_recompiled_with_a_warning(
    work: Work, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = trace(lambda x: x * x + 1.0, "plain", {"x": 3})
    Kernel(program)(np.ones(3))
    work.since()
    for fault, change in WRONG.items():
        files = sorted(cache_folder.glob("*.linkwork"))
        for file in files:
            rewritten(file, change)
        monkeypatch.setattr(cache, "_warned", set())
        with pytest.warns(CacheWarning, match="is damaged; its code is compiled again") as caught:
            assert Kernel(program)(np.ones(3)).tolist() == [2.0] * 3, fault
        assert len(caught) == len(files) and work.since()[1], fault
        assert Kernel(program)(np.ones(3)).tolist() == [2.0] * 3
        assert work.since()[1] == 0, fault


def test_no_files_are_written_if_the_disk_cache_is_off(
    work: Work, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in ("off", "OFF"):
        monkeypatch.setenv("LINKWORK_CACHE", text)
        for _ in range(2):
            robot().gravity_force(Q)
            assert work.since() == (1, 1)
    assert not cache_folder.exists()


def test_kernels_compiled_without_some_passes_are_not_cached(work: Work, cache_folder: Path) -> None:
    program = trace(lambda x: x * x + 1.0, "plain", {"x": 3})
    for _ in range(2):
        Kernel(program, without_passes=["fuse"])
        assert work.since()[1] == 1
    assert not list(cache_folder.glob("*"))


# -- joints that users define

JOINT = """
import sys
from dataclasses import dataclass
import numpy as np
import linkwork as lw
from linkwork._util import own_code
from linkwork.compiler.codegen import cpu_backend
from linkwork.joints import JointType
from linkwork.model.random_tree import random_tree
from linkwork.spatial import Pose, Rotation, Vec3

compiled, emit = [], cpu_backend.emit
cpu_backend.emit = lambda *given: compiled.append(1) or emit(*given)
own_code._replaced = {}  # the code that the counting function makes is unchanged

@dataclass(frozen=True)
class Screw(JointType):
    lead: float
    nq, nv = 1, 1
    q_units, v_units = ("rad",), ("rad/s",)

    @classmethod
    def example(cls, rng):
        return cls(0.5)

    def X(self, q):
        return Pose(Rotation.about(Vec3(0.0, 0.0, 1.0), q[0]), Vec3(0.0, 0.0, FACTOR * self.lead * q[0]))

robot = lw.Robot(random_tree(np.random.default_rng(0), 2, types=[Screw], shape="chain"))
q = np.array([0.3, 0.7])
poses = robot.forward_kinematics(q)
robot.forward_kinematics(q.astype(np.float32))
print(len(compiled), repr(float(poses[1, :3, 3] @ poses[0, :3, 2])))
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_cached_code_of_a_users_joint_type_is_recompiled_if_its_transform_changed(cache_folder: Path) -> None:
    """The joint's parameters are the same in all processes; its transform is not."""

    def run(factor: float) -> list[str]:
        code = textwrap.dedent(JOINT).replace("FACTOR", repr(factor))
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    first, second, third = run(1.0), run(2.0), run(1.0)
    assert first[0] == second[0] == "2" and third[0] == "0"
    assert first[1] == third[1] != second[1]
    assert run(2.0) == ["0", second[1]]


@pytest.mark.best_code
@pytest.mark.slow
def test_processes_that_compile_the_same_kernel_simultaneously_agree(cache_folder: Path) -> None:
    code = """
    import warnings
    warnings.simplefilter("error")
    import numpy as np
    import linkwork as lw
    q = np.linspace(-1.0, 1.0, 14).reshape(2, 7)
    robot = lw.load("arm7")
    print(robot.gravity_force(q).tobytes().hex(), robot.gravity_force(q.astype(np.float32)).tobytes().hex())
    """
    started = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code)],
            stdout=-1,
            stderr=-1,
            text=True,
            env={**os.environ, "LINKWORK_EFFORT": "2"},  # no quick code, which has entries of its own
        )
        for _ in range(6)
    ]
    printed = [process.communicate() for process in started]
    assert {errors for _, errors in printed} == {""}
    assert len({text for text, _ in printed}) == 1
    arm = lw.load("arm7").gravity_force(np.linspace(-1.0, 1.0, 14).reshape(2, 7))
    assert printed[0][0].split()[0] == arm.tobytes().hex()
    assert len(list(cache_folder.iterdir())) == 4  # one sample and batch of both types
