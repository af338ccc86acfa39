"""Wrappers on the page about PyTorch and JAX, if these are installed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "torch_and_jax.md"


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_documented_wrappers_for_torch_and_jax_have_exact_gradients(library: str) -> None:
    blocks = dict(re.findall(r"```python\n# (\w+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
    assert blocks.keys() == {"torch", "jax"}
    pytest.importorskip(library)
    exec(compile(blocks[library], f"{PAGE.name}, {library}", "exec"), {})  # asserts that gradients equal differences
