"""Joints of the opposite direction in a process that has imported nothing else."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
from linkwork import joints
for joint in (joints.Universal(), joints.Spherical(), joints.Planar(), joints.Floating()):
    assert joint.reversed().reversed() == joint and joint.reversed() != joint
"""


@pytest.mark.slow(every=3)
def test_joints_are_reversed_before_another_module_imports_their_class():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=60)
