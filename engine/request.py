"""`Request` is what was asked, frozen; `Sequence` is how far it got, mutable, owned by the engine's thread."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from engine.batch import SamplingInput
from engine.grammar_matcher import Grammar, GrammarMatcher
from engine.params import SamplingParams


class FinishReason(StrEnum):
    """Why a sequence ended. The first four are OpenAI's words; the others never leave the house as they are."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    CONTENT_FILTER = "content_filter"
    ABORT = "abort"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One prompt to be continued."""

    request_id: str
    prompt_token_ids: tuple[int, ...]
    params: SamplingParams
    seed: int                      # params.seed, or drawn: always set, so that a preempted sequence repeats itself
    max_tokens: int                # params.max_tokens bounded by what the window leaves
    arrival_s: float               # time.monotonic()
    user: str = ""                 # whom it counts against; orders the queue
    priority: int = 0              # lower goes first
    cache_key: str = ""            # mixed into the hashes, where users must not share a prefix or its timing,
    num_shared_tokens: int = 0     # but for the first blocks of the prompt that these fill: a system prompt, say
    is_private: bool = False       # its KV goes to no disk
    grammar: Grammar | None = None   # params.grammar, or of calls that must be made; compiled
    param: str = "prompt"          # what the prompt is called where it was asked for, for errors


@dataclass(slots=True, eq=False)
class Sequence:
    """Tokens of one request, and how many of them have KV. `num_computed_tokens` catches up with `len(token_ids)`."""

    request: Request
    token_ids: list[int]                                   # prompt, then output
    num_computed_tokens: int = 0                           # 0 again after a preemption
    num_cached_tokens: int = 0                             # of the prompt, from the prefix cache at first admission
    block_table: list[int] = field(default_factory=list)   # block ids in order, covering num_computed_tokens and more
    block_hashes: list[int] = field(default_factory=list)  # of its full blocks; grow with token_ids, outlive preemption
    slot: int | None = None                                # None: waiting
    num_preemptions: int = 0
    last_token_s: float | None = None                      # when a step last brought tokens; None: there are none yet
    grammar: GrammarMatcher | None = None                  # has accepted all output tokens; outlives preemption
    num_prompt_tokens: int = field(init=False)             # asked for several times a step
    sampling: SamplingInput = field(init=False)            # of its rows that want a token

    def __post_init__(self) -> None:
        request = self.request
        self.num_prompt_tokens = len(request.prompt_token_ids)
        self.sampling = SamplingInput(
            params=request.params, seed=request.seed, token_ids=self.token_ids,
            num_prompt_tokens=self.num_prompt_tokens, grammar=self.grammar,
        )

    @classmethod
    def of(cls, request: Request) -> Sequence:
        grammar = None if request.grammar is None else request.grammar.matcher()
        return cls(request, list(request.prompt_token_ids), grammar=grammar)

    @property
    def num_output_tokens(self) -> int:
        return len(self.token_ids) - self.num_prompt_tokens

    @property
    def num_lacking_tokens(self) -> int:
        """That have no KV yet."""
        return len(self.token_ids) - self.num_computed_tokens

    @property
    def is_running(self) -> bool:
        return self.slot is not None
