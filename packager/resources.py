"""Where the data files that ship with edgepack are: ``targets``, ``boards``, ``runtime_c``.

An installed wheel carries them under ``packager/data``; a checkout has them beside ``packager``.  No other module
may know that.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Literal

ResourceName = Literal["targets", "boards", "runtime_c"]


@functools.cache
def directory(name: ResourceName) -> Path:
    """The absolute path of a shipped data directory; FileNotFoundError names both places when it is in neither."""
    package = Path(__file__).resolve().parent
    installed = package / "data" / name
    checkout = package.parent / name
    for candidate in (installed, checkout):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"{name}: neither {installed} nor {checkout} exists; the installation is incomplete")
