"""The writer of LLVM IR text: a function names its values and knows loops and branches; a text is made of functions.

The processor's floating-point flags, left as they were found, in LLVM IR.

NumPy makes warnings of them, and a branch of ``where`` that is not chosen may well divide by zero.

Squares of numbers in vectors, transposed in registers, in LLVM IR.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from linkwork.compiler.codegen.float_type import LARGE, Real
from linkwork.compiler.codegen.target import Target

__all__ = ["MOST_UNROLLED", "Function", "Text", "restore_flags", "save_flags", "structure", "transpose"]


_CHAINS = 4
_FOUR = 4  # numbers that are looked at together
MOST_UNROLLED = 128  # what is done for each of more numbers than this is written as a loop


class Text:
    """The pieces of a module: declarations and functions, each there once.

    Names that begin with a point are a kernel's own, and get its ``name`` in front: ``@.loop`` is ``@spring.loop``.
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.declarations: dict[str, None] = {}
        self.functions: dict[str, str] = {}

    def declare(self, *declarations: str) -> None:
        self.declarations |= dict.fromkeys(declarations)

    def add(self, function: Function) -> None:
        """Add a function, after those that it needs, unless one of its name is there."""
        if function.name not in self.functions:
            for needed in function.needs:
                self.add(needed)
            self.declare(*function.declarations)
            self.functions[function.name] = str(function)

    def __str__(self) -> str:
        return "\n".join([*self.declarations, *self.functions.values()]).replace("@.", f"@{self.name}.")


def structure(kinds: Sequence[str]) -> str:
    """The type of values of such kinds together."""
    return f"{{ {', '.join(kinds)} }}"


