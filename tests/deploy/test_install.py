"""Deployments whose manifest is damaged, on a real sshd."""

from __future__ import annotations

import json

import pytest

from packager.deploy.install import Installed, installed, remove
from packager.deploy.ssh import open_ssh
from packager.errors import DeviceError
from tests.deploy.conftest import Server

pytestmark = pytest.mark.sshd


def deployed(server: Server, name: str, manifest: str | None) -> None:
    """A directory as a deployment leaves it."""
    directory = server.workdir / "models" / name
    directory.mkdir(parents=True)
    if manifest is not None:
        (directory / "manifest.json").write_text(manifest)


def test_damaged_deployments_are_listed_as_such_and_can_be_removed(sshd: Server) -> None:
    manifests = [None, "", "{}", "[1]", '{"model_sha256": 5}', "no json", "\x00\x01"]
    for number, manifest in enumerate(manifests):
        deployed(sshd, f"bad-{number}", manifest)
    deployed(sshd, "good", json.dumps({"model_sha256": "ab" * 32}))
    with open_ssh(sshd.device) as transport:
        *bad, good = installed(transport)
        assert [entry.name for entry in bad] == [f"bad-{number}" for number in range(len(manifests))]
        assert all(entry.damaged and not entry.model_sha256 for entry in bad)
        assert good == Installed("good", "ab" * 32, good.bytes)
        remove("bad-2", transport)
    assert not (sshd.workdir / "models" / "bad-2").exists()


def test_what_is_not_there_cannot_be_removed_and_unfinished_uploads_are_not_listed(sshd: Server) -> None:
    deployed(sshd, "digits-rpi4.0123abcd.partial", json.dumps({"model_sha256": "ab" * 32}))
    with open_ssh(sshd.device) as transport:
        assert installed(transport) == []
        with pytest.raises(DeviceError, match="is not on the device") as error:
            remove("../../work", transport)
    assert error.value.problems[0].code == "EP0716"
