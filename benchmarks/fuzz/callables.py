"""Every public callable with invalid values for each argument: `python -m benchmarks.fuzz.callables`.

A case is one call with valid arguments except one.  Its outcome is one of these classes:

- ``accepted``: a result without NaN (functions that compute as NumPy does may pass on a NaN from the argument);
- ``refused``: a TypeError or ValueError whose text begins with the function's name and names the argument, not merely
  as an English word;
- ``described``: a ModelError with code and location from a function that builds a robot, an OSError with the file name
  for an argument that is a path, or a SingularMatrixError with the pivot;
- ``own``: an error in a function passed as an argument, or about its return value, with its line;
- a fault: ``taken`` (an undeclared value accepted silently), ``listed`` (an error that names all arguments instead of
  the wrong one), ``unnamed`` (an error without function and argument), ``deep`` (an unchanged error from inside NumPy
  or the standard library), ``wrong class`` (AttributeError, IndexError and all others), ``silent NaN``, ``hang``,
  ``crash``, and ``no call`` (the valid arguments are rejected).

Cases run in a separate process, which is restarted after a hang or crash.  The seed and the number of a case repeat it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import linecache
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fuzz.callable_subjects import Subject, subjects
from benchmarks.fuzz.failures import Find
from benchmarks.fuzz.invalid_values import GARBAGE, NOT_A_NUMBER, TELLING
from benchmarks.tables.rows import require
from linkwork.errors import ModelError, SingularMatrixError

__all__ = ["FAULTS", "case", "main", "outcome", "pairs", "tried"]

FAULTS = ("no call", "taken", "listed", "unnamed", "deep", "wrong class", "silent NaN", "hang", "crash")
_SECONDS = 20.0  # processor time of one call, beyond which it hangs
_MEMORY = 4 << 30  # bytes of address space of the process that calls
_LARGE = 2 << 20  # KiB of memory beyond which another process goes on
_AGAIN = 75  # the exit code that asks for it
_ROOM = Path(__file__).resolve().parents[2] / "src" / "linkwork"


class Hang(BaseException):
    """A call that took too long."""


def pairs() -> list[tuple[Subject, str]]:
    """Every public callable with each of its arguments."""
    return [(subject, argument) for subject in subjects() for argument in subject.arguments]


def drawn(seed: int, number: int, of: Sequence[tuple[Subject, str]]) -> tuple[Subject, str, str]:
    rng = np.random.default_rng([seed, number])
    subject, argument = of[int(rng.integers(len(of)))]
    return subject, argument, [*GARBAGE][int(rng.integers(len(GARBAGE)))]


def every_case(of: Sequence[tuple[Subject, str]]) -> list[tuple[Subject, str, str]]:
    """Yield all cases: every function with valid arguments, then every argument with invalid values.

    The most informative invalid values come first.
    """
    silent_kinds = [kind for kind in GARBAGE if kind not in TELLING]
    valid = [(subject, "", "good") for subject in {subject.name: subject for subject, _ in of}.values()]
    return valid + [(s, argument, kind) for kinds in (TELLING, silent_kinds) for s, argument in of for kind in kinds]


def outcome(subject: Subject, argument: str, kind: str) -> dict[str, str]:
    """Return the outcome class of one call, with a description of its cause."""
    value = GARBAGE[kind]() if argument else None
    error, result = tried(subject, argument, value)
    if error is not None:
        return error
    if _has_nan(result) and not (subject.passes_nan or subject.has_absent):
        return {"class": "silent NaN", "error": type(result).__name__}
    if argument and not subject.declares(argument, value) and not (subject.passes_nan and kind in NOT_A_NUMBER):
        return {"class": "taken", "error": ""}
    return {"class": "accepted", "error": ""}


def tried(subject: Subject, argument: str, value: Any, seconds: float = _SECONDS) -> tuple[dict[str, str] | None, Any]:
    """Call with one argument, "" for none, beside valid ones: the outcome of an error, or None and the result."""
    with warnings.catch_warnings(), _bounded(seconds):
        warnings.simplefilter("ignore")
        try:
            call, arguments = subject.prepared()
        except Hang:
            return {"class": "hang", "error": "making the subject"}, None
        try:
            return None, call(argument, value, arguments)
        except Hang:
            return {"class": "hang", "error": ""}, None
        except Exception as error:
            if not argument:
                text = f"{type(error).__name__}: {error}"[:400]
                return {"class": "no call", "error": text, "site": _site(error)}, None
            return _judged(subject, argument, error), None


def _judged(subject: Subject, argument: str, error: Exception) -> dict[str, str]:
    site, text = _site(error), str(error)
    shown = {"error": f"{type(error).__name__}: {text}"[:400], "site": site, "lines": _lines(error)}
    name = argument.lstrip("*")
    if isinstance(error, ModelError) and (name in _DESCRIPTIONS or re.match(_MAKERS, subject.name)):
        return {"class": "described", **shown}
    if isinstance(error, SingularMatrixError) or (isinstance(error, OSError) and name in _PATHS):
        return {"class": "described", **shown}
    if isinstance(error, ImportError) and "pip install" in str(error):  # an extra that is not installed
        return {"class": "described", **shown}
    innermost, _ = _frames(error)[-1]
    if os.path.basename(innermost) in _OURS or re.search(r"\(\S+\.py:\d+\)", text):
        return {"class": "own", **shown}
    if not isinstance(error, (TypeError, ValueError)):
        return {"class": "wrong class", **shown}
    if "these arguments do not fit together" in text:
        return {"class": "listed", **shown}
    if names_function(text, subject.names) and names_argument(text, name):
        return {"class": "refused", **shown}
    return {"class": "unnamed" if site.startswith("linkwork") else "deep", **shown}


_PATHS = ("path", "robot", "loops", "meshes", "folders", "uri")
_OURS = (
    "callable_objects.py",
    "callable_own_values.py",
    "callable_values.py",
    "garbage.py",
)  # whose functions are given
_MAKERS = r"Robot\.(build|from_dh|with_\w+)"
_DESCRIPTIONS = (*_PATHS, "text", "document", "parts", "rows", "xml")
_ENGLISH = frozenset(
    (
        *("a", "at", "by", "first", "function", "in", "kind", "least", "most", "name", "names", "of"),
        *("on", "other", "others", "second", "shape", "text", "to", "type", "value"),
    )
)


def names_function(text: str, names: Sequence[str]) -> bool:
    """Return True if a text names a function before it describes the expectation."""
    head = text.partition(": expected")[0] if ": expected" in text else text.rpartition(": ")[0] or text
    return any(re.search(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", head) for name in names)


def names_argument(text: str, name: str) -> bool:
    """Return True where a text names an argument, other than as a word of English: "a name", "expected points"."""
    word = rf"(?<![A-Za-z0-9_.]){re.escape(name)}"
    if name in _ENGLISH:
        return re.search(rf"{word}(\[|( \[[^\]]*\])*(:|=))", text) is not None
    return re.search(rf"(?<!\ba )(?<!\ban )(?<!\bthe )(?<!\bno )(?<!expected ){word}(?![A-Za-z0-9_])", text) is not None


def _site(error: Exception) -> str:
    """Return the innermost line of linkwork in an error's traceback, marked `below` if a callee raised it."""
    frames = _frames(error)
    inside = [frame for frame in frames if str(_ROOM) in frame[0]]
    if not inside:
        return "python"
    file, line = inside[-1]
    position = f"{os.path.relpath(file, _ROOM)}:{line}"
    by_itself = frames[-1] is inside[-1] and re.match(r"\s*raise\b", linecache.getline(file, line)) is not None
    return f"linkwork {position}" if by_itself else f"below {position}"


