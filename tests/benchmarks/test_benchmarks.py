"""The benchmarks: compared results agree, and the table shows the measured values."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from benchmarks.compiler import linear_algebra as linear_algebra_benchmark
from benchmarks.compiler.compiler_figures import Figure, compiler_figures, long_program_seconds, no_op_seconds
from benchmarks.compiler.control_flow import ControlSizes, control_figures, control_verdicts
from benchmarks.compiler.large_robots import (
    check_derivatives,
    growth,
    large_robot,
    large_robots,
    large_verdicts,
    result_table,
)
from benchmarks.compiler.linear_algebra import linear_algebra, linear_algebra_verdicts
from benchmarks.dynamics import functions as functions_command
from benchmarks.dynamics import growth as growth_command
from benchmarks.dynamics.growth import FIGURES, fitted, growth_verdicts
from benchmarks.dynamics.robot_figures import FunctionResult, Plan, RobotResult, functions_of, measure_robot
from benchmarks.first_calls.startup import Startup, measure_startup
from benchmarks.measurement.paired_timing import Comparison
from benchmarks.measurement.robots import ROBOTS, BenchmarkRobot, NotInstalled
from benchmarks.peers.pinocchio_peer import Pinocchio, agreement
from benchmarks.tables.report import context_table, target_table
from benchmarks.tables.targets import CONTROL, DERIVATIVES, MATRICES, TARGETS
from benchmarks.tables.verdicts import verdicts

import linkwork as lw
from benchmarks import __main__ as command
from linkwork.cli.function_timings import FUNCTIONS, Effort
from linkwork.robot.robot_table import ROBOT

BESIDE = (*MATRICES, *DERIVATIVES)
EVERY = (*FUNCTIONS, *BESIDE)
OF_BOTH = [key for key in TARGETS if key[0] in ("panda", "talos")]  # what `python -m benchmarks` measures
EXTRA = {(f, measure) for f in EVERY for measure in ("batch", "call", "operations", "compile", "asymmetry")}
TINY = Plan(Effort(rounds=1, at_least=1e-5), (1, 4), 1, 3)


def invented(robot: str, *, speed: float | None = 100.0, operations: int = 10) -> RobotResult:
    """A robot's result with numbers that everyone would like."""
    timed = Comparison(1e-6, None if speed is None else speed * 1e-6, speed)
    unlike = int(speed == 1.0)
    functions = [
        FunctionResult(name, operations, 0.01, 0.1, 1e-16, 1e-12, {1024: timed}, timed, (1e-6, 2e-6), asymmetric=unlike)
        for name in EVERY
    ]
    result = RobotResult(robot, 9, 9, 9, functions)
    if speed is not None:
        for name, function, measure in TARGETS:
            if name == robot and (function, measure) not in EXTRA:
                figure = speed if measure.startswith(("batch", "threads")) else 0.01
                result.figures.setdefault(function, {})[measure] = Figure(figure, 1e-9, 1e-9)
    return result


def figures(entry, robot, peer):
    return compiler_figures(entry, robot, peer, TINY.effort)


def loaded(name: str):
    try:
        return ROBOTS[name].load()
    except NotInstalled as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", ["panda", "ur5", "solo12", "quadruped"])
def test_benchmarked_dynamics_functions_agree_with_pinocchio(name, function):
    pytest.importorskip("pinocchio")
    robot = loaded(name)
    error, bound = agreement(robot, Pinocchio(robot), function)
    assert error <= bound < 1e-6


@pytest.mark.parametrize(("name", "sizes"), [("panda", (9, 9)), ("talos", (39, 38)), ("g1", (36, 35))])
def test_benchmark_robots_have_the_expected_nq_and_nv(name, sizes):
    robot = loaded(name)
    assert (robot.nq, robot.nv) == sizes


def test_dynamics_benchmark_measures_every_listed_function_of_a_robot():
    result = measure_robot(ROBOTS["double_pendulum"], TINY)
    assert [function.function for function in result.functions] == list(FUNCTIONS)
    for function in result.functions:
        assert sorted(function.batches) == [1, 4]
        assert function.operations > 0 and function.compile > 0 and function.call.ours > 0
        assert not function.differs