class Function:
    """The text of one LLVM function, written line by line, and what it needs of its module.

    Equal declarations are equal strings, and different ones never declare the same name.
    """

    def __init__(self, signature: str, attributes: str = "#0", end: str = "ret void") -> None:
        self.signature, self.attributes = signature, attributes
        self.end = end  # the last line
        self.declarations: dict[str, None] = {}
        self.needs: list[Function] = []  # our own functions that it calls
        self._lines: list[str] = []
        self._rooms: list[str] = []
        self._names = 0
        self._block = "entry"

    @property
    def name(self) -> str:
        return self.signature.partition("(")[0].split()[-1]

    def __str__(self) -> str:
        head = f"{self.signature} {self.attributes} {{"
        return "\n  ".join([head, "entry:", *self._rooms, *self._lines, self.end]) + "\n}\n"

    def declare(self, *declarations: str) -> None:
        """What stands outside of the function and is used in it."""
        self.declarations |= dict.fromkeys(declarations)

    def do(self, instruction: str) -> None:
        """An instruction without a value."""
        self._lines.append(instruction)

    def let(self, instruction: str) -> str:
        """An instruction's value: returns its name."""
        self._names += 1
        name = f"%x{self._names}"
        self._lines.append(f"{name} = {instruction}")
        return name

    def room(self, size: int, align: int) -> str:
        """Memory of so many bytes on the stack, taken once however often this place is passed."""
        self._names += 1
        name = f"%room{self._names}"
        self._rooms.append(f"{name} = alloca [{size} x i8], align {align}")
        return name

    def at(self, pointer: str, offset: str | int) -> str:
        """The address some bytes further on."""
        return self.let(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def load(self, kind: str, pointer: str, align: int = 8) -> str:
        return self.let(f"load {kind}, ptr {pointer}, align {align}")

    def store(self, kind: str, value: str, pointer: str, align: int = 8) -> None:
        self.do(f"store {kind} {value}, ptr {pointer}, align {align}")

    def parts(self, kinds: Sequence[str], value: str) -> list[str]:
        """The values in a structure of values of such kinds."""
        return [self.let(f"extractvalue {structure(kinds)} {value}, {k}") for k in range(len(kinds))]

    def together(self, kinds: Sequence[str], values: Sequence[str]) -> str:
        """The structure of some values."""
        total = "poison"
        for k, (kind, value) in enumerate(zip(kinds, values, strict=True)):
            total = self.let(f"insertvalue {structure(kinds)} {total}, {kind} {value}, {k}")
        return total

    def all_of(self, flags: Sequence[str]) -> str:
        total = "true"
        for flag in flags:
            total = self.let(f"and i1 {total}, {flag}")
        return total

    def any_of(self, kind: str, flags: Sequence[str]) -> str:
        """The flags (truth values, or vectors of them) combined by or."""
        total, *rest = flags
        for flag in rest:
            total = self.let(f"or {kind} {total}, {flag}")
        return total

    def added(self, kind: str, numbers: Sequence[str]) -> str:
        """The sum of numbers, in pairs, so that none waits for all others."""
        terms = list(numbers)
        while len(terms) > 1:
            pairs = [self.let(f"fadd {kind} {a}, {b}") for a, b in zip(terms[::2], terms[1::2], strict=False)]
            terms = pairs + terms[2 * len(pairs) :]
        return terms[0]

    def magnitudes(self, kind: str, numbers: Sequence[str]) -> str:
        """The sum of the magnitudes of numbers, in a few chains; magnitudes are numbers without the sign bit."""
        integers = kind.replace("double", "i64").replace("float", "i32")
        lane, lanes = ("i64", 64) if "i64" in integers else ("i32", 32)
        mask = str((1 << (lanes - 1)) - 1)
        if integers != lane:
            count = int(integers[1 : integers.index(" ")])
            mask = f"<{', '.join([f'{lane} {mask}'] * count)}>"
        chains: list[str] = []
        for k, x in enumerate(numbers):
            bits = self.let(f"bitcast {kind} {x} to {integers}")
            positive = self.let(f"and {integers} {bits}, {mask}")
            size = self.let(f"bitcast {integers} {positive} to {kind}")
            if k < _CHAINS:
                chains.append(size)
            else:
                chains[k % _CHAINS] = self.let(f"fadd {kind} {chains[k % _CHAINS]}, {size}")
        return self.added(kind, chains)

    def not_finite(self, real: Real, lanes: int, numbers: Sequence[str]) -> str:
        """Whether some of the numbers are infinite or NaN, or so large that products of a few overflow, lane by lane.

        Who asks looks again: results of large numbers may well be finite.
        """
        return self.beyond(real, lanes, [self.magnitudes(real.vector(lanes), numbers)])

    def beyond(self, real: Real, lanes: int, magnitudes: Sequence[str]) -> str:
        """The same of sums of magnitudes."""
        kind = real.vector(lanes)
        return self.let(f"fcmp ugt {kind} {self.added(kind, magnitudes)}, {real.literal(LARGE[real.bits], lanes)}")

    def any_not_finite(self, real: Real, arrays: Sequence[tuple[str, int]]) -> str:
        """Whether some number of contiguous arrays, of so many numbers each, is not finite: four at a time."""
        fours: list[str] = []
        ones: list[str] = []
        for pointer, size in arrays:
            whole = size - size % _FOUR
            fours += [self.load(real.vector(_FOUR), self.at(pointer, real.bytes * k), real.bytes)
                      for k in range(0, whole, _FOUR)]  # fmt: skip
            ones += [self.load(real.name, self.at(pointer, real.bytes * k), real.bytes) for k in range(whole, size)]
        flags = [self.not_finite(real, 1, ones)] if ones else []
        if fours:
            bits = self.let(f"bitcast <{_FOUR} x i1> {self.not_finite(real, _FOUR, fours)} to i{_FOUR}")
            flags.append(self.let(f"icmp ne i{_FOUR} {bits}, 0"))
        return self.any_of("i1", flags)

    @contextmanager
    def loop(
        self,
        stop: str | int,
        *,
        start: str | int = 0,
        step: int = 1,
        kind: str = "",
        carried: list[str] | None = None,
        ending: Callable[[str, str], None] | None = None,
    ) -> Iterator[str]:
        """A loop whose index runs from start in steps, as long as it is below stop; it may run not at all.

        Values of a kind that are carried from step to step stand in a list: those at first, then those that a step
        finds, in the place of which it puts the following ones, and at last those that are left.

        ``ending(index, leave)`` is called behind each step's code, and may write code that goes to the label ``leave``.
        The values that are left are then those that the step found.
        """
        first = carried if carried is not None else []
        begin = list(first)
        head, body, leave = self._label("head"), self._label("body"), self._label("leave")
        before = self._block
        self._names += 1
        index, following = f"%i{self._names}", f"%n{self._names}"
        self._goto(head)
        phi = len(self._lines)
        self._lines += [""] * (1 + len(begin))
        inside = [f"%c{self._names}.{k}" for k in range(len(begin))]
        first[:] = inside
        more = self.let(f"icmp slt i64 {index}, {stop}")
        self.do(f"br i1 {more}, label %{body}, label %{leave}")
        self._start(body)
        yield index
        if ending is not None:
            ending(index, leave)
        self.do(f"{following} = add i64 {index}, {step}")
        self._lines[phi] = f"{index} = phi i64 [ {start}, %{before} ], [ {following}, %{self._block} ]"
        for k, (name, one, other) in enumerate(zip(inside, begin, first, strict=True)):
            self._lines[phi + 1 + k] = f"{name} = phi {kind} [ {one}, %{before} ], [ {other}, %{self._block} ]"
        first[:] = inside
        self.do(f"br label %{head}")
        self._start(leave)

    @contextmanager
    def repeat(self, kinds: Sequence[str] = (), carried: list[str] | None = None) -> Iterator[str]:
        """What is done again and again, until something goes to the label that this gives.

        Values of some kinds that are carried from turn to turn stand in a list: those at first, then those that a turn
        finds, in the place of which it puts the following ones.  Behind the label are those that the last turn found.
        """
        values = carried if carried is not None else []
        begin = list(values)
        head, leave, before = self._label("again"), self._label("leave"), self._block
        self._goto(head)
        phi = len(self._lines)
        self._lines += [""] * len(begin)
        self._names += 1
        inside = [f"%c{self._names}.{k}" for k in range(len(begin))]
        values[:] = inside
        yield leave
        for k, (kind, name, one, other) in enumerate(zip(kinds, inside, begin, values, strict=True)):
            self._lines[phi + k] = f"{name} = phi {kind} [ {one}, %{before} ], [ {other}, %{self._block} ]"
        values[:] = inside
        self.do(f"br label %{head}")
        self._start(leave)

    @contextmanager
    def when(self, flag: str) -> Iterator[None]:
        """What is done only if the flag is set."""
        yes, after = self._label("yes"), self._label("after")
        self.do(f"br i1 {flag}, label %{yes}, label %{after}")
        self._start(yes)
        yield
        self._goto(after)

    @contextmanager
    def unless(self, flag: str) -> Iterator[None]:
        """What is done only if the flag is not set."""
        no, after = self._label("no"), self._label("after")
        self.do(f"br i1 {flag}, label %{after}, label %{no}")
        self._start(no)
        yield
        self._goto(after)

    @contextmanager
    def instead(self, flag: str, kinds: Sequence[str], values: list[str]) -> Iterator[list[str]]:
        """Other values if the flag is set: what is done here puts them into the list, which then holds the result."""
        yes, after, before = self._label("yes"), self._label("after"), self._block
        others = list(values)
        self.do(f"br i1 {flag}, label %{yes}, label %{after}")
        self._start(yes)
        yield others
        inside = self._block
        self._goto(after)
        for k, (kind, usual, other) in enumerate(zip(kinds, values, list(others), strict=True)):
            others[k] = self.let(f"phi {kind} [ {usual}, %{before} ], [ {other}, %{inside} ]")

    def require(self, flag: str, otherwise: str) -> None:
        """Go on only if the flag is set, else to a label."""
        here = self._label("on")
        self.do(f"br i1 {flag}, label %{here}, label %{otherwise}")
        self._start(here)

    def refuse(self, flag: str, otherwise: str) -> None:
        """Go on only if the flag is not set, else to a label."""
        here = self._label("on")
        self.do(f"br i1 {flag}, label %{otherwise}, label %{here}")
        self._start(here)

    def label(self, name: str) -> None:
        """A place to go to; what stands before it has ended its block."""
        self._start(name)

    def _label(self, stem: str) -> str:
        self._names += 1
        return f"{stem}{self._names}"

    def _goto(self, label: str) -> None:
        self.do(f"br label %{label}")
        self._start(label)

    def _start(self, label: str) -> None:
        self._lines.append(f"{label}:")
        self._block = label


def save_flags(f: Function, target: Target) -> str:
    """Keep the processor's floating-point flags; on processors not known here they are let be."""
    if target.triple.startswith("x86_64"):
        f.declare("declare void @llvm.x86.sse.stmxcsr(ptr)", "declare void @llvm.x86.sse.ldmxcsr(ptr)")
        kept = f.let("alloca i32, align 4")
        f.do(f"call void @llvm.x86.sse.stmxcsr(ptr {kept})")
        return kept
    if target.triple.startswith(("aarch64", "arm64")):
        f.declare("declare i64 @llvm.aarch64.get.fpsr()", "declare void @llvm.aarch64.set.fpsr(i64)")
        return f.let("call i64 @llvm.aarch64.get.fpsr()")
    return ""


def restore_flags(f: Function, target: Target, kept: str) -> None:
    if target.triple.startswith("x86_64"):
        f.do(f"call void @llvm.x86.sse.ldmxcsr(ptr {kept})")
    elif kept:
        f.do(f"call void @llvm.aarch64.set.fpsr(i64 {kept})")


def transpose(f: Function, vectors: list[str], real: Real, lanes: int) -> list[str]:
    """Transpose squares of numbers side by side in as many vectors as a square has rows: exchange halves, quarters ...

    The squares fill the lanes of the vectors.
    """
    kind, d, rows = real.vector(lanes), 1, len(vectors)
    while d < rows:
        low = [k if not k & d else lanes + k - d for k in range(lanes)]
        high = [k + d if not k & d else lanes + k for k in range(lanes)]
        after = list(vectors)
        for i in range(rows):
            if not i & d:
                for place, chosen in ((i, low), (i + d, high)):
                    mask = ", ".join(f"i32 {k}" for k in chosen)
                    pair = f"{kind} {vectors[i]}, {kind} {vectors[i + d]}"
                    after[place] = f.let(f"shufflevector {pair}, <{lanes} x i32> <{mask}>")
        vectors, d = after, 2 * d
    return vectors
