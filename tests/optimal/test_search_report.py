"""Statuses, messages and conflicts of searches by their last scalars, on results without a problem; moved phases."""

from types import SimpleNamespace

import numpy as np
import pytest

from linkwork._util import own_code
from linkwork.errors import UnknownNameError
from linkwork.optimal import schedule, search_report
from linkwork.optimal.kernels import SEARCH_SCALARS
from linkwork.optimal.schedule import rescheduled

TERMS = [
    SimpleNamespace(name="reach", kind="least_squares", hard=False),
    SimpleNamespace(name="floor", kind="inequality", hard=True),
    SimpleNamespace(name="grip", kind="equality", hard=True),
    SimpleNamespace(name="reward", kind="cost", hard=False),
]


def result_of(*codes, q=1.0, violated=((0.0, 0.0),), late=False, running=False, length=1e-9, cost=True, **options):
    """Return a result of as many searches as there are codes of their ends; of one without leading axes."""
    scalars = np.zeros((len(codes), len(SEARCH_SCALARS)))
    for name, value in (("status", codes), ("iterations", 17), ("length", length), ("cost", 2.5)):
        scalars[:, SEARCH_SCALARS.index(name)] = value
    violations = np.broadcast_to(np.array(violated, dtype=float), (len(codes), 2))
    single = len(codes) == 1
    facts = {"_falls": lambda k: False, "_nonfinite": lambda k: [], "_proof": lambda k: None, "attempts": None}
    result = SimpleNamespace(
        _state={"scalars": scalars[0] if single else scalars},
        _late=late,
        _running=running,
        _violated=violations[0] if single else violations,
        _tolerances=np.array([1e-6, 1e-3, 1e-2]),
        _prepared=SimpleNamespace(program=SimpleNamespace(terms=TERMS, hard=[1, 2])),
        problem=SimpleNamespace(terms=TERMS if cost else TERMS[:3]),
        q=np.full((5, 2) if single else (len(codes), 5, 2), q),
        cost=2.5 if single else np.full(len(codes), 2.5),
        **{**facts, **options},
    )
    result.status = search_report.search_status(result)
    result.conflicts = search_report.conflict_names(result)
    return result


PROOF = SimpleNamespace(violations={"floor": 0.25}, pressing=("effort",))
FALLS, PROVED = {"_falls": lambda k: True}, {"_proof": lambda k: PROOF}
FAR, NEVER = 1.01 * search_report.FARTHEST, 0.99 * search_report.FARTHEST


@pytest.mark.light
def test_statuses_of_searches_follow_from_their_codes_and_paths():
    for code, options, status in (
        (1, {}, "solved"),
        (1, {"_nonfinite": lambda k: ["'a' is nan in step 0"]}, "solved"),
        (2, {}, "not_converged"),
        (2, PROVED, "infeasible"),
        (2, {**PROVED, "_nonfinite": lambda k: ["'a' is nan in step 0"]}, "not_finite"),
        (3, {}, "stalled"),
        (3, PROVED, "infeasible"),
        (3, FALLS, "unbounded"),
        (3, {**FALLS, "cost": False}, "stalled"),
        (3, {"q": FAR}, "not_finite"),
        (3, {"q": NEVER}, "stalled"),
        (3, {"q": FAR, "cost": False}, "not_finite"),
        (4, {}, "superseded"),
        (5, {}, "max_iterations"),
        (5, FALLS, "unbounded"),
        (0, {}, "max_iterations"),
        (np.nan, {}, "max_iterations"),
        (0, PROVED, "infeasible"),
        (0, {"late": True}, "time_limit"),
        (0, {"late": True, **PROVED}, "time_limit"),
        (0, {"late": True, "running": True}, "running"),
        (0, {"q": np.nan}, "not_finite"),
        (0, {"q": FAR, **FALLS}, "unbounded"),
    ):
        assert result_of(code, **options).status == status, (code, options)
    both = result_of(1, 3, 0, late=True)
    assert both.status.tolist() == ["solved", "stalled", "time_limit"]


