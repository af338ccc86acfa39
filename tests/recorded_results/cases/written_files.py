"""Files that robots and scenes are written to, and documents that they read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from formats.saved_robots import everything
from linkwork.errors import ModelError
from recorded_results.case import case
from recorded_results.contents import content, noted, outcome, placeless, texts
from recorded_results.machines import armed, linkage, obstacles
from recorded_results.robots import arm, hopper


def _written(robot: lw.Robot, folder: Path) -> dict[str, Any]:
    """Return the files and reports of all writers of a robot, or their errors."""
    folder.mkdir()
    calls: dict[str, Any] = {
        "a.urdf": robot.to_urdf,
        "a.sdf": robot.to_sdf,
        "a.xml": robot.to_mjcf,
        "a.srdf": robot.to_srdf,
        "b.urdf": lambda path: robot.to_urdf(path, loops=folder / "b.json"),
        "b.sdf": lambda path: robot.to_sdf(path, world="planet"),
        "loops.json": robot.save_loops,
    }
    reports: dict[str, Any] = {}
    for name, call in calls.items():
        try:
            reports[name] = [str(x) for x in noted(lambda call=call, name=name: call(folder / name))]
        except (ModelError, ValueError) as error:
            reports[name] = str(error)
    return {"reports": placeless(reports), "files": texts(folder)}


@case()
def robots_written_in_every_format(folder: Path) -> Any:
    floating = hopper().with_joint_dynamics(armature=0.013, gear_ratio={"slide": 3.0})
    return {x.name: _written(x, folder / x.name) for x in (arm(), linkage(), floating)}


@case()
def actuated_robot_written_in_every_format(folder: Path) -> Any:
    return _written(armed(), folder / "armed")


@case()
def robot_with_every_content_written(folder: Path) -> Any:
    robot = everything()
    return {"content": content(robot), **_written(robot, folder / "all")}


@case()
def joints_of_every_type_written_in_every_format(folder: Path) -> Any:
    result: dict[str, Any] = {}
    kinds = (
        lw.joints.Spherical(),
        lw.joints.Planar.across((0.9, 0.1, 0.2)),
        lw.joints.Cylindrical((0.3, 0.2, 0.9)),
        lw.joints.Universal((0.9, 0.2, 0.1), (0.1, -0.5, 0.1)),
        lw.joints.Translational(),
        lw.joints.Helical((0.2, 0.7, 0.3), 0.21),
        lw.joints.UnboundedRevolute((0.2, 0.7, 0.3)),
    )
    for k, kind in enumerate(kinds):
        first = lw.Joint.of(
            kind,
            name="first",
            parent="world",
            child="a",
            damping=0.3,
            friction=0.2,
            armature=0.07,
            placement=lw.pose((0.1, 0.2, 0.3), rpy=(0.1, 0.2, 0.3)),
        )
        second = lw.Joint.of(
            lw.joints.Revolute((0.2, 0.1, 0.9)),
            name="second",
            parent="a",
            child="b",
            stiffness=0.7,
            placement=(0.3, 0.1, 0.2),
            rest=0.3,
            mimic=None,
            effort=3.0,
        )
        bodies = [lw.Link(x, mass=1.3, com=(0.1, 0.02, 0.03), inertia=(0.03, 0.04, 0.05)) for x in "ab"]
        robot = lw.Robot.build(f"kind{k}", *bodies, first, second)
        result[type(kind).__name__] = _written(robot, folder / robot.name)
    return result


@case()
def documents_of_loops_srdf_and_limits(folder: Path) -> Any:
    loops = """version: 1
frames: [{name: hand, on: fore, placement: {xyz: [0.1, 0.2, 0.3], rpy: [0.3, 0.2, 0.1]}}]
points: [{name: dot, on: hand, xyz: [0.01, 0.02, 0.03]}]
directions: [{name: up, on: hand, vector: [0.3, 0.2, 2]}]
loops: [{name: pin, type: universal, first: [1, 0.1, 0], second: [-0.1, 1, 0.3], frame: hand, other: column,
  damping: [0.1, 0.2], limits: {lower: [-1, null], upper: [2, 3], velocity: [1, 2]}}]