def test_benchmark_verdicts_report_each_target_as_met_or_missed():
    passing = verdicts([invented("panda"), invented("talos")], Startup(0.2, 0.4, 0.05, 100, ()))
    assert len(passing) == len(OF_BOTH) + 2
    assert verdicts([], None, (100_000, 3.0))[0].met and not verdicts([], None, (100_000, 11.0))[0].met
    assert {row.verdict for row in passing} == {"met"}
    bad = verdicts([invented("panda", speed=1.0, operations=10**6)], Startup(0.5, 0.7, 0.9, 999, ("scipy",)))
    missed = [row.label for row in bad if not row.met]
    assert len([title for title in missed if "batch" in title]) == 9 + len(BESIDE)
    assert len([title for title in missed if "one call" in title]) == 3 + len(BESIDE)
    assert "inverse dynamics, operations" in missed and "import linkwork" in missed
    assert [row.verdict for row in bad if "compile cold" in row.label] == ["met"] * 3


def test_benchmark_verdicts_report_comparisons_without_pinocchio_as_not_measured():
    rows = verdicts([invented("panda", speed=None)], None)
    compared = [row for row in rows if "batch" in row.label or "one call" in row.label]
    assert {row.verdict for row in compared} == {"not measured"}
    lost = verdicts([RobotResult("panda", 9, 9, 9)], None)
    assert {row.verdict for row in lost} == {"not measured"}


def test_benchmark_target_table_shows_the_verdict_of_each_row():
    rows = verdicts([invented("panda", speed=30.0)], None)
    lines = target_table(rows)
    assert len(lines) == len(rows) + 2
    line = next(line for line in lines if "inverse dynamics, batch" in line)
    assert line.split()[-4:] == ["30.0x", ">=", "40x", "MISSED"]
    markdown = target_table(rows, markdown=True)
    assert all(line.startswith("| ") and line.count("|") == markdown[0].count("|") for line in markdown)
    context = context_table([invented("panda")])
    assert len(context) == 2 + len(EVERY)
    assert "(100.0x)" in context[2]


def quick(monkeypatch):
    """Without what takes long."""
    monkeypatch.setattr(command, "measure_startup", lambda processes: Startup(0.1, 0.2, 0.1, 150, ()))
    monkeypatch.setattr(command, "long_program_seconds", lambda: (100_000, 1.0))
    monkeypatch.setattr(command, "no_op_seconds", lambda effort: {"out=": 1e-7})
    monkeypatch.setattr(command, "linear_algebra", lambda effort: [])
    monkeypatch.setattr(command, "grown", lambda effort, quick: [])
    passing = {measure: Figure(target.bound, 1e-9, 1e-9) for measure, target in CONTROL.items()}
    monkeypatch.setattr(command, "control_figures", lambda effort, sizes: passing)


def test_benchmark_measures_the_instructions_and_compile_time_of_a_long_program():
    instructions, seconds = long_program_seconds(3000)
    assert 2000 < instructions < 5000 and seconds > 0.0
    assert all(value > 0.0 for value in no_op_seconds(TINY.effort).values())


@pytest.mark.slow(every=3)
def test_linear_algebra_benchmark_measures_each_function_at_each_size():
    result = linear_algebra(TINY.effort, (3, 11), batch=5)
    assert [(x.function, x.n) for x in result] == [(f, n) for n in (3, 11) for f in linear_algebra_benchmark.FUNCTIONS]
    assert all(x.ours > 0.0 and x.peer > 0.0 and x.compile > 0.0 for x in result)
    assert linear_algebra_verdicts(result) == []  # none of these sizes has a target
    (row,) = linear_algebra_verdicts([replace(result[0], n=7, ratio=30.0)])
    assert row.met and row.target_shown == ">= 20x"


def test_growth_benchmark_measures_robots_of_many_bodies():
    dynamics_result = large_robots(
        TINY.effort, ("chain 4", "chain 8"), ("straight", "outlined"), ("inverse_dynamics",), batch=5
    )
    assert [(x.robot, x.is_outlined) for x in dynamics_result] == [
        (f"chain {n}", mode) for n in (4, 8) for mode in (False, True)
    ]
    assert all(x.cold > 0.0 and x.batch > 0.0 and x.call > 0.0 and x.code_bytes > 0 for x in dynamics_result)
    assert 0.8 < growth(dynamics_result[::2], "operations") < 2.0
    assert large_verdicts(dynamics_result) == []
    (row,) = large_verdicts([replace(dynamics_result[0], robot="tree 255", mode="chosen", cold=1.0)])
    assert row.met and row.target_shown == "<= 2 s"


