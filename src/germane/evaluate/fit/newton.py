"""Newton: Newton's method for the minimum of a smooth convex function of a few dozen variables.

Each step solves H d = −g and is halved until the value falls (Armijo's rule; Nocedal and Wright 2006, algorithm 3.2). About ten
steps reach machine precision. With so few variables this is quicker and more reliable than methods that estimate the curvature.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Function", "minimise"]

Floats = NDArray[np.float64]
Function = Callable[[Floats], tuple[float, Floats, Floats]]
"""Returns value, gradient, shape (k,), and Hessian, shape (k, k), at a point, shape (k,)."""

_DAMPING = 1e-9
_SUFFICIENT_DECREASE = 1e-4
_MIN_STEP = 1e-10


def minimise(function: Function, start: Floats, *, steps: int = 100, tolerance: float = 1e-9) -> Floats:
    """Returns the point, shape (k,), at which the next step would gain less than `tolerance` of the value, or the last point
    after `steps` steps. `function` must be convex and bounded below."""
    point = np.array(start, dtype=np.float64)
    value, gradient, hessian = function(point)
    for _ in range(steps):
        damped = hessian + _DAMPING * (1 + np.trace(hessian) / len(point)) * np.eye(len(point))
        step = np.linalg.solve(damped, -gradient)
        gain = float(-gradient @ step)
        if gain <= tolerance * (1 + abs(value)):
            break
        length = 1.0
        while length > _MIN_STEP:
            found = function(point + length * step)
            if found[0] <= value - _SUFFICIENT_DECREASE * length * gain:
                break
            length /= 2
        else:
            break
        point = point + length * step
        value, gradient, hessian = found
    return point
