"""What can go wrong between messages and tokens. Raised on any thread; `app.errors` maps each to one HTTP status.

    EngineError
    ├── InvalidRequest            the caller's fault, with the name of the parameter
    │   └── ContextLengthExceeded the prompt does not fit the model's window
    ├── TemplateError             the model's chat template cannot be rendered, or refuses the messages
    ├── QueueFull                 try again in `retry_after_s`
    ├── EndpointError             a server elsewhere did not do what it was asked; says which, and what to do
    │   ├── EndpointBusy          it asks to wait, for `retry_after_s`
    │   └── EndpointRefused       it takes the request for wrong: another server would, too
    ├── ModelLoadError            the file is bad, or this machine cannot run it; says what to do
    │   └── OutOfMemory           with the numbers
    └── EngineFailed              a step raised, or the engine was unloaded under a running request
"""

from __future__ import annotations

from engine.told import Told


class EngineError(Exception):
    """Root of all errors of the engine. `str(error)` is a sentence for a person: what happened, and what to do; where
    pages say it in their reader's language, it is `Told`.
    """

    @property
    def sentence(self) -> str:
        """As it was raised: `Told` is still `Told`, where `str(error)` is any string."""
        sentence = self.args[0] if self.args else ""
        return sentence if isinstance(sentence, str) else str(self)


class InvalidRequest(EngineError):
    """A parameter or message that cannot be served. `param` names it in the caller's own words, where known."""

    def __init__(self, message: str, *, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


class ContextLengthExceeded(InvalidRequest):
    """More tokens than the model's window holds, which an answer shares with what it answers: its first token needs
    room too. The wording is one that clients search for (substring match).
    """

    def __init__(
        self, *, num_prompt_tokens: int, max_model_len: int, param: str = "messages", input_index: int | None = None
    ) -> None:
        """`param`: messages or prompt. `input_index`: which of several inputs it is, where texts are embedded."""
        if input_index is not None:
            param = f"input[{input_index}]"
            finding = f"{param} has {num_prompt_tokens} tokens. Shorten it, or send it as several inputs."
        else:
            have = "has" if param == "prompt" else "have"
            finding = (
                f"your {param} {have} {num_prompt_tokens} tokens, and the answer needs at least one more. "
                f"Shorten the {param}, or load the model with a larger context."
            )
        super().__init__(
            f"This model's maximum context length is {max_model_len} tokens. However, {finding}", param=param
        )
        self.num_prompt_tokens = num_prompt_tokens
        self.max_model_len = max_model_len
        self.input_index = input_index


class TemplateError(InvalidRequest):
    """The chat template refused these messages, is broken, or ran over its limits."""


class QueueFull(EngineError):
    """The bounded waiting queue is full."""

    def __init__(self, message: str, *, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class EndpointError(EngineError):
    """A server elsewhere cannot be reached, breaks off, or answers what it should not. `status`: of HTTP, where it is
    one that no other of these tells.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class EndpointBusy(EndpointError):
    def __init__(self, message: str, *, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class EndpointRefused(EndpointError):
    """`detail` is what it said."""

    def __init__(self, message: str, *, detail: str) -> None:
        super().__init__(message)
        self.detail = detail


class ModelLoadError(EngineError):
    """A model that cannot be loaded: a bad file, an unknown architecture, or a crash of the native library at trial.
    Pages show it to people who never saw a file of a model: so it is told in their language.
    """

    def __init__(self, sentence: Told) -> None:
        super().__init__(sentence)
        self.told = sentence


class OutOfMemory(ModelLoadError):
    """The plan does not fit the device."""


class EngineFailed(EngineError):
    """The engine ended while a request was in it."""
