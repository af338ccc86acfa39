"""SDF documents that together contain every element and attribute that is read, for each type of joint."""

from __future__ import annotations

__all__ = ["DOCUMENTS"]

POSE = '<pose relative_to="mark">1 2 3 0.1 0.2 0.3</pose>'
SHAPES = """<visual name="v"><pose rotation_format="quat_xyzw">1 2 3 0.5 0.5 0.5 0.5</pose>
    <geometry><box><size>1 2 3</size></box></geometry><material><diffuse>0.1 0.2 0.3 0.4</diffuse></material></visual>
  <visual><geometry><empty/></geometry></visual>
  <collision name="c1"><pose>1 2 3 0 0 0</pose><geometry><capsule><radius>1</radius><length>2</length></capsule>
    </geometry><surface><friction><ode><mu>0.5</mu><mu2>0.6</mu2></ode></friction></surface></collision>
  <collision name="c2"><geometry><cone><radius>1</radius><length>2</length></cone></geometry>
    <surface><friction><bullet><friction>0.5</friction><friction2>0.6</friction2></bullet></friction></surface></collision>
  <collision name="c3"><geometry><cylinder><radius>1</radius><length>2</length></cylinder></geometry>
    <surface><friction><ode><mu>0.5</mu></ode><bullet><friction>0.5</friction></bullet></friction></surface></collision>
  <collision name="c4"><geometry><ellipsoid><radii>1 2 3</radii></ellipsoid></geometry></collision>
  <collision name="c5"><geometry><sphere><radius>1</radius></sphere></geometry></collision>
  <collision name="c6"><geometry><plane><normal>1 2 3</normal><size>1 2</size></plane></geometry></collision>
  <collision name="c7"><geometry><mesh><uri>a.stl</uri><scale>1 2 3</scale>
    <submesh><name>a</name><center>true</center></submesh></mesh></geometry></collision>
  <collision><geometry><polyline/></geometry></collision>"""
LINK = f"""<link name="base"><pose relative_to="mark" degrees="true">1 2 3 10 20 30</pose><gravity>true</gravity>
  <kinematic>false</kinematic><velocity_decay><linear>0</linear><angular>0</angular></velocity_decay>
  <inertial><pose>1 2 3 0.1 0.2 0.3</pose><mass>2</mass><inertia><ixx>1</ixx><ixy>0.01</ixy><ixz>0.02</ixz>
    <iyy>1.1</iyy><iyz>0.03</iyz><izz>1.2</izz></inertia></inertial>{SHAPES}</link>"""
FRAMES = """<frame name="held" attached_to="base"><pose>0.1 0.2 0.3 0 0 0</pose></frame>
  <frame name="mark"><pose>0.1 0.2 0.3 0 0 0</pose></frame>"""
HINGE = '<joint name="{}" type="revolute"><parent>base</parent><child>{}</child><axis><xyz>0 0 1</xyz></axis></joint>'
TREE = f'<link name="tip"/><link name="other"/>{HINGE.format("lead", "other")}'
SPIN = HINGE.format("spin", "tip")
MIMIC = (
    '<mimic joint="lead" axis="axis"><multiplier>2</multiplier><offset>0.5</offset><reference>0.25</reference></mimic>'
)
SCREW_AND_GEAR = """<thread_pitch>3</thread_pitch><gearbox_ratio>2</gearbox_ratio>
  <gearbox_reference_body>base</gearbox_reference_body>"""
KINDS = ("revolute", "continuous", "prismatic", "ball", "universal", "revolute2", "screw", "fixed")


def automatic(auto: str, content: str) -> str:
    """A link with the density of its shapes, used if its inertia is automatic."""
    return f"""<link name="base"><inertial{auto}><density>2000</density>{content}</inertial>
      <collision name="c"><density>500</density><geometry><sphere><radius>1</radius></sphere></geometry></collision>
      <collision name="d"><geometry><box><size>1 2 3</size></box></geometry></collision></link>"""


def axes(more: str = MIMIC, first: str = "1 2 3", second: str = "3 1 2", count: int = 2) -> str:
    """The axes of a joint, with all that they may state."""
    return "".join(
        f"""<{tag}><xyz expressed_in="mark">{xyz}</xyz><dynamics><damping>1</damping><friction>2</friction>
          <spring_reference>0.5</spring_reference><spring_stiffness>3</spring_stiffness></dynamics><limit>
          <lower>-1</lower><upper>2</upper><effort>3</effort><velocity>4</velocity></limit>{more}</{tag}>"""
        for tag, xyz in (("axis", first), ("axis2", second))[:count]
    )


def joint(kind: str, content: str, parent: str = "base") -> str:
    return f'<joint name="j" type="{kind}"><parent>{parent}</parent><child>tip</child>{content}</joint>'


