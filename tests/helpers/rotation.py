"""Selection of a test's cases by a seed: a short run, and all cases within `ROUNDS` consecutive seeds."""

import datetime
import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")

ROUNDS = 12  # consecutive seeds, one a day, after which every case has run
"""A case whose rounds are whole weeks would run on one day of the week alone.  With 13 rounds the day of the week moves
back by one each time, so that a case may miss the five working days of four weeks."""
SHORT = 3  # a list of up to so many cases stays whole


def todays_seed() -> int:
    """Return the number of the day in Coordinated Universal Time: runs of a day repeat each other."""
    return datetime.datetime.now(datetime.UTC).date().toordinal()


def test_of(case: str) -> str:
    """Return the node id of a case without its parameters."""
    return case.partition("[")[0]


def selected(
    cases: Iterable[str],
    slow: Mapping[str, int],
    seed: int,
    named: Collection[str] = (),
    costly: Collection[str] = (),
) -> dict[str, int]:
    """Select node ids: the first and the last case of each test, and those drawn by the seed.

    Of a test in ``costly`` the first and the last case are drawn as the others are.  A ``slow`` case is selected once
    in so many consecutive seeds.  Cases below a node id in ``named`` all are.  The result says of each selected case
    in how many consecutive seeds it is selected once.
    """
    cases = [*cases]
    tests: dict[str, list[str]] = {}
    for case in cases:
        tests.setdefault(test_of(case), []).append(case)
    result: dict[str, int] = {}
    for test, cases_ in tests.items():
        result |= _dealt(cases_, seed) if test in costly else _drawn(cases_, seed)
    result |= {case: rounds for case, rounds in slow.items() if is_drawn(case, seed, rounds)}
    return result | {case: 1 for case in (*cases, *slow) if is_below(case, named)}


def drawn(values: Iterable[T], seed: int, of: str = "") -> list[T]:
    """Select values that one test goes through, as cases of a test are selected; ``of`` names the test."""
    values = list(values)
    cases = [f"{of}[{index}]" for index in range(len(values))]
    selected_cases = _drawn(cases, seed)
    return [value for value, case in zip(values, cases, strict=True) if case in selected_cases]


def is_drawn(case: str, seed: int, rounds: int) -> bool:
    """Return True for one case in so many; within so many consecutive seeds, once for each case."""
    return int.from_bytes(_shuffled(case)[:8]) % rounds == seed % rounds


def _drawn(cases: Sequence[str], seed: int) -> dict[str, int]:
    """Select the first and the last case, and a share of the others; return in how many seeds each is selected once.

    The others are shuffled and dealt to as many rounds as there are cases, at most `ROUNDS` and never to 7.  The seed
    counts rounds, so consecutive seeds draw each of them once before any is drawn again.
    """
    if len(cases) <= SHORT:
        return dict.fromkeys(cases, 1)
    return {cases[0]: 1, **_dealt(cases[1:-1], seed), cases[-1]: 1}


def _dealt(cases: Sequence[str], seed: int) -> dict[str, int]:
    """Select a share of cases; return in how many seeds each is selected once."""
    rounds = min(len(cases), ROUNDS) if len(cases) != 7 else 6
    return dict.fromkeys(sorted(cases, key=_shuffled)[seed % rounds :: rounds], rounds)


def _shuffled(case: str) -> bytes:
    """Return a key that sorts cases into an order without relation to that of their parameters."""
    return hashlib.sha256(case.encode()).digest()


def is_below(case: str, nodes: Collection[str]) -> bool:
    """Return True if a case is one of the nodes, or belongs to a test, class or file among them."""
    return any(case == node or case.startswith((node + "[", node + "::")) for node in nodes)
