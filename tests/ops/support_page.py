"""``docs/support.md``: what of every ONNX operator compiles, found by compiling ONNX's own node tests.

``python -m tests.ops.support_page`` rewrites the page; a test compares it with what the compiler does today.
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from packager.errors import EdgepackError
from packager.lower.lower import lowerings
from tests.support import compile_program
from tests.support.harness import Array

PAGE = Path(__file__).parents[2] / "docs" / "support.md"
OLDEST_OPSET = 7

GENERATORS = frozenset(("BlackmanWindow", "ConstantOfShape", "HammingWindow", "HannWindow", "MelWeightMatrix", "Range"))
"""Operators all of whose inputs decide shapes; others are not given all of their inputs as constants."""

HEAD = """# Operators

Every row sums up ONNX's own node tests of one operator (those in float, integer and bool tensors from opset 7 on): how
many compile, and why others are refused. What compiles is run and compared in `tests/ops`. Operators without a row of
their own are refused by name; one with an ONNX function body is expanded by it, which is marked in the second column.

This page is generated: `python -m tests.ops.support_page`.

| operator | by | compile | of | refused because |
| --- | --- | ---: | ---: | --- |
"""


@dataclass(frozen=True)
class Row:
    """One operator: its tests, those that compile, the distinct reasons of the others."""

    op_type: str
    how: str
    compiled: int
    total: int
    reasons: tuple[str, ...]

    def markdown(self) -> str:
        """The row of the page."""
        reasons = "; ".join(reason.replace("|", "\\|") for reason in self.reasons)
        return f"| {self.op_type} | {self.how} | {self.compiled} | {self.total} | {reasons} |"


def node_tests() -> Mapping[str, list[tuple[onnx.ModelProto, dict[str, Array]]]]:
    """Single-node tests of the installed onnx with their inputs, by operator."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # expectations are computed while loading, infinities among them
        tests = load_model_tests(kind="node")
    found: dict[str, list[tuple[onnx.ModelProto, dict[str, Array]]]] = defaultdict(list)
    for test in sorted(tests, key=lambda test: str(test.name)):
        model = test.model
        if model is not None and test.data_sets and _is_wanted(model):
            names = [value.name for value in model.graph.input]
            feeds = dict(zip(names, map(_array, test.data_sets[0][0]), strict=False))
            found[model.graph.node[0].op_type].append((model, feeds))
    return found


def _array(value: Any) -> Array:
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def _is_wanted(model: onnx.ModelProto) -> bool:
    if len(model.graph.node) != 1:
        return False
    values = [*model.graph.input, *model.graph.output]
    onnx_domain = all(opset.domain in ("", "ai.onnx") for opset in model.opset_import)
    new_enough = onnx_domain and model.opset_import[0].version >= OLDEST_OPSET
    return new_enough and all(value.type.HasField("tensor_type") for value in values)


def row(op_type: str, tests: Sequence[tuple[onnx.ModelProto, dict[str, Array]]]) -> Row:
    """Compile every test of one operator."""
    reasons: dict[str, None] = {}
    compiled = 0
    for model, feeds in tests:
        reason = refusal(model, feeds)
        if reason is None:
            compiled += 1
        else:
            reasons[reason] = None
    how = "kernel" if ("", op_type) in lowerings() else "body" if compiled else ""
    return Row(op_type, how, compiled, len(tests), tuple(reasons))


def refusal(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> str | None:
    """Why a test does not compile, None when it does; inputs that may decide shapes are tried as constants, too."""
    first: EdgepackError | None = None
    generates = model.graph.node[0].op_type in GENERATORS
    for frozen in ((), list(feeds) if generates else _parameters(feeds)):
        try:
            compile_program(_with_constants(model, {name: feeds[name] for name in frozen}), isa="scalar")
        except EdgepackError as error:
            first = first or error
        else:
            return None
    assert first is not None
    return _reason(first.problems[0].what, model)


def _reason(what: str, model: onnx.ModelProto) -> str:
    """The error's first line without what is particular to the test: names in quotes are tensors."""
    op_type = model.graph.node[0].op_type
    text = what.split(": '", maxsplit=1)[0].removeprefix(f"{op_type}: ")
    return "not supported" if "has no lowering" in text else text.split("\n", 1)[0]


def _parameters(feeds: Mapping[str, Array]) -> list[str]:
    """Every input after the first that holds integers or few values: shapes, axes, scales, limits."""
    return [name for name, array in list(feeds.items())[1:] if array.dtype.kind in "iub" or array.size <= 16]


def _with_constants(model: onnx.ModelProto, values: Mapping[str, Array]) -> onnx.ModelProto:
    own = onnx.ModelProto()
    own.CopyFrom(model)
    kept = [value for value in own.graph.input if value.name not in values]
    del own.graph.input[:]
    own.graph.input.extend(kept)
    own.graph.initializer.extend(onnx.numpy_helper.from_array(array, name) for name, array in values.items())
    return own


def page(rows: Sequence[Row]) -> str:
    """The whole text."""
    compiled, total = sum(row.compiled for row in rows), sum(row.total for row in rows)
    closing = f"\n{compiled} of {total} tests of {len(rows)} operators compile.\n"
    return HEAD + "\n".join(row.markdown() for row in rows) + "\n" + closing


def main() -> None:
    """Rewrite the page."""
    rows = [row(op_type, tests) for op_type, tests in sorted(node_tests().items())]
    PAGE.write_text(page(rows))
    sys.stdout.write(page(rows)[-80:])


if __name__ == "__main__":
    main()
