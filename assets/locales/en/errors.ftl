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
error-upload-ending = Only GGUF files can be sent here. Their names end in .gguf.
error-upload-cut = The file did not come whole. Send it again.
error-upload-there = A file of this name is there already, or on its way. Rename it, or remove the other first.
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

# How one model is to be run; see app/services/model_settings.py
error-setting-budget = The memory budget is a number of GiB, of more than 0 to { $most }.
error-setting-alias-taken = '{ $alias }' is the name of { $model } already. Choose another alias.
error-setting-alias = '{ $alias }' is no alias: take up to 100 letters, digits, and . : / @ + - _
error-setting-aliases = A model may have { $most } aliases.
error-setting-context = The context, in tokens: give a whole number of { $low } to { $high }.
error-setting-context-trained = { $model } was trained for { $tokens } tokens of context, and is no good beyond.
error-setting-users = Users at once: give a whole number of { $low } to { $high }.
error-setting-layers = Layers on the GPU: give a whole number of { $low } to { $high }.
error-setting-layers-cpu = On the processor alone no layers are on a GPU. Leave one of them out.
error-setting-threads = Threads: give a whole number of { $low } to { $high }.
error-setting-keep-alive = Seconds to keep it in memory: give a whole number of { $low } to { $high }.
error-setting-kv-type = The KV type is one of { $known }.
error-setting-device = The device is cpu, gpu, or gpu0, gpu1 and so on.
error-setting-preloaded = Whether to load it at the start: say yes or no.
error-setting-pinned = Whether to keep it in memory: say yes or no.
error-setting-embeds = { $model } makes embeddings: it has no users at once, KV type, template or preset.
error-setting-preset = There is no such preset.
error-setting-template-text = A chat template is a text.
error-setting-template = This chat template is not taken. { $detail }

# The hub and downloads; see app/hub/client.py
error-hub-off = The model hub is switched off here (hub_offline, or HF_HUB_OFFLINE).
error-hub-silent = { $host } does not answer. Check this machine's network, or try again later.
error-hub-unreachable = { $host } cannot be reached. Check this machine's network; all else here works without it.
error-hub-gated = { $model } is gated: its makers want to know who uses it. Accept their terms on its page at the hub, and enter a token of that account here (inglenook models token).
error-hub-refused = The hub does not let us have { $model }: it does not exist, is private, or wants a token. Check its name, and enter a token (inglenook models token).
error-hub-none = The hub has no { $model }, or not this version or file of it. Check the name.
error-hub-failed = The model hub answers with an error ({ $status }). Try again later.
error-hub-repo = '{ $repo }' is no repository. Write it as owner/name.
error-hub-token = This is no token: copy it once more from the hub's settings.
download-waits-hours = Waits for the hours in which downloads may run, { $hours }.
download-waits-other = Waits for another Inglenook that is downloading into the same data folder.
download-waits-turn = Waits until another download is done.
