"""Examples of tests in special positions: vectors with a zero component, or with two of equal size.

``python -m tools.positions [PATH...]`` lists the vectors of numbers in files (default: the tests' helpers).  Where an
axis, a normal, a placement or gravity is special, a wrong sign or a missing term often makes no difference.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

HELPERS = Path(__file__).parents[1] / "tests/helpers"


def special(source: str) -> Iterator[tuple[int, str]]:
    """Generate the line and the text of each vector of three numbers in a special position."""
    for node in ast.walk(ast.parse(source)):
        is_vector = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Vec3"
        elements = (
            node.args if is_vector else getattr(node, "elts", []) if isinstance(node, ast.Tuple | ast.List) else []
        )
        try:
            sizes = [abs(float(ast.literal_eval(element))) for element in elements]
        except (TypeError, ValueError):  # names and expressions
            continue
        if len(sizes) == 3 and (0.0 in sizes or len({*sizes}) < 3):
            yield node.lineno, ast.unparse(node)


def main(paths: list[str]) -> None:
    for path in map(Path, paths or [str(HELPERS)]):
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            for line, text in special(file.read_text(encoding="utf-8")):
                print(f"{file}:{line}: {text}")


if __name__ == "__main__":
    main(sys.argv[1:])
