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
error-password-present = This is not your current password.
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
error-model-elsewhere = { $model } is on a server elsewhere: it has no file here. Its connection stands on the Models page, under Elsewhere.
error-elsewhere-off = Models elsewhere are switched off on this Inglenook. An admin can switch them on, on the Models page.
error-connections-many = There are { $count } connections already. Remove one first.
error-connection-name = Give the connection a name.
error-connection-taken = There is a connection called { $name } already. Choose another name.
error-connection-changed = { $name } was changed by somebody else meanwhile. Look at it again before you change it.
error-connection-url = Give an address like http://gpu.lan:8000/v1, without name, password or query.
error-connection-key = A key has only plain characters and no spaces.
error-connection-key-again = This is another address: enter its key and headers again. The old ones are not sent there.
error-connection-header = '{ $name }' cannot be sent as a header. Write one a line, as in X-Team: kitchen.
error-connection-headers-many = At most { $count } headers.
error-secrets-key = Nothing can be sealed with { $path } ({ $detail }). Correct the permissions of that file and its folder.
error-secrets-key-damaged = { $path } is damaged, so nothing can be sealed with it. Put a copy of it back, or remove it and enter all keys and tokens again.
error-no-connection = There is no connection '{ $name }'. Those that there are: { $known }.
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
error-engine = { $detail }
error-inside = { $detail }

error-import-running = An import is running already. Wait for its end, or cancel it.
error-import-large = The file is larger than { $count } bytes. Split it, or ask an admin.
error-import-cut = Inglenook was stopped while it read your file. What was read by then is here; choose the file once more, and only the rest is added.
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

# What else the store, the routes and the commands tell
error-words = { $detail }
error-store = { $detail }
error-migration = { $detail }
error-database-too-new = { $detail }
error-not-signed-in = Sign in, or send an API key.
error-admins-only = Only admins may do this. Ask one.
error-must-be-text = { $name } must be a text.
error-tag-unnamed = Give the tag a name.
error-folder-unnamed = Give the folder a name.
error-context-input = This model's maximum context length is { $limit } tokens. However, input[{ $index }] has { $count } tokens. Shorten it, or send it as several inputs.

# Of models: adding, updating, settings
error-waiting-for-load = Waiting until another model has loaded.
either-or = { $first } or { $last }
error-pinned = { $detail } Pinned, and so not unloaded for it: { $models }.
error-path-unreadable = { $path } cannot be read: { $detail }. Check its permissions.
error-files-gone = { $path } is gone. Put it back, or remove the model here.
error-files-gone-of-app = { $path } is gone. It was { $app }'s. Put it back, or remove the model here.
error-found-none = There is no file { $name }, and no model of that name in another app: see `models found`.
error-found-several = Several models are called so: { $which }. Add one by its whole name, or by its path.
error-found-unusable = { $name } of { $app } cannot be used. { $detail }
error-model-removed = The model '{ $model }' was removed meanwhile.
error-update-starter = { $model } is updated with Inglenook. Add the file as a model of its own.
error-update-kind = Of { $model } and { $file }, one writes and one makes embeddings.
error-update-known = { $path } is { $model } already, under the id { $id }.
error-version-already = { $model } is of this version already.
error-version-gone = { $path } is gone, so { $model } cannot go back to it. Put the file there again.
error-version-in-use = { $model } is of this version. Go back to another one first, or remove the model.
error-version-first = { $model } has no earlier version here.
error-version-many = More than one version of { $model } begins with '{ $version }'.
error-version-none = No version of { $model } begins with '{ $version }'.
error-no-such-model = There is no model '{ $model }' here.
error-budget = The memory budget is a number of GiB, of more than 0 to { $count }.
error-alias-taken = '{ $alias }' is the name of { $model } already. Choose another alias.
error-alias-odd = '{ $alias }' is no alias: take up to 100 letters, digits, and . : / @ + - _
error-aliases-many = A model may have { $count } aliases.
error-setting-none = There is no setting '{ $name }' of a model.
error-setting-number = { $what }: give a whole number of { $low } to { $high }.
error-setting-yes-no = { $what }: say yes or no.
error-setting-context = The context, in tokens
error-setting-users = Users at once
error-setting-layers = Layers on the GPU
error-setting-threads = Threads
error-setting-keep-alive = Seconds to keep it in memory
error-setting-preloaded = Whether to load it at the start
error-setting-pinned = Whether to keep it in memory
error-setting-kv = The KV type is one of { $known }.
error-setting-weights = The weights' format is one of { $known }, or auto for what is on the disk.
error-setting-weights-gguf = { $model } is a GGUF file, whose format is fixed. “models optimize” makes a copy of it in another.
error-setting-device = The device is cpu, gpu, or gpu0, gpu1 and so on.
error-setting-trained = { $model } was trained for { $count } tokens of context, and is no good beyond.
error-setting-cpu-layers = On the processor alone no layers are on a GPU. Leave one of them out.
error-setting-embeds = { $model } makes embeddings: it has no users at once, KV type, template or preset.
error-template-text = A chat template is a text.
error-template-unfit = This chat template is not taken. { $detail }

optimize-nothing = No other format promises more for { $model }. Try one that you choose, with --to.
optimize-already = { $model } is in { $format } already. Choose another format.
optimize-replaced = { $file } was replaced while it was measured. Try again.
optimize-older = { $path } is older than { $file }, so it may be a copy of something else. Remove that model on the Models page, or move the file away, and try again.
optimize-no-room = A copy in { $format } needs about { $needed } MB, and { $free } MB are free in { $folder }. Free some space, or choose another --data-dir.
optimize-running = `models optimize` runs already on this data folder. Wait for its end.
optimize-running-by = `models optimize` runs already on this data folder (process { $process }). Wait for its end.

command-file-there = { $path } is there already. Choose another name.
command-key-many = More than one key begins with '{ $key }'. See `inglenook keys list`.
command-key-none = No key begins with '{ $key }'. See `inglenook keys list`.
command-no-user = There is no user called { $name }. See `inglenook users list`.
command-anyway = { $reason } To download it all the same, add --anyway.
command-download-many = More than one download is '{ $download }'. See `inglenook models downloads`.
command-download-none = No download is '{ $download }'. See `inglenook models downloads`.
command-no-admin = Inglenook runs at { $url } without an admin. Make one: inglenook users add NAME --admin.
command-no-answer = Inglenook at { $url } does not answer ({ $detail }). Try again.
command-odd-answer = Inglenook answers with { $status }. Its log may say why.
listen-no-address = '{ $host }' is no address of this machine. Choose another --host.
listen-in-use = Port { $port } is in use{ $by }. Stop that program, or choose another port with --port.
listen-not = Cannot listen on { $host }, port { $port }: { $detail }. Choose another.
listen-by = {" "}by { $name } (process { $process })
error-preset-of-admin = There is no such preset of an admin.
command-preset-many = More than one preset is '{ $preset }': { $known }. Give its ID.
command-preset-none = No admin has a preset '{ $preset }'. There are: { $known }.
