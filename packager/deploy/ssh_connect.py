"""Opening an SSH connection: configuration, host keys, authentication; every way it fails is one clear error."""

from __future__ import annotations

import contextlib
import getpass
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import paramiko
from paramiko.hostkeys import HostKeyEntry, InvalidHostKey

from packager.config.device import Device
from packager.config.load import devices_file, load_devices
from packager.config.schema import did_you_mean
from packager.errors import ConfigError, DeviceError, EdgepackError, Problem


@dataclass(frozen=True)
class Endpoint:
    """Where to connect and as whom, after ``~/.ssh/config``."""

    host: str
    port: int
    user: str
    keys: tuple[str, ...]
    proxy_command: str | None
    host_key_alias: str

    @property
    def text(self) -> str:
        """``user@host:port``."""
        return f"{self.user}@{self.host}:{self.port}"

    @property
    def known_hosts_name(self) -> str:
        """How known_hosts lists this host."""
        return self.host_key_alias if self.port == 22 else f"[{self.host_key_alias}]:{self.port}"


def endpoint(device: Device) -> Endpoint:
    """What the device's own entry says, else ``~/.ssh/config``, else SSH's defaults."""
    path = Path("~/.ssh/config").expanduser()
    found: dict[str, Any] = {}
    if path.is_file():
        try:
            found = dict(paramiko.SSHConfig.from_path(str(path)).lookup(device.host))
        except (OSError, paramiko.SSHException) as error:
            raise DeviceError(Problem("EP0702", f"cannot read the SSH configuration: {error}", str(path))) from None
    keys = (str(device.identity_file),) if device.identity_file else tuple(found.get("identityfile", ()))
    proxy = found.get("proxycommand")
    if proxy is None and found.get("proxyjump"):
        proxy = f"ssh -W [{found.get('hostname', device.host)}]:{found.get('port', 22)} {found['proxyjump']}"
    return Endpoint(
        host=found.get("hostname", device.host),
        port=device.port or int(found.get("port", 22)),
        user=device.user or found.get("user") or getpass.getuser(),
        keys=keys,
        proxy_command=None if proxy in (None, "none") else proxy,
        host_key_alias=found.get("hostkeyalias", found.get("hostname", device.host)),
    )


class _RefuseUnknown(paramiko.MissingHostKeyPolicy):
    """An unknown key ends the connection, with what the user would compare."""

    def __init__(self, where: str, known_hosts: Path) -> None:
        self.where = where
        self.known_hosts = known_hosts

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
        raise DeviceError(
            Problem(
                "EP0703",
                f"the host key of {hostname} is not known: {key.get_name()} {key.fingerprint}",
                f"{self.where}, {self.known_hosts}",
                "compare the fingerprint on the device, then add --accept-new-host-key",
            )
        )


class _AcceptNew(paramiko.MissingHostKeyPolicy):
    """A new key is added to known_hosts; a changed one never gets here."""

    def __init__(self, known_hosts: Path) -> None:
        self.known_hosts = known_hosts

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
        self.known_hosts.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self.known_hosts.open("a") as file:
            file.write(f"{hostname} {key.get_name()} {key.get_base64()}\n")


def _unresolved(device: Device, error: socket.gaierror, where: str) -> EdgepackError:
    """A bare word that is no host was most likely meant as a name of devices.yaml."""
    if any(sign in device.name for sign in ".@:"):
        hint = "check the spelling and that this machine is on the device's network; an address works without a name"
        return DeviceError(Problem("EP0701", f"the host name does not resolve: {error.strerror}", where, hint))
    known = load_devices()
    if device.name in known:
        hint = f"'{device.name}' in {devices_file()} has the host '{device.host}': check it, or write an address"
        return DeviceError(Problem("EP0701", f"the host name does not resolve: {error.strerror}", where, hint))
    near = did_you_mean(device.name, known)
    hint = near or f"write user@host[:port], or describe the device in {devices_file()}"
    what = f"'{device.name}' is neither a device of devices.yaml nor a host that this machine finds"
    return ConfigError(Problem("EP0311", what, hint=hint))


