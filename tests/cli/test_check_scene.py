"""The command `linkwork check-scene`, and scene files of the commands `plan` and `distances`."""

import json

import numpy as np
import pytest

import linkwork as lw

SCENE = """version: 1
units: {length: mm}
obstacles:
  - {name: table, shape: {type: box, size: [500, 1000, 40]}, pose: [700, 0, -180]}
  - {name: post, shape: {type: box, size: [50, 100, 400]}, pose: [700, 0, -80]}
  - {name: floor, shape: {type: half_space}, pose: [0, 0, -500]}
  - {name: wall, shape: {type: half_space}, pose: {xyz: [0, 3000, 0], rpy: [1.5707963267948966, 0, 0]}}
  - {name: cup, shape: {type: cylinder, radius: 30, length: 80}, pose: [0, 0, 60],
     attached_to: hand, touching: [flange]}
touching:
  - [cup, table]
margin: {scene: 20, pairs: [[cup, post, 5]]}
"""
ALONE = "\n".join(line for line in SCENE.splitlines()[:-5])


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "scene.yaml"
    path.write_text(SCENE)
    return path


def test_check_scene_command_lists_overlaps_and_contacts_of_the_robot(linkwork, scene):
    setup = lw.load_scene(scene, lw.load("arm7"))
    data = json.loads(linkwork("check-scene", str(scene), "arm7", "--json").out)
    assert [x["name"] for x in data["obstacles"]] == ["table", "post", "floor", "wall"]
    assert data["attached"] == [{"name": "cup", "frame": "hand"}] and data["not_examined"] == 1
    assert [(x["a"], x["b"]) for x in data["overlaps"]] == [("table", "post")]
    table, post = (setup.scene[name] for name in ("table", "post"))
    X = [np.array(x.pose.elements(), dtype=float).reshape(4, 4) for x in (table, post)]
    assert data["overlaps"][0]["depth"] == -lw.signed_distance(table.shape, X[0], post.shape, X[1]).distance
    assert data["contacts"] == [] and data["clearance"] == setup.robot.minimum_distance(np.zeros(7), setup.scene)
    ran = linkwork("check", "scene", str(scene), "arm7")
    assert ran.code == 0 and "table  post" in ran.out and "arm7 is free of collisions at this configuration" in ran.out
    assert linkwork("check-scene", str(scene), "arm7", "--strict").code == 1

    drawn = setup.robot.random_configuration(seed=0, size=4000)
    touching = setup.robot.distances(drawn, setup.scene)
    q = drawn[((touching.distance <= 0.0).sum(axis=1) > 1) & (touching.of("cup", "table").distance <= 0.0)][0]
    ran = linkwork("check-scene", str(scene), "arm7", "--json", "--q", *map(repr, q.tolist()))
    distances = setup.robot.distances(q, setup.scene)
    expected = {pair: -float(d) for pair, d in zip(distances.pairs, distances.distance, strict=True) if d <= 0.0}
    expected.pop(("cup", "table"))
    assert expected
    contacts = json.loads(ran.out)["contacts"]
    assert ran.code == 1 and {(x["a"], x["b"]): x["depth"] for x in contacts} == expected


def test_check_scene_command_checks_a_scene_without_a_robot(linkwork, scene):
    ran = linkwork("check-scene", str(scene))
    assert ran.code == 3 and "which need a robot" in ran.err and "name the robot after the scene's file" in ran.err
    scene.write_text(ALONE)
    ran = linkwork("check-scene", str(scene))
    assert ran.code == 0 and "4 obstacles" in ran.out and "not examined: 1 pair" in ran.out
    assert linkwork("check-scene", str(scene), "--q", "0").code == 2
    scene.write_text(ALONE.replace("size: [500", "size: [0").replace("type: half_space", "type: halfspace"))
    ran = linkwork("check-scene", str(scene))
    assert ran.code == 3 and "3 errors" in ran.err and "did you mean 'half_space'" in ran.err
    scene.write_text(ALONE.replace("{length: mm}", "{length: m}"))
    ran = linkwork("check-scene", str(scene))
    assert "warning: 'table' has a radius of 559" in ran.out and ran.code == 0
    assert linkwork("check-scene", str(scene), "--strict").code == 1
    moveit = scene.with_name("a.scene")
    moveit.write_text("kitchen\n* ball\n1\nsphere\n0.1\n1 0 0\n0 0 0 1\n0 0 0 0\n.\n")
    ran = linkwork("check-scene", str(moveit))
    assert ran.code == 0 and "line 1: the scene's name [IGNORED]" in ran.out
    assert linkwork("check-scene", str(scene.with_name("none.yaml"))).code == 3


