"""WebAssembly programs in this process, by wasmtime: what the target's ``run: {emulator: wasmtime}`` means."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from packager.deploy.local import LocalWorkspace
from packager.deploy.transport import Completed
from packager.errors import DeviceError, Problem


@dataclass(frozen=True)
class WasmWorkspace(LocalWorkspace):
    """Programs see this directory as their current one and nothing else."""

    def run(self, argv: Sequence[str], *, timeout: float | None = None) -> Completed:
        """Run the module ``argv[0]`` with WASI; ``timeout`` seconds are watched by wasmtime's epochs."""
        import threading

        import wasmtime

        config = wasmtime.Config()
        config.epoch_interruption = True
        config.cache = True
        engine = wasmtime.Engine(config)
        store = wasmtime.Store(engine)
        store.set_epoch_deadline(1)
        wasi = wasmtime.WasiConfig()
        wasi.argv = list(argv)
        wasi.preopen_dir(str(self.root), ".")
        out, err = self.root / ".stdout", self.root / ".stderr"
        wasi.stdout_file, wasi.stderr_file = str(out), str(err)
        store.set_wasi(wasi)
        timer = threading.Timer(timeout or 1e6, engine.increment_epoch)
        timer.daemon = True
        timer.start()
        try:
            linker = wasmtime.Linker(engine)
            linker.define_wasi()
            instance = linker.instantiate(store, wasmtime.Module.from_file(engine, str(self.root / argv[0])))
            start = instance.exports(store)["_start"]
            assert isinstance(start, wasmtime.Func)
            code = 0
            try:
                start(store)
            except wasmtime.ExitTrap as ended:
                code = ended.code
        except (wasmtime.WasmtimeError, wasmtime.Trap) as error:
            if "interrupt" in str(error):
                raise DeviceError(Problem("EP0706", f"{argv[0]} did not end within {timeout} s", self.name)) from None
            return Completed(126, b"", str(error).splitlines()[0].encode())
        finally:
            timer.cancel()
            del store
        return Completed(code, out.read_bytes(), err.read_bytes())


@dataclass(frozen=True)
class WasmTransport:
    """wasmtime on this machine."""

    name: str = "wasmtime on this machine"
    emulated: bool = True

    @contextlib.contextmanager
    def workspace(self) -> Iterator[WasmWorkspace]:
        """A temporary directory, the only one programs see."""
        if importlib.util.find_spec("wasmtime") is None:
            hint = "pip install 'edgepack[wasm]'"
            raise DeviceError(Problem("EP0712", "wasmtime is not installed", "this machine", hint))
        root = Path(tempfile.mkdtemp(prefix="edgepack-"))
        try:
            yield WasmWorkspace(root, (), self.name)
        finally:
            shutil.rmtree(root, ignore_errors=True)

    @contextlib.contextmanager
    def exclusive(self, seconds: float) -> Iterator[None]:
        """No lock: times here are not a device's."""
        yield
