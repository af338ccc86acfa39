"""Code of users: cached kernels are reused only if all that they were traced from is unchanged."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork._util import own_code
from linkwork.compiler.cache.function_content import UnknownContentError, content_digest
from linkwork.compiler.kernel_code import compilations
from linkwork.compiler.trace.user_state import user_state
from linkwork.kernels import kernel_cache
from linkwork.kernels.kernel_cache import LazyCache

# names of modules: a user's file may have each of them
MODULES = ["profile", "signal", "code", "types", "trace", "numpy.user", "linkwork.joints.revolute", "__main__", "mine"]

SOURCE = """
import collections, dataclasses, enum, functools, types
import numpy as np
import linkwork as lw

GAIN = VALUE
class Table: gain = VALUE
class Base:
    def gain(self): return VALUE
class Derived(Base):
    def __call__(self, x): return self.gain() * x
class Descriptor:
    def __get__(self, owner, kind=None): return VALUE
class Described:
    gain = Descriptor()
    def __call__(self, x): return self.gain * x
class Holder:
    def __init__(self): self.gain = VALUE
    def __call__(self, x): return self.gain * x
    def law(self, x): return self.gain * x
    @classmethod
    def of_class(cls, x): return VALUE * x
    @staticmethod
    def static(x): return VALUE * x
    @property
    def scale(self): return VALUE
holder = Holder()
def helper(x): return GAIN * x
def inner(x): return VALUE * x
def middle(x): return inner(x)
def constant(x): return VALUE * x
def reads_global(x): return GAIN * x
def calls_helper(x): return helper(x)
def calls_helper_of_helper(x): return middle(x)
def default(x, gain=VALUE): return gain * x
def keyword_default(x, *, gain=VALUE): return gain * x
def closed(gain):
    def law(x): return gain * x
    return law
def reads_attribute(x): return holder.gain * x
def reads_class(x): return Table.gain * x
def reads_property(x): return holder.scale * x
def deeper(x): return [(lambda y: VALUE * y)(z) for z in x]
def decorated(wrapped):
    @functools.wraps(wrapped)
    def law(x): return VALUE * x
    return law
class Private:
    __slots__ = ("__gain",)
    def __init__(self): self.__gain = VALUE
    def change(self, gain): self.__gain = gain
    def __call__(self, x): return self.__gain * x
    @staticmethod
    def of_global(x): return GAIN * x
    def reads_static(self, x): return self.of_global(x)
class Mode(enum.Enum):
    SLOW = VALUE
    FAST = 7.0
mode, namespace = Mode.SLOW, types.SimpleNamespace(gain=VALUE)
Pair = collections.namedtuple("Pair", "gain")
pair, table = Pair(VALUE), np.full(12_000, VALUE)
private = Private()
package = types.ModuleType("package")
package.settings = types.ModuleType("package.settings")
package.settings.gain = VALUE
def reads_mode(x): return mode.value * x
def reads_namespace(x): return namespace.gain * x
def reads_pair(x): return pair.gain * x
def reads_table(x): return table[0] * x
def reads_package(x): return package.settings.gain * x
@functools.singledispatch
def dispatched(x): return GAIN * x
robot = lw.load("double_pendulum")
matrix = np.array([[VALUE, 0.0], [0.0, 1.0]])
objects = dict(
    constant=constant, reads_global=reads_global, calls_helper=calls_helper, deeper=deeper,
    calls_helper_of_helper=calls_helper_of_helper, default=default, keyword_default=keyword_default,
    closed=closed(VALUE), reads_attribute=reads_attribute, reads_class=reads_class, reads_property=reads_property,
    lambda_=lambda x: VALUE * x, derived=Derived(), described=Described(), holder=holder, bound=holder.law,
    of_class=Holder.of_class, static=Holder.static, class_=Table, partial=functools.partial(default, gain=VALUE),
    partial_of_global=functools.partial(reads_global), cached=functools.cache(constant),
    like_numpy=decorated(np.sum), like_linkwork=decorated(lw.pose), like_method=decorated(robot.pose),
    updated=functools.update_wrapper(Holder(), np.sum),
    built_in=matrix.dot, array=matrix, many=[matrix, {"gain": VALUE}], set_={VALUE, 2.0},
    ufunc=np.frompyfunc(constant, 1, 1), vectorized=np.vectorize(constant),
    structured=np.zeros(2, dtype=[(f"gain{int(VALUE)}", float)]),
    made=dataclasses.make_dataclass("Law", [("scale", float)], namespace={"__call__": lambda self, x: VALUE * x})(1.0),
    generator=(lambda: (yield VALUE)), private=private, reads_static=private.reads_static, reads_mode=reads_mode,
    reads_namespace=reads_namespace, reads_pair=reads_pair, reads_table=reads_table, reads_package=reads_package,
    dispatched=dispatched, vectorized_global=np.vectorize(reads_global),
    feature=lw.optimal.FunctionFeature("own", lambda w: VALUE * w.q()),
)
"""


def module_of(name: str, value: float, modules: pytest.MonkeyPatch | None = None) -> dict[str, Any]:
    """Return objects of a module of this name, which read a value.  With ``modules`` it is an imported module."""
    module = ModuleType(name)
    module.__file__ = f"/home/user/{name}.py"
    if modules is not None:
        modules.setitem(sys.modules, name, module)
    exec(compile(SOURCE.replace("VALUE", repr(value)), module.__file__, "exec"), vars(module))
    return {**module.objects}


def digest_of(value: Any) -> str | None:
    try:
        return content_digest(value)
    except UnknownContentError:
        return None


@pytest.mark.parametrize("is_imported", [False, True])
def test_users_code_that_reads_different_values_has_different_digests(
    is_imported: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Functions and objects of users never have the digest, nor the state, of those that read other values."""
    pairs, unknown = 0, 0
    for name in MODULES:
        modules = monkeypatch if is_imported and name not in ("types", "signal", "__main__") else None
        first, second = module_of(name, 1.0, modules), module_of(name, 5.0, modules)
        for kind, value in first.items():
            digests = digest_of(value), digest_of(second[kind])
            assert digests[0] != digests[1] or digests == (None, None), (name, kind)
            if kind not in ("built_in", "array", "many", "set_", "structured", "ufunc"):
                assert digests == (None, None), (name, kind)
                state = user_state(value)
                assert state is not None and state != user_state(second[kind]), (name, kind)
                assert state == user_state(value), (name, kind)
            pairs, unknown = pairs + 1, unknown + (digests[0] is None)
    assert pairs > 300 and unknown > 250


