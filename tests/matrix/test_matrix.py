"""Every verb on every kind of robot gives the recorded outcome, and the table is complete."""

from __future__ import annotations

import re
from typing import Any

import pytest

from linkwork import constraints
from linkwork.joints import ALL
from matrix import record
from matrix.cell import NOT_MEANINGFUL, VERBS, WORKS
from matrix.kinds import KINDS
from matrix.uncovered import NO_VERB, public_names

RECORD = record.read()


@pytest.mark.slow(every=12)
@pytest.mark.parametrize("verb", RECORD)
def test_each_method_on_each_kind_of_robot_works_or_raises_as_recorded(verb: str, drawn: Any) -> None:
    """The verb works, or refuses in the recorded words, on the kinds of the day."""
    kinds = drawn([None, *KINDS, None])[1:-1]  # neither the first nor the last kind in each run
    result = record.computed([verb], kinds)[verb]
    assert result == {kind: RECORD[verb][kind] for kind in kinds}


def test_each_recorded_cell_of_the_matrix_works_raises_or_is_not_meaningful() -> None:
    """Each recorded cell works, refuses or is not meaningful."""
    texts = {text for outcomes in RECORD.values() for text in outcomes.values()}
    assert [t for t in texts if t not in (WORKS, NOT_MEANINGFUL) and not t.startswith("refuses: ")] == []


def test_matrix_record_has_all_methods_and_kinds_of_robots() -> None:
    assert [name for name in VERBS if name in RECORD] == list(RECORD)
    assert all(list(outcomes) == list(KINDS) for outcomes in RECORD.values())


def test_matrix_covers_every_public_name() -> None:
    """Each new method of robots, or class that takes a robot, has a verb or a reason for its absence."""
    covered = {name for verb in VERBS.values() for name in verb.covers}
    names = public_names()
    assert sorted(names - covered - set(NO_VERB)) == []
    assert sorted(set(NO_VERB) & covered) == []
    assert sorted((covered | set(NO_VERB)) - names) == []


def test_matrix_has_a_kind_of_robot_for_every_joint_type_and_constraint() -> None:
    expected = {f"{where}: {kind.type_name()}" for kind in ALL for where in ("tree", "loop")}
    expected |= {f"constraint: {kind.__name__}" for kind in constraints.ALL}
    assert expected <= set(KINDS)


def test_page_of_the_matrix_equals_its_record() -> None:
    """The page is made from the record: ``python -m matrix.record`` in the folder of the tests writes both."""
    assert record.PAGE.read_text(encoding="utf-8") == record.page(RECORD)


def test_each_method_of_the_matrix_states_its_identity() -> None:
    """Each verb states its identity in a sentence."""
    assert [name for name, verb in VERBS.items() if not re.fullmatch(r"[A-Z].*\.", verb.identity, re.S)] == []
