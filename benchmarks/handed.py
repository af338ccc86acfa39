"""A humanoid with 76 joints, and every named derivative of it: `python -m benchmarks.handed`.

It is Talos with its grippers and an Allegro hand of sixteen joints at each wrist, on a free base.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import linkwork as lw
from linkwork.algorithms.derivatives import ROWS
from linkwork.cli.timing import Effort

from .large import BATCH, LargeResult, measured, result_table
from .robots import example_robots, quietly

__all__ = ["FRAME", "NAME", "first_order", "handed"]

NAME = "Talos with hands"
FRAME = "left_link_3.0_tip"  # a fingertip
_BODY = "talos_data/robots/talos_full_v2.urdf"
_HAND = "allegro_hand_description/urdf/allegro_{}_hand.urdf"
_PALM = "palm_link"


def handed() -> lw.Robot:
    """The robot.  Raises NotInstalled where its parts are not on this machine."""
    folder = example_robots()
    body = ElementTree.parse(folder / _BODY).getroot()
    for side in ("left", "right"):
        for part in ElementTree.parse(folder / _HAND.format(side)).getroot():
            if part.tag in ("link", "joint"):
                for element, name in ((part, "name"), *((part.find(end), "link") for end in ("parent", "child"))):
                    if element is not None:
                        element.set(name, f"{side}_{element.get(name)}")
                body.append(part)
        held = ElementTree.SubElement(body, "joint", name=f"{side}_hand", type="fixed")
        ElementTree.SubElement(held, "parent", link=f"wrist_{side}_ft_tool_link")
        ElementTree.SubElement(held, "child", link=f"{side}_{_PALM}")
    with quietly():
        return lw.Robot.from_urdf_string(ElementTree.tostring(body, encoding="unicode"), floating_base=True)


def first_order(effort: Effort, batch: int = BATCH) -> list[LargeResult]:
    """Every row of `algorithms.derivatives`; what is asked about a frame, about a fingertip."""
    robot = handed()
    asked = [(row.name, FRAME) if any(o.name == "frame" for o in row.options) else row.name for row in ROWS]
    return [measured(robot, NAME, one, "chosen", batch, effort)[0] for one in asked]


if __name__ == "__main__":
    print("\n".join(result_table(first_order(Effort()))))
