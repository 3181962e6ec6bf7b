"""What the outputs should be: the original model in onnxruntime without optimisations, else in ``onnx.reference``."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from packager.errors import Problem, VerifyError

if TYPE_CHECKING:
    import onnx

Array = npt.NDArray[np.generic]


class Reference:
    """The reference implementation of one model; ``name`` says which one it is."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._outputs = [value.name for value in model.graph.output]
        self._model = model
        session = _onnxruntime_session(model, optimised=False)
        if session is not None:
            self._session = session
            self.name = f"onnxruntime {_version('onnxruntime')}, not optimised"
        else:
            from onnx.reference import ReferenceEvaluator

            self._session = _guarded(lambda: ReferenceEvaluator(model), "onnx.reference cannot load the model")
            self.name = f"onnx.reference {_version('onnx')}"

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """All outputs for one sample; VerifyError when the reference itself fails on these inputs."""
        what = f"{self.name} cannot run the model on these inputs"
        results = _guarded(lambda: self._session.run(self._outputs, dict(feeds)), what)
        return {name: np.asarray(value) for name, value in zip(self._outputs, results, strict=True)}

    def second_opinion(self, feeds: Mapping[str, Array]) -> dict[str, Array] | None:
        """The outputs as onnxruntime computes them with all optimisations; None without onnxruntime."""
        session = _onnxruntime_session(self._model, optimised=True)
        if session is None:
            return None
        results = session.run(self._outputs, dict(feeds))
        return {name: np.asarray(value) for name, value in zip(self._outputs, results, strict=True)}


def reference_outputs(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs of ``model`` (as given by its author, dimensions pinned) for one sample."""
    return Reference(model).run(feeds)


def _onnxruntime_session(model: onnx.ModelProto, *, optimised: bool) -> Any:
    """A session, or None where onnxruntime is not installed or lacks an operator of the model."""
    if importlib.util.find_spec("onnxruntime") is None:
        return None
    import onnxruntime

    options = onnxruntime.SessionOptions()
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimised else levels.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception:  # onnxruntime's exceptions share no base; onnx.reference takes over
        return None


def _guarded(action: Any, what: str) -> Any:
    try:
        return action()
    except Exception as error:  # whatever a reference raises on odd inputs is its verdict
        first = str(error).strip().splitlines()[:1]
        raise VerifyError(Problem("EP0804", f"{what}: {first[0] if first else type(error).__name__}")) from error


def _version(package: str) -> str:
    from importlib.metadata import version

    return version(package)
