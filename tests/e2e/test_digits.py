"""The example: what is committed is what it says, and the demo runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import edgepack

ROOT = Path(__file__).parents[2]
DIGITS = ROOT / "examples" / "digits"


@pytest.mark.qemu
def test_the_demo_recognises_every_digit_on_both_targets() -> None:
    done = subprocess.run(
        [sys.executable, DIGITS / "demo.py"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "WRONG" not in done.stdout
    assert done.stdout.count("checked") == 2
    for digit in range(10):
        assert sum(f" {digit}  " in line and line.count("%") >= 2 for line in done.stdout.splitlines()) == 1


def test_the_committed_network_is_as_accurate_as_the_trainer_says(tmp_path: Path) -> None:
    """98.67 % on the images it has not seen; a few of them here, through the compiled program."""
    sys.path.insert(0, str(DIGITS))
    try:
        from train import data  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(DIGITS))
    _, images, _, labels = data()
    bundle = edgepack.build(DIGITS / "digits.onnx", "host", out=tmp_path / "digits")
    count = 40
    right = sum(
        int(np.argmax(edgepack.run(bundle, {"image": images[i : i + 1]})["probabilities"])) == int(labels[i])
        for i in range(count)
    )
    assert right >= count - 2
