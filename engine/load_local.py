"""What holds for every loaded model that writes, whatever runs it. Called by `engine.load` and `engine.load_torch`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from engine.core import EngineCore
from engine.engine import EngineInfo
from engine.local import LocalEngine
from engine.model_spec import ModelSpec

OnShareLoaded: TypeAlias = Callable[[float], None]       # 0 to 1, of the weights; called on the engine's thread
DEFAULT_SYSTEM_PROMPT: Final = "You are a helpful assistant."


async def local_engine(spec: ModelSpec, core: EngineCore, info: EngineInfo) -> LocalEngine:
    """Over a core that was started for it, which ends where no engine comes of it."""
    try:
        return LocalEngine(
            core, info, default_system_prompt=DEFAULT_SYSTEM_PROMPT, chat_template=spec.chat_template
        )
    except BaseException:
        await core.close()
        raise


def info_of(spec: ModelSpec, core: EngineCore, *, quantisation: str, kv_bytes: int) -> EngineInfo:
    backend = core.info
    return EngineInfo(
        model_id=spec.model_id,
        name=spec.name,
        version=spec.version,
        backend=f"{backend.name} {backend.version}",
        device=backend.device,
        quantisation=quantisation,
        max_model_len=backend.max_sequence_tokens,
        max_num_seqs=backend.max_num_seqs,
        has_chat_template=(spec.chat_template or core.tokenizer.chat_template) is not None,
        weight_bytes=backend.weight_bytes,
        kv_bytes=kv_bytes,
    )


def unheard(share: float) -> None:
    """For who does not want to know."""