def _frames(error: BaseException) -> list[tuple[str, int]]:
    """Return files and lines of an error's traceback; `traceback.extract_tb` takes most time for columns."""
    return [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]


def _lines(error: BaseException | None) -> str:
    """Return the lines of linkwork that refuse an argument.

    They are the two innermost ones of the error and of each error that it replaces, and the innermost one outside of
    checks: an error that gets the names of function and argument is raised again.
    """
    lines: list[str] = []
    while error is not None:
        frames = [frame for frame in _frames(error) if str(_ROOM) in frame[0]]
        outside = [frame for frame in frames if not re.search(r"/_util/|arguments\.py$", frame[0])]
        lines += [f"{file}:{line}" for file, line in (*outside[-1:], *frames[-2:])]
        error = error.__cause__ or error.__context__
    return " ".join(lines)


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
def _bounded(seconds: float) -> Iterator[None]:
    """Raises Hang after some processor time [s]."""

    def over(*_: Any) -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, 1.0)  # again, where something swallows it
        raise Hang

    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
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
    result = outcome(subject, argument, kind)
    tally[result["class"]] += 1
    if result["class"] in FAULTS:
        shown = f"{subject.name}({argument} = {kind}): {result['class']}: {result['error']} at {result.get('site')}"
        raise Find(f"{subject.name} {result['class']}", shown)


