"""Errors of MuJoCo's compiler come together: the invalid lines of a model are the lines that are reported."""

from __future__ import annotations

import random

import pytest

from linkwork._util import own_code
from linkwork.errors import Findings, ModelError
from linkwork.formats.mjcf import compiler_errors
from linkwork.formats.mjcf.compiler_errors import further_issues
from linkwork.formats.mjcf.mjcf_reader import read_mjcf
from linkwork.formats.mjcf.model_files import ModelFiles

VALID = """<mujoco model="m">
<compiler angle="degree"/>
<asset><mesh name="q" file="q.obj"/></asset>
<worldbody>
<body name="a">
<joint name="j" axis="0 0 1"/>
<geom name="ball" size="0.1"/>
<body name="b">
<joint name="k" type="hinge"/>
<geom type="mesh" mesh="q"/>
<body name="c">
<joint name="l" range="-10 10"/>
<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
</body>
<body name="d">
<joint name="n" axis="1 0 0"/>
<inertial pos="0 0 0" mass="1" diaginertia="1 1 1.5"/>
</body>
</body>
</body>
</worldbody>
<actuator>
<motor name="m1" joint="l"/>
<motor joint="j" gear="3"/>
</actuator>
<sensor><jointpos joint="n"/></sensor>
</mujoco>
"""
FAULTS = {  # the line that an error names: a text of the model, and an invalid one
    3: ('file="q.obj"', 'file="gone.obj"'),
    6: ('axis="0 0 1"', 'axs="0 0 1"'),
    7: ('size="0.1"', 'size="-0.1"'),
    9: ('type="hinge"', 'type="hing"'),
    11: ('mass="1" diaginertia="1 1 1"/>', 'mass="-1" diaginertia="1 1 1"/>'),
    12: ('range="-10 10"', 'range="10 -10"'),
    15: ('diaginertia="1 1 1.5"', 'diaginertia="1 1 9"'),
    16: ('axis="1 0 0"', 'axis="0 0 0"'),
    23: ('joint="l"', 'joint="ll"'),
    24: ('gear="3"', 'gear="3" gearing="2"'),
    26: ('joint="n"/></sensor>', 'joint="nn"/></sensor>'),
}
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def lines_of_errors(folder, text):
    pytest.importorskip("mujoco")
    (folder / "q.obj").write_text(TETRAHEDRON)
    path = folder / "model.xml"
    path.write_text(text)
    with pytest.raises(ModelError, match=r"\[[A-Z_]+\]") as caught:
        read_mjcf(path)
    lines = [issue.where.line for issue in caught.value.issues]
    assert len(lines) == len(set(lines)), caught.value
    return set(lines)


def with_faults(lines):
    text = VALID
    for line in lines:
        right, wrong = FAULTS[line]
        assert text.count(right) == 1, right
        text = text.replace(right, wrong)
    return text


@pytest.mark.parametrize("seed", range(12))
def test_each_invalid_line_of_a_model_is_reported_once_and_no_other(seed, tmp_path):
    rng = random.Random(seed)
    lines = rng.sample([*FAULTS], rng.randint(2, len(FAULTS)))
    assert lines_of_errors(tmp_path, with_faults(lines)) == set(lines)


@pytest.mark.parametrize("line", FAULTS)
def test_one_invalid_line_is_one_error(line, tmp_path):
    assert lines_of_errors(tmp_path, with_faults([line])) == {line}


def test_the_model_without_invalid_lines_is_read(tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "q.obj").write_text(TETRAHEDRON)
    (tmp_path / "model.xml").write_text(VALID)
    assert len(read_mjcf(tmp_path / "model.xml").joints) == 4


def test_errors_of_included_files_have_the_lines_of_the_named_elements(tmp_path):
    arm = '<mujoco>\n<worldbody>\n<body name="a">\n<joint name="j"/>\n</body>\n</worldbody>\n</mujoco>'
    (tmp_path / "arm.xml").write_text(arm)
    main = '<mujoco>\n<include file="arm.xml"/>\n<worldbody>\n<body name="b">\n<joint/>\n</body>\n</worldbody></mujoco>'
    (tmp_path / "model.xml").write_text(main)
    pytest.importorskip("mujoco")
    with pytest.raises(ModelError, match=r"\[[A-Z_]+\]") as caught:
        read_mjcf(tmp_path / "model.xml")
    files = {(issue.where.file, issue.where.line) for issue in caught.value.issues}
    assert files == {(str(tmp_path / "arm.xml"), 3), (str(tmp_path / "model.xml"), 4)}


def test_large_models_are_compiled_once_and_the_search_ends_after_its_compilations(tmp_path):
    (tmp_path / "q.obj").write_text(TETRAHEDRON)
    many = "".join(f'<body name="b{i}">\n<joint name="j{i}"/>\n</body>\n' for i in range(60))
    assert len(lines_of_errors(tmp_path, f"<mujoco>\n<worldbody>\n{many}</worldbody></mujoco>")) == 20  # at most
    calls = []
    large = ModelFiles(texts={"model.xml": b" " * (1 << 22)})
    findings = Findings()
    assert further_issues("Error: line 1", large, calls.append, findings) is None
    assert not calls and not findings.errors


def test_the_search_ends_after_its_time_with_the_errors_that_it_has(tmp_path, monkeypatch):
    monkeypatch.setattr(own_code, "_replaced", {})
    monkeypatch.setattr(compiler_errors, "_MOST_SECONDS", 0.0)
    assert lines_of_errors(tmp_path, with_faults([9, 23, 24])) == {24}  # the first that MuJoCo names


CLASSES = """<mujoco>
<default>
<default class="rod"><geom type="capsule" size="0.1"/></default>
</default>
<worldbody>
<body name="a" childclass="rod">
<joint name="j"/>
<geom name="g" fromto="0 0 0 0 0 1"/>
<geom name="h" fromto="0 0 0 0.5 0 1"/>
<geom name="own" class="rod" fromto="0 0 0 0.5 0 1"/>
</body>
</worldbody>
</mujoco>
"""


@pytest.mark.parametrize(
    ("valid", "invalid", "lines"),
    [
        ('childclass="rod"', 'childclass="rot"', {6}),
        ('childclass="rod"', 'childclass="rot" pos="0 0 x"', {6}),
        ('type="capsule"', 'type="capsul"', {3}),
        ('default class="rod"', 'default class="rot"', {6, 10}),
        ('rod">\n<joint', 'rot">\n<joint axis="0 0 0"', {6, 7}),
        ('rod">\n<joint', 'other">\n<joint axis="0 0 0"', {6}),
    ],
)
def test_errors_that_follow_from_an_unknown_class_or_kind_are_left_out(tmp_path, valid, invalid, lines):
    """Without its class, a geom that has its size from it is invalid, too: its own line is right."""
    assert CLASSES.count(valid) == 1
    assert lines_of_errors(tmp_path, CLASSES.replace(valid, invalid)) == lines
