"""Every number has one test, which states it."""

import ast
import re
from pathlib import Path

NUMBERS = {"kinematics": range(9, 14), "dynamics": range(15, 33), "metamorphic": range(33, 42)}
HERE = Path(__file__).parent


def test_every_number_is_a_named_test():
    for module, numbers in NUMBERS.items():
        tree = ast.parse((HERE / f"test_{module}.py").read_text(encoding="utf-8"))
        tests = [x for x in tree.body if isinstance(x, ast.FunctionDef) and x.name.startswith("test_")]
        assert [int(test.name.split("_")[1]) for test in tests] == list(numbers)
        for test in tests:
            assert (ast.get_docstring(test) or "").startswith(f"{int(test.name.split('_')[1])}. "), test.name


def test_the_table_lists_them():
    table = ast.get_docstring(ast.parse((HERE / "__init__.py").read_text(encoding="utf-8")))
    listed = [int(number) for number in re.findall(r"^ +(\d+) ", table or "", re.MULTILINE)]
    assert listed == [number for numbers in NUMBERS.values() for number in numbers]
