"""Long files: reading takes work in proportion to their length, and their errors are short."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest

from formats.long_files import DOCUMENTS, LOOPS, ROBOTS, SCENES, SDF
from helpers.steps import grows_in_proportion
from linkwork.errors import Findings, ModelError
from linkwork.formats import loops_text, parse_loops, parse_sdf, parse_urdf, robot_text, sdf_text, urdf_text
from linkwork.formats.data_values import Builder
from linkwork.formats.json_and_yaml import _Reader
from linkwork.formats.loops_file import BUDGET
from linkwork.formats.xml_document import parse
from linkwork.geometry.scene import Scene
from linkwork.model.attached_constraints import attached
from linkwork.model.tree_builder import build_tree

N = 300
LENGTH = 5000


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("name", ROBOTS)
def test_work_of_reading_a_urdf_is_proportional_to_its_size(name: str):
    def work(n: int):
        text = ROBOTS[name](n)
        return lambda: build_tree(parse_urdf(text))

    assert grows_in_proportion(work, N)


@pytest.mark.slow(every=3)
@pytest.mark.parametrize("name", ["chain", "welded chain", "materials"])
def test_work_of_saving_and_loading_a_robot_is_proportional_to_its_size(name: str):
    def work(n: int):
        tree = build_tree(parse_urdf(ROBOTS[name](n)))
        return lambda: robot_text(tree)  # which reads the text as well

    assert grows_in_proportion(work, N)


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("write", [urdf_text, sdf_text])
def test_work_of_writing_urdf_and_sdf_is_proportional_to_the_robots_size(write: Any):
    def work(n: int):
        tree = build_tree(parse_urdf(ROBOTS["chain"](n)))
        return lambda: write(tree)

    assert grows_in_proportion(work, N)


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("name", SDF)
def test_work_of_reading_sdf_is_proportional_to_its_size(name: str):
    def work(n: int):
        text = SDF[name](n)
        return lambda: build_tree(parse_sdf(text))

    assert grows_in_proportion(work, N)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_work_of_parsing_xml_is_proportional_to_its_size(name: str):
    def work(n: int):
        text = DOCUMENTS[name](n)
        return lambda: parse(text)

    assert grows_in_proportion(work, N)


@pytest.mark.costly
@pytest.mark.parametrize("name", LOOPS)
def test_work_of_reading_loops_files_is_proportional_to_their_size(name: str):
    tree = build_tree(parse_urdf(ROBOTS["chain"](3)))

    def work(n: int):
        text = LOOPS[name](n)
        return lambda: attached(tree, parse_loops(text))

    if name == "unknown frames":
        with pytest.raises(ModelError, match="UNKNOWN_FRAME"):
            work(1)()
    else:
        assert loops_text(work(3)()) and len(json.loads(loops_text(work(3)()))) > 1
    assert grows_in_proportion(work, N)


@pytest.mark.costly
@pytest.mark.parametrize("name", SCENES)
def test_work_of_reading_a_scene_is_proportional_to_its_size(name: str):
    def work(n: int):
        text = SCENES[name](n)

        def read():
            with contextlib.suppress(ValueError):
                Scene.from_json(text)

        return read

    assert grows_in_proportion(work, N)


def test_lines_of_a_document_in_a_single_line_are_counted_in_one_pass():
    class Counted(str):
        looked_at = 0

        def count(self, *args):
            Counted.looked_at += args[2] - args[1]
            return super().count(*args)

    text = Counted(LOOPS["points"](N))
    root = _Reader(text, Builder(None, Findings(), BUDGET)).read()
    assert len(root.content["points"].content) == N and Counted.looked_at <= len(text)


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("name", ROBOTS)
def test_messages_about_long_robot_files_are_short(name: str):
    try:
        said = str(build_tree(parse_urdf(ROBOTS[name](LENGTH))).report.warnings[:100])
    except ModelError as error:
        said = str(error)
    assert len(said) < 50_000


def test_measurement_of_proportional_work_detects_quadratic_work():
    def square(n: int):
        def work() -> None:
            for _ in range(n):
                for _ in range(n):
                    pass

        return work

    assert not grows_in_proportion(square, N)
