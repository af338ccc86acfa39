"""Robots that are read from files: content, reports and errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import linkwork as lw
from formats.sdf_content import DOCUMENTS
from recorded_results.case import case
from recorded_results.contents import outcome

FORMATS = Path(__file__).parents[2] / "formats"

URDF = """<?xml version="1.0"?>
<robot name="tripod" version="1.0">
 <material name="rust"><color rgba="0.61 0.23 0.11 0.87"/></material>
 <link name="foot"><inertial><origin xyz="0.03 -0.02 0.11" rpy="0.2 -0.3 0.5"/><mass value="4.3"/>
   <inertia ixx="0.041" ixy="0.003" ixz="-0.005" iyy="0.053" iyz="0.002" izz="0.037"/></inertial>
  <visual name="plate"><origin xyz="0.01 0.02 0.03" rpy="0.1 0.2 0.3"/><geometry><box size="0.3 0.2 0.1"/></geometry>
   <material name="rust"/></visual>
  <visual><geometry><mesh filename="package://tripod/foot.stl" scale="0.001 0.002 0.003"/></geometry>
   <material name="own"><color rgba="0.1 0.3 0.7 1"/></material></visual>
  <collision><origin xyz="0.02 -0.01 0.04"/><geometry><cylinder radius="0.13" length="0.21"/></geometry>
   </collision></link>
 <link name="mast"><inertial><mass value="2.1"/>
   <inertia ixx="0.03" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.04"/></inertial>
  <collision name="tube"><origin rpy="0.7 0.1 -0.4"/><geometry><capsule radius="0.04" length="0.35"/>
   </geometry></collision>
  </link>
 <link name="boom"><inertial><origin xyz="0.2 0.01 -0.03"/><mass value="0.9"/>
   <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.009" iyz="0" izz="0.3"/></inertial></link>
 <link name="nut"/><link name="hook"><visual><geometry><sphere radius="0.031"/></geometry></visual></link>
 <link name="wheel"><inertial><mass value="0.4"/>
   <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.002" iyz="0" izz="0.0015"/>
  </inertial></link>
 <joint name="slew" type="continuous"><parent link="foot"/><child link="mast"/>
   <origin xyz="0.1 0.2 0.3" rpy="0.3 0.1 -0.2"/>
  <axis xyz="0.2 0.3 0.9"/><limit effort="31" velocity="2.3"/><dynamics damping="0.7" friction="0.3"/></joint>
 <joint name="luff" type="revolute"><parent link="mast"/><child link="boom"/><origin xyz="0.04 0.05 0.61"/>
   <axis xyz="0 1 0.1"/>
  <limit lower="-1.1" upper="0.7" effort="17" velocity="1.9"/>
  <safety_controller soft_lower_limit="-1" soft_upper_limit="0.6" k_position="10" k_velocity="3"/>
   <calibration rising="0.2"/>
 </joint>
 <joint name="feed" type="prismatic"><parent link="boom"/><child link="nut"/><origin xyz="0.3 0 0.02"/>
   <axis xyz="1 0.1 0"/>
  <limit lower="-0.2" upper="0.4" effort="90" velocity="0.6"/>
   <mimic joint="luff" multiplier="0.37" offset="-0.05"/></joint>
 <joint name="hang" type="fixed"><parent link="nut"/><child link="hook"/>
   <origin xyz="0.01 0.02 -0.2" rpy="0.1 0.2 0.4"/></joint>
 <joint name="spin" type="revolute"><parent link="mast"/><child link="wheel"/><axis xyz="0.6 0 0.8"/>
  <limit lower="0.3" upper="-0.3" effort="2" velocity="8"/></joint>
 <transmission name="t1"><type>transmission_interface/SimpleTransmission</type><joint name="luff"/>
  <actuator name="m1"><mechanicalReduction>-53</mechanicalReduction><motorInertia>0.0003</motorInertia>
   </actuator></transmission>
 <gazebo reference="luff"><springStiffness>11</springStiffness><springReference>0.3</springReference></gazebo>
 <gazebo><plugin name="p" filename="q.so"/></gazebo>
 <unknown><thing value="3"/></unknown>