constraints:
  - {kind: distance, a: dot, b: world, length: 0.7}
  - {kind: coupling, joints: {turn: 1.3, bend: -0.7}, offset: 0.2}
  - {kind: curve_coupling, a: turn, b: bend, curve: {x: [0, 1.57, 6.283185307179586], y: [0, 0.02, 0],
    motion: cycloidal, periodic: true}}
force_elements: [{kind: spring_damper, a: dot, b: world, stiffness: 3.3, damping: 0.4, rest_length: 0.2}]
actuators:
  - {name: servo, kind: position, joint: lift, stiffness: 80, damping: 4, force_range: [-30, null], gear: 1.3}
  - {name: rope, kind: affine, joints: {turn: 1, bend: -0.5}, control_range: [0, null], bias: [1, 2, 3],
    gain: [2, 1, 0.5]}
named_configurations: [{name: bent, q: {lift: 1.2}, v: {turn: 0.3}, controls: {servo: 1.2}}]
"""
    srdf = """<robot name="skew_arm"><group name="g"><joint name="turn"/></group>
 <group_state name="home" group="g"><joint name="turn" value="0.5"/><joint name="lift" value="-0.3"/></group_state>
 <group_state name="home" group="h"><joint name="bend" value="1.5"/><joint name="bent" value="1"/></group_state>
 <end_effector name="e" parent_link="fore" group="g"/><disable_collisions link1="column" link2="fore" reason="Never"/>
 <disable_collisions link1="column" link2="upper" reason="Adjacent"/><disable_collisions link1="a" link2="b"/>
 <rotor_params><joint name="bend" mass="0.00015" gear_ratio="-50"/></rotor_params><thing/></robot>"""
    limits = """joint_limits:
  turn: {has_velocity_limits: true, max_velocity: 1.5, has_acceleration_limits: true, max_acceleration: 4.5}
  lift: {has_velocity_limits: false, max_velocity: 0.5, max_jerk: 100.5, has_effort_limits: true, max_effort: 7}
  bend: {min_position: -1, max_position: 0.7, has_position_limits: true}
  else: {max_velocity: 1}
"""
    robot = arm()
    looped = noted(lambda: robot.with_loops_document(loops, form="yaml"))[0]
    wrong = loops.replace("kind: distance", "kind: distanse").replace("type: universal", "type: hinge")
    return {
        "loops": noted(lambda: content(looped))[0],
        "document": looped.loops_document(),
        "srdf": outcome(lambda: robot.with_srdf_document(srdf)),
        "strict": outcome(lambda: robot.with_srdf_document(srdf, strict=True)),
        "limits": outcome(lambda: robot.with_joint_limits_document(limits)),
        "strict limits": outcome(lambda: robot.with_joint_limits_document(limits, strict=True)),
        "errors": outcome(lambda: robot.with_loops_document(wrong, form="yaml")),
    }


SCENE = """version: 1
units: {length: mm, angle: deg}
margin: {self: 3, scene: 7, pairs: [[table, fore, 11]]}
touching: [[table, column]]
obstacles:
  - {name: table, shape: {type: box, size: [800, 1400, 40]}, pose: {xyz: [700, 20, -180], rpy: [3, 4, 5]},
    color: [0.3, 0.5, 0.7]}
  - {name: pipe, shape: {type: cylinder, radius: 50, length: 1000}, pose: {xyz: [400, 500, 300],
    quaternion_wxyz: [0.5, 0.1, 0.7, 0.5]}}
  - {name: pin, shape: {type: rounded, radius: 9, shape: {type: cone, radius: 40, length: 90}}, pose: [100, 900, 800]}
  - {name: cup, shape: {type: capsule, radius: 30, length: 60}, attached_to: tool, pose: {xyz: [10, 20, 60]},
    touching: [fore]}
  - {name: pile, shape: {type: polytope, vertices: [[0, 0, 0], [90, 10, 0], [0, 80, 20], [10, 0, 70], [50, 60, 40]]},
     pose: {quaternion_xyzw: [0.5, 0.1, 0.7, 0.5]}}
  - name: pair
    shape: {type: compound, parts: [{shape: {type: sphere, radius: 10}, origin: {xyz: [1, 2, 3]}},
      {shape: {type: ellipsoid, radii: [10, 20, 30]}, origin: {xyz: [100, 2, 3]}}]}
