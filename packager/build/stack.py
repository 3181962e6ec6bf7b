"""A bound on the stack of an inference: the deepest sum of frames along the call graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from packager.build.objects import ElfObject

HELPER_FRAME = 64
"""Bytes granted to a routine outside the objects (memcpy, integer division): these are leaf functions."""

_RETURN_ADDRESS = {"EM_X86_64": 8, "EM_386": 4}


def stack_max(objects: Iterable[ElfObject]) -> int | None:
    """The bound over all functions of ``objects``; None when the compiler wrote no frame sizes, or a cycle was found.

    A reference to a function counts as a call of it: kernels are passed to the thread pool that way.  A function that
    calls itself leaves no trace in an object; generated code and kernels have none.
    """
    frames: dict[str, int] = {}
    references: dict[str, set[str]] = {}
    for item in objects:
        call = _RETURN_ADDRESS.get(item.machine, 0)
        frames.update({name: size + call for name, size in item.frames.items()})
        references.update(item.references)
    if not frames:
        return None
    depths: dict[str, int] = {}
    try:
        return max(_depth(name, frames, references, depths, set()) for name in frames)
    except RecursionError:
        return None


def _depth(
    name: str, frames: Mapping[str, int], references: Mapping[str, set[str]], depths: dict[str, int], path: set[str]
) -> int:
    if name in path:
        raise RecursionError(name)
    if name not in depths:
        path.add(name)
        callees = [_depth(callee, frames, references, depths, path) for callee in references.get(name, ())]
        path.discard(name)
        own = frames.get(name, 0 if name in references else HELPER_FRAME)
        depths[name] = own + max(callees, default=0)
    return depths[name]
