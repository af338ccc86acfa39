"""Files of linkwork that a warm call enters: a reader follows them, so their numbers in a golden file only shrink."""

import json
from pathlib import Path

import pytest
from tools.warm_files import CALLS, files_of

import linkwork

GOLDEN = Path(__file__).parent / "golden" / "warm_files.json"


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("name", CALLS)
def test_repeated_calls_execute_no_more_source_files_than_recorded(name, tmp_path, update_golden, monkeypatch):
    monkeypatch.setenv("LINKWORK_EFFORT", "0")
    if name == "load MJCF":
        pytest.importorskip("mujoco")
    if not Path(linkwork.__file__).is_relative_to(GOLDEN.parents[2]):
        pytest.skip("linkwork is installed, so its files are not those of this folder")
    known = json.loads(GOLDEN.read_text(encoding="utf-8"))
    files = files_of(CALLS[name], tmp_path)
    if update_golden:
        known[name] = min(len(files), known.get(name, len(files)))
        GOLDEN.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
    assert len(files) <= known[name], f"more files than {known[name]}: {', '.join(sorted(files))}"
    assert len(files) == known[name], "python -m pytest tests/test_warm_files.py --all --update-golden writes fewer"
