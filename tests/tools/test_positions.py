"""Helpers of tests have axes, normals, placements and gravity in general position, except where listed."""

from tools.positions import HELPERS, special

# Mechanisms of planes, and joints whose zeros are tested.  These numbers only fall.
SPECIAL = {
    "broken_joints": 3, "chains": 4, "cut_four_bar": 1, "fourbars": 3, "gantry": 2, "constant_forces": 1, "joints": 1,
    "linkages": 16, "live_pages": 3, "overconstrained": 1, "paths": 3, "pickle_results": 1, "row_format": 1,
    "urdf_as_code": 1,
}  # fmt: skip


def test_search_for_constant_vectors_lists_vectors_in_special_position():
    result = special("f(axis=(0.48, 0.6, 0.64), normal=[0.6, 0.0, 0.8], at=Vec3(-1.0, 1.0, 2.0), size=(x, 0.0, 1.0))")
    assert sorted(result) == [(1, "Vec3(-1.0, 1.0, 2.0)"), (1, "[0.6, 0.0, 0.8]")]


def test_vectors_in_test_helpers_are_in_general_position():
    results = {file.stem: len([*special(file.read_text("utf-8"))]) for file in HELPERS.glob("*.py")}
    assert {name: count for name, count in results.items() if count} == SPECIAL
