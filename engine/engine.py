"""The upper seam: messages in, deltas out. Services know this file of the engine, and no other but errors and params.

`LocalEngine` (engine.local) drives a model in this process that writes, `EmbeddingEngine` (engine.embedding) one that
embeds; `RemoteEngine` (engine.remote.engine) asks servers elsewhere. All of it is called on the event loop.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from engine.histogram import FIRST_TOKEN_BOUNDS_S, INTER_TOKEN_BOUNDS_S, Histogram
from engine.params import SamplingParams
from engine.request import FinishReason
from engine.told import Told

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RATE_WINDOW_S = 5             # over which "tokens a second, now" is taken

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
    session: str = ""                                     # of the same conversation: kept where its cache is
    is_private: bool = False                              # what is computed for it is kept on no disk
    reasoning: bool | None = None                         # think first; None, or a template without it: as it does
    add_generation_prompt: bool = True
    continue_final_message: bool = False                  # the last message is an assistant's, to be continued
    tools: tuple[dict[str, Any], ...] = ()                # that may be called, in OpenAI's form
    must_call: bool = False                               # one of `tools`, rather than answer
    strict_tools: frozenset[str] = frozenset()            # names of those whose arguments must keep to their schema
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


@dataclass(slots=True, kw_only=True)
class Delta:
    """A piece of an answer. The last one has `finish_reason` and `usage`, and no text is lost before it. Never changed;
    not frozen, since one is made for nearly every token, and to make a frozen one takes several times as long.
    """

    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCallDelta, ...] = ()
    logprobs: tuple[TokenLogprob, ...] = ()
    num_tokens: int = 0                                   # computed for this piece
    connection: str = ""                                  # that it came over, of the first; "": from this machine
    queue_position: int | None = None                     # while waiting: 1 is next; None once it runs
    finish_reason: FinishReason | None = None             # STOP, LENGTH, TOOL_CALLS or CONTENT_FILTER
    usage: Usage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Embeddings:
    vectors: NDArray[np.float32]                          # [inputs, width], each of length 1
    num_tokens: int                                       # of all inputs, with what the tokenizer adds


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineInfo:
    model_id: str
    name: str                                             # for people: "SmolLM2 135M Instruct"
    version: str                                          # exact: file name, size and modification time, or commit
    backend: str                                          # "llama.cpp 0.3.36"
    device: str                                           # "cpu", "cuda:0", or as llama.cpp names it: "CUDA0"
    quantisation: str                                     # "Q4_1", "" where unknown
    max_model_len: int
    max_num_seqs: int
    has_chat_template: bool
    reasoning_default: bool | None = None                 # thinks first by itself; None: it cannot be told to, or not
    is_elsewhere: bool = False                            # what is asked of it leaves this machine
    embedding_width: int = 0                              # numbers in a vector; 0: it writes, and does not embed
    weight_bytes: int = 0
    kv_bytes: int = 0
    cache_bytes: int = 0
    kv_type: str = "f16"
    gpu_layers: int = 0                                   # of the model's and its output, on the GPU
    gpu_note: Told | None = None                          # why none are, where there is a GPU
    gpu_kv_bytes: int = 0                                 # of kv_bytes, likewise
    num_threads: int = 0                                  # of the processor, to begin with; 0: it does not compute


class EngineMetrics(NamedTuple):
    """A snapshot; counters only grow. `app.api` prints it for Prometheus.

    A tuple, because the engine's thread makes two a step: a frozen dataclass takes four times as long to make.
    """

    num_running: int = 0
    num_waiting: int = 0
    num_blocks: int = 0
    block_size: int = 0                                   # tokens
    num_free_blocks: int = 0                              # cached ones included: they can be had
    num_cached_blocks: int = 0
    held_bytes: int = 0                                   # by now, of what the info's kv_bytes and cache_bytes allow
    prompt_tokens_total: int = 0
    cached_prompt_tokens_total: int = 0
    output_tokens_total: int = 0
    proposed_tokens_total: int = 0                        # by speculation; 0 where there is none
    accepted_tokens_total: int = 0                        # of those
    requests_total: Mapping[str, int] = MappingProxyType({})                  # by finish reason
    preemptions_total: int = 0
    steps_total: int = 0
    step_seconds_total: float = 0.0
    backend_seconds_total: float = 0.0                    # of step_seconds, inside Backend.execute
    time_to_first_token: Histogram = Histogram.empty(FIRST_TOKEN_BOUNDS_S)    # from Request.arrival_s
    inter_token: Histogram = Histogram.empty(INTER_TOKEN_BOUNDS_S)            # between steps that brought tokens
    output_tokens_by_second: tuple[tuple[int, int], ...] = ()                 # (second of time.monotonic(), tokens)

    @property
    def num_held_blocks(self) -> int:
        """By running sequences: nobody else can have them."""
        return self.num_blocks - self.num_free_blocks

    @property
    def cached_share(self) -> float | None:
        """Of all prompts' tokens, those that were not computed again. None: there was no prompt yet."""
        return self.cached_prompt_tokens_total / self.prompt_tokens_total if self.prompt_tokens_total else None

    @property
    def accept_rate(self) -> float | None:
        """Of the tokens that speculation proposed. None: it proposed none."""
        return self.accepted_tokens_total / self.proposed_tokens_total if self.proposed_tokens_total else None

    def output_tokens_per_s(self, now_s: float) -> float:
        """Of all sequences together, over the last RATE_WINDOW_S. `now_s` is of `time.monotonic()`."""
        start_s = now_s - RATE_WINDOW_S
        inside = ((min(1.0, max(0.0, second + 1 - start_s)), num) for second, num in self.output_tokens_by_second)
        return sum(part * num for part, num in inside) / RATE_WINDOW_S


class Engine(Protocol):
    @property
    def info(self) -> EngineInfo: ...

    def chat(self, request: ChatRequest) -> AsyncGenerator[Delta, None]:
        """Stream an answer. Closing the iterator (`aclose`, or cancelling the task) aborts at once: a step
        that reads its prompt above all is cut short.

        Raises InvalidRequest and its kin or QueueFull before the first delta; EngineFailed later.
        """

    def complete(
        self, prompt: str | list[int], params: SamplingParams, *, user: str = ""
    ) -> AsyncGenerator[Delta, None]:
        """Continue raw text (or token ids), without a template. Raises as `chat`."""

    async def count_tokens(self, request: ChatRequest) -> int:
        """Length of the rendered prompt, in tokens."""

    async def embed(
        self, inputs: Sequence[str | list[int]], *, dimensions: int | None = None, user: str = ""
    ) -> Embeddings:
        """A vector for each text (or its token ids), cut to `dimensions` where that is given. Cancelling aborts.

        Raises InvalidRequest, ContextLengthExceeded for an input that is too long, QueueFull or EngineFailed.
        """

    def metrics(self) -> EngineMetrics: ...

    async def close(self) -> None:
        """End running requests with EngineFailed, join the thread, free the model. Idempotent."""
