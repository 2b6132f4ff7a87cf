"""The upper seam: messages in, deltas out. Services know this file of the engine, and no other but errors and params.

`LocalEngine` (engine.local) drives a model in this process. All of it is called on the event loop.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from engine.params import SamplingParams
from engine.request import FinishReason

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """One message, already plain: `app.api` and services have turned parts, nulls and `developer` into this."""

    role: Role
    content: str = ""
    reasoning: str = ""                                   # never replayed as content
    name: str | None = None
    tool_calls: tuple[dict[str, Any], ...] = ()           # in OpenAI's form
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    messages: tuple[ChatMessage, ...]
    params: SamplingParams
    user: str = ""                                        # orders the queue; see Request.user
    priority: int = 0
    cache_key: str = ""
    add_generation_prompt: bool = True
    continue_final_message: bool = False                  # the last message is an assistant's, to be continued
    tools: tuple[dict[str, Any], ...] = ()                # that may be called, in OpenAI's form
    must_call: bool = False                               # one of `tools`, rather than answer
    parallel_tool_calls: bool = True                      # False: no more than one call an answer


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    token: str
    logprob: float
    bytes: bytes
    top: tuple[TokenLogprob, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0                                # of the prompt, not computed again
    reasoning_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallDelta:
    """A piece of a call. The first has id and name, and no later one; their arguments join to a JSON text."""

    index: int                                            # of the call in its answer
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """A piece of an answer. The last one has `finish_reason` and `usage`, and no text is lost before it."""

    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCallDelta, ...] = ()
    logprobs: tuple[TokenLogprob, ...] = ()
    num_tokens: int = 0                                   # computed for this piece
    queue_position: int | None = None                     # while waiting: 1 is next; None once it runs
    finish_reason: FinishReason | None = None             # STOP, LENGTH, TOOL_CALLS or CONTENT_FILTER
    usage: Usage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineInfo:
    model_id: str
    name: str                                             # for people: "SmolLM2 135M Instruct"
    version: str                                          # exact: file name, size and modification time, or commit
    backend: str                                          # "llama.cpp 0.3.36"
    device: str
    quantisation: str                                     # "Q4_1", "" where unknown
    max_model_len: int
    max_num_seqs: int
    has_chat_template: bool
    weight_bytes: int = 0
    kv_bytes: int = 0
    cache_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineMetrics:
    """A snapshot; counters only grow. `app.api` prints it for Prometheus."""

    num_running: int = 0
    num_waiting: int = 0
    num_blocks: int = 0
    num_free_blocks: int = 0                              # cached ones included: they can be had
    num_cached_blocks: int = 0
    held_bytes: int = 0                                   # by now, of what the info's kv_bytes and cache_bytes allow
    prompt_tokens_total: int = 0
    cached_prompt_tokens_total: int = 0
    output_tokens_total: int = 0
    requests_total: dict[str, int] = field(default_factory=dict)     # by finish reason
    preemptions_total: int = 0
    proposed_tokens_total: int = 0                        # guessed by speculation, and computed to be verified
    accepted_tokens_total: int = 0                        # of those, right
    steps_total: int = 0
    step_seconds_total: float = 0.0
    backend_seconds_total: float = 0.0                    # of step_seconds, inside Backend.execute


class Engine(Protocol):
    @property
    def info(self) -> EngineInfo: ...

    def chat(self, request: ChatRequest) -> AsyncGenerator[Delta, None]:
        """Stream an answer. Closing the iterator (`aclose`, or cancelling the task) aborts within one step.

        Raises InvalidRequest and its kin or QueueFull before the first delta; EngineFailed later.
        """

    def complete(
        self, prompt: str | list[int], params: SamplingParams, *, user: str = ""
    ) -> AsyncGenerator[Delta, None]:
        """Continue raw text (or token ids), without a template. Raises as `chat`."""

    async def count_tokens(self, request: ChatRequest) -> int:
        """Length of the rendered prompt, in tokens."""

    def metrics(self) -> EngineMetrics: ...

    async def close(self) -> None:
        """End running requests with EngineFailed, join the thread, free the model. Idempotent."""
