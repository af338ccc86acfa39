"""Every numbered invariant has one test that states it."""

import ast
import re
from pathlib import Path

NUMBERS_OF_MODULE = {"kinematics": range(9, 14), "dynamics": range(15, 33), "metamorphic": range(33, 42)}
FOLDER = Path(__file__).parent


def test_every_numbered_invariant_has_a_test_with_its_index():
    for module, expected in NUMBERS_OF_MODULE.items():
        tree = ast.parse((FOLDER / f"test_{module}.py").read_text(encoding="utf-8"))
        tests = [x for x in tree.body if isinstance(x, ast.FunctionDef) and x.name.startswith("test_")]
        assert [int(test.name.split("_")[1]) for test in tests] == list(expected)
        for test in tests:
            assert (ast.get_docstring(test) or "").startswith(f"{int(test.name.split('_')[1])}. "), test.name


def test_table_of_invariants_lists_every_numbered_test():
    table = ast.get_docstring(ast.parse((FOLDER / "__init__.py").read_text(encoding="utf-8")))
    listed = [int(number) for number in re.findall(r"^ +(\d+) ", table or "", re.MULTILINE)]
    assert listed == [number for values in NUMBERS_OF_MODULE.values() for number in values]
