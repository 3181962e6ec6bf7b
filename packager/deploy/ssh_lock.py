"""The lock that keeps benchmarks on one device apart: a directory there, as mkdir is atomic everywhere."""

from __future__ import annotations

import contextlib
import getpass
import secrets
import shlex
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING

from packager.deploy.signals import uninterrupted
from packager.errors import DeviceError, Problem
from packager.progress import Progress

if TYPE_CHECKING:
    from packager.deploy.ssh import SshSession

MARGIN = 60.0
"""Seconds a lock outlives the time its owner asked for."""

_TAKEN = 75
"""Exit code of the script that takes the lock, when somebody else has it."""

_TAKE = """
umask 077
mkdir {lock} || {{ test -d {lock} && exit {taken}; exit 1; }}
echo {token} > {lock}/token && echo {owner} > {lock}/owner &&
echo $(( $(date +%s) + {seconds} )) > {lock}/expires && test -s {lock}/expires || {{ rm -rf {lock}; exit 1; }}
"""

_RELEASE = 'test "$(cat {lock}/token 2> /dev/null)" = {token} && rm -rf {lock}; true'

# a lock whose end cannot be read was left half made: it counts once its directory is too old for a slow owner
_BREAK = """
e=$(cat {lock}/expires 2> /dev/null)
case "$e" in
'' | *[!0-9]*) test -n "$(find {lock} -prune -mmin +1 2> /dev/null)" ;;
*) test "$(date +%s)" -gt "$e" ;;
esac || exit 1
cat {lock}/owner 2> /dev/null
rm -rf {lock}
"""

_WHOSE = 'cat {lock}/owner 2> /dev/null; echo "ends $(cat {lock}/expires 2> /dev/null)"; echo "now $(date +%s)"'


@contextlib.contextmanager
def locked(session: SshSession, workdir: str, seconds: float, progress: Progress) -> Iterator[None]:
    """Hold the lock in ``workdir``; it says whose it is and when it ends.  DeviceError EP0710 when it is taken."""
    lock, token = f"{workdir}/lock", secrets.token_hex(8)
    with session.leaving_nothing(_RELEASE.format(lock=shlex.quote(lock), token=token)):
        if not _take(session, lock, token, seconds):
            _break_expired(session, lock, progress)
            if not _take(session, lock, token, seconds):
                raise _busy(session, lock)
        yield


def _take(session: SshSession, lock: str, token: str, seconds: float) -> bool:
    owner = shlex.quote(f"{getpass.getuser()}@{socket.gethostname()}")
    lasting = int(seconds + MARGIN)
    script = _TAKE.format(lock=shlex.quote(lock), token=token, owner=owner, seconds=lasting, taken=_TAKEN)
    with uninterrupted():
        done = session.shell(script)
    if done.exit_code not in (0, _TAKEN):
        session.check_written(done, lock, len(token))
    return done.exit_code == 0


def _break_expired(session: SshSession, lock: str, progress: Progress) -> None:
    done = session.shell(_BREAK.format(lock=shlex.quote(lock)))
    if done.exit_code == 0:
        progress(f"removed an expired lock of {_readable(done.stdout)}")


def _busy(session: SshSession, lock: str) -> DeviceError:
    owner, _, times = session.shell(_WHOSE.format(lock=shlex.quote(lock))).stdout.rpartition(b"ends ")
    ends, _, now = times.decode("utf-8", "replace").partition("now ")
    hint = "wait until it has ended; a lock that was left half made goes away within three minutes"
    if ends.strip().isdecimal() and now.strip().isdecimal():
        left = max(int(ends) - int(now), 0)
        hint = f"wait until it has ended; the lock expires in {left} s at the latest"
    what = f"the device is busy: {_readable(owner)} is benchmarking there"
    return DeviceError(Problem("EP0710", what, session.where, hint))


def _readable(owner: bytes) -> str:
    """The owner as it was written, somebody when that cannot be read."""
    lines = owner.decode("utf-8", "replace").splitlines()
    return lines[0][:80] if lines and lines[0].strip() and lines[0].isprintable() else "somebody"
