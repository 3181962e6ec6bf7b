"""What the machine was like around a measurement: frequency, governor, temperature, load, throttling."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from packager.deploy.signals import uninterrupted
from packager.deploy.transport import Workspace

_READ = r"""
for f in {cpus}/cpu[0-9]*/cpufreq; do
  test -r "$f/scaling_cur_freq" && echo "frequency $(cat "$f/scaling_cur_freq")"
  test -r "$f/cpuinfo_max_freq" && echo "maximum $(cat "$f/cpuinfo_max_freq")"
  test -r "$f/scaling_governor" && echo "governor $(cat "$f/scaling_governor")"
done
for f in {thermal}; do test -r "$f" && echo "temperature $(cat "$f")"; done
test -r /proc/loadavg && echo "load $(cut -d ' ' -f 1 /proc/loadavg)"
test -r /proc/cpuinfo && echo "processors $(grep -c ^processor /proc/cpuinfo)"
test -r /proc/device-tree/model && echo "machine $(tr -d '\000' < /proc/device-tree/model)"
command -v vcgencmd > /dev/null && echo "throttled $(vcgencmd get_throttled | cut -d = -f 2)"
echo "kernel $(uname -sr)"
true
"""

CPUS = "/sys/devices/system/cpu"
_THERMAL = "/sys/class/thermal/thermal_zone*/temp"


@dataclass(frozen=True)
class Conditions:
    """One reading; None where the machine does not say.

    Frequencies in MHz (the fastest processor's), temperature in degrees Celsius (the hottest sensor's), ``load`` the
    one-minute average, ``throttled`` the flags of the Raspberry Pi firmware.
    """

    frequency_mhz: float | None = None
    maximum_mhz: float | None = None
    governors: tuple[str, ...] = ()
    temperature_c: float | None = None
    load: float | None = None
    processors: int | None = None
    machine: str | None = None
    kernel: str | None = None
    throttled: int | None = None


def read_conditions(workspace: Workspace, thermal: str | None = None, *, cpus: str = CPUS) -> Conditions:
    """Ask the machine; what it does not have stays None.

    ``thermal`` is the sensor's file, all sensors without it; ``cpus`` is where the processors' own files are.
    """
    script = _READ.replace("{thermal}", thermal or _THERMAL).replace("{cpus}", cpus)
    rows = [line.partition(" ") for line in workspace.shell(script).stdout.decode("utf-8", "replace").splitlines()]
    values: dict[str, list[str]] = {}
    for key, _, value in rows:
        values.setdefault(key, []).append(value.strip())
    frequency, maximum = _largest(values, "frequency", 1e-3), _largest(values, "maximum", 1e-3)
    throttled = values.get("throttled", [""])[0]
    processors = _largest(values, "processors", 1.0)
    return Conditions(
        frequency_mhz=frequency,
        maximum_mhz=maximum,
        governors=tuple(sorted(set(values.get("governor", [])))),
        temperature_c=_largest(values, "temperature", 1e-3),
        load=_largest(values, "load", 1.0),
        processors=None if processors is None else int(processors),
        machine=values.get("machine", [None])[0],
        kernel=values.get("kernel", [None])[0],
        throttled=int(throttled, 16) if throttled.startswith("0x") else None,
    )


def _largest(values: dict[str, list[str]], key: str, scale: float) -> float | None:
    numbers: list[float] = []
    for text in values.get(key, []):
        with contextlib.suppress(ValueError):
            numbers.append(float(text) * scale)
    return round(max(numbers), 3) if numbers else None


def warnings_of(before: Conditions, after: Conditions) -> list[str]:
    """Why the figures may not be this machine's best, in words."""
    found: list[str] = []
    if before.load is not None and before.processors and before.load > 0.5 * before.processors:
        found.append(f"the machine was busy: load {before.load:g} on {before.processors} processors before the run")
    if after.throttled:
        active = after.throttled & 0xF
        when = "is throttled now" if active else "has been throttled since it started"
        found.append(f"the machine {when} (firmware flags {after.throttled:#x}): check cooling and power supply")
    if before.frequency_mhz and after.frequency_mhz and after.frequency_mhz < 0.9 * before.frequency_mhz:
        found.append(f"the clock fell from {before.frequency_mhz:g} to {after.frequency_mhz:g} MHz during the run")
    if before.governors and before.governors != ("performance",):
        found.append(f"frequency scaling was on (governor {', '.join(before.governors)})")
    return found


@contextlib.contextmanager
def governor(workspace: Workspace, wanted: str | None, *, cpus: str = CPUS) -> Iterator[bool]:
    """Set the frequency governor where that is permitted, restore each at the end; yields whether it is set."""
    files = f"{cpus}/cpu[0-9]*/cpufreq/scaling_governor"
    before = workspace.shell(f'for f in {files}; do test -w "$f" && echo "$f $(cat "$f")"; done; true').stdout
    rows = [line.rsplit(None, 1) for line in before.decode("utf-8", "replace").splitlines()]
    if wanted is None or not rows:
        yield False
        return
    restore = "; ".join(f"echo {shlex.quote(old)} > {shlex.quote(file)}" for file, old in rows)
    with workspace.at_end(restore):
        with uninterrupted():
            set_all = " && ".join(f"echo {shlex.quote(wanted)} > {shlex.quote(file)}" for file, _ in rows)
            done = workspace.shell(set_all)
        yield done.exit_code == 0
