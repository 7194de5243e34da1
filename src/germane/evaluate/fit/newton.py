"""Newton: the minimum of a smooth convex function of a few dozen variables, to machine precision in about ten steps.

Each step solves H d = −g and is halved until the value falls (Armijo's rule; Nocedal and Wright 2006, algorithm 3.2). With so
few variables that is quicker and surer than any method that has to guess the curvature.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Function", "minimise"]

Floats = NDArray[np.float64]
Function = Callable[[Floats], tuple[float, Floats, Floats]]
"""Value, gradient and Hessian at a point."""

_DAMPING = 1e-9
_LITTLE = 1e-4
_SMALLEST = 1e-10


def minimise(function: Function, start: Floats, *, steps: int = 100, tolerance: float = 1e-9) -> Floats:
    """The point at which a step would gain less than `tolerance` of the value. `function` must be convex and bounded below;
    of many such points the one that Newton's steps reach from `start`."""
    point = np.array(start, dtype=np.float64)
    value, gradient, hessian = function(point)
    for _ in range(steps):
        damped = hessian + _DAMPING * (1 + np.trace(hessian) / len(point)) * np.eye(len(point))
        step = np.linalg.solve(damped, -gradient)
        gain = float(-gradient @ step)
        if gain <= tolerance * (1 + abs(value)):
            break
        length = 1.0
        while length > _SMALLEST:
            found = function(point + length * step)
            if found[0] <= value - _LITTLE * length * gain:
                break
            length /= 2
        else:
            break
        point = point + length * step
        value, gradient, hessian = found
    return point
