"""Bundles that stay on a device: put there atomically, listed, removed."""

from __future__ import annotations

import hashlib
import json
import secrets
import shlex
from dataclasses import dataclass
from pathlib import Path

from packager.deploy.signals import uninterrupted
from packager.deploy.ssh import SshTransport, SshWorkspace, removal
from packager.deploy.transport import check_ok, wrong_architecture
from packager.errors import DeviceError, Problem
from packager.progress import Progress, silent

MANIFEST = "manifest.json"
_PARTIAL = ".partial"


@dataclass(frozen=True)
class Installed:
    """A bundle on a device: its directory's name, the model's sha256, bytes on disk.

    ``damaged`` means that its manifest is gone or no longer says what model it is; ``model_sha256`` is empty then.
    """

    name: str
    model_sha256: str
    bytes: int
    damaged: bool = False


def install(bundle: Path, transport: SshTransport, *, progress: Progress = silent) -> str:
    """Put the programs and the manifest of ``bundle`` on the device and return the directory they are in there.

    Files go to a temporary directory first; the device's own copy of the bench program hashes what arrived; one rename
    makes it visible, replacing an older deployment of the same name.  DeviceError leaves the device as it was.
    """
    manifest = json.loads((bundle / MANIFEST).read_text("utf-8"))
    programs = {Path(path).name: bundle / path for path in manifest["programs"].values()}
    bench = Path(manifest["programs"]["bench"]).name
    final = f"{_models(transport)}/{manifest['name']}-{manifest['target']}"
    partial = f"{final}.{secrets.token_hex(4)}{_PARTIAL}"
    session = transport.session
    workspace = SshWorkspace(session, partial)
    with session.leaving_nothing(removal(partial)):
        with uninterrupted():
            session.check_written(session.shell(f"umask 077; mkdir {shlex.quote(partial)}"), partial, 1)
        files = {**programs, MANIFEST: bundle / MANIFEST}
        for index, (name, file) in enumerate(files.items()):
            progress(f"uploading {name}", index / len(files))
            workspace.put(name, file, executable=name in programs)
        _check_hashes(workspace, transport.name, bench, files)
        q_final, q_partial = shlex.quote(final), shlex.quote(partial)
        swap = f"rm -rf {q_final} && mv {q_partial} {q_final} && rm -f {q_final}/.pid"
        with uninterrupted():
            check_ok(session.shell(swap), "placing the bundle", session.where)
    return final


def installed(transport: SshTransport) -> list[Installed]:
    """What was put on the device, sorted by name."""
    mark = f"\n{secrets.token_hex(8)} ".encode()
    each = f'printf \'\\n{mark.decode().strip()} \' && du -sk "$d" && cat "$d/{MANIFEST}" 2> /dev/null'
    script = f'cd {shlex.quote(_models(transport))} && for d in */; do test -d "$d" && {each}; done; true'
    found: list[Installed] = []
    for entry in transport.session.shell(script).stdout.split(mark)[1:]:
        line, _, manifest = entry.partition(b"\n")
        size, name = line.decode("utf-8", "replace").split(None, 1)
        digest = _model_of(manifest)
        found.append(Installed(name.rstrip("/"), digest or "", int(size) * 1024, damaged=digest is None))
    return sorted((entry for entry in found if not entry.name.endswith(_PARTIAL)), key=lambda entry: entry.name)


def _model_of(manifest: bytes) -> str | None:
    """The sha256 of the model in a manifest, None when it does not say that."""
    try:
        document = json.loads(manifest)
    except ValueError:
        return None
    digest = document.get("model_sha256") if isinstance(document, dict) else None
    return digest if isinstance(digest, str) and digest else None


def remove(name: str, transport: SshTransport) -> None:
    """Take a bundle off the device; DeviceError EP0716 when it is not there."""
    names = [entry.name for entry in installed(transport)]
    if name not in names:
        hint = f"there are: {', '.join(names)}" if names else "nothing is deployed there"
        raise DeviceError(Problem("EP0716", f"'{name}' is not on the device", transport.session.where, hint))
    path = shlex.quote(f"{_models(transport)}/{name}")
    check_ok(transport.session.shell(f"rm -rf {path}"), f"removing {name}", transport.session.where)


def _models(transport: SshTransport) -> str:
    folder = f"{transport.workdir()}/models"
    made = transport.session.shell(f"umask 077; mkdir -p {shlex.quote(folder)}")
    check_ok(made, "making a directory", transport.session.where)
    return folder


def _check_hashes(workspace: SshWorkspace, where: str, bench: str, files: dict[str, Path]) -> None:
    """The device's own arithmetic on what arrived; a program that does not run there was built for another machine."""
    done = workspace.run([bench, "--sha256", *files])
    if done.exit_code != 0:
        raise wrong_architecture("the bundle", where, done, workspace.launcher)
    rows = [line.split(None, 1) for line in done.stdout.decode("utf-8", "replace").splitlines()]
    lines = {row[1]: row[0] for row in rows if len(row) == 2}
    damaged = [name for name, file in files.items() if lines.get(name) != hashlib.sha256(file.read_bytes()).hexdigest()]
    if damaged:
        raise DeviceError(Problem("EP0714", f"{', '.join(damaged)} arrived damaged", where, "try again"))
