"""Commands with --device, against a real sshd whose programs run through qemu-aarch64."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Edgepack
from tests.deploy.conftest import Server

pytestmark = [pytest.mark.sshd, pytest.mark.qemu]

MODEL = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"


def test_bench_builds_for_the_devices_board_measures_there_and_cleans_up(
    edgepack: Edgepack, pi: str, sshd: Server
) -> None:
    ran = edgepack("bench", MODEL, "--device", pi, "--runs", 3, "--warmup", 1, "--per-layer", "--json")
    assert ran.code == 0, ran.err
    assert (ran.json["target"], ran.json["machine"], ran.json["runs"]) == ("rpi4", "aarch64", 3)
    assert ran.json["outputs_match"] is True
    assert ran.json["layers"]
    assert sshd.left_behind() == []


def test_verify_and_run_work_there_too(edgepack: Edgepack, device_bundle: Path, pi: str, sshd: Server) -> None:
    verified = edgepack("verify", device_bundle, "--device", pi, "--json")
    assert verified.json["passed"], verified.err
    image = MODEL.parent / "images" / "7.npy"
    (row,) = edgepack("run", device_bundle, "-i", image, "--device", pi, "--json").json["outputs"]
    assert max(range(10), key=row["values"][0].__getitem__) == 7
    assert sshd.left_behind() == []


def test_a_bundle_is_deployed_listed_and_removed(edgepack: Edgepack, device_bundle: Path, pi: str) -> None:
    placed = edgepack("deploy", device_bundle, "--device", pi, "--json").json["placed"]
    assert (Path(placed) / "manifest.json").is_file()
    refused = edgepack("deploy", device_bundle, "--device", pi, "--keep", "--json")
    assert [problem["code"] for problem in refused.json["problems"]] == ["EP0719"]
    assert "digits-rpi4" in edgepack("deploy", "--device", pi, "--list").out
    assert edgepack("deploy", "--device", pi, "--remove", "digits-rpi4", "--json").json["installed"] == []
    assert not Path(placed).exists()
    assert "nothing is deployed" in edgepack("deploy", "--device", pi, "--list").out


def test_a_deployment_with_a_damaged_manifest_is_shown_and_removed(edgepack: Edgepack, pi: str, sshd: Server) -> None:
    damaged = sshd.workdir / "models" / "old-rpi4"
    damaged.mkdir(parents=True)
    (damaged / "manifest.json").write_text("{}")
    listed = edgepack("deploy", "--device", pi, "--list").out
    assert "old-rpi4" in listed
    assert "damaged" in listed
    assert edgepack("deploy", "--device", pi, "--remove", "old-rpi4", "--json").json["installed"] == []
    assert not damaged.exists()


def test_a_wrong_list_of_processors_is_wrong_usage_before_anything_is_sent(
    edgepack: Edgepack, device_bundle: Path, pi: str, sshd: Server
) -> None:
    ran = edgepack("bench", device_bundle, "--device", pi, "--cpu", "x")
    assert ran.code == 2
    assert "no list of processors" in ran.err
    assert not sshd.workdir.exists()


def test_a_bundle_of_another_architecture_is_refused(edgepack: Edgepack, pi: str, sshd: Server) -> None:
    ran = edgepack("bench", MODEL, "--target", "x86_64-linux", "--device", pi, "--json")
    assert ran.code == 1
    [problem] = ran.json["problems"]
    assert problem["code"] == "EP0705"
    assert f"cannot run on {pi} (" in problem["what"]
    assert "through qemu-aarch64: " in problem["what"]
    assert "correct the launcher" in problem["hint"]
    inference = edgepack("verify", MODEL, "--target", "x86_64-linux", "--device", pi, "--json")
    assert [problem["code"] for problem in inference.json["problems"]] == ["EP0705"]
    assert sshd.left_behind() == []


def test_an_unreachable_device_is_one_clear_error(edgepack: Edgepack) -> None:
    ran = edgepack("deploy", "--device", "nobody@127.0.0.1:1", "--list")
    assert ran.code == 1
    assert ran.err.startswith("error[EP07")
    assert ran.err.count("error[") == 1


def test_doctor_tells_devices_that_work_from_those_that_do_not(edgepack: Edgepack, pi: str, tmp_path: Path) -> None:
    file = tmp_path / "config" / "edgepack" / "devices.yaml"
    file.write_text(file.read_text() + "  gone: {host: 127.0.0.1, port: 1, connect_timeout: 2}\n")
    checks = {
        check["name"]: check for check in edgepack("doctor", "--json").json["checks"] if check["group"] == "device"
    }
    assert {name: check["status"] for name, check in checks.items()} == {"gone": "broken", pi: "ok"}
    assert "raspberry-pi-4b" in checks[pi]["detail"]
    assert not [
        check for check in edgepack("doctor", "--no-devices", "--json").json["checks"] if check["group"] == "device"
    ]
