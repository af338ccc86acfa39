"""A program replayed on symbols of a new trace, marks and all, to be differentiated there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from linkwork.compiler.program import Instruction, Port, Program
from linkwork.expr.scalar.interpreter import run
from linkwork.expr.scalar.symbol import Graph, Symbol

__all__ = ["Replay"]


class Replay:
    """A program's inputs and outputs as expressions of a graph of its own; guards are left out."""

    def __init__(self, program: Program) -> None:
        self.graph = Graph(f"a derivative of {program.name}")
        self.inputs: dict[str, list[Symbol]] = {}
        for port in program.inputs:
            self.inputs[port.name] = self.graph.inputs(port.name, port.shape)
        elements = [symbol for symbols in self.inputs.values() for symbol in symbols]
        values = run(_marking(program, self.graph), elements)
        self.outputs: dict[str, list[Any]] = {}
        start = 0
        for port in program.outputs:
            self.outputs[port.name] = [values[r] for r in program.results[start : start + port.size]]
            start += port.size
        self.ports = list(program.inputs)

    def fresh(self, ports: Sequence[Port]) -> dict[str, list[Symbol]]:
        """Further inputs, by name."""
        found = {port.name: self.graph.inputs(port.name, port.shape) for port in ports}
        self.inputs |= found
        self.ports += ports
        return found

    def program(self, name: str, outputs: Sequence[tuple[Port, Sequence[Any]]]) -> Program:
        """The program of expressions of this graph."""
        return Program.of(name, [(port, self.inputs[port.name]) for port in self.ports], outputs)


def _marking(program: Program, graph: Graph) -> Iterator[Instruction]:
    """The instructions; where a step begins among them, one begins in the graph."""
    marks = frozenset(program.marks)
    for k, instruction in enumerate(program.instructions):
        if k in marks:
            graph.marks.append(len(graph.nodes))
        yield instruction
