"""Mutation testing: change one expression of the source, and see whether a test fails.

``python -m tools.mutation FILE... [--count N]`` draws lines of the files, or of all of linkwork.  Each mutant runs in a
copy of the working tree, with the tests that executed its line in an earlier run, ``coverage run -m pytest -n0``: the
day's cases first, then all.  Where that run has none, the tests of the file's package run.  Survivors are listed with
their tests; some are equivalent to the original.  No cache hides a mutant: linkwork's and Python's caches depend on
times of modification.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from coverage import CoverageData

ROOT = Path(__file__).parents[1]
SOURCE = "src/linkwork"
MAX_TESTS = 60  # tests of one mutant
UNFINISHED = "unfinished after the limit of time"
MAX_SECONDS, MAX_MEMORY = 300.0, 8 << 30  # [s], [bytes] of the tests of one mutant
FLOOR = 1e-200  # smaller constants only prevent a division by zero
UNTESTED = ("__repr__", "__str__", "_repr_html_")  # texts that people read
TYPED = ("cast", "getattr", "hasattr", "isinstance", "issubclass")  # arguments that cannot be in another order
OPPOSITE: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
}  # fmt: skip
COMMUTATIVE = (  # calls whose first two arguments may change places
    *("max", "min", "fmax", "fmin", "maximum", "minimum", "and_", "or_", "eq", "ne", "hypot", "add", "multiply", "dot"),
    *("array_equal", "allclose", "isclose", "logical_and", "logical_or", "logaddexp"),
)
SIZE_OF_WORK = re.compile(  # constants that choose between two forms of code with equal results, or sizes of batches
    r"_?((MAX_)?(UNROLLED|CACHED|UNUSED|BLOCKS?)(_\w+)?|FEW|MANY(_\w+)?|LONG|LARGE|WIDE|LONGEST|INLINE|CAPACITY|BATCH"
    r"|CHUNK|SLICE|PAIRS|TIMES_\w+|\w+_PER_(BATCH|BLOCK|WORKER|SEGMENT))"
)
SHORTCUT = re.compile(r"is_zero\([^()]*\)( or is_zero\([^()]*\))*")  # of a zero term: the general form equals it
REVERSED: dict[type, type] = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}


@dataclass(frozen=True)
class Mutant:
    """A change of a file's text from one offset to another; the first of ``lines`` that is executed executes it."""

    file: str
    line: int
    kind: str
    start: int
    end: int
    text: str
    lines: tuple[int, ...]
    source: bytes

    @property
    def program(self) -> bytes:
        return self.source[: self.start] + self.text.encode() + self.source[self.end :]

    def shown(self) -> str:
        before = " ".join(self.source[self.start : self.end].decode().split())
        return f"{self.file}:{self.line} [{self.kind}] {before[:90]}  ->  {self.text[:90]}"


