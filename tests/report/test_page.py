"""report.html and the numbers in it."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packager.bench.conditions import Conditions
from packager.bench.report import BenchReport, Layer
from packager.bundle.bundle import Bundle
from packager.bundle.manifest import Manifest, PortInfo
from packager.bundle.write import write_bundle
from packager.memory.report import MemoryReport, Placement
from packager.program import Buffer, Constant, DType, Kernel, KernelCall, Program
from packager.report.document import document, plain
from packager.report.layers import build_document, steps_of
from packager.report.page import MOST_BARS, page
from packager.report.svg import ACROSS, BINS, TOP, histogram
from packager.report.units import format_count, format_time

HOSTILE = "<script>alert('x')</script>&\"]]>"
PLACEMENTS = (Placement("a", 0, 1, 0, 4096, 4096), Placement(HOSTILE, 1, 2, 4096, 2048, 2000))
MEMORY = MemoryReport(6144, 6096, 6144, 3, 1, "Conv 'first'", ("a", HOSTILE), PLACEMENTS, reordered=False, in_place=0)


class Elements(HTMLParser):
    """Collects start tags and checks that every one is closed."""

    VOID = frozenset({"meta"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def count(self, tag: str, css: str) -> int:
        return sum(name == tag and css in (attrs.get("class") or "").split() for name, attrs in self.seen)


def bundle(directory: Path, steps: int = 3) -> Bundle:
    rows = [
        {
            "source": f"Conv '{HOSTILE}{k}'",
            "kernel": "ep_conv",
            "macs": 100 * (k + 1),
            "weights_bytes": 40,
            "input_bytes": 60,
            "output_bytes": 20,
        }
        for k in range(steps)
    ]
    manifest = Manifest(
        name="net",
        target="rpi4",
        edgepack="1",
        model_sha256="ab" * 32,
        inputs=(PortInfo("x", "float32", (1, 3), 12),),
        outputs=(),
        macs=600,
        parameters=30,
        arena_bytes=6144,
        arena_lower_bound=6096,
        weights_bytes=120,
        warnings=(HOSTILE,),
        fused=("2x Conv + Relu",),
    )
    files: dict[str, bytes | Path] = {
        "report/memory.json": json.dumps(MEMORY.to_json()).encode(),
        "report/build.json": json.dumps({"schema": 1, "steps": rows}).encode(),
    }
    return write_bundle(directory / "net-rpi4", files, manifest)


def bench(**changes: Any) -> BenchReport:
    values: dict[str, Any] = {
        "model": "net",
        "target": "rpi4",
        "device": "pi@desk",
        "machine": "aarch64",
        "emulated": False,
        "unit": "ns",
        "threads": 4,
        "runs": 10,
        "warmup_runs": 5,
        "minimum": 900,
        "median": 1000,
        "mean": 1010,
        "p90": 1100,
        "p99": 1500,
        "maximum": 2000,
        "stdev": 50,
        "peak_rss_bytes": 1 << 20,
        "arena_bytes": 6144,
        "weights_bytes": 120,
        "macs": 600,
        "pinned": False,
        "governor_set": True,
        "before": Conditions(temperature_c=40.5, governors=("ondemand",)),
        "after": Conditions(temperature_c=61.0, governors=("performance",)),
        "layers": (Layer(HOSTILE, "ep_conv", 600, 700, 800), Layer("Softmax 'p'", "ep_softmax", 0, 150, 200)),
        "samples": tuple(range(900, 1000)),
    }
    return BenchReport(**{**values, **changes})


def test_the_page_needs_no_network_and_escapes_names(tmp_path: Path) -> None:
    text = page(bundle(tmp_path), bench())
    assert "<script" not in text
    assert set(re.findall(r"https?://[^\"' ]+", text)) == {"http://www.w3.org/2000/svg"}
    elements = Elements(text)
    assert elements.open == []
    assert not {"link", "script", "img", "iframe"} & {tag for tag, _ in elements.seen}


def test_every_tensor_of_the_arena_is_a_rectangle_where_the_plan_says(tmp_path: Path) -> None:
    elements = Elements(page(bundle(tmp_path)))
    tensors = [attrs for tag, attrs in elements.seen if tag == "rect" and "tensor" in (attrs.get("class") or "")]
    assert len(tensors) == len(PLACEMENTS)
    widths = [float(attrs["width"] or 0) for attrs in tensors]
    heights = [float(attrs["height"] or 0) for attrs in tensors]
    assert widths[0] == widths[1] == pytest.approx(ACROSS * 2 / 3, abs=0.01), "two of three steps"
    assert heights[0] == pytest.approx(2 * heights[1], rel=1e-3)
    assert float(tensors[1]["y"] or -1) == pytest.approx(TOP, abs=0.01), "the upper one ends at the top"


def test_layers_show_arithmetic_until_time_was_measured(tmp_path: Path) -> None:
    built = bundle(tmp_path)
    assert "Multiply-accumulates by layer" in page(built)
    measured = page(built, bench())
    assert "Multiply-accumulates by layer" not in measured
    assert "800 ns  80%" in measured
    assert "Distribution" in measured
    assert "61.0" in measured


def test_the_roofline_places_layers_by_intensity_and_speed(tmp_path: Path) -> None:
    layers = (Layer("a", "k", 1200, 9, 10), Layer("b", "k", 12, 90, 100), Layer("c", "k", 0, 5, 5))
    text = page(bundle(tmp_path), bench(layers=layers))
    circles = [attrs for tag, attrs in Elements(text).seen if tag == "circle"]
    assert len(circles) == 2, "a layer without arithmetic has no place"
    x = [float(circle["cx"] or 0) for circle in circles]
    y = [float(circle["cy"] or 0) for circle in circles]
    assert x[0] > x[1]
    assert y[0] < y[1]
    assert "10 MAC/byte, 120 GMAC/s" in text
    assert "Roofline" not in page(bundle(tmp_path), bench(layers=layers[:1]))
    assert "Roofline" not in page(bundle(tmp_path), bench(layers=layers, unit="instructions"))


def test_the_roofs_are_named_as_what_was_seen(tmp_path: Path) -> None:
    layers = (Layer("a", "k", 1200, 9, 10), Layer("b", "k", 12, 90, 100), Layer("c", "k", 0, 5, 5))
    text = page(bundle(tmp_path), bench(layers=layers))
    assert "fastest step seen: 120 GMAC/s" in text
    assert "most moved by a step: 12 GB/s" in text
    roofs = [attrs for tag, attrs in Elements(text).seen if tag == "line" and attrs.get("class") == "roof"]
    circles = [attrs for tag, attrs in Elements(text).seen if tag == "circle"]
    assert roofs[0]["y1"] == roofs[0]["y2"] == min((c["cy"] or "" for c in circles), key=float), "no layer is above"


def test_the_memory_plot_has_a_scale_and_names_its_steps(tmp_path: Path) -> None:
    text = page(bundle(tmp_path, steps=1))
    assert re.findall(r">(\d[\d.]* (?:B|KiB))</text>", text)[:5] == ["0 B", "1.5 KiB", "3.0 KiB", "4.5 KiB", "6.0 KiB"]
    assert ">start</text>" in text
    assert ">lower bound, 6.0 KiB</text>" in text
    assert ">step of the peak: Conv" in text


def test_no_text_of_a_chart_leaves_it(tmp_path: Path) -> None:
    text = page(bundle(tmp_path), bench())
    for tag, attrs in Elements(text).seen:
        if tag == "text" and "x" in attrs:
            assert 0 <= float(attrs["x"] or -1) <= 960
            assert float(attrs["y"] or 0) >= 10


def test_times_beyond_the_99th_percentile_have_a_bar_of_their_own() -> None:
    samples = [*range(100, 300), 10_000, 20_000]
    drawn = histogram(samples, unit="ns")
    assert "beyond: " in drawn
    counts = [int(count) for count in re.findall(r"ns: (\d+)</title>", drawn)]
    assert len(counts) == BINS + 1
    assert sum(counts) == len(samples)
    assert counts[-1] == sum(sample > sorted(samples)[int(len(samples) * 0.99)] for sample in samples)


def test_emulated_figures_say_so(tmp_path: Path) -> None:
    assert "median (emulated)" in page(bundle(tmp_path), bench(emulated=True))
    assert "emulated" not in page(bundle(tmp_path), bench())


def test_many_small_layers_become_one_row(tmp_path: Path) -> None:
    text = page(bundle(tmp_path, steps=200))
    assert f"{200 - MOST_BARS + 1} smaller" in text


def test_a_bundle_without_reports_still_has_a_page(tmp_path: Path) -> None:
    built = bundle(tmp_path)
    for file in (built.directory / "report").iterdir():
        file.unlink()
    assert "<svg" not in page(built)


def test_equal_reports_give_equal_pages(tmp_path: Path) -> None:
    built = bundle(tmp_path)
    assert page(built, bench()) == page(built, bench())


def test_steps_count_shared_weights_once() -> None:
    weights = Constant.of("w", np.ones(6, np.float32))
    x, y, z = (Buffer(name, DType.FLOAT32, (6,)) for name in "xyz")
    kernel = Kernel("ep_scale_f32", "ep_scale.h")
    first = KernelCall(kernel, (y,), (x, weights), source="Mul 'a'", macs=6)
    second = KernelCall(kernel, (z,), (y, weights), source="Mul 'b'", macs=6)
    program = Program("net", (), (), (x, y, z), (weights,), (first, second))
    assert [(step.source, step.weights_bytes, step.input_bytes) for step in steps_of(program)] == [
        ("Mul 'a'", 24, 24),
        ("Mul 'b'", 0, 24),
    ]
    built = build_document(program, {"fused": ("2x Mul",)})
    assert (built["kind"], built["macs"], built["fused"]) == ("build", 12, ["2x Mul"])


def test_numbers_are_short() -> None:
    assert [format_count(n) for n in (0, 999, 1234, 300_774_272, 4.09e9)] == [
        "0",
        "999",
        "1.234 k",
        "300.8 M",
        "4.09 G",
    ]
    assert [format_time(n, "ns") for n in (12, 1234, 33_800_000, 12_000_000_000)] == [
        "12 ns",
        "1.234 us",
        "33.8 ms",
        "12 s",
    ]
    assert format_time(1_500_000, "instructions") == "1.5 M instructions"


def test_documents_are_strict_json() -> None:
    made = document("test", value=float("nan"), path=Path("a/b"), conditions=Conditions(load=0.5), names={"b", "a"})
    assert json.loads(json.dumps(made, allow_nan=False))["conditions"]["load"] == 0.5
    assert (made["value"], made["names"]) == (None, ["a", "b"])
    with pytest.raises(TypeError, match="object has no JSON form"):
        plain(object())
