"""Search for an order of the calls that needs less memory at its peak.

Two candidates compete with the given order.  On demand: every call as late as its first reader allows, long chains
first.  And a beam search over partial schedules: the states of one length are the sets of calls already run, kept
apart by what they leave to do; the best few by (peak so far, bytes live now) survive.  Nets are mostly chains, so the
beam usually holds every schedule there is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from packager.memory.inplace import may_share
from packager.memory.lifetimes import Storage, dependencies

_EXPANSIONS = 40_000
_WIDEST = 64


@dataclass(frozen=True)
class _State:
    """A set of calls that have run (``done``), what may run next, and the last step on the way here."""

    done: int
    ready: tuple[int, ...]
    live: int
    peak: int
    last: int
    before: _State | None


class _Costs:
    """Bytes that come and go with each call, in terms of masks over call numbers."""

    def __init__(self, storage: Storage, align: int) -> None:
        self._touched: defaultdict[str, int] = defaultdict(int)
        self._roots: list[tuple[str, ...]] = []
        for number, access in enumerate(storage.access):
            roots = tuple(dict.fromkeys(span.root for span in access.spans))
            self._roots.append(roots)
            for root in roots:
                self._touched[root] |= 1 << number
        self._bytes = {root: -(-storage.size(root) // align) * align for root in storage.roots()}
        self._given = {span.root for span in storage.inputs}
        self._kept = {span.root for span in storage.outputs}
        self._shared = [tuple(may_share(storage, call)) for call in storage.program.body]
        self.at_start = sum(self._bytes[root] for root in self._given)

    def step(self, number: int, done: int) -> tuple[int, int]:
        """Bytes added while call ``number`` runs after ``done``, and the change of live bytes once it has."""
        after = done | 1 << number
        added = freed = 0
        for root in self._roots[number]:
            touched = self._touched[root]
            if not touched & done and root not in self._given:
                added += self._bytes[root]
            if root not in self._kept and not touched & ~after:
                freed += self._bytes[root]
        credit = 0
        for made, given in self._shared[number]:
            if not self._touched[made] & done and given not in self._kept and not self._touched[given] & ~after:
                credit = max(credit, self._bytes[made])
        return added - credit, added - freed


def search_order(storage: Storage, align: int) -> tuple[int, ...]:
    """The calls' numbers in the best order found; the given order when no other needs less."""
    given = tuple(range(len(storage.access)))
    needs = dependencies(storage)
    costs = _Costs(storage, align)
    candidates = (given, _on_demand(needs), _beam(needs, costs))
    return min(candidates, key=lambda order: _peak(order, costs))


def _peak(order: Sequence[int], costs: _Costs) -> int:
    live = peak = costs.at_start
    done = 0
    for number in order:
        during, change = costs.step(number, done)
        peak = max(peak, live + during)
        live += change
        done |= 1 << number
    return peak


def _on_demand(needs: Sequence[int]) -> tuple[int, ...]:
    """Depth first from the calls nothing depends on; of what a call needs the end of the longest chain comes first."""
    depth: list[int] = []
    before: list[list[int]] = []
    for mask in needs:
        direct = list(_members(mask))
        depth.append(1 + max((depth[earlier] for earlier in direct), default=0))
        before.append(sorted(direct, key=lambda earlier: (depth[earlier], earlier)))
    wanted = {earlier for direct in before for earlier in direct}
    order: dict[int, None] = {}
    stack = [number for number in reversed(range(len(needs))) if number not in wanted]
    while stack:
        waiting = [earlier for earlier in before[stack[-1]] if earlier not in order]
        if waiting:
            stack.extend(waiting)
        else:
            order.setdefault(stack.pop())
    return tuple(order)


def _members(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def _beam(needs: Sequence[int], costs: _Costs) -> tuple[int, ...]:
    users: list[list[int]] = [[] for _ in needs]
    for number, mask in enumerate(needs):
        for earlier in _members(mask):
            users[earlier].append(number)
    ready = tuple(number for number, mask in enumerate(needs) if not mask)
    beam = [_State(0, ready, costs.at_start, costs.at_start, -1, None)]
    allowance = max(_WIDEST, _EXPANSIONS // max(1, len(needs)))
    for _ in needs:
        best: dict[int, _State] = {}
        for state in beam:
            for following in _expand(state, needs, users, costs):
                known = best.get(following.done)
                if known is None or following.peak < known.peak:
                    best[following.done] = following
        # the call number breaks ties, so that equal schedules stay near the given order
        beam = _narrow(sorted(best.values(), key=lambda state: (state.peak, state.live, state.last)), allowance)
    return _path(beam[0])


def _narrow(states: Sequence[_State], allowance: int) -> list[_State]:
    """The best states, at most as many as have ``allowance`` successors together (and always one)."""
    kept = list(states[:1])
    allowance -= len(states[0].ready)
    for state in states[1:_WIDEST]:
        allowance -= len(state.ready)
        if allowance < 0:
            break
        kept.append(state)
    return kept


def _expand(state: _State, needs: Sequence[int], users: Sequence[Sequence[int]], costs: _Costs) -> Iterator[_State]:
    for number in state.ready:
        during, change = costs.step(number, state.done)
        done = state.done | 1 << number
        opened = (user for user in users[number] if not needs[user] & ~done)
        ready = (*(other for other in state.ready if other != number), *opened)
        yield _State(done, ready, state.live + change, max(state.peak, state.live + during), number, state)


def _path(state: _State) -> tuple[int, ...]:
    order = []
    at: _State | None = state
    while at is not None and at.before is not None:
        order.append(at.last)
        at = at.before
    return tuple(reversed(order))
