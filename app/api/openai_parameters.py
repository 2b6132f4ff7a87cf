"""The parameters that OpenAI's chat and completion requests share: checked strictly, then made into SamplingParams.

Fields that we do not know are ignored, as OpenAI's own server does; those that ask for what we cannot give are refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from app.numbers import whole_number
from engine.errors import InvalidRequest
from engine.grammar import GrammarSpec
from engine.params import MAX_SEED, SamplingParams

MAX_CHOICES = 8
MOST_TOKENS = 2**31


def _whole_number(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _list_of_one(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Int = Annotated[int, BeforeValidator(_whole_number)]        # 100.0 is how some clients write 100


class StreamOptions(BaseModel):
    model_config = ConfigDict(strict=True)
    include_usage: bool | None = None


class Parameters(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)

    model: str = Field(min_length=1)
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Int | None = Field(default=None, ge=1, le=MAX_CHOICES)
    max_tokens: Int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: Int | None = None                        # this and the next three as vLLM and llama.cpp name them
    min_p: float | None = None
    repetition_penalty: float | None = None
    ignore_eos: bool | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logit_bias: dict[str, float] | None = None
    seed: Int | None = None
    stop: Annotated[list[str] | None, BeforeValidator(_list_of_one)] = None

    @classmethod
    def parse(cls, body: dict[str, Any]) -> Self:
        """Raises InvalidRequest that names the first parameter in the wrong."""
        if not body.get("model"):
            raise InvalidRequest("Say which model: GET /v1/models lists them.", param="model")
        parameters = validate(cls, body)
        if parameters.stream_options is not None and not parameters.stream:
            raise InvalidRequest("stream_options is only allowed together with stream: true.", param="stream_options")
        return parameters

    @property
    def num_choices(self) -> int:
        return self.n or 1

    @property
    def includes_usage(self) -> bool:
        return self.stream_options is not None and bool(self.stream_options.include_usage)

    def sampling(
        self, *, max_tokens: int | None, logprobs: int | None, grammar: GrammarSpec | None
    ) -> list[SamplingParams]:
        """One value a choice: with a seed each has its own, or all choices would be one. The defaults are OpenAI's."""
        given = {
            name: value
            for name in ("top_k", "min_p", "repetition_penalty", "ignore_eos", "presence_penalty", "frequency_penalty")
            if (value := getattr(self, name)) is not None
        }
        first = SamplingParams(
            max_tokens=max_tokens,
            temperature=1.0 if self.temperature is None else self.temperature,
            top_p=1.0 if self.top_p is None else self.top_p,
            logit_bias=_token_biases(self.logit_bias or {}),
            seed=self.seed,
            stop=tuple(self.stop or ()),
            logprobs=logprobs,
            grammar=grammar,
            **given,
        )
        return [first, *(_with_own_seed(first, index) for index in range(1, self.num_choices))]


M = TypeVar("M", bound=BaseModel)


def answer_length(name: str, value: int | None) -> int | None:
    """In tokens; None: as many as fit. Raises InvalidRequest, which names the parameter as it was sent."""
    if value is not None and not 1 <= value <= MOST_TOKENS:
        raise InvalidRequest(
            f"{name} is {value}; it must be at least 1 and at most {MOST_TOKENS}. What is more than fits means as many "
            "tokens as fit.",
            param=name,
        )
    return value


def validate(kind: type[M], body: Any, *, inside: str = "") -> M:
    """`body` as a `kind`, or InvalidRequest for the first fault; `inside` is the path that leads to `body`."""
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
        param = ".".join(str(step) for step in (*filter(None, [inside]), *fault["loc"]))
        raise InvalidRequest(f"{param}: {fault['msg']}.", param=param) from error


def _token_biases(by_text: dict[str, float]) -> dict[int, float]:
    try:
        return {whole_number(token_id): bias for token_id, bias in by_text.items()}
    except ValueError as error:
        message = "logit_bias maps token ids, written as strings, to numbers."
        raise InvalidRequest(message, param="logit_bias") from error


def _with_own_seed(params: SamplingParams, index: int) -> SamplingParams:
    return params if params.seed is None else replace(params, seed=(params.seed + index) % (MAX_SEED + 1))
