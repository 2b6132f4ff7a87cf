"""A hub of our own with two models: the starter model's own bytes, and one that is too big for any machine."""

from __future__ import annotations

from app.services.models import find_starter
from tests.app.hub import Hub
from tests.app.shop import tiny_model

REPO = "HuggingFaceTB/SmolLM2-135M-Instruct-GGUF"
FILE = "smollm2-Q4_K_M.gguf"
CARD = """---
license: apache-2.0
---
<h1 align="center">SmolLM2</h1>
<img src="https://example.org/spy.png">

![spy](https://example.org/spy.png) A **small** model. See [the licence](LICENSE).
<script>window.harmed = true</script>
"""


def stocked_hub() -> Hub:
    stand_in = Hub()
    starter = find_starter()
    assert starter is not None
    gguf = {"total": 134_515_008, "context_length": 8192}
    stand_in.add(
        REPO, {"README.md": CARD.encode(), FILE: starter.read_bytes()},
        tags=["gguf", "license:apache-2.0"], downloads=1200, gguf=gguf,
    )
    stand_in.add(
        "birds/Parrot-70B-GGUF", {"parrot-Q4_0.gguf": tiny_model()}, tags=["gguf", "license:mit"], downloads=50,
        gguf={"total": 70_000_000_000_000, "context_length": 4096},
    )
    return stand_in
