"""How models that are loaded beside each other capture graphs, with CUDA left out; test_cuda.py captures real ones."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from engine.backends.torch import graph_capture
from engine.backends.torch.graph_capture import GraphCapture
from engine.backends.torch.stream import Stream


@pytest.fixture
def modes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """In which graphs were captured."""
    seen: list[str] = []

    def graph(graph: Any, *, capture_error_mode: str, **_: Any) -> AbstractContextManager[None]:
        seen.append(capture_error_mode)
        return nullcontext()

    stream = SimpleNamespace(wait_stream=lambda other: None)
    for name, value in {
        "graph_pool_handle": lambda: (0, 1), "current_device": lambda: 0, "current_stream": lambda: stream,
        "stream": lambda stream: nullcontext(), "CUDAGraph": lambda: SimpleNamespace(replay=lambda: None),
        "graph": graph,
    }.items():
        monkeypatch.setattr(torch.cuda, name, value)
    monkeypatch.setattr(graph_capture, "_aside", lambda device: stream)
    return seen


def test_a_step_is_tried_before_it_is_captured_and_others_may_use_the_device_meanwhile(modes: list[str]) -> None:
    times: list[str] = []
    launch = GraphCapture(Stream())(lambda: times.append("step"))
    assert times == ["step", "step"] and modes == ["thread_local"]
    launch()
    assert times == ["step", "step"]


def test_two_models_capture_one_after_the_other(modes: list[str]) -> None:
    order: list[str] = []
    is_in_it, may_end = threading.Event(), threading.Event()

    def first() -> None:
        order.append("first")
        is_in_it.set()
        assert may_end.wait(60)

    threads = [
        threading.Thread(target=GraphCapture(Stream()), args=(step,))
        for step in (first, lambda: order.append("second"))
    ]
    threads[0].start()
    assert is_in_it.wait(60)
    threads[1].start()
    threads[1].join(0.2)                # it cannot end
    assert order == ["first"]
    may_end.set()
    for thread in threads:
        thread.join(60)
    assert order == ["first", "first", "second", "second"]
    assert len(modes) == 2
