"""The text of the self-contained page: size, policy, refused documents, and JavaScript of functions over any scalar."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from helpers.documents import everything, robot_document, wave
from linkwork.errors import ArgumentError
from linkwork.expr.scalar.operations import BY_NAME
from linkwork.joints import JointType
from linkwork.spatial import Pose, Rotation, Vec3
from linkwork.viewer.html import page
from linkwork.viewer.html.javascript import HELPERS, OPERATIONS, UntranslatedError, javascript_function
from linkwork.viewer.html.page import page_text, write_page
from linkwork.viewer.joint_sliders import Slider


@pytest.mark.slow(every=3)
def test_html_pages_of_long_motions_are_small_files(tmp_path):
    robot = lw.load("humanoid")
    path = write_page(robot_document(robot, wave(robot, 1000)), tmp_path / "motion.html")
    assert path.stat().st_size < 3_000_000


def test_invalid_scene_documents_are_refused_before_anything_is_written(tmp_path):
    document = everything(lw.load("arm6"))
    [actor, ghost], surface = document.actors, document.surfaces[2]
    nan = np.full_like(actor.q, np.nan)
    cases = [
        (replace(document, actors=(replace(actor, q=nan), ghost)), "'arm6'.*q: expected finite numbers, got NaN"),
        (replace(document, actors=(replace(actor, q=actor.q[..., 1:]), ghost)), "q: expected numbers of shape"),
        (replace(document, props=(replace(document.props[0], surface=7),)), "'block'.*surface: expected an index"),
        (replace(document, surfaces=(replace(surface, triangles=surface.triangles + 5),)), "indices of 8 vertices"),
        (
            replace(document, surfaces=(replace(surface, texture=b"<svg onload=x>"),)),
            "texture: expected .* PNG or JPEG",
        ),
        (replace(document, lines=(replace(document.lines[0], color=(2.0, 0.0, 0.0, 1.0)),)), "color: expected red"),
        (replace(document, times=document.times[::-1]), "times: expected .* increasing order"),
    ]
    for wrong, message in cases:
        with pytest.raises(ValueError, match=f"write_page: document: .*{message}"):
            write_page(wrong, tmp_path / "page.html")
    with pytest.raises(ArgumentError, match="expected a SceneDocument, got 'x'"):
        write_page("x", tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_html_page_is_one_file_with_a_content_security_policy():
    text = page_text(robot_document(lw.load("arm7"), np.zeros((1, 1, 7))))
    assert "default-src 'none'" in text and not re.search(r"(src|href)=[\"']?(https?:)?//", text)
    assert text == page_text(robot_document(lw.load("arm7"), np.zeros((1, 1, 7))))


def test_every_scalar_operation_is_translated_to_javascript(browser):
    rng = np.random.default_rng(0)
    special = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan]
    calls, expected = [], []
    assert set(OPERATIONS) == {name for name, entry in BY_NAME.items() if entry.arity}
    for name, entry in BY_NAME.items():
        if not entry.arity:
            continue
        samples = [[float(rng.uniform(*bounds)) for bounds in entry.domain] for _ in range(5)]
        samples += [[special[(k + 3 * i) % 7] for i in range(entry.arity)] for k in range(7)]
        for sample in samples:
            values = [bool(x > 0.0) if kind == "t" else x for x, kind in zip(sample, entry.kinds, strict=True)]
            with np.errstate(all="ignore"):
                expected.append(float(entry.value(*(np.float64(x) if not isinstance(x, bool) else x for x in values))))
            words = [
                str(x).lower() if isinstance(x, bool) else f"Number('{x}')".replace("inf", "Infinity") for x in values
            ]
            calls.append(OPERATIONS[name].format(*(f"({word})" for word in words)))
    tab = browser.open("<p>operations</p>")
    body = f"() => {{ {HELPERS} return [{','.join(f'String(Number({call}))' for call in calls)}]; }}"
    results = [float(x.replace("Infinity", "inf")) for x in tab.evaluate(body)]
    np.testing.assert_allclose(results, expected, rtol=1e-14)


BROWSER_NAMES = """() => {
    const names = new Set();
    const add = (x) => {
        for (; x; x = Object.getPrototypeOf(x)) Object.getOwnPropertyNames(x).forEach((name) => names.add(name));
    };
    add(document.documentElement.style);
    for (const value of Object.values(Object.getOwnPropertyDescriptors(window)).map((entry) => entry.value)) {
        if (value && ["object", "function"].includes(typeof value)) [value, value.prototype].forEach(add);
    }
    return [...names];
}"""


def test_scripts_of_the_html_page_read_only_properties_that_exist(browser):
    """A property is one of the browser, of the scene's data, or one that a script defines."""
    folder = Path(page.__file__).parent
    script = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.js"))
    script = re.sub(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"', "", script)
    patterns = (
        r"[{,(\s](\w+)\s*:",
        r"[{,]\s*(\w+)\s*(?=[,}])",
        r"\.(\w+)\]?\s*(?:[-+]|\?\?|\|\|)?=(?!=)",
        r"\b(\w+)\s*\([^()]*\)\s*\{",
    )
    data = re.findall(r'"(\w+)"', "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py")))
    slider = [field.name for field in fields(Slider)]
    known = {
        *browser.open("<p>names</p>").evaluate(BROWSER_NAMES),
        *data,
        *slider,
        "subarray",
        "xyz",
    }  # of typed arrays and of shaders
    known.update(*(re.findall(pattern, script) for pattern in patterns))
    read = set(re.findall(r"(?<!\.)\.([A-Za-z_]\w*)", script))
    assert len(read) > 300 and read - known == set()


