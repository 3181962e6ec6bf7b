"""The generated files: pure, deterministic, warning-free from C and C++."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx.helper as oh
import pytest
from onnx import TensorProto, numpy_helper

from codegen_c.c_model import emit
from codegen_c.embed import EmbedStyle
from packager.program import Program
from tests.support import compile_program, run_program
from tests.support.harness import RUNTIME

PRINT_DIGEST = """
import hashlib
from tests.codegen.test_emit import odd_program
from codegen_c.c_model import emit
from codegen_c.embed import EmbedStyle
files = emit(odd_program(), embed=EmbedStyle.EMBED)
print(hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest())
"""


def odd_program() -> Program:
    """Two branches, a constant, names that are hostile to C."""
    weights = numpy_helper.from_array(np.arange(12, dtype=np.float32).reshape(3, 4), "w*/")
    nodes = [
        oh.make_node("MatMul", ["1/class", "w*/"], ["h"], name='a"b'),
        oh.make_node("Transpose", ["h"], ["Y"], name="t??/", perm=[1, 0]),
        oh.make_node("Relu", ["h"], ["y"], name="new\nline"),
    ]
    graph = oh.make_graph(
        nodes,
        "main",
        [oh.make_tensor_value_info("1/class", TensorProto.FLOAT, [2, 3])],
        [
            oh.make_tensor_value_info("Y", TensorProto.FLOAT, [4, 2]),
            oh.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4]),
        ],
        [weights],
    )
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 17)], ir_version=8)
    return compile_program(model, isa="scalar")


def test_equal_programs_give_equal_bytes_whatever_the_hash_seed() -> None:
    digests = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", PRINT_DIGEST]
        root = Path(__file__).parents[2]
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=True)
        digests.add(done.stdout)
    assert len(digests) == 1


def test_hostile_names_compile_and_compute() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
    outputs = run_program(odd_program(), {"1/class": x}, isa="scalar")
    h = x @ np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_allclose(outputs["Y"], h.T, rtol=1e-6)
    np.testing.assert_allclose(outputs["y"], np.maximum(h, 0), rtol=1e-6)


@pytest.mark.parametrize("standard", ["c++98", "c++20"])
def test_the_public_header_is_valid_cpp(standard: str, tmp_path: Path) -> None:
    files = emit(odd_program(), embed=EmbedStyle.ARRAY)
    [header] = [path for path in files if path.endswith(".h")]
    (tmp_path / Path(header).name).write_bytes(files[header])
    (tmp_path / "use.cpp").write_text(f'#include "{Path(header).name}"\n')
    command = ["g++", f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-I."]
    done = subprocess.run(
        [*command, f"-I{RUNTIME / 'include'}", "use.cpp"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_weight_file_is_named_by_its_contents() -> None:
    files = emit(odd_program(), embed=EmbedStyle.INCBIN)
    import hashlib

    [binary] = [path for path in files if path.endswith(".bin")]
    assert binary == f"weights/{hashlib.sha256(files[binary]).hexdigest()[:12]}.bin"