"""


@case()
def scene_files(folder: Path) -> Any:
    from formats.test_moveit_scenes import NEW, OLD

    (folder / "cell.yaml").write_text(SCENE)
    (folder / "old.scene").write_text(OLD)
    (folder / "new.scene").write_text(NEW)
    setup, messages = noted(lambda: lw.load_scene("cell.yaml", arm()))
    obstacles().save(folder / "all.json")
    obstacles().only(["crate", "drum", "ball", "floor"]).save(folder / "some.scene")
    setup.save(folder / "setup.yaml")
    result: dict[str, Any] = {"messages": messages, "margin": str(setup.margin), "touching": str(setup.touching)}
    for name in ("old", "new"):
        scene, result[name] = noted(lambda name=name: lw.load_scene(f"{name}.scene"))
        result[f"{name} json"] = scene.to_json()
        result[f"{name} issues"] = [str(x) for x in scene.issues]
    for k, (old, new) in enumerate(
        (
            ("type: box", "type: bax"),
            ("size: [800, 1400, 40]", "size: [800, -1400, 40]"),
            ("name: pipe", "name: table"),
            ("radius: 50, ", ""),
            ("length: mm", "length: km"),
            ("attached_to: tool", "attached_to: tol"),
            ("rpy: [3, 4, 5]", "rpy: [3, 4]"),
            ("version: 1", "version: 3"),
            ("color: [0.3", "color: [1.3"),
        )
    ):
        (folder / "wrong.yaml").write_text(SCENE.replace(old, new, 1))
        try:
            lw.load_scene("wrong.yaml", arm())
        except (ModelError, ValueError) as error:
            result[f"error {k}"] = placeless(str(error))
    scene = (
        obstacles().moved(lw.pose((0.1, 0.2, 0.3), rpy=(0.1, 0.2, 0.3))).without("dust").with_pose("ball", (1, 2, 3))
    )
    result["moved"] = scene.to_json()
    return {**result, "files": texts(folder)}


@case()
def cell_of_three_robots(folder: Path) -> Any:
    arm().save(folder / "arm.json")
    linkage().to_urdf(folder / "linkage.urdf", loops=folder / "loops.json")
    (folder / "cell.yaml").write_text("""cell: 1
name: workcell
robots:
  - {name: left, file: arm.json, base: {xyz: [0, 0.4, 0.8], rpy: [0.1, 0.2, 1.5]}}
  - {name: right, file: arm.json, at: left_tool, pose: {xyz: [0, 0.1, 0.1], rpy: [0.2, 0, 0.1]}, prefix: "r_"}
  - {name: link, file: linkage.urdf, loops: loops.json, base: {xyz: [1, 0.3, 0]}}
""")
    joined = lw.join_robots({"a": arm(), "b": armed()}, name="two")
    mounted = linkage().with_mounted(
        armed().with_gravity(linkage().gravity), "end", lw.pose((0.1, 0.2, 0.3), rpy=(0.3, 0.2, 0.1)), prefix="p_"
    )
    return {
        "cell": outcome(lambda: lw.load("cell.yaml", gravity=(0.1, 0.2, 9.0))),
        "joined": content(joined),
        "mounted": content(mounted),
        "sum": np.array([joined.mass, mounted.mass]),
    }
