"""Mutated robot files, read in processes with limits of time and memory.

A case is one of the files with a few changes of its tokens.  It has to give a robot of finite numbers or a ModelError
of at most 20 issues, within 2 s and 512 MiB.  What does not is a find.
"""

from __future__ import annotations

import math
import multiprocessing
import random
import re
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import linkwork as lw
from linkwork.errors import ModelError
from linkwork.model.tree import Tree

__all__ = ["FuzzOutcome", "fuzz_files", "mutated", "outcome", "scalars_of"]

SECONDS, MEGABYTES = 2.0, 512
_MOST_BYTES = 8 << 30  # of the address space of a process, so that no case takes the machine's memory
SNIPPETS = [
    "<",
    ">",
    '"',
    "&",
    "]]>",
    "<!DOCTYPE a>",
    "<!--",
    "-->",
    "\0",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "(",
    ")",
    "@",
    "\n",
]
VALUES = ["0", "-0", "-1", "1e308", "-1e308", "5e-324", "1e400", "nan", "inf", "-inf", "", "1 2", "1,5", "x", "1e-320"]
VALUES += ["1e20", "2", "3.5", "1e9", "0 0 0", "1 0 0 0", "0.1", "true", "null", "../../etc/passwd", "a", "world"]
TOKEN = re.compile(r'[A-Za-z_][\w.:-]*|[-+]?\d[\d.eE+-]*|"|\s+|.', re.DOTALL)
NUMBER = re.compile(r"[-+]?\d[\d.eE+-]*")
PARTS = re.compile(r'<[^<>]*/>|"[^"\n]*"|\{[^{}]*\}|\[[^\[\]]*\]|[^\n]*\n')  # elements, strings, lists, lines


def mutated(text: str, draw: random.Random) -> str:
    """Return a text with one to four changes: mostly of numbers, of whole elements and strings, and some of tokens."""
    for _ in range(draw.randint(1, 4)):
        kind = draw.random()
        text = _change_number(text, draw) if kind < 0.5 else _parts(text, draw) if kind < 0.92 else _tokens(text, draw)
    return text


def _change_number(text: str, draw: random.Random) -> str:
    results = [*NUMBER.finditer(text)]
    if not results:
        return text
    element = draw.choice(results)
    return text[: element.start()] + draw.choice(VALUES) + text[element.end() :]


def _parts(text: str, draw: random.Random) -> str:
    results = [*PARTS.finditer(text)]
    if not results:
        return text
    element_a, element_b = draw.choice(results), draw.choice(results)
    match draw.choice(("delete", "duplicate", "copy", "copy", "value")):
        case "delete":
            return text[: element_a.start()] + text[element_a.end() :]
        case "duplicate":
            return text[: element_a.end()] + element_a[0] * draw.choice((1, 1, 1, 50)) + text[element_a.end() :]
        case "value" if element_a[0].startswith('"'):
            return text[: element_a.start()] + f'"{draw.choice(VALUES)}"' + text[element_a.end() :]
    alike = [match for match in results if match[0][:1] == element_a[0][:1]]
    element_b = draw.choice(alike)
    return text[: element_a.start()] + element_b[0] + text[element_a.end() :]


def _tokens(text: str, draw: random.Random) -> str:
    tokens = TOKEN.findall(text)
    if not tokens:
        return text
    at, index = draw.randrange(len(tokens)), draw.randrange(len(tokens))
    match draw.choice(("delete", "duplicate", "replace", "swap", "cut")):
        case "delete":
            del tokens[at]
        case "duplicate":
            tokens[at:at] = tokens[at : at + draw.randint(1, 200)]
        case "replace":
            tokens[at] = draw.choice(SNIPPETS)
        case "swap":
            tokens[at], tokens[index] = tokens[index], tokens[at]
        case _:
            tokens = tokens[: at + 1]
    return "".join(tokens)