def test_check_scene_command_names_a_base_that_stands_in_an_obstacle(linkwork, scene):
    base = lw.load("arm6").links[0].name
    text = "version: 1\nobstacles:\n  - {name: table, shape: {type: box, size: [1, 1, 0.1]}, pose: [0, 0, HEIGHT]}\n"
    scene.write_text(text.replace("HEIGHT", "-0.048"))
    data = json.loads(linkwork("check-scene", str(scene), "arm6", "--json").out)
    (overlap,) = data["fixed_overlaps"]
    assert (overlap["a"], overlap["b"]) == (base, "table") and overlap["depth"] == pytest.approx(0.002)
    assert data["contacts"] == []
    assert linkwork("check-scene", str(scene), "arm6", "--strict").code == 1
    ran = linkwork("check-scene", str(scene), "arm6")
    assert ran.code == 0 and "fixed to the world overlap obstacles" in ran.out
    scene.write_text(text.replace("HEIGHT", "-0.048") + f"touching:\n  - [{base}, table]\n")
    assert json.loads(linkwork("check-scene", str(scene), "arm6", "--json").out)["fixed_overlaps"] == []
    scene.write_text(text.replace("HEIGHT", "-0.05"))
    ran = linkwork("check-scene", str(scene), "arm6", "--strict")
    assert ran.code == 0 and "fixed to the world" not in ran.out


@pytest.mark.slow(every=5)
def test_plan_and_distances_commands_use_the_objects_pairs_and_margins_of_a_scene(linkwork, scene):
    arm = lw.load("arm7")
    setup = lw.load_scene(scene, arm)
    goal = [0.6, 0.3, 0.0, -1.2, 0.0, 0.6, 0.0]
    ran = linkwork("plan", "arm7", "--scene", str(scene), "--goal", *map(str, goal), "--json")
    assert ran.code == 0, ran.err
    data = json.loads(ran.out)
    plan = setup.robot.plan(np.zeros(7), goal, setup.scene, touching=setup.touching, margin=setup.margin)
    assert data["path"] == plan.path.tolist()
    assert data["margin"] == {"scene": 0.02, "pairs": [["cup", "post", 0.005]]}
    ran = linkwork("plan", "arm7", "--scene", str(scene), "--goal", *map(str, goal), "--margin", "0", "--json")
    assert json.loads(ran.out)["margin"] == 0.0
    ran = linkwork("distances", "arm7", "--scene", str(scene), "--q", *map(str, goal), "--json")
    pairs = {(x["a"], x["b"]): x["distance"] for x in json.loads(ran.out)["pairs"]}
    expected = setup.robot.distances(np.array(goal), setup.scene)
    assert pairs == dict(zip(expected.pairs, expected.distance.tolist(), strict=True))


def test_check_scene_reports_errors_of_the_scene_before_missing_meshes(linkwork, urdf, tmp_path):
    mesh = '<collision><geometry><mesh filename="a.stl"/></geometry></collision>'
    file = urdf(f'<robot name="arm"><link name="base">{mesh}</link></robot>')
    path = tmp_path / "wrong.json"
    path.write_text('{"version": 1, "obstacels": []}')
    ran = linkwork("check-scene", str(path), file)
    assert ran.code == 3 and "obstacles" in ran.err and "--meshes" not in ran.err
    path.write_text('{"version": 1, "obstacles": []}')
    assert "--meshes" in linkwork("check-scene", str(path), file).err