</robot>
"""
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "sincos": {"continuous": "sincos", "mimic": "coupled", "gravity": (0.3, -0.4, -9.6)},
    "placed": {"base": lw.pose((0.3, 0.4, 0.5), rpy=(0.3, -0.2, 0.6)), "mimic": "ignore", "inertia": "nearest"},
    "afloat": {"floating_base": True, "inertia": "ignore"},
    "strict": {"strict": True},
    "hostile": {"trusted": False, "inertia": "nearest"},
}


@case()
def urdf_with_every_element_and_option(_: Any) -> Any:
    Path("tripod.urdf").write_text(URDF)
    swapped = URDF.replace('lower="0.3" upper="-0.3"', 'lower="-0.3" upper="0.3"')
    Path("mended.urdf").write_text(swapped)
    stray = swapped.replace("</robot>", '<link name="stray"/></robot>').replace('izz="0.3"', 'izz="0.0093"')
    Path("stray.urdf").write_text(stray)
    return {
        **{f"{name} faulty": outcome(lambda x=x: lw.load("tripod.urdf", **x)) for name, x in OPTIONS.items()},
        **{name: outcome(lambda x=x: lw.load("mended.urdf", **x)) for name, x in OPTIONS.items()},
        "stray": outcome(lambda: lw.load("stray.urdf")),
        "roots": outcome(lambda: lw.load("stray.urdf", multi_root=True, package_dirs=["."])),
    }


LOOPED = """<robot name="rig"><link name="a"/><link name="b"/><link name="c"/><link name="d"/>
 <joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/><limit lower="-2" upper="2.3"
  effort="3" velocity="4"/></joint>
 <joint name="k" type="revolute"><parent link="b"/><child link="c"/><origin xyz="0 0 1.1"/><axis xyz="0 1 0"/>
  <limit lower="-2" upper="2" effort="3" velocity="4"/></joint>
 <joint name="l" type="revolute"><parent link="a"/><child link="d"/><origin xyz="1.2 0 0.1"/><axis xyz="0 1 0"/>
  <limit lower="-2" upper="2" effort="3" velocity="4"/></joint>{}</robot>"""
LOOPS = (
    '<loop_joint name="pin" type="revolute"><link1 link="d" xyz="0.1 0 1.2" rpy="0.1 0 0"/>'
    '<link2 link="c" xyz="1 0.1 0"/><axis xyz="0 1 0.2"/><limit lower="-1" upper="1" effort="3" velocity="4"/>'
    '<dynamics damping="0.3"/></loop_joint>',
    '<loop name="pin" type="spherical"><predecessor link="d"><origin xyz="0.1 0.2 1"/></predecessor>'
    '<successor link="c"><origin xyz="1 0.3 0" rpy="0.2 0.3 0.4"/></successor></loop>',
    '<loop name="slot" type="prismatic"><predecessor link="d"><origin xyz="0.1 0.2 1"/></predecessor>'
    '<successor link="c"><origin xyz="1 0.3 0" rpy="0.2 0.3 0.4"/></successor><axis xyz="0.3 0.2 1"/></loop>'
    '<coupling name="gear"><predecessor link="d"/><successor link="c"/><ratio value="1.7"/></coupling>',
    '<joint name="again" type="fixed"><parent link="d"/><child link="c"/></joint>',
)


@case()
def urdf_with_loops(_: Any) -> Any:
    return {f"loop {k}": outcome(lambda x=x: lw.Robot.from_urdf_string(LOOPED.format(x))) for k, x in enumerate(LOOPS)}


@case()
def sdf_of_every_joint_type_and_version(folder: Path) -> Any:
    result: dict[str, Any] = {}
    for k, document in enumerate(DOCUMENTS):
        path = Path(f"{k}.sdf")
        path.write_text(document)
        options = {"package_dirs": {"post": FORMATS / "sdf" / "models" / "post"}} if "model://" in document else {}
        result[f"document {k}"] = outcome(lambda path=path, options=options: lw.load(path, **options))
    result["model"] = outcome(lambda: lw.load("24.sdf", model="n", inertia="nearest"))
    result["coupled"] = outcome(lambda: lw.load("13.sdf", mimic="coupled", continuous="sincos"))
    return result


@case()
def sdf_files_of_old_and_new_versions(_: Any) -> Any:
    result: dict[str, Any] = {}
    models = {name: FORMATS / "sdf" / "models" / name for name in ("gripper", "post")}
    for path in sorted((FORMATS / "sdf").glob("*.sdf")):
        Path(path.name).write_bytes(path.read_bytes())
        result[path.stem] = outcome(lambda path=path: lw.load(path.name, package_dirs=models, floating_base=None))
    return result


@case()
def files_that_are_refused(_: Any) -> Any:
    result: dict[str, Any] = {}
    for path in sorted([*(FORMATS / "files_that_broke_readers").iterdir()]):
        if path.suffix in (".urdf", ".sdf"):
            Path(path.name).write_bytes(path.read_bytes())
            result[path.name] = outcome(lambda path=path: lw.load(path.name))
    for k, (old, new) in enumerate(
        (
            ('<link name="boom">', '<link name="mast">'),
            ('<mass value="4.3"/>', '<mass value="-4.3"/>'),
            ('ixx="0.041"', 'ixx="0.41"'),
            ('ixx="0.041"', 'ixx="nan"'),
            ('type="continuous"', 'type="spiral"'),
            ('<child link="hook"/>', '<child link="hok"/>'),
            ('<child link="hook"/>', '<child link="mast"/>'),
            ('<axis xyz="0.2 0.3 0.9"/>', '<axis xyz="0 0 0"/>'),
            ('<axis xyz="0.2 0.3 0.9"/>', '<axis xyz="0.2 0.3"/>'),
            ('radius="0.13"', 'radius="-0.13"'),
            ('<mimic joint="luff"', '<mimic joint="feed"'),
            ('effort="17" ', ""),
            ('lower="-1.1" upper="0.7" ', ""),
            ("</robot>", "</robt>"),
            ('scale="0.001 0.002 0.003"', 'scale="0 1 1"'),
            ('rpy="0.3 0.1 -0.2"', 'rpy="0.3 0.1 -0.2 5"'),
        )
    ):
        assert old in URDF
        text = URDF.replace('lower="0.3" upper="-0.3"', 'lower="-0.3" upper="0.3"').replace(old, new, 1)
        result[f"change {k}"] = outcome(lambda text=text: lw.Robot.from_urdf_string(text))
    return result


@case()
def mjcf_with_every_element(_: Any) -> Any:
    text = (FORMATS / "mjcf" / "every_element.xml").read_text()
    Path("scene.xml").write_text(text)
    return {
        name: outcome(lambda x=x: lw.load("scene.xml", **x))
        for name, x in {
            "plain": {},
            "fixed": {"floating_base": False, "gravity": (0.3, 0.2, -9.5), "mimic": "coupled"},
            "ignored": {"mimic": "ignore", "base": (0.1, 0.2, 0.3)},
            "strict": {"strict": True},
        }.items()
    }


@case()
def usd_with_every_prim(_: Any) -> Any:
    Path("cell.usda").write_bytes((FORMATS / "usd" / "every_prim.usda").read_bytes())
    options = ({}, {"floating_base": True, "mimic": "coupled"}, {"base": (0.1, 0.2, 0.3), "gravity": (0.1, 0.2, 0.3)})
    return {f"options {k}": outcome(lambda x=x: lw.load("cell.usda", **x)) for k, x in enumerate(options)}


@case()
def xacro_file_with_arguments(folder: Path) -> Any:
    (folder / "arm.urdf.xacro").write_text(
        '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="p" default="x"/>'
        '<xacro:arg name="m" default="1"/><link name="$(arg p)base"><inertial><mass value="${2*$(arg m)}"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1.3"/></inertial></link></robot>'
    )
    arguments = {"p": "left_", "m": 1.7, "unused": True}
    return {
        "expanded": outcome(lambda: lw.load("arm.urdf.xacro", xacro=True, arguments=arguments)),
        "refused": outcome(lambda: lw.load("arm.urdf.xacro")),
    }
