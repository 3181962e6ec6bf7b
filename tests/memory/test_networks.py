"""Whole networks: how close the arena comes to the lower bound, on every vector width."""

from __future__ import annotations

import pytest

from benchmarks.networks import NETWORKS
from packager.frontend.load import load_model
from packager.lower.lower import lower, supported
from packager.memory.planner import plan
from packager.passes.layout import assign_layout
from packager.passes.optimize import optimize
from tests.support.harness import ISAS

NAMES = ("ad_autoencoder", "ds_cnn", "mobilenet_v1_025_96", "mobilenet_v2", "resnet8", "resnet18")


@pytest.mark.parametrize("isa", ["scalar", "sse", "avx2", "avx512"])
@pytest.mark.parametrize("name", NAMES)
def test_the_arena_is_close_to_its_lower_bound(name: str, isa: str) -> None:
    loaded = load_model(NETWORKS[name](), supported=supported)
    optimize(loaded.model)
    assign_layout(loaded.model, ISAS[isa][0], halos=True)
    _, report = plan(lower(loaded.model, name=name, isa=ISAS[isa][0]))
    assert report.ratio <= 1.10
