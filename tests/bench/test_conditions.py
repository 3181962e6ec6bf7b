"""What is read around a measurement, by the real script on made-up files of the kernel."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from packager.bench.conditions import Conditions, governor, read_conditions, warnings_of
from packager.deploy.local import LocalTransport, LocalWorkspace


@pytest.fixture
def workspace() -> Iterator[LocalWorkspace]:
    with LocalTransport().workspace() as made:
        yield made


@pytest.fixture
def cpus(tmp_path: Path) -> Path:
    """The files of two processors with different clocks and governors."""
    for number, (current, most, name) in enumerate(
        [(600_000, 1_500_000, "ondemand"), (1_200_000, 1_800_000, "schedutil")]
    ):
        folder = tmp_path / f"cpu{number}" / "cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_cur_freq").write_text(f"{current}\n")
        (folder / "cpuinfo_max_freq").write_text(f"{most}\n")
        (folder / "scaling_governor").write_text(f"{name}\n")
    return tmp_path


def governors(cpus: Path) -> list[str]:
    return [(cpus / f"cpu{number}/cpufreq/scaling_governor").read_text().strip() for number in (0, 1)]


def test_the_fastest_clock_every_governor_and_the_given_sensor_are_read(workspace: LocalWorkspace, cpus: Path) -> None:
    (cpus / "temp").write_text("48250\n")
    read = read_conditions(workspace, str(cpus / "temp"), cpus=str(cpus))
    assert (read.frequency_mhz, read.maximum_mhz) == (1200.0, 1800.0)
    assert read.governors == ("ondemand", "schedutil")
    assert read.temperature_c == 48.25


def test_this_machine_says_its_kernel_load_and_number_of_processors(workspace: LocalWorkspace) -> None:
    read = read_conditions(workspace)
    assert read.kernel == f"{os.uname().sysname} {os.uname().release}"
    assert read.load is not None
    assert read.processors == Path("/proc/cpuinfo").read_text().count("processor\t")


def test_what_is_not_there_or_no_number_stays_unknown(workspace: LocalWorkspace, tmp_path: Path) -> None:
    (tmp_path / "temp").write_text("hot\n")
    read = read_conditions(workspace, str(tmp_path / "temp"), cpus=str(tmp_path / "nothing"))
    assert (read.frequency_mhz, read.maximum_mhz, read.governors, read.temperature_c) == (None, None, (), None)


def test_a_governor_is_set_during_the_run_and_each_is_restored(workspace: LocalWorkspace, cpus: Path) -> None:
    with governor(workspace, "performance", cpus=str(cpus)) as done:
        assert done
        assert governors(cpus) == ["performance", "performance"]
    assert governors(cpus) == ["ondemand", "schedutil"]


def test_an_interrupt_restores_the_governors(workspace: LocalWorkspace, cpus: Path) -> None:
    with pytest.raises(KeyboardInterrupt), governor(workspace, "performance", cpus=str(cpus)):
        raise KeyboardInterrupt
    assert governors(cpus) == ["ondemand", "schedutil"]


def test_without_a_wish_or_without_files_no_governor_is_set(workspace: LocalWorkspace, cpus: Path) -> None:
    with governor(workspace, None, cpus=str(cpus)) as done:
        assert not done
        assert governors(cpus) == ["ondemand", "schedutil"]
    with governor(workspace, "performance", cpus=str(cpus / "nothing")) as done:
        assert not done


CALM = Conditions(frequency_mhz=1500.0, governors=("performance",), load=0.1, processors=4, throttled=0)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (CALM, CALM, None),
        (Conditions(), Conditions(), None),
        (Conditions(load=3.0, processors=4), Conditions(), "busy: load 3 on 4 processors"),
        (CALM, Conditions(throttled=0x50005), "is throttled now (firmware flags 0x50005)"),
        (CALM, Conditions(throttled=0x50000), "has been throttled since it started"),
        (CALM, Conditions(frequency_mhz=900.0), "the clock fell from 1500 to 900 MHz"),
        (Conditions(governors=("ondemand", "schedutil")), CALM, "governor ondemand, schedutil"),
    ],
)
def test_what_may_have_slowed_the_run_is_said(before: Conditions, after: Conditions, said: str | None) -> None:
    warnings = warnings_of(before, after)
    assert len(warnings) == (said is not None)
    assert said is None or said in warnings[0]
