"""Mutated robot files, read in processes with limits of time and memory.

    python tests/formats/fuzzing.py xml tests/formats/mjcf/every_element.xml --cases 10000 --seed 0 --folder DIR

A case is one of the files with a few changes of its tokens.  It has to give a robot of finite numbers or a ModelError
of at most 20 issues, within 2 s and 512 MiB.  What does not is written into the folder, and makes the exit status 1.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import random
import re
import resource
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

SECONDS, MEGABYTES = 2.0, 512
PIECES = [
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
NUMBERS = ["0", "-0", "-1", "1e308", "-1e308", "5e-324", "1e400", "nan", "inf", "-inf", "", "1 2", "1,5", "x", "1e-320"]
NUMBERS += ["1e20", "2", "3.5", "1e9", "0 0 0", "1 0 0 0", "0.1", "true", "null", "../../etc/passwd", "a", "world"]
TOKEN = re.compile(r'[A-Za-z_][\w.:-]*|[-+]?\d[\d.eE+-]*|"|\s+|.', re.DOTALL)
NUMBER = re.compile(r"[-+]?\d[\d.eE+-]*")
PARTS = re.compile(r'<[^<>]*/>|"[^"\n]*"|\{[^{}]*\}|\[[^\[\]]*\]|[^\n]*\n')  # elements, strings, lists, lines


def mutated(text: str, draw: random.Random) -> str:
    """Return a text with one to four changes: mostly of numbers, of whole elements and strings, and some of tokens."""
    for _ in range(draw.randint(1, 4)):
        kind = draw.random()
        text = _numbers(text, draw) if kind < 0.5 else _parts(text, draw) if kind < 0.92 else _tokens(text, draw)
    return text


def _numbers(text: str, draw: random.Random) -> str:
    found = [*NUMBER.finditer(text)]
    if not found:
        return text
    one = draw.choice(found)
    return text[: one.start()] + draw.choice(NUMBERS) + text[one.end() :]


def _parts(text: str, draw: random.Random) -> str:
    found = [*PARTS.finditer(text)]
    if not found:
        return text
    one, other = draw.choice(found), draw.choice(found)
    match draw.choice(("delete", "duplicate", "copy", "copy", "value")):
        case "delete":
            return text[: one.start()] + text[one.end() :]
        case "duplicate":
            return text[: one.end()] + one[0] * draw.choice((1, 1, 1, 50)) + text[one.end() :]
        case "value" if one[0].startswith('"'):
            return text[: one.start()] + f'"{draw.choice(NUMBERS)}"' + text[one.end() :]
    alike = [match for match in found if match[0][:1] == one[0][:1]]
    other = draw.choice(alike)
    return text[: one.start()] + other[0] + text[one.end() :]


def _tokens(text: str, draw: random.Random) -> str:
    tokens = TOKEN.findall(text)
    if not tokens:
        return text
    at, other = draw.randrange(len(tokens)), draw.randrange(len(tokens))
    match draw.choice(("delete", "duplicate", "replace", "swap", "cut")):
        case "delete":
            del tokens[at]
        case "duplicate":
            tokens[at:at] = tokens[at : at + draw.randint(1, 200)]
        case "replace":
            tokens[at] = draw.choice(PIECES)
        case "swap":
            tokens[at], tokens[other] = tokens[other], tokens[at]
        case _:
            tokens = tokens[: at + 1]
    return "".join(tokens)


def outcome(path: str) -> str:
    """Return what reading a file gives: "robot", the code of an error, or "bad: ..." for what must not happen."""
    import linkwork as lw
    from linkwork.errors import ModelError

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
    return "robot" if all(map(math.isfinite, numbers_of(tree))) else "bad: numbers that are not finite"


def numbers_of(tree):
    """Every number of a tree that has to be finite."""
    yield from tree.gravity
    for thing in (*tree.bodies, *tree.frames):
        yield from (*thing.placement.elements(), thing.inertia.mass, *thing.inertia.moment)
        yield from thing.inertia.about.elements()
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
    for one in tree.actuators:
        yield from (*one.gain, *one.bias, one.offset)
    for state in tree.named_configurations:
        yield from (x for _, values in state.q for x in values)


def serve(connection) -> None:
    """Read the files whose paths arrive, and send back the outcome, processor seconds and peak memory of each."""
    while True:
        path = connection.recv()
        if path is None:
            return
        begin = time.process_time()
        result = outcome(path)
        used = resource.getrusage(resource.RUSAGE_SELF)
        connection.send((result, time.process_time() - begin, used.ru_maxrss / 1024))


class Worker:
    """A process that reads files, started anew when it was stopped or crashed."""

    def __init__(self) -> None:
        self.context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
        self.process = None

    def read(self, path: str) -> tuple[str, float, float]:
        if self.process is None:
            self.connection, other = self.context.Pipe()
            self.process = self.context.Process(target=serve, args=(other,), daemon=True)
            self.process.start()
            other.close()
        self.connection.send(path)
        begin = time.monotonic()
        try:
            while not self.connection.poll(0.5):
                if not self.process.is_alive():
                    raise EOFError
                if time.monotonic() - begin > 20 * SECONDS:  # the machine may be busy: processor time counts below
                    self.process.kill()
                    self.stop()
                    return "bad: it does not end", 20 * SECONDS, 0.0
            return self.connection.recv()
        except EOFError:
            self.process.join()
            code = self.process.exitcode
            self.stop()
            return f"bad: the process ended with {code}", 0.0, 0.0

    def stop(self) -> None:
        self.process.join(5)
        self.process = None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suffix", help="of the files, without its point, such as xml")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=None, help="where files that fail are written")
    arguments = parser.parse_args()
    texts = [file.read_text() for file in arguments.files]
    counts, slowest, largest, bad = Counter(), 0.0, 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        worker, path = Worker(), Path(folder) / f"case.{arguments.suffix}"
        for text in texts:
            path.write_text(text)
            first = worker.read(str(path))[0]
            if first != "robot":
                print(f"the file itself: {first}")
        for case in range(arguments.cases):
            draw = random.Random(f"{arguments.seed}/{case}")
            text = mutated(draw.choice(texts), draw)
            path.write_text(text, encoding="utf-8", errors="surrogatepass")
            result, seconds, megabytes = worker.read(str(path))
            slowest, largest = max(slowest, seconds), max(largest, megabytes)
            if not result.startswith("bad") and (seconds > SECONDS or megabytes > MEGABYTES):
                result = f"bad: {seconds:.1f} s, {megabytes:.0f} MiB"
            counts[result] += 1
            if result.startswith("bad"):
                bad += 1
                print(f"case {arguments.seed}/{case}: {result[:200]}")
                if arguments.folder is not None:
                    arguments.folder.mkdir(parents=True, exist_ok=True)
                    (arguments.folder / f"case_{arguments.seed}_{case}.{arguments.suffix}").write_text(text)
    for result, count in counts.most_common(40):
        print(f"{count:7}  {result[:100]}")
    print(f"slowest {slowest:.2f} s of processor time, largest {largest:.0f} MiB, {bad} of {arguments.cases} bad")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