# -- many cases, in processes of their own


def again(of: Sequence[tuple[Subject, str]], file: Path) -> list[tuple[Subject, str, str]]:
    """The faults of an earlier run, by its lines of JSON."""
    by_name = {(subject.name, argument): subject for subject, argument in of}
    by_name |= {(subject.name, ""): subject for subject, _ in of}
    earlier = [json.loads(line) for line in file.read_text().splitlines()]
    faults = [(x["subject"], x["argument"], x["kind"]) for x in earlier if x["class"] in FAULTS]
    return [(by_name[name, argument], argument, kind) for name, argument, kind in faults if (name, argument) in by_name]


def _work(seed: int, count: int, first: int, only: str, every: bool, earlier: Path | None) -> None:
    """Write a line before and after each case, so that a case that kills the process is known."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    of = [pair for pair in pairs() if re.search(only, pair[0].name)]
    if earlier is not None:
        cases = again(of, earlier)
    else:
        cases = every_case(of) if every else [drawn(seed, number, of) for number in range(count)]
    for number, (subject, argument, kind) in enumerate(cases[first:], first):
        caller = {"case": number, "subject": subject.name, "argument": argument, "kind": kind}
        print(json.dumps(caller), flush=True)
        signal.alarm(int(4 * _SECONDS))  # ends the process where code of C does not come back
        start = time.process_time()
        result = outcome(subject, argument, kind)
        signal.alarm(0)
        print(json.dumps({**caller, **result, "seconds": round(time.process_time() - start, 2)}), flush=True)
        if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > _LARGE:
            sys.exit(_AGAIN)


def run(
    seed: int, count: int, only: str = "", every: bool = False, out: Path | None = None, earlier: Path | None = None
) -> list[dict[str, str]]:
    """The outcomes of all cases."""
    results: list[dict[str, str]] = []
    first = 0
    while True:
        command = [
            sys.executable,
            "-m",
            "benchmarks.fuzz.callables",
            "--work",
            "--seed",
            str(seed),
            "--count",
            str(count),
        ]
        command += ["--first", str(first), "--only", only, *(["--every"] if every else [])]
        command += ["--again", str(earlier.resolve())] if earlier is not None else []
        begun = None
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "LINKWORK_EFFORT": os.environ.get("LINKWORK_EFFORT", "0"), "MPLBACKEND": "agg"}
            root = Path(__file__).resolve().parents[2]
            path = os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH"))))
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, text=True, cwd=folder, env={**environment, "PYTHONPATH": path}
            )
            assert process.stdout is not None
            for line in process.stdout:
                if not line.startswith('{"case"'):
                    continue
                data = json.loads(line)
                if "class" in data:
                    results.append(data)
                    begun = None
                    if out is not None:
                        with out.open("a") as file:
                            file.write(line)
                else:
                    begun = data
            code = process.wait()
        if begun is None:
            if code == _AGAIN:
                first = int(results[-1]["case"]) + 1
                continue
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
    parser.add_argument("--seed", type=int, default=0, help="seed of the random cases (0)")
    parser.add_argument("--count", type=int, default=2000, help="number of random cases (2000)")
    parser.add_argument("--every", action="store_true", help="run all cases instead")
    parser.add_argument(
        "--again", type=Path, default=None, help="repeat the faults in the --out file of an earlier run"
    )
    parser.add_argument("--only", default="", help="callables whose name this expression matches")
    parser.add_argument("--out", type=Path, default=None, help="file with one line of JSON per case")
    parser.add_argument("--show", type=int, default=40, help="number of groups of faults to show (40)")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.work:
        _work(chosen.seed, chosen.count, chosen.first, chosen.only, chosen.every, chosen.again)
        return 0
    results = run(chosen.seed, chosen.count, chosen.only, chosen.every, chosen.out, chosen.again)
    require(len(results), f"no case of {chosen.only!r}")
    classes = Counter(result["class"] for result in results)
    print(
        f"{len(results)} cases: "
        + ", ".join(f"{name} {classes[name]}" for name in ("accepted", "refused", "described", "own", *FAULTS))
    )
    faults = [result for result in results if result["class"] in FAULTS]
    groups = Counter((result["class"], result.get("site", ""), result["subject"]) for result in faults)
    for (kind, site, subject), number in groups.most_common(chosen.show):
        fault = next(f for f in faults if (f["class"], f.get("site", ""), f["subject"]) == (kind, site, subject))
        print(
            f"{number:5} {kind}: {subject}({fault['argument']} = {fault['kind']}): {fault['error'][:160]!r} at {site}"
        )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
