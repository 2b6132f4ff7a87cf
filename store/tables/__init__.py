"""The tables. "Model" here is a language model. Every row of a person's hangs on `user.id` and goes with it."""

from store.tables.benchmarks import Benchmark
from store.tables.chats import (
    Conversation,
    ConversationTag,
    Folder,
    Message,
    MessageRole,
    MessageStatus,
    Tag,
    TitleSource,
    WhenFull,
)
from store.tables.columns import UtcDateTime, new_id, now
from store.tables.connections import Connection, ConnectionModel
from store.tables.library import Preset, Prompt
from store.tables.models import Download, DownloadState, Model, ModelVersion
from store.tables.people import ApiKey, LoginSession, SystemSetting, User, UserRole, UserSetting

__all__ = [
    "ApiKey", "Benchmark", "Connection", "ConnectionModel", "Conversation", "ConversationTag", "Download",
    "DownloadState", "Folder", "LoginSession", "Message", "MessageRole", "MessageStatus", "Model", "ModelVersion",
    "Preset", "Prompt", "SystemSetting", "Tag", "TitleSource", "User", "UserRole", "UserSetting", "UtcDateTime",
    "WhenFull", "new_id", "now",
]