@pytest.mark.slow(every=5)
def test_growth_benchmark_measures_derivatives_of_robots_of_many_bodies():
    names = ("vjp of inverse_dynamics", "inverse_dynamics_derivatives")
    result = large_robots(TINY.effort, ("chain 4",), ("straight", "outlined"), names, batch=5)
    assert [x.function for x in result] == [name for name in names for _ in range(2)]
    row, memory = large_verdicts([replace(result[3], robot="chain 200", mode="chosen", cold=30.0, memory=10**9)])
    assert not row.met and memory.met and memory.shown == "1.00 GB"
    assert check_derivatives(large_robot("tree 3"), "forward_dynamics") < 1e-9


@pytest.mark.slow(every=3)
def test_growth_benchmark_fits_exponents_of_cost_over_the_count_of_bodies():
    dynamics_result = large_robots(
        TINY.effort, ("chain 5", "chain 20", "chain 40"), functions=("mass_matrix",), batch=5
    )
    assert [x.figure for x in fitted(dynamics_result)] == list(FIGURES)
    operations = fitted(dynamics_result)[0]
    assert operations.sizes == (20, 40) and 1.9 < operations.power < 2.1
    assert len(result_table(dynamics_result)) == 2 + 3
    chains = [replace(dynamics_result[0], robot=f"chain {n}", operations=3 * n**2) for n in (20, 50, 100)]
    assert fitted(chains)[0].power == pytest.approx(2.0)
    row = growth_verdicts(fitted(chains))[0]
    assert (row.robot, row.shown, row.target_shown, row.verdict) == ("chains 20-100", "n^2.00", "<= n^2", "met")
    linear = fitted([replace(x, function="inverse_dynamics") for x in chains])
    assert growth_verdicts(linear)[0].verdict == "MISSED"
    assert fitted(dynamics_result[:1]) == []


