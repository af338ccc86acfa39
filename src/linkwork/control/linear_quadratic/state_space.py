"""Linear state-space models: discretisation with delays, poles, frequency responses and conversion to other tools.

With u constant from each sampling instant k to the next, a step h has x⁺ = Φ(h) x + Γ(h) u, where Φ(t) = exp(A t) and
Γ(t) = ∫₀ᵗ exp(A s) ds B.  An input with a delay of (d + f) h, with an integer d and 0 <= f < 1, acts as

    x⁺ = Φ(h) x + Φ((1 − f) h) Γ(f h) u[k − d − 1] + Γ((1 − f) h) u[k − d],

and the earlier inputs become additional states.  Åström and Wittenmark, Computer-Controlled Systems, 3rd ed., 1997,
2.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.foreign_names import WithForeignNames, add_foreign_names
from linkwork._util.lazy_imports import optional_module
from linkwork._util.messages import table
from linkwork._util.result import ReturnedValue
from linkwork._util.validation import finite_array, positive
from linkwork.control.linear_quadratic.dense_linearization import constant_input_step

__all__ = ["StateSpace"]

_ROUNDING = 1e-9  # [time steps] delays this close to a whole number of steps count as whole
_MOST_PRINTED = 12  # states, inputs or outputs of a model whose matrices are printed
_MOST_STATES = 10_000  # of a system with delays: a matrix of 0.8 GB

Array = np.ndarray[Any, Any]


@public
@dataclass(frozen=True, eq=False, init=False, repr=False)
class StateSpace(ReturnedValue, metaclass=WithForeignNames):
    """Linear model ẋ = A x + B u, y = C x + D u of deviations from an operating point; with ``dt``, x⁺ = A x + B u.

    `linear_model` returns such models.  ``A`` (..., n, n), ``B`` (..., n, m), ``C`` (..., p, n) and ``D`` (..., p, m)
    belong to ``state_names``, ``input_names`` and ``output_names``.  ``dt`` [s] is the time step, None in continuous
    time.  The operating point has the configuration ``q`` (..., nq), velocity ``v`` and joint forces ``tau`` (...,
    nv).  Leading axes are a batch, such as a grid of operating points; ``model[i]`` is one of its entries.  ``name``
    is the robot's name.
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    dt: float | None
    state_names: tuple[str, ...]
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    name: str

    def __repr__(self) -> str:
        """Return the sizes and the time step."""
        sizes = f"x ({len(self.state_names)}), u ({len(self.input_names)}), y ({len(self.output_names)})"
        time = "continuous time" if self.dt is None else f"dt={self.dt:g} s"
        batch = f", batch {self.shape}" if self.shape else ""
        return f"<StateSpace of {self.name!r}: {sizes}, {time}{batch}>"

    def __str__(self) -> str:
        """Return the matrices with the names of their rows and columns; of large models and batches the sizes."""
        if self.shape or max(*self.A.shape, self.B.shape[-1], len(self.C)) > _MOST_PRINTED:
            return repr(self)
        x, u, y = self.state_names, self.input_names, self.output_names
        sides = (("A", self.A, x, x), ("B", self.B, x, u), ("C", self.C, y, x), ("D", self.D, y, u))
        lines = [repr(self)[1:-1]]
        for title, matrix, rows, columns in sides:
            cells = [[name, *(f"{z:.5g}" for z in row)] for name, row in zip(rows, matrix, strict=True)]
            lines += ["", *table([title, *columns], cells)]
        return "\n".join(lines)

    @property
    def shape(self) -> tuple[int, ...]:
        """Batch shape, () for one model."""
        return self.A.shape[:-2]

    def __getitem__(self, index: Any) -> StateSpace:
        """Return the models at an index of the batch.  Raises IndexError for an index that the batch does not have."""
        positions = np.arange(int(np.prod(self.shape))).reshape(self.shape)[index]
        arrays = {}
        for name, axes in (("A", 2), ("B", 2), ("C", 2), ("D", 2), ("q", 1), ("v", 1), ("tau", 1)):
            x = getattr(self, name)
            shape = x.shape[x.ndim - axes :]
            arrays[name] = x.reshape(-1, *shape)[positions] if x.size else np.zeros((*np.shape(positions), *shape))
        return self._replaced(**arrays)

    def poles(self) -> np.ndarray:
        """Return the eigenvalues (..., n) of A [1/s; 1 with ``dt``], by increasing real, then imaginary parts."""
        values = np.linalg.eigvals(self.A) + 0j
        order = np.lexsort((values.imag, values.real.round(12)), axis=-1)
        return np.take_along_axis(values, order, axis=-1)

    @public
    def frequency_response(self, omega: ArrayLike) -> np.ndarray:
        """Return C (s I − A)⁻¹ B + D at s = i ω, with ``dt`` at s = exp(i ω dt), for angular frequencies ω [rad/s].

        omega (k...) -> (..., k..., p, m), complex.  Raises ValueError for the frequency of a pole.
        """
        rates = finite_array("StateSpace.frequency_response", "omega", omega, shape=("...",))
        s = 1j * rates if self.dt is None else np.exp(1j * rates * self.dt)
        A, B, C, D = (
            x.reshape(*self.shape, *(1 for _ in rates.shape), *x.shape[-2:]) for x in (self.A, self.B, self.C, self.D)
        )
        try:
            result: Array = C @ np.linalg.solve(s[..., None, None] * np.eye(A.shape[-1]) - A, B + 0j) + D
        except np.linalg.LinAlgError:
            raise ValueError(
                "StateSpace.frequency_response: omega: expected frequencies at which the model has no pole, got a "
                "pole; see poles()"
            ) from None
        return result

    @public(dt=positive)
    def discretized(self, dt: float, *, input_delay: ArrayLike = 0.0) -> StateSpace:
        """Return the exact model in steps of ``dt`` [s], for inputs that are constant in each step (zero-order hold).

        ``input_delay`` [s] >= 0 is one number, or an array (m,) with a number for each input; it need not be a
        multiple of dt.  Earlier inputs become states, which are named such as ``"tau:elbow[k-1]"``.  The outputs are
        values at the sampling instants.  Raises ValueError for a model in discrete time.
        """
        caller = "StateSpace.discretized"
        if self.dt is not None:
            raise ValueError(f"{caller}: expected a model in continuous time, got one with dt={self.dt:g} s")
        dt, n, m = float(dt), len(self.state_names), len(self.input_names)
        delays = finite_array(caller, "input_delay", input_delay, shape=("...",)) / dt
        if delays.shape not in ((), (m,)) or not (delays >= 0.0).all():
            raise ValueError(f"{caller}: input_delay: expected one delay >= 0 [s] or {m} of them, got {input_delay!r}")
        if not np.max(delays, initial=0.0) * max(m, 1) + n < _MOST_STATES:
            raise ValueError(
                f"{caller}: input_delay: expected delays that add fewer than {_MOST_STATES} states, got {input_delay!r}"
            )
        delays = np.broadcast_to(delays, (m,))
        whole = np.floor(delays + _ROUNDING).astype(int)
        parts = np.where(delays - whole > _ROUNDING, delays - whole, 0.0)
        stored = whole + (parts > 0.0)  # earlier values of each input
        first = n + np.concatenate([[0], np.cumsum(stored)]).astype(int)
        size = int(first[-1])
        A, B, C = np.zeros((*self.shape, size, size)), np.zeros((*self.shape, size, m)), self._wide(size)
        D = self.D.copy()
        with np.errstate(over="ignore", invalid="ignore"):
            A[..., :n, :n] = constant_input_step(self.A, self.B, dt)[0]
            columns = {part: self._split(dt, part) for part in {0.0, *parts.tolist()}}
        if not (np.isfinite(A).all() and np.isfinite(columns[0.0][0]).all()):
            raise ValueError(f"{caller}: dt: expected a step with a finite exp(A dt), got {dt!r} s")
        for part, (late, early) in columns.items():
            for j in np.flatnonzero(parts == part):
                for column, lag in ((late, whole[j]), *([(early, whole[j] + 1)] if part else [])):
                    target, k = (A, first[j] + lag - 1) if lag else (B, j)
                    target[..., :n, k] = column[..., j]
                if stored[j]:
                    B[..., first[j], j] = 1.0
                    C[..., first[j + 1] - 1], D[..., j] = self.D[..., j], 0.0
                    for k in range(first[j] + 1, first[j + 1]):
                        A[..., k, k - 1] = 1.0
        names = [f"{u}[k-{i + 1}]" for u, count in zip(self.input_names, stored, strict=True) for i in range(count)]
        return self._replaced(A=A, B=B, C=C, D=D, dt=dt, state_names=(*self.state_names, *names))

    def _split(self, dt: float, part: float) -> tuple[Array, Array]:
        """Return two input matrices of a step: of the inputs in its last part, and of the inputs in its first part.

        ``part`` is the first part as a fraction f of the step ``dt`` = h, in which earlier inputs act. The matrices are
        Γ((1 − f) h) and Φ((1 − f) h) Γ(f h), with Φ(t) = exp(A t) and Γ(t) = ∫₀ᵗ exp(A s) ds B.
        """
        phi, late = constant_input_step(self.A, self.B, (1.0 - part) * dt)
        return late, phi @ constant_input_step(self.A, self.B, part * dt)[1]

    def _wide(self, size: int) -> Array:
        C = np.zeros((*self.shape, len(self.output_names), size))
        C[..., : self.C.shape[-1]] = self.C
        return C

    def to_control(self) -> Any:
        """Return the model as a `control.StateSpace` of python-control, with the names of this model.

        Raises ValueError for a batch, ImportError without the package.
        """
        matrices = self._matrices("to_control")
        module = optional_module("control", "StateSpace.to_control needs python-control", "control")
        signals = {"states": self.state_names, "inputs": self.input_names, "outputs": self.output_names}
        return module.ss(*matrices, self.dt or 0, name=self.name, **{kind: [*x] for kind, x in signals.items()})

    def to_scipy(self) -> Any:
        """Return the model as a `scipy.signal.StateSpace`.

        Raises ValueError for a batch, ImportError without SciPy.
        """
        matrices = self._matrices("to_scipy")
        module = optional_module("scipy.signal", "StateSpace.to_scipy needs SciPy", "control")
        return module.StateSpace(*matrices, **({} if self.dt is None else {"dt": self.dt}))

    def _matrices(self, method: str) -> tuple[Array, ...]:
        if self.shape:
            raise ValueError(f"StateSpace.{method}: expected one model, got a batch {self.shape}; use model[i]")
        return self.A, self.B, self.C, self.D


add_foreign_names(StateSpace, "control.StateSpace")