def changes() -> Iterator[tuple[str, Callable[[dict[str, Any]], None]]]:
    """Changes of what one function object reads, by the function's name."""

    def set_global(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
        return lambda objects: objects["constant"].__globals__.update({name: value})

    yield "reads_global", set_global("GAIN", 7.0)
    yield "calls_helper", set_global("GAIN", 7.0)
    yield "calls_helper", set_global("helper", lambda x: 9.0 * x)
    yield "calls_helper_of_helper", set_global("inner", lambda x: 9.0 * x)
    yield "partial_of_global", set_global("GAIN", 7.0)
    yield "reads_attribute", lambda objects: setattr(objects["holder"], "gain", 7.0)
    yield "bound", lambda objects: setattr(objects["holder"], "gain", 7.0)
    yield "reads_class", lambda objects: setattr(objects["class_"], "gain", 7.0)
    yield "derived", lambda objects: setattr(type(objects["derived"]).__mro__[1], "gain", lambda self: 7.0)
    yield "described", lambda objects: setattr(type(objects["described"]), "gain", 7.0)
    yield "reads_static", set_global("GAIN", 7.0)
    yield "dispatched", set_global("GAIN", 7.0)
    yield "vectorized_global", set_global("GAIN", 7.0)
    yield (
        "reads_pair",
        lambda objects: objects["constant"].__globals__.update(pair=objects["reads_pair"].__globals__["Pair"](7.0)),
    )
    yield (
        "reads_mode",
        lambda objects: objects["constant"].__globals__.update(mode=objects["constant"].__globals__["Mode"].FAST),
    )
    yield "reads_namespace", lambda objects: setattr(objects["constant"].__globals__["namespace"], "gain", 7.0)
    yield "reads_table", lambda objects: objects["constant"].__globals__["table"].fill(7.0)
    yield "reads_package", lambda objects: setattr(objects["constant"].__globals__["package"].settings, "gain", 7.0)
    yield "private", lambda objects: objects["private"].change(7.0)
    yield "default", lambda objects: setattr(objects["default"], "__defaults__", (7.0,))
    yield "keyword_default", lambda objects: objects["keyword_default"].__kwdefaults__.update(gain=7.0)
    yield "closed", lambda objects: setattr(objects["closed"].__closure__[0], "cell_contents", 7.0)
    yield "constant", lambda objects: setattr(objects["constant"], "__code__", objects["lambda_"].__code__)


def test_kernel_is_recompiled_if_its_function_reads_a_changed_value() -> None:
    for name, change in changes():
        objects = module_of("mine", 1.0)
        value = objects[name]
        caches: LazyCache[float] = LazyCache()

        def cached_value(value: Any = value, caches: LazyCache[float] = caches) -> float:
            return caches.get(("kernel", value), lambda: float(np.asarray(value(np.ones(2)))[0]))

        assert cached_value() == cached_value() == 1.0, name
        change(objects)
        expected = float(np.asarray(value(np.ones(2)))[0])
        assert cached_value() == expected and (expected != 1.0 or name == "constant"), name


def test_replacing_functions_of_linkwork_changes_digests_of_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """The digest is the original one again when the replacement is taken back."""
    from linkwork.joints import Revolute
    from linkwork.spatial import Rotation, Vec3
    from linkwork.spatial import rotation as module

    assert own_code.state_of_attributes() == "", own_code._noted
    states = []
    for owner, name, value in [
        (Rotation, "about", classmethod(lambda *_: 1)),
        (Rotation, "about", classmethod(lambda *_: 2)),
        (Vec3, "__add__", lambda self, other: self),
        (Revolute, "bias", lambda self, q, v: 0.0),
        (Revolute, "nv", 2),
        (module, "len", abs),
        (module, "Vec3", object),
        (module, "Vec3", Rotation),
        ("linkwork.planning.search.kernel_planner.SMALL", None, None),
        ("linkwork.expr.scalar.functions.sin", None, None),
    ]:
        with monkeypatch.context() as patch:
            if isinstance(owner, str):
                patch.setattr(owner, value)
            else:
                patch.setattr(owner, name, value, raising=False)
            states.append(own_code.state_of_attributes())
        assert own_code.state_of_attributes() == ""
    assert len({*states, ""}) == len(states) + 1
    with monkeypatch.context() as patch:
        patch.setattr(Rotation, "of_the_user", 1, raising=False)  # no code of linkwork reads it
        patch.setattr(module, "of_the_user", 1, raising=False)
        assert own_code.state_of_attributes() == ""
    assert own_code.state_of_attributes() == ""
    assert own_code.is_own(Rotation) and not own_code.is_own(object)


def test_calls_of_robot_methods_examine_no_user_code_and_trace_once(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = lw.load("double_pendulum")
    q, states = np.zeros(2), []
    monkeypatch.setattr(kernel_cache, "user_state", lambda key: states.append(user_state(key)) or states[-1])
    robot.simulate(q, duration=0.01)
    count_before = len(states)
    assert count_before > 0 and {*states} == {None}
    robot.mass_matrix(q)
    before = compilations()
    robot.simulate(q, duration=0.01)
    assert compilations() == before and {*states[count_before:]} <= {None}


def test_changes_of_variables_that_a_function_does_not_read_cause_no_new_trace() -> None:
    class App:
        def __init__(self) -> None:
            self.gain, self.results, self.count = 2.0, [], 0

        def law(self, x: Any) -> Any:
            return self.gain * x

        def run(self) -> None:
            self.results.append(1)
            self.count += 1

    app = App()
    before = user_state(app.law)
    app.run()
    assert user_state(app.law) == before
    app.gain = 3.0
    assert user_state(app.law) != before


def test_modules_watched_for_replacements_can_be_pickled_and_imports_are_recorded_once() -> None:
    assert pickle.loads(pickle.dumps(lw.spatial)) is lw.spatial
    own_code.record_imports()
    assert [type(finder).__name__ for finder in sys.meta_path].count("_Recorder") == 1


PROGRAM = """
import json, sys
import numpy as np, linkwork as lw
sys.path.insert(0, sys.argv[1])
import profile, mine
robot = lw.load("double_pendulum")
q = np.array([0.3, -0.2])
problem = lw.TrajectoryProblem(robot, num_steps=4, duration=0.4).add("velocity", "least_squares")
feature = lw.optimal.FunctionFeature("own", mine.posture)
results = [
    robot.simulate(q, duration=0.02, controller=profile.law).q[-1],
    robot.simulate(q, duration=0.02, controller=profile.Law(1.0)).q[-1],
    robot.simulate(q, duration=0.02, controller=profile.wrapped).q[-1],
    problem.add(feature, "least_squares").solve(q).q[-1],
]
lw.wait_for_compiler()
results.append(robot.simulate(q, duration=0.02, controller=profile.law).q[-1])  # now by the best code
print(json.dumps([np.asarray(x).tolist() for x in results]))
"""


@pytest.mark.slow(every=9)
def test_function_in_a_source_file_edited_by_the_user_is_traced_again(tmp_path: Path) -> None:
    """The file has the name of a module of Python; results are those without a cache."""
    cached, uncached = [], []
    for gain in (1.0, 5.0):
        law = "import dataclasses, functools\nimport numpy as np\n"
        law += f"GAIN = {gain}\ndef law(t, q, v):\n    return -GAIN * q\n"
        law += "Law = dataclasses.make_dataclass('Law', [('scale', float)], frozen=True, namespace={'__call__': "
        law += f"lambda self, t, q, v: -{gain} * self.scale * q}})\n"
        law += f"@functools.wraps(np.sum)\ndef wrapped(t, q, v):\n    return -{gain} * q\n"
        (tmp_path / "profile.py").write_text(law)
        (tmp_path / "mine.py").write_text(f"GAIN = {gain}\ndef posture(w):\n    return GAIN * (w.q() - 1.0)\n")
        for cache, results in ((str(tmp_path / "cache"), cached), ("off", uncached)):
            environment = {**os.environ, "LINKWORK_CACHE": cache, "PYTHONDONTWRITEBYTECODE": "1"}
            command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            results.append(json.loads(done.stdout))
    assert cached == uncached
    assert all(result != edited for result, edited in zip(*cached, strict=True))
    assert all(run[0] == run[-1] for run in cached)
