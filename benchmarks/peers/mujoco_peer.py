"""MuJoCo as a peer: the module where it is installed, and a robot's file as it reads it."""

from __future__ import annotations

import importlib
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import linkwork as lw

__all__ = ["bare_urdf", "mujoco_module"]


def mujoco_module(name: str = "mujoco") -> Any:
    """The module, or None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def bare_urdf(robot: lw.Robot, **options: str) -> str:
    """The robot's file without shapes, and with ``options`` of MuJoCo's compiler."""
    xml = ET.fromstring(Path(str(robot.tree.source)).read_text(encoding="utf-8"))
    for link in xml.findall("link"):
        for shape in (*link.findall("visual"), *link.findall("collision")):
            link.remove(shape)
    ET.SubElement(ET.SubElement(xml, "mujoco"), "compiler", options)
    return ET.tostring(xml, encoding="unicode")