@contextlib.contextmanager
def connection_errors(where: str, device: Device | None = None) -> Iterator[None]:
    """Turn what goes wrong on the way into one DeviceError; ConfigError for a ``device`` that is no host's name."""
    try:
        yield
    except paramiko.BadHostKeyException as error:
        raise DeviceError(
            Problem(
                "EP0704",
                f"the host key of {error.hostname} has changed: {error.key.get_name()} {error.key.fingerprint}",
                where,
                "somebody may be in between; if the device was reinstalled, remove its old line with `ssh-keygen -R`",
            )
        ) from None
    except paramiko.AuthenticationException as error:
        hint = "check the user name; load the key into ssh-agent or name it as identity_file in devices.yaml"
        raise DeviceError(Problem("EP0711", f"login was refused: {error}", where, hint)) from None
    except socket.gaierror as error:
        if device is not None:
            raise _unresolved(device, error, where) from None
        raise DeviceError(Problem("EP0701", f"the host name does not resolve: {error.strerror}", where)) from None
    except TimeoutError:
        hint = "is it switched on and on this network? connect_timeout in devices.yaml sets how long to wait"
        raise DeviceError(Problem("EP0701", "the device does not answer", where, hint)) from None
    except paramiko.ssh_exception.NoValidConnectionsError as error:
        causes = "; ".join(sorted({_cause(cause) for cause in error.errors.values()}))
        hint = "is an SSH server running there, on this port?"
        raise DeviceError(Problem("EP0701", f"cannot connect: {causes}", where, hint)) from None
    except (paramiko.SSHException, EOFError, OSError) as error:
        raise DeviceError(Problem("EP0701", f"the SSH connection failed: {error}", where)) from None


def _cause(error: Exception) -> str:
    return os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)


def _load_host_keys(client: paramiko.SSHClient, file: Path) -> None:
    """DeviceError EP0702 with the line that cannot be read."""
    try:
        client.load_host_keys(str(file))
    except OSError as error:
        raise DeviceError(Problem("EP0702", f"cannot read the known hosts: {error.strerror}", str(file))) from None
    except _DAMAGED:
        numbers = (number for number, line in enumerate(file.read_bytes().splitlines(), 1) if _is_damaged(line))
        place = ":".join([str(file), *(str(number) for number in list(numbers)[:1])])
        hint = "correct the line or remove it"
        raise DeviceError(Problem("EP0702", "the known hosts have a line that is damaged", place, hint)) from None


_DAMAGED = (InvalidHostKey, paramiko.SSHException, ValueError, IndexError)


def _is_damaged(line: bytes) -> bool:
    try:
        text = line.decode().strip()
        if text and not text.startswith("#"):
            HostKeyEntry.from_line(text)
    except paramiko.SSHException:
        return False  # paramiko passes over what it does not understand but can decode
    except _DAMAGED:
        return True
    return False


def connect(device: Device, *, accept_new_host_key: bool = False) -> paramiko.SSHClient:
    """An authenticated client; DeviceError when that cannot be had."""
    place = endpoint(device)
    known_hosts = Path(device.known_hosts or "~/.ssh/known_hosts").expanduser()
    client = paramiko.SSHClient()
    if known_hosts.is_file():
        _load_host_keys(client, known_hosts)
    client.set_missing_host_key_policy(
        _AcceptNew(known_hosts) if accept_new_host_key else _RefuseUnknown(place.text, known_hosts)
    )
    keys = [str(Path(key).expanduser()) for key in place.keys]
    missing = [key for key in keys if device.identity_file and not Path(key).is_file()]
    if missing:
        raise DeviceError(Problem("EP0711", f"the key file {missing[0]} does not exist", place.text))
    with connection_errors(place.text, device):
        sock = paramiko.ProxyCommand(place.proxy_command) if place.proxy_command else None
        try:
            client.connect(
                place.host_key_alias if sock else place.host,
                place.port,
                place.user,
                key_filename=[key for key in keys if Path(key).is_file()],  # type: ignore[arg-type]  # documented: str or list
                look_for_keys=not device.identity_file,
                allow_agent="SSH_AUTH_SOCK" in os.environ and not device.identity_file,
                timeout=device.connect_timeout,
                banner_timeout=device.connect_timeout,
                auth_timeout=device.connect_timeout,
                sock=sock,
            )
        except BaseException:
            client.close()
            raise
    transport = client.get_transport()
    assert transport is not None
    transport.set_keepalive(15)
    return client