def outcome(path: str) -> str:
    """Return the outcome of reading a file: "robot", the code of an error, or "bad: ..." for a wrong outcome."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = lw.load(path).tree
    except ModelError as error:
        if not 0 < len(error.issues) <= 20 or any(not issue.code for issue in error.issues):
            return f"bad: {len(error.issues)} issues"
        return error.code
    except Exception as error:
        return f"bad: {type(error).__name__}: {error}"
    return "robot" if all(map(math.isfinite, scalars_of(tree))) else "bad: numbers that are not finite"


def scalars_of(tree: Tree) -> Iterator[float]:
    """Return every number of a tree that has to be finite."""
    yield from tree.gravity
    for element in (*tree.bodies, *tree.frames):
        yield from (*element.placement.elements(), element.inertia.mass, *element.inertia.moment)
        yield from element.inertia.about.elements()
    for body in tree.bodies:
        drive = body.drive
        yield from (
            *body.damping,
            *body.friction,
            *body.rotor.elements(),
            *drive.armature,
            *drive.stiffness,
            *drive.rest,
        )
    for actuator in tree.actuators:
        yield from (*actuator.gain, *actuator.bias, actuator.offset)
    for state in tree.named_configurations:
        yield from (x for _, values in state.q for x in values)


def _serve(connection: Any) -> None:
    """Read the files whose paths arrive, and send back the outcome, processor seconds and peak memory of each."""
    import resource  # Windows has none

    resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
    while True:
        path = connection.recv()
        begin = time.process_time()
        result = outcome(path)
        connection.send((result, time.process_time() - begin, _peak_megabytes()))


def _peak_megabytes() -> float:
    """Return the peak memory of this process, which on Linux does not include that of its parent before it began."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class _Worker:
    """A process that reads files, started anew after it was stopped, crashed, or took too much memory."""

    def __init__(self) -> None:
        self.context: Any = multiprocessing.get_context("spawn")
        self.process: Any = None

    def read(self, path: str) -> tuple[str, float, float]:
        """Return the outcome, the processor time [s] and the peak memory [MiB] of reading a file."""
        if self.process is None:
            self.connection, end = self.context.Pipe()
            self.process = self.context.Process(target=_serve, args=(end,), daemon=True)
            self.process.start()
            end.close()
        self.connection.send(path)
        begin = time.monotonic()
        try:
            while not self.connection.poll(0.5):
                if not self.process.is_alive():
                    raise EOFError
                if time.monotonic() - begin > 30 * SECONDS:  # the machine may be busy: processor time counts below
                    self.stop()
                    return "bad: it does not end", 30 * SECONDS, 0.0
            result: tuple[str, float, float] = self.connection.recv()
        except EOFError:
            self.process.join(5)
            code = self.process.exitcode
            self.stop()
            return f"bad: the process ended with {code}", 0.0, 0.0
        if result[2] > MEGABYTES:
            self.stop()  # the peak is that of the process
        return result

    def stop(self) -> None:
        """End the process, if one runs."""
        if self.process is not None:
            self.process.kill()
            self.process.join(5)
            self.process = None


@dataclass
class FuzzOutcome:
    """Results of fuzzing: counts of outcomes, the largest figures, and the bad cases with their texts."""

    counts: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0  # processor time of a case [s]
    largest: float = 0.0  # peak memory of a process [MiB]
    bad: dict[int, tuple[str, Path, str]] = field(default_factory=dict)  # by case: outcome, file, text

    def add(self, case: int, outcome: tuple[str, float, float], source: Path, text: str) -> None:
        """Count a case."""
        result, seconds, megabytes = outcome
        self.slowest, self.largest = max(self.slowest, seconds), max(self.largest, megabytes)
        if not result.startswith("bad") and (seconds > SECONDS or megabytes > MEGABYTES):
            result = f"bad: {seconds:.1f} s, {megabytes:.0f} MiB"
        self.counts[result] += 1
        if result.startswith("bad"):
            self.bad[case] = result, source, text

    def lines(self) -> list[str]:
        """Return the most frequent outcomes, and the figures."""
        lines = [f"{result[:60]:32} {count:,}" for result, count in self.counts.most_common(40)]
        total = self.counts.total()
        return [
            *lines,
            f"{total:,} cases, {len(self.bad)} bad; slowest {self.slowest:.2f} s, largest {self.largest:.0f} MiB",
        ]


def fuzz_files(files: Sequence[Path], cases: Sequence[int], seed: int, *, jobs: int = 1) -> FuzzOutcome:
    """Read changed texts of the files in ``jobs`` processes.  Raises ValueError for a file that is not a robot."""
    texts = [file.read_text(encoding="utf-8") for file in files]
    outcome = FuzzOutcome()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        spare = [(_Worker(), Path(folder) / str(k)) for k in range(jobs)]
        for _, record in spare:
            record.mkdir()
        try:
            _require_robots(*spare[0], files, texts)

            def one(case: int) -> tuple[int, tuple[str, float, float], Path, str]:
                draw = random.Random(f"{seed}/{case}")
                chosen = draw.randrange(len(files))
                text = mutated(texts[chosen], draw)
                worker, record = spare.pop()
                path = record / f"case{files[chosen].suffix}"
                path.write_text(text, encoding="utf-8", errors="surrogatepass")
                result = worker.read(str(path))
                spare.append((worker, record))
                return case, result, files[chosen], text

            begin = time.monotonic()
            for number, result in enumerate(pool.map(one, cases), start=1):
                outcome.add(*result)
                if number % 1000 == 0:
                    pace = f"{number:,} cases, {len(outcome.bad)} bad, {time.monotonic() - begin:.0f} s"
                    print(f"fuzz: {pace}", file=sys.stderr, flush=True)
        finally:
            for worker, _ in spare:
                worker.stop()
    return outcome


def _require_robots(worker: _Worker, folder: Path, files: Sequence[Path], texts: Sequence[str]) -> None:
    for file, text in zip(files, texts, strict=True):
        path = folder / f"case{file.suffix}"
        path.write_text(text, encoding="utf-8")
        result, *_ = worker.read(str(path))
        if result != "robot":
            raise ValueError(f"fuzz: {file}: expected the file of a robot, got {result}")
