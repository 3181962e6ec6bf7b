"""Sizes, instruction sets, the native target and devices."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from packager import resources
from packager.config import host
from packager.config.device import Device
from packager.config.isa import isa_table
from packager.config.load import available, load_device, load_devices, load_target
from packager.config.sizes import format_size, parse_size
from packager.config.target import Target
from packager.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "size"),
    [("512MiB", 512 << 20), ("1.5 KiB", 1536), ("64 kB", 64000), ("2GB", 2 * 10**9), ("7B", 7), ("0", 0), (4096, 4096)],
)
def test_sizes_are_read_as_bytes(text: object, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "MiB", "1 mib", "-1KiB", "1.5B", "1e3", "4 KiB x"])
def test_what_is_not_a_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a"):
        parse_size(text)


def test_sizes_are_printed_in_binary_units() -> None:
    assert [format_size(n) for n in (0, 1023, 1536, 5 << 20, 3 << 30)] == [
        "0 B",
        "1023 B",
        "1.5 KiB",
        "5.0 MiB",
        "3.00 GiB",
    ]


def compiler_lanes(target: Target, directory: Path) -> int:
    """EP_F32_LANES as the target's compiler sees ep_base.h."""
    probe = directory / "probe.c"
    probe.write_text('#include "ep/ep_base.h"\nlanes EP_F32_LANES\n')
    flags = [*target.cflags, f"-I{resources.directory('runtime_c') / 'include'}", "-E", str(probe)]
    if target.toolchain.name == "zig":
        compiler = [sys.executable, "-m", "ziglang", "cc", "-target", target.triple, f"-mcpu={target.cpu}"]
    else:
        compiler = [target.toolchain.name]
    printed = subprocess.run([*compiler, *flags], capture_output=True, text=True, check=True, timeout=120).stdout
    match = re.search(r"^lanes (\d+)", printed, re.MULTILINE)
    assert match is not None
    return int(match[1])


@pytest.mark.parametrize("name", [found.name for found in available("targets")])
def test_the_compiler_agrees_with_the_lanes_of_the_target(name: str, tmp_path: Path) -> None:
    target = load_target(name)
    assert compiler_lanes(target, tmp_path) == target.vector_isa().lanes


def test_features_of_a_target_are_added_to_those_of_its_instruction_set() -> None:
    assert load_target("rpi5").vector_isa().features == isa_table()["neon"].features | {"dotprod", "fp16"}


@pytest.mark.parametrize(
    ("machine", "flags", "expected"),
    [
        ("x86_64", "avx512f avx512vl avx512bw avx512dq avx512cd avx2 fma", "avx512"),
        ("x86_64", "avx512f avx2 fma", "avx2"),
        ("x86_64", "avx2", "sse2"),
        ("aarch64", "asimd", "neon"),
        ("armv7l", "neon vfpv4", "neon-armv7"),
        ("armv7l", "vfpv3", "scalar"),
        ("riscv64", "", "rvf"),
        ("s390x", "", "scalar"),
    ],
)
def test_the_instruction_set_of_a_machine_follows_from_its_flags(machine: str, flags: str, expected: str) -> None:
    assert host.isa_names(machine, frozenset(flags.split())) == (expected,)


def test_features_are_recognised_in_the_spelling_of_each_architecture() -> None:
    assert host.feature_names(frozenset({"avx512_vnni", "f16c", "sse"})) == ("f16c", "vnni")
    assert host.feature_names(frozenset({"asimddp", "asimdhp"})) == ("dotprod", "fp16")


def test_programs_for_this_architecture_need_no_emulator(monkeypatch: pytest.MonkeyPatch) -> None:
    emulators = {}
    for machine in ("x86_64", "aarch64", "armv7l"):
        monkeypatch.setattr("platform.machine", lambda machine=machine: machine)
        emulators[machine] = [load_target(name).emulator_here for name in ("rpi4", "rpi3-armv7")]
    assert emulators == {
        "x86_64": [("qemu-aarch64",), ("qemu-arm",)],
        "aarch64": [(), ("qemu-arm",)],
        "armv7l": [("qemu-aarch64",), ()],
    }


def test_the_host_target_is_this_machine() -> None:
    target = load_target("host")
    assert target.threads == host.cpu_count()
    assert target.isa != ("native",)
    assert target.cpu == "native"


@pytest.mark.parametrize(
    ("spec", "user", "address", "port"),
    [
        ("pi@raspberrypi.local", "pi", "raspberrypi.local", None),
        ("10.0.0.7:2222", None, "10.0.0.7", 2222),
        ("a.b@host:22", "a.b", "host", 22),
        ("root@[fe80::1%eth0]:2200", "root", "fe80::1%eth0", 2200),
        ("bench", None, "bench", None),
    ],
)
def test_a_device_may_be_written_as_an_ssh_address(spec: str, user: str | None, address: str, port: int | None) -> None:
    device = Device.parse(spec)
    assert (device.name, device.user, device.host, device.port) == (spec, user, address, port)


@pytest.mark.parametrize(
    "spec", ["", "a b", "@host", "host:", "host:0", "host:99999", "a@b@", "-oProxyCommand=x", "::1"]
)
def test_what_is_not_an_address_is_refused(spec: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Device.parse(spec)
    assert caught.value.problems[0].code == "EP0311"


@pytest.fixture
def devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    file = tmp_path / "edgepack" / "devices.yaml"
    file.parent.mkdir()
    return file


def test_without_a_devices_file_there_are_no_devices(devices: Path) -> None:
    assert load_devices() == {}


def test_a_device_takes_from_its_board_what_it_leaves_open(devices: Path) -> None:
    devices.write_text(
        "schema: 1\n"
        "devices:\n"
        "  desk: {host: 10.0.0.7, board: raspberry-pi-4b, identity_file: ~/.ssh/desk, command_timeout: 30}\n"
        "  rack: {host: rack-3, user: ci, board: raspberry-pi-5, launcher: taskset -c 3, workdir: /var/tmp/ep}\n"
    )
    desk, rack = load_device("desk"), load_device("rack")
    assert (desk.name, desk.user, desk.workdir) == ("desk", "pi", "~/.cache/edgepack")
    assert desk.identity_file == Path("~/.ssh/desk").expanduser()
    assert desk.command_timeout == 30
    assert (rack.user, rack.launcher, rack.workdir) == ("ci", ("taskset", "-c", "3"), "/var/tmp/ep")


def test_errors_in_the_devices_file_have_lines(devices: Path) -> None:
    devices.write_text("schema: 1\ndevices:\n  desk:\n    hots: x\n    port: 0\n")
    with pytest.raises(ConfigError) as caught:
        load_devices()
    assert [(p.code, p.where) for p in caught.value.problems] == [
        ("EP0305", f"{devices}:3"),
        ("EP0303", f"{devices}:4"),
        ("EP0304", f"{devices}:5"),
    ]
    assert caught.value.problems[1].hint == "did you mean 'host'?"


def test_the_package_finds_its_own_data() -> None:
    names: tuple[resources.ResourceName, ...] = ("targets", "boards", "runtime_c")
    assert all(resources.directory(name).is_dir() for name in names)
