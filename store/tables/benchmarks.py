"""What was measured of models here, and with what. No text of anybody's: of prompts only a hash and their number."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlmodel import Field, SQLModel

from store.tables.columns import UtcDateTime, json_column, new_id, now


class Benchmark(SQLModel, table=True):
    """One model, measured once. It outlives its model: what was measured stays true."""

    __tablename__ = "benchmark"
    id: str = Field(default_factory=new_id, primary_key=True)
    run_id: str = Field(index=True)                       # two models that were measured side by side have the same
    created_at: datetime = Field(default_factory=now, index=True, sa_type=UtcDateTime)
    app_version: str
    machine: str                                          # "Intel(R) Xeon(R) Processor, 2 cores"
    model_id: str = Field(index=True)
    model_name: str
    model_version: str                                    # exact: see `EngineInfo.version`
    quantisation: str
    backend: str                                          # "llama.cpp 0.3.36"
    device: str
    gpu_layers: int
    num_threads: int
    context_tokens: int                                   # of one conversation
    max_num_seqs: int
    kv_type: str
    prompts_hash: str                                     # the same prompts have the same
    prompts_source: str                                   # "own", "given" or "built-in"
    num_prompts: int
    max_tokens: int                                       # of each answer, all of which are written
    repetitions: int
    # One for each number of clients at once: see `app.services.bench_figures.Level`.
    levels: list[dict[str, Any]] = Field(
        default_factory=list, sa_column=json_column(list, "levels of a benchmark", keys=("concurrency",))
    )