def test_conflicts_are_the_constraints_above_their_tolerances_in_order_of_excess():
    assert result_of(2, violated=((1.1e-3, 1.9e-2),)).conflicts == ("grip", "floor")
    assert result_of(2, violated=((3e-3, 1.9e-2),)).conflicts == ("floor", "grip")
    assert result_of(2, violated=((1e-3, 1.9e-2),)).conflicts == ("grip",)
    assert result_of(2, violated=((3e-3, 0.0),), **PROVED).conflicts == ("floor", "effort")
    several = result_of(1, 2, 2, violated=((0.0, 0.0), (2e-3, 0.0), (0.0, 2e-2)))
    assert several.conflicts == [(), ("floor",), ("grip",)]


@pytest.mark.light
def test_messages_of_searches_state_the_reason_of_their_status():
    for code, options, message in (
        (1, {}, "17 iterations, cost 2.5"),
        (2, {"_nonfinite": lambda k: ["'a' is nan", "'b' is inf"]}, "'a' is nan; 'b' is inf"),
        (0, {"q": np.inf}, "the path diverged after 17 iterations"),
        (3, {"violated": ((2e-3, 0.0),)}, "violated: 'floor' (by 0.002), after 17 iterations"),
        (2, {}, "all constraints are satisfied, but their multipliers have not converged, after 17 iterations"),
        (
            2,
            {"q": 2e9 + 1.0, "late": True},
            "all constraints are satisfied, but their multipliers have not converged, after 17 iterations",
        ),
        (
            2,
            {"q": 9e10},
            "the path diverged until floating-point numbers are 1.5e-05 apart, after 17 iterations",
        ),
        (
            3,
            {**FALLS, "q": -321.0},
            "the cost of 'reward' has no minimum within 1e+08 rad or units of length of the path after 17 iterations; "
            "the largest coordinate is 321",
        ),
        (3, {"length": 0.25}, "all constraints are satisfied after 17 iterations; the last step was 0.25 long"),
        (
            2,
            {**PROVED, "violated": ((2e-3, 0.0),)},
            "these constraints cannot hold together: 'floor' (by 0.25), effort, near this initial path; "
            "num_guesses= tries others",
        ),
        (
            2,
            {**PROVED, "attempts": [1, 2]},
            "these constraints cannot hold together: 'floor' (by 0.25), effort, from each of these initial paths",
        ),
    ):
        assert search_report.result_message(result_of(code, **options), ()) == message
    several = result_of(1, 3, violated=((0.0, 0.0), (0.0, 3e-2)))
    assert search_report.result_message(several, (0,)).startswith("17 iterations")
    assert search_report.result_message(several, (1,)) == "violated: 'grip' (by 0.03), after 17 iterations"


def test_solved_paths_count_as_violating_if_floats_do_not_resolve_the_step():
    code = SEARCH_SCALARS.index("status")
    scalars = result_of(1, 1, 3)._state["scalars"]
    q = np.ones((3, 5, 2))
    q[1, 2, 1] = -(2.0**33)
    assert search_report.resolution(q).tolist() == [2.0**-52, 2.0**-19, 2.0**-52]
    assert search_report.resolved(q, scalars, 2.0**-19)[:, code].tolist() == [1.0, 1.0, 3.0]
    changed = search_report.resolved(q, scalars, 0.99 * 2.0**-19)
    assert changed[:, code].tolist() == [1.0, 2.0, 3.0] and scalars[1, code] == 1.0