@pytest.mark.slow(every=5)
def test_growth_benchmark_prints_the_fitted_exponents(monkeypatch, tmp_path, capsys):
    result = large_robots(TINY.effort, ("chain 20", "chain 24"), functions=("forward_kinematics",), batch=5)
    monkeypatch.setattr(growth_command, "grown", lambda effort, quick: result)
    monkeypatch.setattr(growth_command, "_CHECKED", "chain 4")
    file = tmp_path / "growth.json"
    assert growth_command.main(["--quick", "--json", str(file)]) == 0
    assert "forward kinematics, growth of operations" in capsys.readouterr().out
    written = json.loads(file.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert [x["figure"] for x in written["growth"]] == list(FIGURES)
    assert written["machine"]["numpy"] and len(written["results"]) == 2


@pytest.mark.parametrize(
    "name", [pytest.param("panda", marks=pytest.mark.slow(every=3)), pytest.param("talos", marks=pytest.mark.slow)]
)
def test_benchmarked_matrices_agree_with_pinocchio(name):
    pytest.importorskip("pinocchio")
    robot, entry = loaded(name), ROBOTS[name]
    assert functions_of(name) == EVERY
    for function in BESIDE:
        frames = (entry.hand,) if ROBOT[function].requires_frame else ()
        error, bound = agreement(robot, Pinocchio(robot), function, *frames, samples=5)
        assert error <= bound < 1e-6, function


def test_functions_benchmark_command_prints_and_saves_its_results(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(functions_command, "QUICK", TINY)
    file = tmp_path / "functions.json"
    options = ["jacobian_derivative", "mass_matrix_inverse", "--robots", "panda", "--quick", "--json", str(file)]
    assert functions_command.main(options) == 0
    out = capsys.readouterr().out
    assert "jacobian derivative, one call" in out and "inverse dynamics" not in out
    written = json.loads(file.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert {row["label"].partition(",")[0] for row in written["targets"]} == {
        "jacobian derivative",
        "mass matrix inverse",
    }
    assert next(row for row in written["targets"] if "transpose" in row["label"])["met"]
    with pytest.raises(SystemExit, match=r"^2$"):
        functions_command.main(["gravity_forces"])
    assert "expected functions of" in capsys.readouterr().err


def test_functions_benchmark_command_measures_a_robot_file_of_the_user(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(functions_command, "QUICK", TINY)
    file = tmp_path / "mine.json"
    options = ["inverse_dynamics", "jacobian", "--file", str(lw.robots.path("arm6")), "--quick", "--json", str(file)]
    assert functions_command.main(options) == 0
    (measured,) = json.loads(file.read_text(encoding="utf-8"))["robots"]
    assert measured["robot"] == "arm6" and "arm6" in capsys.readouterr().out


@pytest.mark.slow
def test_control_benchmark_measures_kernels_with_loops():
    sizes = ControlSizes(batch=40, steps=30, roll_outs=9, peers=2, gradients=3, processes=1)
    result = control_figures(TINY.effort, sizes)
    assert set(result) <= set(CONTROL) and {"call", "batch", "iteration", "compile reach, call"} <= set(result)
    assert all(figure.value > 0.0 for figure in result.values())
    assert [row.value for row in control_verdicts(result, sizes)] == [
        figure and figure.value for figure in map(result.get, CONTROL)
    ]


def test_control_benchmark_table_shows_the_figures_of_kernels_with_loops():
    call, beside, *_, compiled = control_verdicts(
        {"call": Figure(1e-6, 1e-6, 5e-5), "call, Pinocchio": Figure(39.0, 1e-6, 5e-5)}
    )
    assert (call.shown, call.target_shown, call.peer, call.verdict) == (
        "1 µs",
        "<= 1.2 µs",
        "50 µs (Pinocchio and NumPy)",
        "met",
    )
    assert (beside.shown, beside.target_shown, beside.verdict) == ("39.00x", ">= 40x", "MISSED")
    assert (compiled.target_shown, compiled.verdict) == ("<= 0.5 s", "not measured")


@pytest.mark.slow
def test_benchmark_reports_all_compiler_figures_of_a_robot():
    pytest.importorskip("pinocchio")
    robot = loaded("panda")
    entry, peer = ROBOTS["panda"], Pinocchio(robot)
    results = {(function, measure): figure for function, measure, figure in figures(entry, robot, peer)}
    required = {key[1:] for key in TARGETS if key[0] == "panda" and key[1:] not in EXTRA}
    assert {key for key in required if "avx2" not in key[1]} <= set(results) <= required
    assert all(figure.value > 0.0 for figure in results.values())


def test_main_benchmark_command_measures_all_robots_and_prints_a_table(monkeypatch, tmp_path, capsys):
    quick(monkeypatch)
    monkeypatch.setattr(command, "measure_robot", lambda entry, plan, done: invented(entry.name))
    file = tmp_path / "new" / "results.json"
    assert command.main(["--quick", "--json", str(file)]) == 0
    out = capsys.readouterr().out
    count = len(OF_BOTH) + 3 + len(CONTROL)
    assert f"{count} of {count} targets met" in out
    assert "a call that computes nothing, three arrays in and one out: out= 0.100 µs" in out
    written = json.loads(file.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert [robot["robot"] for robot in written["robots"]] == ["panda", "talos"]
    assert all(row["met"] for row in written["targets"])
    assert written["machine"]["numpy"] and written["method"]


def test_benchmark_command_fails_if_outputs_differ_from_pinocchio(monkeypatch, tmp_path, capsys):
    def wrong(entry, plan, done):
        result = invented(entry.name)
        result.functions[0].difference = float("inf")
        return result

    quick(monkeypatch)
    monkeypatch.setattr(command, "measure_robot", wrong)
    file = tmp_path / "results.json"
    assert command.main(["--robots", "arm7", "--json", str(file)]) == 1
    assert "arm7: inverse_dynamics: outputs differ" in capsys.readouterr().err
    assert json.loads(file.read_text(encoding="utf-8"))["robots"][0]["functions"][0]["difference"] is None


def test_benchmark_command_skips_robots_that_are_not_installed(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(ROBOTS, "none", BenchmarkRobot("none", "none/none.urdf"))
    quick(monkeypatch)
    assert command.main(["--robots", "none", "--json", str(tmp_path / "results.json")]) == 0
    assert "left out: " in capsys.readouterr().err


@pytest.mark.slow(every=5)
def test_startup_benchmark_measures_import_and_first_answer_in_a_new_process():
    startup = measure_startup(1)
    assert 0 < startup.import_seconds < startup.first_answer_seconds
    assert startup.pose_seconds > 0 and 100 < startup.pose_modules < 200
    assert startup.unwanted == ()
