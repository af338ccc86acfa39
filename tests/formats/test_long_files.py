"""Long files: reading takes work in proportion to their length, and their errors are short."""

from __future__ import annotations

import pytest

from formats.long_files import DOCUMENTS, ROBOTS
from helpers.steps import grows_in_proportion
from linkwork.errors import ModelError
from linkwork.formats import parse_urdf
from linkwork.formats.xml import parse
from linkwork.model.build import build_tree

N = 300
SOME = 5000


@pytest.mark.parametrize("name", ROBOTS)
def test_reading_a_robot_takes_work_in_proportion(name: str):
    def work(n: int):
        text = ROBOTS[name](n)
        return lambda: build_tree(parse_urdf(text))

    assert grows_in_proportion(work, N)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_parsing_takes_work_in_proportion(name: str):
    def work(n: int):
        text = DOCUMENTS[name](n)
        return lambda: parse(text)

    assert grows_in_proportion(work, N)


@pytest.mark.parametrize("name", ROBOTS)
def test_what_is_said_of_long_files_is_short(name: str):
    try:
        said = str(build_tree(parse_urdf(ROBOTS[name](SOME))).report.warnings[:100])
    except ModelError as error:
        said = str(error)
    assert len(said) < 50_000


def test_work_out_of_proportion_would_be_noticed():
    def square(n: int):
        def work() -> None:
            for _ in range(n):
                for _ in range(n):
                    pass

        return work

    assert not grows_in_proportion(square, N)
