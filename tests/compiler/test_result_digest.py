"""Digests of results: equal for equal content in every process, different for other code and other variables."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import linkwork as lw
from linkwork.compiler.trace.result_digest import result_digest

SOURCE = """
import functools
from dataclasses import dataclass, field

import numpy as np

from linkwork.joints import JointType
from linkwork.spatial import Pose, Rotation, Vec3

GAIN, NAMES = {gain}, {{"a", "b", "c"}}


def scaled(x, factor={factor}):
    return GAIN * x * factor


@dataclass(frozen=True)
class Cam(JointType):
    axis: Vec3 = Vec3(0.0, 0.0, 1.0)
    nq, nv = 1, 1
    q_units, v_units = ("rad",), ("rad/s",)

    def X(self, q):
        return Pose(Rotation.about(self.axis, q[0]), self.axis * ({advance} * q[0]))


class Part:
    def __init__(self, table):
        self.table, self.owner = np.array(table), self

    @property
    def total(self):
        return self.table.sum() {sign} len(NAMES)

    @functools.cached_property
    def shown(self):
        return object()


def made(offset):
    def function(x):
        return scaled(x) + offset + (lambda y: y * {inner})(x)
    return function


VALUES = {{"function": made({offset}), "joint": Cam(), "object": Part([1.0, {entry}]), "class": Part,
          "partial": functools.partial(scaled, factor={bound}), "method": Part([1.0, {entry}]).total}}
"""
CHOICES = {"gain": 2, "factor": 3.0, "advance": 0.1, "sign": "+", "inner": 7, "offset": 1, "entry": 5.0, "bound": 4}


def _values(**changed: object) -> dict[str, object]:
    space: dict[str, object] = {"__name__": "of_a_user"}
    exec(compile(SOURCE.format(**{**CHOICES, **changed}), "of_a_user.py", "exec", dont_inherit=True), space)
    return space["VALUES"]  # type: ignore[return-value]


def test_result_digest_depends_on_users_code_and_the_variables_it_reads() -> None:
    digests = {name: result_digest(value) for name, value in _values().items()}
    assert digests == {name: result_digest(value) for name, value in _values().items()} and len(
        {*digests.values()}
    ) == len(digests)
    part = _values()["object"]
    assert result_digest(part) == digests["object"] and part.shown and result_digest(part) == digests["object"]  # type: ignore[attr-defined]
    for choice, new_value, names in (
        ("gain", 2.5, {"function", "partial"}),
        ("factor", 3.5, {"function", "partial"}),
        ("inner", 8, {"function"}),
        ("offset", 2, {"function"}),
        ("advance", 0.2, {"joint"}),
        ("sign", "-", {"object", "class", "method"}),
        ("entry", 6.0, {"object", "method"}),
        ("bound", 5, {"partial"}),
    ):
        changed = {
            name for name, value in _values(**{choice: new_value}).items() if result_digest(value) != digests[name]
        }
        assert changed == names, choice


def test_result_digest_depends_on_content_and_not_on_number_or_sequence_type() -> None:
    assert result_digest(1, [2.0, 0.0], True) == result_digest(1.0, (2, -0.0), True)
    spheres = lw.shapes.Sphere(1.0), lw.shapes.Sphere(2.0)
    values = (1, 1.5, True, "1", None, 2**60, 2**60 + 1, {"a": 1}, {"a": 2}, *spheres)
    assert len({result_digest(value) for value in values}) == len(values)


def test_result_digest_depends_on_the_elements_of_users_containers() -> None:
    space: dict[str, type] = {}
    for kind in ("list", "tuple", "dict", "set", "frozenset"):
        exec(f"class Own({kind}):\n    unit = 'm'", {"__name__": "of_a_user"}, space)
        container = space["Own"]
        first, second = (container({"a": x} if kind == "dict" else [x]) for x in (1.0, 2.0))
        assert result_digest(first) == result_digest(container(first)) != result_digest(second), kind


@pytest.mark.slow(every=3)
def test_result_digests_are_equal_in_every_process(tmp_path: Path) -> None:
    (tmp_path / "of_a_user.py").write_text(SOURCE.format(**CHOICES))
    code = """
import linkwork as lw
from of_a_user import VALUES
from linkwork.collision.fingerprints import fingerprint
from linkwork.compiler.trace.result_digest import result_digest
scene = lw.Scene().with_box("wall", (0.2, 3.0, 1.0))
print([*map(result_digest, VALUES.values())], fingerprint(lw.load("arm7"), scene, masses=True))
"""
    digests = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
        ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
        assert not ran.returncode, ran.stderr
        digests.add(ran.stdout)
    assert len(digests) == 1 and len(digests.pop()) > 6 * 64