def moving(kind: str, more: str = "") -> str:
    """A joint of a type with all that joints may state, and a frame on it."""
    return (
        joint(kind, POSE + axes(more) + SCREW_AND_GEAR)
        + '<frame name="at" attached_to="j"><pose>1 2 3 0 0 0</pose></frame>'
    )


def model(*content: str, minor: int = 12) -> str:
    text = f"""<model name="m" canonical_link="base" placement_frame="held"><pose>1 2 3 0.1 0.2 0.3</pose>
      {"".join(content)}</model>"""
    if minor < 8:
        for attribute in (' placement_frame="held"', ' canonical_link="base"', ' expressed_in="mark"'):
            text = text.replace(attribute, "")
    return f'<sdf version="1.{minor}">{text}</sdf>'


def included(attributes: str = "") -> str:
    return f"""<sdf version="1.12"><model name="m"><link name="base"/><include{attributes}><uri>model://post</uri><name>p</name>
      <static>false</static><pose relative_to="base">1 2 3 0.1 0.2 0.3</pose><placement_frame>foot</placement_frame>
      </include></model></sdf>"""


def old_axes(parent_frame: str = "true") -> str:
    """The axes of SDF up to version 1.8."""
    in_parent = f"<use_parent_model_frame>{parent_frame}</use_parent_model_frame>"
    return f"<pose>0 0 0 0.3 0.4 0.5</pose>{axes(in_parent + '<initial_position>0.5</initial_position>')}"


def world(content: str, minor: int = 12) -> str:
    return f'<sdf version="1.{minor}"><world name="w">{content}</world></sdf>'


ENGINE = '<physics name="{}" type="ode"><gravity>1 2 3</gravity></physics>'
ONE_LINK = '<model name="m"><link name="base"/></model>'
DOCUMENTS = [
    model("<static>false</static>", LINK, FRAMES),
    model("<static>true</static>", LINK, FRAMES),
    model(automatic(' auto="true"', "<mass>3</mass>"), FRAMES),
    model(automatic(' auto="true"', "<pose>1 2 3 0 0 0</pose><inertia><ixx>3</ixx></inertia>"), FRAMES),
    model(automatic("", "<mass>3</mass>"), FRAMES),
    *(model('<link name="base"/>', FRAMES, TREE, moving(kind)) for kind in KINDS),
    *(
        model('<link name="base"/>', FRAMES, TREE, moving(kind, MIMIC))
        for kind in ("revolute", "ball", "universal", "fixed")
    ),
    model(
        '<link name="base"/>',
        FRAMES,
        TREE,
        joint("screw", POSE + axes(count=1) + "<screw_thread_pitch>3</screw_thread_pitch>" + SCREW_AND_GEAR),
    ),
    model(
        '<link name="base"/>',
        FRAMES,
        TREE,
        SPIN,
        f"""<joint name="g" type="gearbox"><parent>tip</parent><child>other</child>
        {axes(MIMIC, "0 0 1", "0 0 1")}{SCREW_AND_GEAR}</joint>""",
    ),
    *(
        model('<link name="base"/>', FRAMES, TREE, SPIN, joint(kind, axes(), "other"))
        for kind in ("revolute", "universal")
    ),
    model(
        '<link name="base"/>',
        FRAMES,
        TREE,
        SPIN,
        joint("revolute", axes("<initial_position>0.5</initial_position>", count=1), "other"),
        minor=8,
    ),
    *(model('<link name="base"/>', TREE, joint("revolute", old_axes()), minor=minor) for minor in (4, 5)),
    model('<link name="base"><pose frame="tip">1 2 3 0 0 0</pose></link>', TREE, SPIN, minor=5),
    model('<link name="base"/>', TREE, joint("universal", old_axes()), minor=6),
    world(
        """<gravity>1 2 3</gravity><physics name="p" type="ode"/><model name="m"><link name="base"/><model name="inner">
        <pose relative_to="base">1 2 3 0 0 0</pose><link name="a"/></model></model>
        <model name="n"><link name="b"/></model>
        <frame name="f" attached_to="m"><pose>1 2 3 0 0 0</pose></frame><joint name="j" type="fixed"><parent>m</parent>
        <child>n</child><pose>1 2 3 0 0 0</pose></joint><frame name="at" attached_to="j"/>"""
    ),
    world(f"{ENGINE.format('p')}{ENGINE.format('q')}{ONE_LINK}", 5),
    world(f"<gravity>1 2 3</gravity>{ENGINE.format('p')}{ONE_LINK}", 5),
    included(),
    included(' merge="true"'),
    world(f"<include><uri>model://post</uri><name>p</name><pose>1 2 3 0 0 0</pose></include>{ONE_LINK}"),
]
