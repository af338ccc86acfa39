"""First derivatives of a humanoid with 76 joints: `python -m benchmarks.dynamics.humanoid_derivatives`.

It is Talos with its grippers and an Allegro hand of sixteen joints at each wrist, on a free base.
"""

from __future__ import annotations

import argparse
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence

import linkwork as lw
from benchmarks.compiler.large_robots import BATCH, LargeResult, large_robot, measured, result_table
from benchmarks.measurement.robots import example_robots, quietly
from linkwork.cli.function_timings import Effort
from linkwork.robot.robot_table import ROBOT

__all__ = ["FRAME", "NAME", "first_order", "handed"]

NAME = "Talos with hands"
FRAME = "left_link_3.0_tip"  # a fingertip
_BODY = "talos_data/robots/talos_full_v2.urdf"
_HAND = "allegro_hand_description/urdf/allegro_{}_hand.urdf"
_PALM = "palm_link"
FUNCTIONS = tuple(name for name in ROBOT if name.endswith("_derivatives") or name == "linearize")


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
        weld = ElementTree.SubElement(body, "joint", name=f"{side}_hand", type="fixed")
        ElementTree.SubElement(weld, "parent", link=f"wrist_{side}_ft_tool_link")
        ElementTree.SubElement(weld, "child", link=f"{side}_{_PALM}")
    with quietly():
        return lw.Robot.from_urdf_string(ElementTree.tostring(body, encoding="unicode"), floating_base=True)


def first_order(
    effort: Effort, batch: int = BATCH, name: str = NAME, functions: Sequence[str] = FUNCTIONS
) -> list[LargeResult]:
    """Named derivatives of the robot, or of one such as "chain 200"; those of a frame of the last one's."""
    robot = handed() if name == NAME else large_robot(name)
    frame = FRAME if name == NAME else f"link{len(robot.bodies) - 1}"
    results = []
    for function in functions:
        request = (function, frame) if any(option.name == "frame" for option in ROBOT[function].options) else function
        results.append(measured(robot, name, request, "chosen", batch, effort)[0])
    return results


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.dynamics.humanoid_derivatives", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--robot", default=NAME, help='another robot, such as "chain 200"')
    parser.add_argument("--functions", nargs="+", default=FUNCTIONS, metavar="FUNCTION")
    chosen = parser.parse_args(arguments)
    print("\n".join(result_table(first_order(Effort(), name=chosen.robot, functions=chosen.functions))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
