"""`python -m benchmarks.fuzz_callables`: every public callable, each argument, every kind of garbage.

A case is one call with good arguments, but for one.  It ends in one of these classes:

- ``accepted``: a result without NaN (functions that compute as NumPy does let a NaN through that they are given);
- ``refused``: TypeError, ValueError or KeyError whose text names the argument, and the function or the object by its
  own name ("joint 'elbow'"); or the name that is not known;
- ``listed``: ValueError that names the function and all arguments, where it is not known which one is wrong;
- a fault: ``taken`` (a value that the signature does not declare, without a word), ``unnamed`` (an error that does not
  name the argument), ``deep`` (one from inside NumPy or Python's library that is passed on as it is), ``wrong class``
  (AttributeError, IndexError and all others), ``silent NaN``, ``hang``, ``crash``.

Cases run in a process of their own, which is started anew where one hangs or crashes.  The seed and the number of a
case repeat it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.errors import ArgumentError, ModelError

from .callable_subjects import Subject, subjects
from .finds import Find
from .garbage import GARBAGE, NOT_A_NUMBER

__all__ = ["FAULTS", "case", "main", "outcome", "pairs"]

FAULTS = ("taken", "unnamed", "deep", "wrong class", "silent NaN", "hang", "crash")
_SECONDS = 20.0  # processor time of one call, beyond which it hangs
_MEMORY = 8 << 30  # bytes of address space of the process that calls
_ROOM = Path(__file__).resolve().parents[1] / "src" / "linkwork"


class Hang(BaseException):
    """A call that took too long."""


def pairs() -> list[tuple[Subject, str]]:
    """Every public callable with each of its arguments."""
    return [(subject, argument) for subject in subjects() for argument in subject.arguments]


def drawn(seed: int, number: int, of: Sequence[tuple[Subject, str]]) -> tuple[Subject, str, str]:
    rng = np.random.default_rng([seed, number])
    subject, argument = of[int(rng.integers(len(of)))]
    return subject, argument, [*GARBAGE][int(rng.integers(len(GARBAGE)))]


def outcome(subject: Subject, argument: str, kind: str) -> dict[str, str]:
    """The class of one call, with what tells its cause."""
    with warnings.catch_warnings(), _bounded():
        warnings.simplefilter("ignore")
        try:
            call, given = subject.prepared()
        except Hang:
            return {"class": "hang", "error": "making the subject"}
        value = GARBAGE[kind]()
        try:
            result = call(argument, value, given)
        except Hang:
            return {"class": "hang", "error": ""}
        except Exception as error:
            return _judged(subject, argument, value, error)
    if _has_nan(result) and not subject.passes_nan:
        return {"class": "silent NaN", "error": type(result).__name__}
    if not subject.declares(argument, value) and not (subject.passes_nan and kind in NOT_A_NUMBER):
        return {"class": "taken", "error": ""}
    return {"class": "accepted", "error": ""}


def _judged(subject: Subject, argument: str, value: Any, error: Exception) -> dict[str, str]:
    site = _site(error)
    shown = {"error": f"{type(error).__name__}: {error}"[:400], "site": site}
    if isinstance(error, OSError) and argument == "path":
        return {"class": "refused", **shown}
    if not isinstance(error, (TypeError, ValueError, LookupError)):
        return {"class": "wrong class", **shown}
    text = str(error)
    named = re.search(rf"(?<![A-Za-z0-9]){re.escape(argument.lstrip('*'))}(?![A-Za-z0-9])", text) is not None
    whose = any(re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", text) for name in subject.names)
    whose = whose or re.match(r"[a-zA-Z ]+ (of )?'[^']*'", text) is not None  # an object by its own name: joint 'elbow'
    named = named or argument.lstrip("*") == subject.alone or re.search(r"\barguments?\b", text) is not None
    if type(error).__module__ == "linkwork.errors" and whose and not isinstance(error, ArgumentError):
        named = True  # errors with texts of their own: a matrix that is singular, a description with places
    if isinstance(error, ModelError) or "expected a file named" in text:
        return {"class": "refused", **shown}  # with codes and places of their own
    if "these arguments do not fit together" in text:
        return {"class": "listed", **shown}
    known = isinstance(error, KeyError) and "named" in text
    if known or (named and whose):
        return {"class": "refused", **shown}
    return {"class": "unnamed" if site.startswith("linkwork") else "deep", **shown}


def _site(error: Exception) -> str:
    """Where an error was raised: the innermost place in linkwork, and whether it came from deeper."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [f for f in frames if str(_ROOM) in f.filename]
    if not inside:
        return "python"
    last = inside[-1]
    place = f"{Path(last.filename).relative_to(_ROOM)}:{last.lineno}"
    by_itself = frames[-1] is last and re.match(r"\s*raise\b", last.line or "") is not None
    return f"linkwork {place}" if by_itself else f"below {place}"