@dataclass(frozen=True)
class Counted(JointType):
    """q (1,): angle [rad]; its transform has a loop."""

    nq, nv = 1, 1
    q_units, v_units = ("rad",), ("rad/s",)

    def X(self, q):
        angle = lw.expr.while_loop(lambda x: x < 5.0, lambda x: x + 1.0, q[0], max_iterations=9).state
        return Pose(Rotation.about(Vec3(0.0, 0.0, 1.0), angle), Vec3(0.0, 0.0, 0.0))


def test_joint_with_a_loop_in_its_transform_has_no_slider_on_the_html_page():
    joint = lw.Joint.of(Counted(), name="counted", parent="world", child="hand")
    robot = lw.Robot.build("loops", lw.Link("hand"), joint)
    document = robot_document(robot, np.zeros((1, 1, 1)))
    [scene] = re.findall(r'id="scene">(.*?)</script>', page_text(document))
    data = json.loads(scene)
    assert data["actors"][0]["robot"] is None and data["actors"][0]["poses"] is not None
    [note] = data["notes"]
    assert re.match("loops: the page has no sliders, .*joint 'counted': the operation 'loop' cannot run", note)


def test_functions_with_loops_are_not_translated_to_javascript():
    def looped(q):
        return lw.expr.while_loop(lambda x: x < 5.0, lambda x: x + q[0], q[0], max_iterations=9).state

    with pytest.raises(UntranslatedError, match="cannot run in a page"):
        javascript_function(lambda q: [looped(q)], 1)
    assert javascript_function(lambda q: [q[0] * 2.5 - 0.5, -1.0], 1) == (
        "(q)=>{const v2=2.5 * q[0];const v4=v2 - 0.5;return [v4,(-1)];}"
    )


def test_table_lookups_are_translated_to_javascript(browser):
    """Rows of a table, constant or of symbols, at an index that is rounded and clamped."""
    values = np.array([[2.0, -3.0], [5.0, 7.0], [11.0, 13.0]])

    def f(q):
        computed = lw.expr.array([[q[1], 2.0 * q[1]], [1.0, q[0]]])
        return [*lw.expr.take(values, q[0]), *lw.expr.take(computed, q[0])]

    samples = [[-1.5, 0.25], [0.0, 0.5], [1.9, 4.0], [2.0, 1.0], [9.0, -2.0]]
    tab = browser.open("<p>tables</p>")
    result = tab.evaluate(f"() => {{ {HELPERS} return {json.dumps(samples)}.map({javascript_function(f, 2)}); }}")
    expected = [[*lw.expr.take(values, x), *lw.expr.take(np.array([[y, 2 * y], [1.0, x]]), x)] for x, y in samples]
    np.testing.assert_array_equal(result, expected)