def test_features_that_are_not_finite_are_named_with_step_and_component(monkeypatch):
    values = {"reach": np.ones((2, 3, 2)), "floor": np.ones((2, 3, 2))}
    values["floor"][1, 2, 0] = np.nan
    values["floor"][1, 2, 1] = np.inf
    for term in TERMS[:2]:
        term.feature = SimpleNamespace(component_names=("left", "right"))
    result = result_of(3, 3, residuals=values, _steps_of=lambda k: [4, 5, 6])
    assert search_report.nonfinite_values(result, 0) == []
    assert search_report.nonfinite_values(result, 1) == ["'floor' is nan in step 6, component 'left'"]
    assert search_report.nonfinite_features(result, 1) == search_report.nonfinite_values(result, 1)
    fine = result_of(2, 2, residuals=values, _steps_of=lambda k: [4, 5, 6])
    assert search_report.nonfinite_features(fine, 1) == []  # it is finite again at the last path
    monkeypatch.setattr(own_code, "_replaced", {})
    monkeypatch.setattr(search_report, "nonfinite_derivatives", lambda result, index: [f"derivative {index}"])
    for length, texts in ((search_report.DIVERGED_STEP, ["derivative 0"]), (0.5 * search_report.DIVERGED_STEP, [])):
        diverged = result_of(2, 2, length=length, residuals=values, _steps_of=lambda k: [4, 5, 6])
        assert search_report.nonfinite_features(diverged, 0) == texts


def test_cost_is_reported_unbounded_if_it_keeps_falling_along_feasible_paths_of_growing_size(monkeypatch):
    """Costs of paths of two coordinates: linear, quadratic, logarithmic, bounded, and bounded by a constraint."""
    monkeypatch.setattr(own_code, "_replaced", {})
    costs, constraints = {}, {}

    def value_kernel(program):
        def values(q, scales):
            return SimpleNamespace(everywhere=costs["f"](q), alone=constraints.get("c", lambda q: 0.0 * q[..., :1])(q))

        return values

    monkeypatch.setattr(search_report, "value_kernel", value_kernel)
    monkeypatch.setattr(search_report, "state_shapes", lambda program: {"q": (4, 2)})
    monkeypatch.setattr(search_report, "shapes_of", lambda program: {"scales": (2,)})
    terms = [SimpleNamespace(name="reward", kind="cost", hard=False), SimpleNamespace(name="wall", kind="x", hard=True)]
    program = SimpleNamespace(terms=terms, hard=[1], rows_of=[slice(0, 1), slice(1, 2)], units=(1.0, 1.0))

    def falls(f, c=None, q=0.0):
        costs["f"] = f
        constraints.clear()
        if c is not None:
            constraints["c"] = c
        result = SimpleNamespace(
            _prepared=SimpleNamespace(
                program=program, beyond=lambda k, x: np.maximum(x, 0.0), constants={"scales": np.ones(2)}
            ),
            problem=SimpleNamespace(robot=SimpleNamespace(nv=2, integrate=np.add, neutral=lambda: np.zeros(2))),
            _state={"scalars": np.zeros((2, len(SEARCH_SCALARS))), "q": np.full((2, 4, 2), q)},
            _inputs={"scales": np.ones((2, 2))},
            _tolerances=np.array([1e-6, 1e-3]),
            _by_feature=lambda everywhere, alone: {"reward": everywhere, "wall": alone},
        )
        return [search_report.falls_without_bound(result, k) for k in (0, 1)]

    first = lambda q: q[..., :1]  # noqa: E731
    assert falls(first) == [True, True] == falls(lambda q: -np.log1p(np.abs(first(q))))
    assert falls(lambda q: first(q) ** 2) == [False, False] == falls(lambda q: np.arctan(first(q)))
    assert falls(lambda q: -(first(q) ** 2)) == [True, True] and falls(lambda q: 0.0 * first(q)) == [False, False]
    assert falls(first, lambda q: -1e3 - first(q)) == [False, False]  # no lower than −1000
    assert falls(first, lambda q: q[..., 1:] - 1e-4 * np.abs(q).max()) == [True, True]  # other directions are free
    assert falls(lambda q: np.where(np.abs(first(q)) > 50.0, np.nan, first(q))) == [False, False]
    assert falls(first, q=np.nan) == [True, True]  # from a path at rest, as the last one has diverged
    terms[0].kind = "least_squares"
    assert falls(first) == [False, False]