def _has_nan(result: Any, depth: int = 0) -> bool:
    if isinstance(result, float):
        return result != result
    if isinstance(result, np.ndarray):
        return result.dtype.kind in "fc" and bool(np.isnan(result).any())
    if depth < 2 and isinstance(result, (tuple, list)):
        return any(_has_nan(x, depth + 1) for x in result[:100])
    if depth < 2 and isinstance(result, dict):
        return any(_has_nan(x, depth + 1) for x in result.values())
    if depth < 1 and type(result).__module__.startswith("linkwork") and hasattr(result, "__dict__"):
        return any(_has_nan(x, depth + 1) for name, x in vars(result).items() if not name.startswith("_"))
    return False


@contextlib.contextmanager
def _bounded() -> Iterator[None]:
    """Raises Hang after some processor time."""

    def over(*_: Any) -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, 1.0)  # again, where something swallows it
        raise Hang

    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, _SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)


def case(rng: np.random.Generator, tally: Counter[str]) -> None:
    """One drawn call.  Raises Find for a fault."""
    of = pairs()
    subject, argument = of[int(rng.integers(len(of)))]
    kind = [*GARBAGE][int(rng.integers(len(GARBAGE)))]
    found = outcome(subject, argument, kind)
    tally[found["class"]] += 1
    if found["class"] in FAULTS:
        shown = f"{subject.name}({argument} = {kind}): {found['class']}: {found['error']} at {found.get('site')}"
        raise Find(f"{subject.name} {found['class']}", shown)


# -- many cases, in processes of their own


def _work(seed: int, count: int, first: int, only: str, every: bool) -> None:
    """Writes a line for each case, and one before it, so that what kills the process is known."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    of = [pair for pair in pairs() if re.search(only, pair[0].name)]
    kinds = [*GARBAGE]
    for number in range(first, len(of) * len(kinds) if every else count):
        if every:
            (subject, argument), kind = of[number // len(kinds)], kinds[number % len(kinds)]
        else:
            subject, argument, kind = drawn(seed, number, of)
        who = {"case": number, "subject": subject.name, "argument": argument, "kind": kind}
        print(json.dumps(who), flush=True)
        signal.alarm(int(4 * _SECONDS))  # ends the process where code of C does not come back
        found = outcome(subject, argument, kind)
        signal.alarm(0)
        print(json.dumps({**who, **found}), flush=True)


def run(seed: int, count: int, only: str = "", every: bool = False, out: Path | None = None) -> list[dict[str, str]]:
    """The outcomes of all cases."""
    results: list[dict[str, str]] = []
    first = 0
    while True:
        command = [
            sys.executable,
            "-m",
            "benchmarks.fuzz_callables",
            "--work",
            "--seed",
            str(seed),
            "--count",
            str(count),
        ]
        command += ["--first", str(first), "--only", only, *(["--every"] if every else [])]
        begun = None
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "LINKWORK_EFFORT": os.environ.get("LINKWORK_EFFORT", "0"), "MPLBACKEND": "agg"}
            here = Path(__file__).resolve().parents[1]
            path = os.pathsep.join(filter(None, (str(here), os.environ.get("PYTHONPATH"))))
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, text=True, cwd=folder, env={**environment, "PYTHONPATH": path}
            )
            assert process.stdout is not None
            for line in process.stdout:
                if not line.startswith('{"case"'):
                    continue
                found = json.loads(line)
                if "class" in found:
                    results.append(found)
                    begun = None
                    if out is not None:
                        with out.open("a") as file:
                            file.write(line)
                else:
                    begun = found
            code = process.wait()
        if begun is None:
            if code:
                raise RuntimeError(f"the process that calls ended with {code} between two calls")
            return results
        died = {**begun, "class": "hang" if code == -signal.SIGALRM else "crash", "error": f"exit code {code}"}
        results.append(died)
        if out is not None:
            with out.open("a") as file:
                file.write(json.dumps(died) + "\n")
        first = int(begun["case"]) + 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the fuzz; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="of the cases that are drawn (0)")
    parser.add_argument("--count", type=int, default=2000, help="how many are drawn (2000)")
    parser.add_argument("--every", action="store_true", help="all cases instead")
    parser.add_argument("--only", default="", help="callables whose name this expression matches")
    parser.add_argument("--out", type=Path, default=None, help="a file for a line of JSON for each case")
    parser.add_argument("--show", type=int, default=40, help="how many groups of faults are shown (40)")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.work:
        _work(chosen.seed, chosen.count, chosen.first, chosen.only, chosen.every)
        return 0
    results = run(chosen.seed, chosen.count, chosen.only, chosen.every, chosen.out)
    classes = Counter(result["class"] for result in results)
    print(
        f"{len(results)} cases: "
        + ", ".join(f"{name} {classes[name]}" for name in ("accepted", "refused", "listed", *FAULTS))
    )
    faults = [result for result in results if result["class"] in FAULTS]
    groups = Counter((result["class"], result.get("site", ""), result["subject"]) for result in faults)
    for (kind, site, subject), number in groups.most_common(chosen.show):
        one = next(f for f in faults if (f["class"], f.get("site", ""), f["subject"]) == (kind, site, subject))
        print(f"{number:5} {kind}: {subject}({one['argument']} = {one['kind']}): {one['error'][:160]!r} at {site}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
