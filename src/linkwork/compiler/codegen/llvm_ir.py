"""Writers of LLVM IR text: functions, with names of values, loops and branches, and modules of functions.

`save_flags` and `restore_flags` preserve the processor's floating-point flags, which NumPy turns into warnings: a
branch of ``where`` that is not selected may divide by zero. `transpose` transposes square matrices in vector registers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from linkwork.compiler.codegen.float_type import FloatType

__all__ = [
    "MAX_UNROLLED",
    "IrFunction",
    "IrModule",
    "structure",
    "transpose",
]


_CHAINS = 4  # independent chains of additions
_FOUR = 4  # elements that are checked together
MAX_UNROLLED = 128  # elements up to which code is repeated for each; more are a loop


class IrModule:
    """The declarations and functions of a module, without duplicates.

    Names that begin with a dot belong to the kernel and get the prefix ``name``: ``@.loop`` is ``@spring.loop``.  With
    ``shared``, functions that all kernels may share are only declared; ``shared`` collects their names.  Shared
    functions, and functions in ``assembled``, which are written without LLVM, have LLVM's calling convention
    ``convention`` unless it is "".
    """

    def __init__(
        self,
        name: str = "",
        shared: dict[str, IrFunction] | None = None,
        assembled: set[str] | None = None,
        convention: str = "",
    ) -> None:
        self.name, self.shared, self.convention = name, shared, convention
        self.assembled: set[str] = set() if assembled is None else assembled
        self.declarations: dict[str, None] = {}
        self.functions: dict[str, str] = {}

    def declare(self, *declarations: str) -> None:
        self.declarations |= dict.fromkeys(declarations)

    def add(self, function: IrFunction) -> None:
        """Add a function, after the functions that it calls, unless a function of this name exists."""
        if self.shared is not None and function.is_shared:
            self.shared[function.name] = function
            self.declare(function.signature.replace("define internal", "declare"))
        elif function.name not in self.functions:
            for needed in function.needs:
                self.add(needed)
            self.declare(*function.declarations)
            self.functions[function.name] = str(function)

    def __str__(self) -> str:
        text = "\n".join([*self.declarations, *self.functions.values()])
        names = self.assembled | (self.shared or {}).keys() if self.convention else ()
        if names:
            pattern = rf"\b(call|declare) (?=[^@\n]*(?:{'|'.join(map(re.escape, sorted(names)))})\()"
            text = re.sub(pattern, rf"\1 {self.convention} ", text)
        return text.replace("@.", f"@{self.name}.")


def structure(kinds: Sequence[str]) -> str:
    """Return the LLVM structure type whose members have the types ``kinds``."""
    return f"{{ {', '.join(kinds)} }}"


class IrFunction:
    """The text of one LLVM function, written line by line, and its requirements on the module.

    Equal declarations are equal strings, and different ones never declare the same name.
    """

    def __init__(self, signature: str, attributes: str = "#0", end: str = "ret void") -> None:
        self.signature, self.attributes = signature, attributes
        self.end = end  # the last line
        self.declarations: dict[str, None] = {}
        self.needs: list[IrFunction] = []  # functions of the module that it calls
        self.is_shared = False  # True if an object file for all kernels may have it
        self._lines: list[str] = []
        self._stack: list[str] = []
        self._names = 0
        self._block = "entry"

    @property
    def name(self) -> str:
        return self.signature.partition("(")[0].split()[-1]

    def __str__(self) -> str:
        head = f"{self.signature} {self.attributes} {{"
        return "\n  ".join([head, "entry:", *self._stack, *self._lines, self.end]) + "\n}\n"

    def declare(self, *declarations: str) -> None:
        """Add declarations of symbols outside of the function."""
        self.declarations |= dict.fromkeys(declarations)

    def do(self, instruction: str) -> None:
        """Add an instruction without a value."""
        self._lines.append(instruction)

    def let(self, instruction: str) -> str:
        """Add an instruction and return the name of its value."""
        self._names += 1
        name = f"%x{self._names}"
        self._lines.append(f"{name} = {instruction}")
        return name

    def stack_memory(self, size: int, align: int) -> str:
        """Return stack memory of ``size`` bytes, allocated once at the function's entry."""
        self._names += 1
        name = f"%stack_memory{self._names}"
        self._stack.append(f"{name} = alloca [{size} x i8], align {align}")
        return name

    def at(self, pointer: str, offset: str | int) -> str:
        """Emit the address that is ``offset`` bytes after a pointer, and return its name."""
        return self.let(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def smaller(self, index: str, most: int) -> str:
        """Emit the minimum of an index and ``most``, and return its name."""
        below = self.let(f"icmp slt i64 {index}, {most}")
        return self.let(f"select i1 {below}, i64 {index}, i64 {most}")

    def load(self, kind: str, pointer: str, align: int = 8) -> str:
        return self.let(f"load {kind}, ptr {pointer}, align {align}")

    def store(self, kind: str, value: str, pointer: str, align: int = 8) -> None:
        self.do(f"store {kind} {value}, ptr {pointer}, align {align}")

    def structure_values(self, kinds: Sequence[str], value: str) -> list[str]:
        """Emit the extraction of all members of a structure, with types ``kinds``; return the members' names."""
        return [self.let(f"extractvalue {structure(kinds)} {value}, {k}") for k in range(len(kinds))]

    def structure_of(self, kinds: Sequence[str], values: Sequence[str]) -> str:
        """Emit a structure with the members ``values``, of types ``kinds``, and return its name."""
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
        """Emit the logical or of flags, or of vectors of flags, and return its name; ``kind`` is the LLVM type."""
        total, *remaining = flags
        for flag in remaining:
            total = self.let(f"or {kind} {total}, {flag}")
        return total

    def added(self, kind: str, values: Sequence[str]) -> str:
        """Return the sum of values, added in pairs to shorten the dependent chain."""
        terms = list(values)
        while len(terms) > 1:
            pairs = [self.let(f"fadd {kind} {a}, {b}") for a, b in zip(terms[::2], terms[1::2], strict=False)]
            terms = pairs + terms[2 * len(pairs) :]
        return terms[0]

    def magnitudes(self, kind: str, values: Sequence[str]) -> str:
        """Emit the sum of absolute values, in a few independent chains of additions; return its name."""
        integers = kind.replace("double", "i64").replace("float", "i32")
        lane, lanes = ("i64", 64) if "i64" in integers else ("i32", 32)
        mask = str((1 << (lanes - 1)) - 1)
        if integers != lane:
            count = int(integers[1 : integers.index(" ")])
            mask = f"<{', '.join([f'{lane} {mask}'] * count)}>"
        chains: list[str] = []
        for k, x in enumerate(values):
            bits = self.let(f"bitcast {kind} {x} to {integers}")
            positive = self.let(f"and {integers} {bits}, {mask}")
            size = self.let(f"bitcast {integers} {positive} to {kind}")
            if k < _CHAINS:
                chains.append(size)
            else:
                chains[k % _CHAINS] = self.let(f"fadd {kind} {chains[k % _CHAINS]}, {size}")
        return self.added(kind, chains)

    def not_finite(self, real: FloatType, lanes: int, values: Sequence[str]) -> str:
        """Return a mask of the lanes in which a value is not finite, or so large that products may overflow.

        The test uses the sum of the magnitudes, so the mask may be set for values whose results are finite. The caller
        then checks exactly.
        """
        return self.beyond(real, lanes, [self.magnitudes(real.vector(lanes), values)])

    def beyond(self, real: FloatType, lanes: int, magnitudes: Sequence[str]) -> str:
        """Emit a mask of lanes in which the sum of ``magnitudes`` exceeds the largest valid input or is not finite."""
        kind, largest = real.vector(lanes), real.literal(real.limits.largest_input, lanes)
        return self.let(f"fcmp ugt {kind} {self.added(kind, magnitudes)}, {largest}")

    def any_not_finite(self, real: FloatType, arrays: Sequence[tuple[str, int]]) -> str:
        """Emit a flag that is true if an element of contiguous arrays is not finite, and return its name.

        ``arrays`` has the address and the number of elements of each array.  Elements are checked in vectors of four.
        """
        fours: list[str] = []
        singles: list[str] = []
        for pointer, size in arrays:
            whole = size - size % _FOUR
            fours += [self.load(real.vector(_FOUR), self.at(pointer, real.bytes * k), real.bytes)
                      for k in range(0, whole, _FOUR)]  # fmt: skip
            singles += [self.load(real.name, self.at(pointer, real.bytes * k), real.bytes) for k in range(whole, size)]
        flags = [self.not_finite(real, 1, singles)] if singles else []
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
        """Emit a loop whose index runs from ``start`` in steps of ``step`` while it is below ``stop``; yield the index.

        The loop may have no iteration. ``carried`` is a list of loop-carried values of type ``kind``.  It has the
        initial values before the loop, and the current values in the body, which must replace them by the next values.
        After the loop it has the final values.

        ``ending(index, leave)`` is called after the code of each iteration, and may emit branches to the label
        ``leave``. The final values are then those at the start of that iteration.
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
        for k, (name, initial, updated) in enumerate(zip(inside, begin, first, strict=True)):
            self._lines[phi + 1 + k] = f"{name} = phi {kind} [ {initial}, %{before} ], [ {updated}, %{self._block} ]"
        first[:] = inside
        self.do(f"br label %{head}")
        self._start(leave)

    @contextmanager
    def repeat(self, kinds: Sequence[str] = (), carried: list[str] | None = None) -> Iterator[str]:
        """Emit an endless loop, left by a branch to the label that is yielded.

        ``carried`` is a list of loop-carried values of types ``kinds``.  It has the initial values before the loop, and
        the current values in the body, which must replace them by the next values. After the label it has the values at
        the start of the last iteration.
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
        for k, (kind, name, initial, updated) in enumerate(zip(kinds, inside, begin, values, strict=True)):
            self._lines[phi + k] = f"{name} = phi {kind} [ {initial}, %{before} ], [ {updated}, %{self._block} ]"
        values[:] = inside
        self.do(f"br label %{head}")
        self._start(leave)

    @contextmanager
    def when(self, flag: str) -> Iterator[None]:
        """Emit code that runs only if the flag is set."""
        yes, after = self._label("yes"), self._label("after")
        self.do(f"br i1 {flag}, label %{yes}, label %{after}")
        self._start(yes)
        yield
        self._goto(after)

    @contextmanager
    def unless(self, flag: str) -> Iterator[None]:
        """Emit code that runs only if the flag is not set."""
        no, after = self._label("no"), self._label("after")
        self.do(f"br i1 {flag}, label %{after}, label %{no}")
        self._start(no)
        yield
        self._goto(after)

    @contextmanager
    def instead(self, flag: str, kinds: Sequence[str], values: list[str]) -> Iterator[list[str]]:
        """Emit code that replaces ``values`` by other values if the flag is set.

        The ``with`` body assigns the new values to the yielded list; after the ``with`` statement the list has the
        results.
        """
        yes, after, before = self._label("yes"), self._label("after"), self._block
        replaced = list(values)
        self.do(f"br i1 {flag}, label %{yes}, label %{after}")
        self._start(yes)
        yield replaced
        inside = self._block
        self._goto(after)
        for k, (kind, usual, replacement) in enumerate(zip(kinds, values, list(replaced), strict=True)):
            replaced[k] = self.let(f"phi {kind} [ {usual}, %{before} ], [ {replacement}, %{inside} ]")

    def require(self, flag: str, otherwise: str) -> None:
        """Continue only if the flag is set; otherwise branch to a label."""
        following = self._label("on")
        self.do(f"br i1 {flag}, label %{following}, label %{otherwise}")
        self._start(following)

    def refuse(self, flag: str, otherwise: str) -> None:
        """Continue only if the flag is not set; otherwise branch to a label."""
        following = self._label("on")
        self.do(f"br i1 {flag}, label %{otherwise}, label %{following}")
        self._start(following)

    def label(self, name: str) -> None:
        """Start a block with this label; the code before it must have ended its block."""
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


def transpose(f: IrFunction, vectors: list[str], real: FloatType, lanes: int) -> list[str]:
    """Transpose square matrices that are stored in vector registers, by exchanging halves, then quarters, and so on.

    Vector i has row i of all matrices, side by side.  There are as many vectors as a matrix has rows.
    """
    kind, d, rows = real.vector(lanes), 1, len(vectors)
    while d < rows:
        low = [k if not k & d else lanes + k - d for k in range(lanes)]
        high = [k + d if not k & d else lanes + k for k in range(lanes)]
        after = list(vectors)
        for i in range(rows):
            if not i & d:
                for row, chosen in ((i, low), (i + d, high)):
                    mask = ", ".join(f"i32 {k}" for k in chosen)
                    pair = f"{kind} {vectors[i]}, {kind} {vectors[i + d]}"
                    after[row] = f.let(f"shufflevector {pair}, <{lanes} x i32> <{mask}>")
        vectors, d = after, 2 * d
    return vectors
