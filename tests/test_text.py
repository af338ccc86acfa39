"""Hints at similar names, and bounds on the work for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from linkwork._util import messages as _text
from linkwork._util.messages import nearest
from linkwork._util.validation import one_of
from linkwork.errors import MOST_ISSUES, ModelError
from linkwork.formats import parse_urdf
from linkwork.model.tree_builder import build_tree
from urdf_texts import joint, link, robot


def test_hints_at_unknown_names_list_the_nearest_names_first():
    for name, known, expected in (
        ("hnad", ["base", "hand", "arm"], "did you mean 'hand'?"),
        ("elbw", ["elbow", "wrist"], "did you mean 'elbow'?"),
        ("index_q1", ["Left_index_q1", "thumb", "Right_index_q1"], "did you mean 'Left_index_q1' or 'Right_index_q1'?"),
        ("joint_3", [f"joint_{i}" for i in range(9)], "did you mean 'joint_3' or 'joint_0' or 'joint_1'?"),
        ("rk5", ["euler", "rk4"], "did you mean 'rk4'?"),
        ("gripper", ["upper", "lower"], "there are 'lower', 'upper'"),  # half of the letters, and another beginning
        (
            "hand",
            ["panda_link0", "panda_hand_tcp", "panda_hand_camera"],
            "did you mean 'panda_hand_camera' or 'panda_hand_t",
        ),
        ("arm", [f"robot_{x}_arm_joint" for x in "abcd"], "there are 'robot_a_arm_joint', 'robot_b_arm"),  # too many
        ("wri", ["upper_wrist_joint"], "there are 'upper_wrist_joint'"),  # no whole word
        ("q", ["a", "b"], "there are 'a', 'b'"),
        ("", ["b", "a"], "there are 'a', 'b'"),
        ("a", [], "no names are defined"),
        ("a", ["x" * 200], "the known names are too long to list"),
        ("q", [f"n{i:02}" for i in range(20)], "there are 'n00', 'n01', 'n02', 'n03', 'n04', 'n05', 'n06', 'n07', "),
    ):
        assert nearest(name, known).startswith(expected)
    assert nearest("q", [f"n{i:02}" for i in range(40)]).endswith("'n11' and 28 more")
    assert nearest("q", [f"n{i:02}" for i in range(30)]).endswith("'n28', 'n29'")


def test_error_message_lists_the_known_names_once():
    for method, end in (("prm", "got 'prm'"), ("conect", "got 'conect'; did you mean 'connect'?")):
        with pytest.raises(ValueError, match=r"^plan: method: expected one of 'connect', 'optimal', ") as caught:
            one_of("plan", "method", method, ("connect", "optimal"))
        assert str(caught.value).endswith(end)


def test_hints_at_unknown_names_from_a_set_do_not_depend_on_its_order():
    names = [f"link_{i}" for i in range(50)]
    assert nearest("link_x", set(names)) == nearest("link_x", sorted(names)) == nearest("link_x", names[::-1])


def common(a: str, b: str) -> int:
    """The length of the longest common subsequence, by the textbook's table."""
    row = [0] * (len(b) + 1)
    for x in a:
        before, row = row, [0]
        for j, y in enumerate(b):
            row.append(before[j] + 1 if x == y else max(before[j + 1], row[j]))
    return row[-1]


def test_longest_common_subsequence_equals_a_direct_search():
    words = ["", "a", "hand", "hnad", "abab" * 9, "baba" * 8, "left_index_q1", "index_q1", "xyz", "ünï", "n" * 130]
    for a in words:
        for b in words:
            positions: dict[str, int] = {}
            for i, character in enumerate(b):
                positions[character] = positions.get(character, 0) | 1 << i
            assert _text._common(a, positions, len(b)) == common(a, b)


class Counted(Sequence[str]):
    """Names without end, almost, that count how many are looked at."""

    def __init__(self, count: int) -> None:
        self.count, self.taken = count, 0

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index):
        raise AssertionError("names are taken one after the other")

    def __iter__(self) -> Iterator[str]:
        for i in range(self.count):
            self.taken += 1
            yield f"name_{i}"


def test_hint_at_an_unknown_name_compares_a_bounded_count_of_names():
    few, many = Counted(5), Counted(10**12)
    assert nearest("name_4", few).startswith("did you mean 'name_4'") and few.taken == 5
    assert "name_7" in nearest("name_7", many) and many.taken <= _text._MOST_NAMES
    assert nearest("q" * 50, many).endswith(f"and {10**12 - 12} more")


@pytest.mark.slow
@pytest.mark.parametrize("length", [20, 120])
def test_hints_at_unknown_names_of_a_file_need_bounded_work(length: int, monkeypatch: pytest.MonkeyPatch):
    """Every joint misses its link by a letter, and every link's name is like every other."""
    work = 0

    def counted(text: str, positions: dict[str, int], size: int) -> int:
        nonlocal work
        work += len(text)
        return common_subsequence(text, positions, size)

    common_subsequence = _text._common
    monkeypatch.setattr(_text, "_common", counted)
    spent = []
    for n in (20, 500, 4000):
        stem = "ab" * ((length - 6) // 2)
        links = [link(f"{stem}{i:06}", "") for i in range(n)]
        joints = [joint(f"j{i}", f"{stem}{i:05}", f"{stem}{i:06}") for i in range(1, n)]
        work = 0
        with pytest.raises(ModelError, match="UNKNOWN_LINK") as caught:
            build_tree(parse_urdf(robot(*links, *joints)))
        assert len(caught.value.issues) == min(n - 1, MOST_ISSUES)
        assert all("did you mean" in str(issue.hint) for issue in caught.value.issues)
        spent.append(work)
    assert spent[0] == 19 * 20 * length  # every name is compared where there are few
    assert spent[0] < spent[1] <= spent[2] <= MOST_ISSUES * _text._MOST_WORK