def phase_problem(**options):
    def term(name, phase, **more):
        facts = {"has_target_per_step": False, "is_outside_phase": False, **more}
        return SimpleNamespace(name=name, phases=tuple((phase or "").split()), **facts)

    terms = [term("reach", None), term("stand", "stance"), term("swing", "stance", is_outside_phase=True)]
    terms += [term("track", "late", has_target_per_step=True)]
    force = SimpleNamespace(phases=("stance",))
    spans = {"stance": range(2), "late": range(1, 2), "idle": range(3, 4)}
    fields = {"phases": spans, "num_steps": 4, "terms": terms, "variables": {"foot": force}}
    return SimpleNamespace(**{**fields, **options})


def test_moved_phases_change_the_weights_of_their_terms_and_contacts(monkeypatch):
    monkeypatch.setattr(own_code, "_replaced", {})
    weights = np.ones((4, 4)) * [1.0, 0.5, 0.25, 1.0]
    monkeypatch.setattr(schedule, "prepared", lambda problem, _: SimpleNamespace(constants={"weights": weights}))
    models = [SimpleNamespace(force=SimpleNamespace(name=name)) for name in ("foot", "hand")]
    contacts = SimpleNamespace(contact_models=models, active=lambda T: np.tile([1.0, 0.5], (T, 1)))
    problem = phase_problem()
    for steps, mask in (
        ((1, 3), [0, 1, 1, 0]),
        ((0, 4), [1, 1, 1, 1]),
        ((2, 2), [0, 0, 0, 0]),
        (None, [0, 0, 0, 0]),
        ([True, False, False, True], [1, 0, 0, 1]),
    ):
        result = rescheduled("solve", problem, contacts, {"stance": steps}, ())
        inside = np.array(mask, dtype=float)
        assert (result.weights == np.stack([np.ones(4), inside, 1.0 - inside, np.ones(4)], axis=1)).all()
        assert (result.active == np.stack([inside, np.full(4, 0.5)], axis=1)).all()
    several = phase_problem(
        terms=[
            SimpleNamespace(name="both", phases=("stance", "idle"), is_outside_phase=k, has_target_per_step=False)
            for k in (False, True)
        ],
        variables={"foot": SimpleNamespace(phases=("stance", "idle"))},
    )
    weights, previous = np.ones((4, 2)), weights
    result = rescheduled("solve", several, contacts, {"stance": (1, 3)}, ())  # "idle" keeps its step 3
    assert result.weights.T.tolist() == [[0, 1, 1, 1], [1, 0, 0, 0]] and result.active[:, 0].tolist() == [0, 1, 1, 1]
    weights = previous
    batch = np.array([[True, False, True, False], [False, True, True, True]])
    result = rescheduled("solve", problem, None, {"stance": batch}, (2,))
    assert result.weights.shape == (2, 4, 4) and result.active.shape == (2, 4, 0)
    assert (result.weights[..., 1] == batch).all() and (result.weights[..., 2] == ~batch).all()
    for phases, lead, error, words in (
        ({"stence": (0, 1)}, (), UnknownNameError, "did you mean 'stance'"),
        (
            {"stance": (0, 5)},
            (),
            ValueError,
            r"solve: phases: 'stance': expected .* within 0 to 4, None, or 4 booleans",
        ),
        ({"stance": (3, 2)}, (), ValueError, r"got \(3, 2\)"),
        ({"stance": (-1, 2)}, (), ValueError, r"got \(-1, 2\)"),
        ({"stance": (0.0, 2.0)}, (), ValueError, r"got \(0.0, 2.0\)"),
        ({"stance": [True] * 3}, (), ValueError, "4 booleans, got"),
        ({"stance": batch}, (3,), ValueError, r"expected the leading axes of the state, \(3,\), got \(2,\)"),
        (
            {"late": None},
            (),
            ValueError,
            r"phases: 'late': 'track' has a target per step \(PerStep\): expected a const",
        ),
        ({"idle": None}, (), ValueError, "phases: 'idle': no term uses this phase: expected one that a steps= names"),
    ):
        with pytest.raises(error, match=words):
            rescheduled("solve", problem, contacts, phases, lead)
