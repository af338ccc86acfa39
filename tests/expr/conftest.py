"""Fixtures: a trace and two variables of it."""

from __future__ import annotations

import pytest

from linkwork.expr.scalar.symbol import Graph, Symbol


@pytest.fixture
def graph() -> Graph:
    return Graph()


@pytest.fixture
def x(graph: Graph) -> Symbol:
    return graph.input("x")


@pytest.fixture
def y(graph: Graph) -> Symbol:
    return graph.input("y")