def _changed(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Generate the kinds of change of one node, each with the node that replaces it."""
    new = copy.copy(node)
    match node, new:
        case ast.Compare(ops=[op]), ast.Compare():
            for kind, table in (("limit", OPPOSITE), ("comparison", REVERSED)):
                if type(op) in table and not (kind == "limit" and type(op) in REVERSED and _is_unreachable(node)):
                    yield kind, ast.Compare(node.left, [table[type(op)]()], node.comparators)
        case ast.BoolOp(), ast.BoolOp():
            new.op = OPPOSITE[type(node.op)]()
            yield "logic", new
        case ast.UnaryOp(op=ast.Not() | ast.USub()), _ if not isinstance(node.operand, ast.Constant):
            yield "sign", node.operand
        case ast.BinOp(left=ast.Constant(value=str())) | ast.BinOp(left=ast.JoinedStr()), _:
            pass
        case ast.BinOp(), ast.BinOp() if type(node.op) in OPPOSITE:
            new.op = OPPOSITE[type(node.op)]()
            yield "term", new
            if isinstance(node.op, ast.Add | ast.Sub):
                yield "term", node.left
        case ast.Constant(value=float() | int() as value), _ if not isinstance(value, bool) and not 0 < value < FLOOR:
            is_small = isinstance(value, float) and 0.0 < value < 1e-2
            changed = value + 1 if isinstance(value, int) or value == 0.0 else value * (10.0 if is_small else 1.5)
            yield "tolerance" if is_small else "constant", ast.Constant(changed)
        case ast.Call(func=function, args=[first, second, *rest]), ast.Call():
            name = getattr(function, "id", getattr(function, "attr", ""))
            if name not in (*TYPED, *COMMUTATIVE) and not isinstance(second, ast.Starred):
                new.args = [second, first, *rest]
                yield "arguments", new
        case ast.If(body=[ast.Raise() | ast.Return() | ast.Continue()], orelse=[]) | ast.IfExp(), _:
            if not SHORTCUT.fullmatch(ast.unparse(node.test)):
                yield "guard", node.orelse or ast.Constant(False)


@cache
def _measured_limits() -> frozenset[str]:
    """Return the names of module constants that are limits of measured values: floats such as 1e-9 or 0.3."""
    pattern = re.compile(r"^(_?[A-Z]\w*)\b[^=\n]*= (?:by_type\()?(-?\d[\d_]*\.?\d*(?:e-?\d+)?)", re.MULTILINE)
    constants = (x for path in (ROOT / SOURCE).rglob("*.py") for x in pattern.findall(path.read_text(encoding="utf-8")))
    return frozenset(name for name, value in constants if float(value) * 8.0 % 1.0)


def _is_unreachable(node: ast.Compare) -> bool:
    """Return True for a limit that no input reaches to the last bit, or whose two sides have equal results.

    It is a limit of a measured value, which "comparison" and "tolerance" change, or of the size of work.
    """
    names = {x.id for x in ast.walk(node) if isinstance(x, ast.Name)}
    values = (x.value for x in ast.walk(node) if isinstance(x, ast.Constant) and isinstance(x.value, float))
    known = (x in _measured_limits() or SIZE_OF_WORK.fullmatch(x) for x in names)
    return any(known) or any(x * 8.0 % 1.0 for x in values)


@cache
def _mutants(file: str, source: bytes) -> list[Mutant]:
    """Return the mutants of a file, without those of messages, annotations and texts for people."""
    starts = [0]
    for text in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(text))
    tree = ast.parse(source)

    def visit(node: ast.AST, within: tuple[int, ...]) -> Iterator[Mutant]:
        if isinstance(node, ast.Raise | ast.JoinedStr) or getattr(node, "name", "") in UNTESTED:
            return
        if isinstance(node, ast.FunctionDef | ast.Lambda):  # defaults are executed where the function is defined
            body = node.body if isinstance(node.body, list) else [node.body]
            for default in filter(None, (*node.args.defaults, *node.args.kw_defaults)):
                yield from visit(default, tuple(range(body[0].lineno, (body[-1].end_lineno or 0) + 1)))
            for statement in body:
                yield from visit(statement, ())
            return
        if isinstance(node, ast.ClassDef):
            for statement in node.body:  # attributes: any test of the package
                yield from visit(statement, (0,))
            return
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.col_offset == 0:  # a constant: where it is used
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {x.id for target in targets for x in ast.walk(target) if isinstance(x, ast.Name)}
            if any(SIZE_OF_WORK.fullmatch(name) for name in names):
                return
            within = tuple(x.lineno for x in ast.walk(tree) if isinstance(x, ast.Name) and x.id in names)
        for kind, new in _changed(node):
            old = node.test if isinstance(node, ast.If) else node
            start, end = starts[old.lineno - 1] + old.col_offset, starts[old.end_lineno - 1] + old.end_col_offset
            text = ast.unparse(new) if isinstance(new, ast.Constant | ast.Name | ast.Call) else f"({ast.unparse(new)})"
            lines = within or tuple(range(old.lineno, old.end_lineno + 1))
            yield Mutant(file, old.lineno, kind, start, end, text, lines, source)
        for field, value in ast.iter_fields(node):
            if field not in ("annotation", "returns", "decorator_list"):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        yield from visit(child, within)

    return [*visit(tree, ())]


def drawn(files: list[str], count: int, seed: int, kinds: Collection[str] = ()) -> list[Mutant]:
    """Draw lines of all files with equal probability, and one mutant of each."""
    rng = random.Random(seed)
    sources = {file: (ROOT / file).read_bytes() for file in files}
    sizes = [source.count(b"\n") + 1 for source in sources.values()]
    result: dict[tuple[str, int], Mutant] = {}
    for _ in range(50 * count):
        (file,) = rng.choices(files, sizes)
        line = rng.randint(1, sources[file].count(b"\n") + 1)
        candidates = [x for x in _mutants(file, sources[file]) if x.line == line and (not kinds or x.kind in kinds)]
        with contextlib.suppress(SyntaxError):  # in a pattern, such as that of `match`
            if candidates and ast.parse((mutant := rng.choice(candidates)).program):
                result.setdefault((file, line), mutant)
        if len(result) == count:
            break
    return [*result.values()]


def covering(mutant: Mutant, data: Path) -> list[str]:
    """Return node ids of the tests that executed a mutant's lines, those of its own package first; or a folder."""
    room = f"tests/{mutant.file.removeprefix(SOURCE + '/').split('/')[0]}"
    names: set[str] = set()
    if data.exists():
        read = CoverageData(str(data))
        read.read()
        for file in read.measured_files():
            if file.endswith("/" + mutant.file):
                contexts = read.contexts_by_lineno(file)
                names |= {test for line in mutant.lines for test in contexts.get(line, ())}
    modules = (test.rpartition(".") for test in names if test.startswith("tests."))
    tests = [f"{module.replace('.', '/')}.py::{name}" for module, _, name in modules]
    tests = sorted(test for test in tests if (ROOT / test.partition("::")[0]).exists())
    random.Random(mutant.line).shuffle(tests)
    tests.sort(key=lambda test: not test.startswith(room + "/"))
    return tests[:MAX_TESTS] or ([room] if (ROOT / room).is_dir() else [])


class Tree:
    """A copy of the working tree, in which one file at a time is a mutant."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.bad, self.clock = folder, set[str](), 1
        ignored = shutil.ignore_patterns(".*_cache", ".git", ".hypothesis", "__pycache__")
        shutil.copytree(ROOT, folder, ignore=ignored, dirs_exist_ok=True)
        self.environment = os.environ | {"PYTHONPATH": f"{folder}/src", "PYTHONPYCACHEPREFIX": f"{folder}/.bytecode"}
        _, path = self.python("-c", "import linkwork; print(linkwork.__file__)")
        assert path.startswith(f"{folder}/src"), f"linkwork is imported from {path}"

    def python(self, *arguments: str) -> tuple[int, str]:
        """Return the exit code and output of Python in this tree, with a limit of memory."""
        command = ["sh", "-c", f'ulimit -d {MAX_MEMORY >> 10}; exec "$@"', "sh", sys.executable, *arguments]
        options = {"env": self.environment, "cwd": self.folder, "start_new_session": True, "text": True}
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options) as process:
            try:
                output, _ = process.communicate(timeout=MAX_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # with the processes that it started
                raise
        return process.returncode, output

    def write(self, file: str, text: bytes) -> None:
        """Write a file with a time of modification that no earlier state of it had."""
        self.clock += 2
        (self.folder / file).write_bytes(text)
        os.utime(self.folder / file, (1e9 + self.clock, 1e9 + self.clock))

    def failure(self, file: str, tests: list[str], *, is_drawn: bool = False) -> str | None:
        """Run all cases of tests, or those drawn today, until one fails: it, "no start", `UNFINISHED` or None."""
        has_cache = "compiler/codegen" not in file  # machine code of the same text may differ
        cache = [f"-ocache_dir={self.folder}/.test_cache"] if has_cache else ["-p", "no:cacheprovider"]
        options = ["-m", "pytest", "-q", "-x", "-n0", "--no-header", *cache]
        if is_drawn:  # a node id runs whole
            options += ["-k", " or ".join(test.partition("::")[2] for test in tests)]
            tests = [*dict.fromkeys(test.partition("::")[0] for test in tests)]
        elif tests and "::" not in tests[0]:
            options.append("--all")
        options += [f"--deselect={test}" for test in self.bad]
        try:
            code, output = self.python(*options, *tests) if tests else (0, "")
        except subprocess.TimeoutExpired:
            return UNFINISHED
        if code in (0, 5):
            return None
        lines = [line.partition(" - ")[0] for line in output.splitlines()]
        return next((x.partition(" ")[2] for x in lines if x.startswith(("FAILED ", "ERROR "))), "no start")

    def outcome(self, mutant: Mutant, tests: list[str], *, is_drawn: bool) -> str | None:
        """Return the test that fails with a mutant and passes without it, or None."""
        while True:
            self.write(mutant.file, mutant.program)
            failed = self.failure(mutant.file, tests, is_drawn=is_drawn)
            self.write(mutant.file, mutant.source)
            if failed == "no start":
                assert self.failure(mutant.file, tests[:1]) != "no start", "no test starts without a mutant"
            if failed is None or "::" not in failed or self.failure(mutant.file, [failed]) is None:
                return failed
            self.bad.add(failed)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", help="files of linkwork's source (default: all)")
    parser.add_argument("--since", help="files that commits changed since a time, such as '1 day ago'")
    parser.add_argument("--count", type=int, default=20, help="number of mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="*", default=(), help="only these kinds, such as limit, guard, tolerance")
    parser.add_argument("--map", type=Path, default=ROOT / ".coverage", help="data of coverage.py")
    chosen = parser.parse_args(arguments)
    files = [Path(os.path.abspath(file)).relative_to(ROOT).as_posix() for file in chosen.files]
    if chosen.since:
        log = ["git", "log", "--name-only", "--format=", f"--since={chosen.since}", "--", SOURCE]
        files = sorted({*subprocess.run(log, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()})
    elif not files:
        files = [path.relative_to(ROOT).as_posix() for path in (ROOT / SOURCE).rglob("*.py")]
    files = [file for file in files if file.endswith(".py") and (ROOT / file).exists()]
    counts: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory(prefix="linkwork-mutants-") as folder:
        tree = Tree(Path(folder))
        for mutant in drawn(files, chosen.count, chosen.seed, chosen.kinds) if files else []:
            tests = covering(mutant, chosen.map)
            failed = tree.outcome(mutant, tests, is_drawn=True)
            how = "the day's cases" if failed else "all cases"
            failed = failed or tree.outcome(mutant, tests, is_drawn=False)
            how = "unfinished" if failed == UNFINISHED else how if failed else "survived"
            counts[mutant.kind, how] += 1
            end = f"killed by {how}: {failed}" if failed else f"SURVIVED {len(tests)} tests: {' '.join(tests[:6])}"
            print(mutant.shown(), end, sep="\n    ", flush=True)
    for (kind, how), number in sorted(counts.items()):
        print(f"{kind:12} {how:16} {number}")
    total = Counter(how for (_, how), number in counts.items() for _ in range(number))
    print(", ".join(f"{how}: {number} of {counts.total()}" for how, number in total.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
