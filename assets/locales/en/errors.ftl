# What can go wrong, as people are told it: what happened, and what to do. See `Said` in app/language.py, and app/errors.py.
# The API, the command line and the log say the same, in English.
error-setup-link = This setup link is not valid. Use the one that the server printed at its last start.
error-set-up-already = Inglenook is set up already. Sign in.
error-set-up-by-other = Inglenook was set up by somebody else in this moment. Sign in.
error-too-many-passwords = Too many wrong passwords. Try again in { $seconds } s.
error-account-disabled = This account is disabled. Ask an admin.
error-sign-in = Name and password do not match.
error-last-admin = This is the only admin. Make another one first.
error-no-user = There is no such user.
error-no-key = There is no such key.
error-name-taken = This name is taken. Choose another.
error-name-missing = Choose a name.
error-name-long = Choose a name of at most { $count } characters.
error-name-invisible = Choose a name without control characters or invisible ones.
error-password-present = This is not your present password.
error-password-short = Choose a password of at least { $count } characters.
error-password-long = Choose a password of at most { $count } characters.
error-password-broken = This password holds a broken character. Type it again.

error-no-chat = There is no such chat. It may have been deleted.
error-no-message = There is no such message. Its chat may have been deleted.
error-title-missing = Give the chat a title.
error-folders-full = There are { $count } folders already. Delete one first.
error-not-undone = That can no longer be undone.
error-no-place = There is no such chat, folder or tag. It may have been deleted.
error-no-folder = There is no such folder, or it cannot be put there.
error-message-empty = Write a message first.
error-message-long = The message is longer than { $count } characters. Shorten it.
error-message-broken = The message holds a broken character (half of an emoji, say). Remove it.
error-answer-in-progress = An answer is still being written here. Stop it, or wait for its end.
error-not-saved = The answer could not be saved. { $detail }
error-broke = Something went wrong inside Inglenook; its log says what.

error-no-model-yet = There is no model yet. Add one on the Models page.
error-no-model = The model '{ $model }' does not exist here. Models that do: { $known }.
error-no-model-at-all = The model '{ $model }' does not exist here. Models that do: none yet; add one on the Models page.
error-model-embeds = { $model } makes embeddings and cannot chat. Choose another model as the default.
error-model-writes = { $model } is writing { $count ->
    [one] an answer
   *[other] { $count } answers
 }. Wait for the end, or stop it.
error-makes-room = Ends its answers, to make room for { $model }.
error-model-starter = { $model } came with Inglenook and goes with it; it cannot be removed alone.
error-no-file = There is no file { $path }.
error-path-odd = { $path } is no path that can be used here ({ $detail }).
error-adapters = Adapters act on GGUF files only. Add the model without them.
error-shutting-down = Inglenook is shutting down.
error-waiting-for-memory = Waiting for memory until { $models } has finished answering.
error-load-stopped = Loading { $model } was stopped. Load it again on the Models page.

# Of the engine: by what kind it is, with its own words
error-context = This model's maximum context length is { $limit } tokens. However, your messages have { $count } tokens. Shorten the messages, or load the model with a larger context.
error-queue-full = Too many requests are waiting already. Try again in { $seconds } s.
error-template = { $detail }
error-request = { $detail }
error-memory = { $detail }
error-load = { $detail }
error-engine = { $detail }
error-inside = { $detail }

error-import-running = An import is running already. Wait for its end, or cancel it.
error-import-large = The file is larger than { $count } bytes. Split it, or ask an admin.
error-import-broke = Something went wrong inside Inglenook; its log says what. Try it once more.
error-file-empty = The file is empty.
error-disk-full = There is no room on the disk for this file. Free some space and try again.
error-file-not-kept = The file could not be kept: { $detail }.
error-file-unreadable = The file cannot be read: { $detail }.

import-empty = The file is empty.
import-empty-choose = The file is empty. Choose conversations.json, or the ZIP as it came.
import-no-list = This is no JSON list.
import-no-list-choose = This is no JSON list. Choose conversations.json, or the ZIP as it came.
import-zip-without-json = There is no JSON file in this ZIP.
import-zip-damaged = This ZIP is damaged ({ $detail }). Download it again.
import-zip-large = This file unpacks to more than { $count } MiB, far more than chats do. Unpack it, and import its conversations.json.
import-many-chats = Only the first { $count } chats of this file were read. Split the file, and import the rest.
import-many-bad = { $count } entries of this file are no chats, so the rest was not read. Export it once more.
import-zip-many = This ZIP holds too many files. Unpack it, and import its conversations.json.

# Why one chat of an import was left out
skipped-not-stored = It could not be stored; Inglenook's log says why.
skipped-encrypted = It is encrypted.
skipped-damaged = It is damaged in the ZIP ({ $detail }).
skipped-cut-off = The file ends in the middle of this one: it was cut off.
skipped-deep = It is nested too deep.
skipped-many-values = It holds more than { $count } values.
skipped-large = It is larger than { $count } MiB.
skipped-nothing = There is nothing between two commas.
skipped-no-utf8 = It is not valid UTF-8 text.
skipped-no-json = It is not valid JSON.
skipped-no-chat = This is no conversation.
skipped-unknown = This is no conversation of ChatGPT, Open WebUI or Inglenook.
skipped-empty = It holds no messages.
