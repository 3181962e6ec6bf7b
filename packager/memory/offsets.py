"""Place rectangles (steps x bytes) in as few bytes as possible.

First fit in several orders known to work well, then a local search that moves the rectangles that set the height
towards the front.  Iterations are bounded and the random numbers seeded: equal inputs give equal plans.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_MOVES = 400
_WORK = 400_000


@dataclass(frozen=True)
class Rectangle:
    """``size`` bytes (a multiple of the alignment) needed from step ``first`` to step ``last``."""

    name: str
    size: int
    first: int
    last: int

    def meets(self, other: Rectangle) -> bool:
        """Whether both are needed in some step."""
        return self.first <= other.last and other.first <= self.last


def tallest_column(rectangles: Sequence[Rectangle]) -> int:
    """The most bytes needed in one step: no placement takes less."""
    changes = sorted(
        [(rectangle.first, rectangle.size) for rectangle in rectangles]
        + [(rectangle.last + 1, -rectangle.size) for rectangle in rectangles]
    )
    height = tallest = 0
    for _, change in changes:  # ties: what goes comes before what is new, both are the same step's edge
        height += change
        tallest = max(tallest, height)
    return tallest


def place(rectangles: Sequence[Rectangle]) -> tuple[int, ...]:
    """An offset for every rectangle."""
    if not rectangles:
        return ()
    bound = tallest_column(rectangles)
    neighbours = [
        [k for k, other in enumerate(rectangles) if k != i and one.meets(other)] for i, one in enumerate(rectangles)
    ]
    best: tuple[int, ...] = ()
    best_order: list[int] = []
    for key in _heuristics(rectangles):
        order = sorted(range(len(rectangles)), key=key)
        offsets = _first_fit(order, rectangles, neighbours)
        if not best or _height(offsets, rectangles) < _height(best, rectangles):
            best, best_order = offsets, order
    return _improve(best, best_order, rectangles, neighbours, bound)


def _heuristics(rectangles: Sequence[Rectangle]) -> list[Callable[[int], tuple[int, ...]]]:
    def span(i: int) -> int:
        return rectangles[i].last - rectangles[i].first + 1

    return [
        lambda i: (-rectangles[i].size, -span(i), i),
        lambda i: (-rectangles[i].size * span(i), i),
        lambda i: (-span(i), -rectangles[i].size, i),
        lambda i: (rectangles[i].first, -rectangles[i].size, i),
        lambda i: (-rectangles[i].last, -rectangles[i].size, i),
    ]


def _height(offsets: Sequence[int], rectangles: Sequence[Rectangle]) -> int:
    return max(offset + rectangle.size for offset, rectangle in zip(offsets, rectangles, strict=True))


def _first_fit(
    order: Sequence[int], rectangles: Sequence[Rectangle], neighbours: Sequence[Sequence[int]]
) -> tuple[int, ...]:
    """Each in its turn goes to the lowest gap that holds it."""
    offsets = [-1] * len(rectangles)
    for i in order:
        taken = sorted((offsets[k], offsets[k] + rectangles[k].size) for k in neighbours[i] if offsets[k] >= 0)
        at = 0
        for begin, end in taken:
            if begin - at >= rectangles[i].size:
                break
            at = max(at, end)
        offsets[i] = at
    return tuple(offsets)


def _improve(
    best: tuple[int, ...],
    order: list[int],
    rectangles: Sequence[Rectangle],
    neighbours: Sequence[Sequence[int]],
    bound: int,
) -> tuple[int, ...]:
    height = _height(best, rectangles)
    dice = random.Random(0)  # noqa: S311  # a search, not a secret
    work = len(rectangles) + sum(len(near) for near in neighbours)
    for _ in range(min(_MOVES, _WORK // work)):
        if height == bound:
            break
        top = [i for i, rectangle in enumerate(rectangles) if best[i] + rectangle.size == height]
        moved = dice.choice(top)
        if dice.random() < 0.5:  # sometimes what lies below it is to blame
            moved = dice.choice(neighbours[moved] or [moved])
        trial = [i for i in order if i != moved]
        trial.insert(dice.randrange(order.index(moved) + 1), moved)
        offsets = _first_fit(trial, rectangles, neighbours)
        if _height(offsets, rectangles) <= height:
            best, order, height = offsets, trial, _height(offsets, rectangles)
    return best
