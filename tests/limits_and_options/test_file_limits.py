"""Limits of files on both sides: the least budget that loads a file is the file's size; the largest number is 1e20."""

import json
import math
import xml.etree.ElementTree as ET

import pytest

import linkwork as lw
from linkwork.errors import ModelError
from linkwork.formats import Budget


def is_refused(path, field, value):
    """Return True if a file is refused with a value of a field of the budget, which the error names."""
    try:
        lw.load(path, budget=Budget(**{field: value}))
    except ModelError as error:
        return field in str(error)
    return False


def least(path, field):
    """Return the least value of a field of the budget with which a file loads."""
    low, high = 0, 1 << 17
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_refused(path, field, middle) else (low, middle)
    return high


def count_and_depth(value):
    """Return the number of elements in an XML element, or of values in a JSON value, and its depth."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | ET.Element) else ()
    counts = [count_and_depth(x) for x in inner]
    return 1 + sum(count for count, _ in counts), 1 + max((depth for _, depth in counts), default=0)


@pytest.mark.parametrize("write", ["to_urdf", "to_sdf", "save"])
def test_file_can_be_loaded_with_a_budget_of_its_own_size_but_not_less(write, tmp_path):
    path = tmp_path / {"to_urdf": "r.urdf", "to_sdf": "r.sdf", "save": "r.json"}[write]
    getattr(lw.load("double_pendulum"), write)(path)
    data = path.read_bytes()
    count, depth = count_and_depth(json.loads(data) if write == "save" else ET.fromstring(data))
    assert (least(path, "max_bytes"), least(path, "max_depth")) == (len(data), depth)
    assert least(path, "max_elements") == count or write == "save"  # a saved array of numbers counts as fewer values


BOX = "<collision name='c'>{}<geometry><box><size>{} 1 1</size></box></geometry></collision>"
URDF = "<robot name='r'><link name='a'><collision><geometry><box size='{} 1 1'/></geometry></collision></link></robot>"
SDF = f"<sdf version='1.9'><model name='m'>{{}}<link name='a'>{BOX}</link></model></sdf>"


@pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")
def test_largest_accepted_value_in_a_file_or_scene_is_1e20(tmp_path):
    path, pose = tmp_path / "m.sdf", "<pose>{!r} 0 0 0 0 0</pose>"

    def sdf(*texts):
        path.write_text(SDF.format(*texts))
        lw.load(path)

    for read in (
        lambda x: lw.Robot.from_urdf_string(URDF.format(x)),
        lambda x: sdf(pose.format(x), "", 1),
        lambda x: sdf("", pose.format(x), 1),
        lambda x: sdf("", "", x),
        lambda x: lw.Scene().with_box("b", (1.0, 1.0, 1.0), pose=lw.pose([0.0, x, 0.0])),
    ):
        read(1e20)
        with pytest.raises(ValueError, match=r"(beyond|within) 1e\+20"):
            read(math.nextafter(1e20, math.inf))
