"""Running a bundle's ``run`` program wherever it belongs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from packager.bundle.bundle import Bundle
from packager.deploy.transport import Transport, check_ok


@contextlib.contextmanager
def runner(bundle: Bundle, transport: Transport) -> Iterator[Callable[[bytes], bytes]]:
    """A function from raw inputs to raw outputs; the program is uploaded once and removed at the end."""
    with transport.workspace() as workspace:
        workspace.put("run", bundle.program("run"), executable=True)

        def call(data: bytes) -> bytes:
            workspace.put("inputs.bin", data)
            done = workspace.run(["run", "inputs.bin", "outputs.bin"])
            check_ok(done, "the inference", transport.name, workspace.launcher)
            return workspace.get("outputs.bin")

        yield call
