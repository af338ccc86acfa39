"""Rows side by side: where one sample runs alone, a loop that carries nothing on does several of its steps in lanes.

The body is planned as a program of its own, whose frame has a vector for each number.  What steps take is put into
lanes from where it stands, and what they leave is transposed to where the loop keeps it.  Lanes beyond the last step
are masked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...expr.control.loop import Loop
from ..llvm import Instructions
from ..real import Real
from ..target import Target
from ..transpose import transpose
from .cost import samples_cost
from .steps import SLICE, TABLE, Control, Memory, Scope, Spot

__all__ = ["SideBySide", "worth_lanes"]

_FEWEST, _MOST = 3, 64  # steps: more are written out in as many groups as there are
_WORTH = 200  # instructions of a step: to move what it takes and leaves into lanes and back costs about as much as some
_ROOM = 1 << 15  # bytes of the frame, which is on the stack


def worth_lanes(loop: Loop) -> bool:
    """Whether steps of a loop are better done side by side."""
    apart = not loop.conditional and not loop.carried and loop.inputs > 0 and loop.kept > 0
    return apart and _FEWEST <= loop.at_most <= _MOST and samples_cost(loop.body) >= _WORTH


class SideBySide:
    """A body in lanes, with its frame."""

    def __init__(self, name: str, scope: Scope, memory: Memory, target: Target, real: Real) -> None:
        self.name, self.scope, self.real = name, scope, real
        self.lanes = target.lanes_of(real)
        self.width = real.bytes * self.lanes
        self.bytes = memory.size * self.width

    @property
    def fits(self) -> bool:
        """Whether there are lanes, and room for the frame."""
        return self.lanes >= _FEWEST and self.bytes <= _ROOM

    def run(self, f: Instructions, step: Control, starts: Sequence[str]) -> None:
        """The whole loop, in a driver of one sample; ``starts`` are where columns begin."""
        loop: Loop = step.bundle
        frame = f.room(self.bytes, 64)
        spots = step.scopes[0].inputs
        kind, mask = self.real.vector(self.lanes), f"i{self.lanes}"
        f.declare(f"declare void {self.name}(ptr, {mask})")
        for k in range(loop.inputs, len(spots)):
            self._put(f, frame, k, [f.get("%frame", spots[k].number)] * self.lanes)
        for first in range(0, loop.at_most, self.lanes):
            count = min(self.lanes, loop.at_most - first)
            for k in range(loop.inputs):
                self._put(f, frame, k, self._row(f, step, spots[k], starts, range(first, first + count)))
            f.do(f"call void {self.name}(ptr {frame}, {mask} {-1 if count == self.lanes else (1 << count) - 1})")
            taken: Callable[[int], str] = lambda j: f.load(kind, f.at(frame, self.scope.results[j] * self.width), 64)  # noqa: E731
            kept = f.at("%frame", (step.results + first * loop.kept) * self.real.bytes)
            self._leave(f, taken, kept, loop.kept, count)

    def _row(self, f: Instructions, step: Control, spot: Spot, starts: Sequence[str], steps: range) -> Sequence[str]:
        """One input of some steps."""
        column, start = step.columns[spot.column], starts[spot.column]
        size = self.real.bytes
        assert spot.area in (SLICE, TABLE)
        distance, at = (size, 0) if spot.area == TABLE else (column.stride * size, spot.number * size)
        return [f.load(self.real.name, f.at(start, at + k * distance), size) for k in steps]

    def _put(self, f: Instructions, frame: str, place: int, numbers: Sequence[str]) -> None:
        """Numbers into the lanes of a place; lanes without one have the first."""
        kind = self.real.vector(self.lanes)
        column = "poison"
        for lane in range(self.lanes):
            x = numbers[lane] if lane < len(numbers) else numbers[0]
            column = f.let(f"insertelement {kind} {column}, {self.real.name} {x}, i32 {lane}")
        f.store(kind, column, f.at(frame, place * self.width), self.width)

    def _leave(self, f: Instructions, taken: Callable[[int], str], kept: str, numbers: int, steps: int) -> None:
        """What the steps of a group leave, to where it is kept, step by step."""
        lanes, size = self.lanes, self.real.bytes
        kind = self.real.vector(lanes)
        if numbers < lanes:
            for j in range(numbers):
                column = taken(j)
                for lane in range(steps):
                    x = f.let(f"extractelement {kind} {column}, i32 {lane}")
                    f.store(self.real.name, x, f.at(kept, (lane * numbers + j) * size), size)
            return
        for j in dict.fromkeys([*range(0, numbers - lanes + 1, lanes), numbers - lanes]):
            square = transpose(f, [taken(k) for k in range(j, j + lanes)], self.real, lanes)
            for lane in range(steps):
                f.store(kind, square[lane], f.at(kept, (lane * numbers + j) * size), size)
