"""What is wrong with an input file comes with what to do about it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from packager.bundle.manifest import PortInfo
from packager.cli.media import read_inputs
from packager.errors import VerifyError


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("broken.npy", "float32"),
        ("broken.png", "float32"),
        ("none.npz", "float32"),
        ("short.npy", "float32"),
        ("halves.npy", "int32"),
    ],
)
def test_every_refusal_of_an_input_says_the_way_out(tmp_path: Path, name: str, dtype: str) -> None:
    (tmp_path / "broken.npy").write_bytes(b"not an array")
    (tmp_path / "broken.png").write_bytes(b"not a picture")
    np.save(tmp_path / "short.npy", np.zeros(2, np.float32))
    np.save(tmp_path / "halves.npy", np.full(3, 0.5))
    with pytest.raises(VerifyError) as caught:
        read_inputs({"": tmp_path / name}, [PortInfo("x", dtype, (3,), 12)])
    assert all(problem.hint for problem in caught.value.problems)
