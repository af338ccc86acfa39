"""Results of calls in general position equal the recorded ones.

Identities and independent references prove that results are right.  They leave constants, options and secondary results
that no identity names.  Here each number of a result is compared with `tests/golden/results.json`, so that a change of
the source that changes a result is noticed.  After an intended change ``--update-golden`` writes the file; its
difference shows which results changed, and belongs to the review of the change.
"""

import json
from pathlib import Path

import pytest

from recorded_results import cases  # noqa: F401 - registers the cases
from recorded_results.case import CASES
from recorded_results.fingerprint import differences, fingerprint

GOLDEN = Path(__file__).parents[1] / "golden" / "results.json"


def _recorded():
    return json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {}


@pytest.mark.light
@pytest.mark.parametrize("name", CASES)
def test_result_of_each_call_equals_the_recorded_one(name, update_golden, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    actual = fingerprint(CASES[name].run(tmp_path))
    assert actual, "a case returns at least one number"
    recorded = _recorded()
    if update_golden and differences(actual, recorded.get(name, {}), CASES[name].tolerance):
        recorded = {key: actual if key == name else recorded[key] for key in CASES if key == name or key in recorded}
        text = ",\n".join(
            f" {json.dumps(key)}: {{\n"
            + ",\n".join(f"  {json.dumps(k)}: {json.dumps(x, ensure_ascii=False)}" for k, x in value.items())
            + "\n }"
            for key, value in recorded.items()
        )
        GOLDEN.write_text("{\n" + text + "\n}\n", encoding="utf-8")
        return
    hint = f"pytest -n0 '{Path(__file__).parent.name}' --update-golden records the new results"
    assert differences(actual, recorded.get(name, {}), CASES[name].tolerance) == [], hint


def test_recorded_results_are_those_of_the_cases():
    assert list(_recorded()) == list(CASES)


def test_fingerprints_change_with_every_number_sign_order_and_word():
    import numpy as np

    base = np.random.default_rng(0).normal(size=(3, 4))
    changed = [base[::-1], -base, np.where(base == base[1, 2], base + 1e-6, base), base.reshape(4, 3), base * np.nan]
    changed += [base[:, [0, 2, 1, 3]], np.where(base == base[0, 0], -base, base)]
    long = "a text of more than sixty letters, whose numbers are 1.25 and -3e-2 and no others"
    pairs = [({"x": base}, {"x": x}) for x in changed]
    pairs += [(long, long.replace("1.25", "1.2500001")), (long, long.replace("-3e-2", "3e-2")), (long, long + ".")]
    pairs += [
        ({"a": 1.0}, {"b": 1.0}),
        ({"a": 1.0}, {}),
        ({}, {"a": 1.0}),
        ("short", "Short"),
        (None, 0.0),
        ([1], [1, 2]),
    ]
    pairs += [([{"a": 1}], [{"a": 2}]), (float("nan"), float("inf")), ([], ["a"]), (True, False), (1.0, -1.0)]
    for before, after in pairs:
        assert differences(fingerprint(after), fingerprint(before), 1e-9), (before, after)
        assert not differences(fingerprint(before), fingerprint(before), 0.0)
    assert not differences(fingerprint(base * (1 + 1e-10)), fingerprint(base), 1e-9)
