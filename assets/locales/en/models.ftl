# The models page, and words about models elsewhere; see ui/pages/models.py.
models-about = What runs on this computer, and what could.
models-add-file = Add a file
models-add-about = A model in the GGUF format on the computer that runs Inglenook. It stays where it is.
models-add-where = Where it is
models-add = Add
models-installed = Installed
models-total = { $models }, { $size } on disk
models-show-all = Show all { $count }
models-none = No models yet
models-none-admin = Find one that fits this computer, or add a file that is here already.
models-find = Find more

model-ready = Ready
model-loading = Loading
model-loading-share = Loading, { $percent } %
model-unloading = Unloading
model-on-disk = On disk
model-failed = Did not load
model-default = Default
model-starter = Small starter model
model-embeddings = Embeddings
model-size = { $size } on disk
model-pinned = Stays in memory
model-details = Details and settings
model-pin = Keep in memory
model-unpin = Allow unloading
model-called = Programs call it { $id }.
model-of-size = { $kind }, { $size } on disk
model-adapter = { $name } at { $scale }
model-device = on the { $device }
model-context = { $context } context
model-context-most = at most
model-room = { $context } for { $chats }
model-room-text = { $context } for each text

model-load = Load
model-unload = Unload
model-more = More for { $model }
model-set-default = Set as default
model-set-default-named = Set as default: { $model }
model-remove = Remove
model-unload-question = Unload { $model }?
model-unload-answers = { $count ->
    [one] It is writing { $count } answer. It stops where it is, and can be continued later.
   *[other] It is writing { $count } answers. They stop where they are, and can be continued later.
}
model-unload-vectors = { $count ->
    [one] It is making vectors for { $count } request. It fails, and can be sent again later.
   *[other] It is making vectors for { $count } requests. They fail, and can be sent again later.
}
model-remove-question = Remove { $model }?
model-remove-files = Deleted with it, from the models folder: { $files }.
model-remove-kept = Its file stays at { $path }.
model-remove-kept-of-app = Its file is { $app }’s too, and stays at { $path }.
model-remove-gone = Its file is gone already.
model-remove-chats = { $count ->
    [one] One chat uses it: its answers stay, and another model has to be chosen there.
   *[other] { $count } chats use it: their answers stay, and another model has to be chosen there.
}

memory = Memory
memory-in-use = { $used } of { $total } GiB in use
memory-told = Memory: { $parts }
memory-free = Free
memory-others = Other programs
memory-free-told = { $size } free
memory-others-told = { $size } in other programs
memory-faded = Faded: room for conversations

figure-running = Being answered
figure-waiting = { $count } in line
figure-speed = Writing speed
figure-speed-note = all together, now
figure-first = First token after
figure-next = Then one every
figure-slowest = slowest 5 %: { $time }
figure-nothing = nothing written yet
figure-over = over { $time }
figure-cached = Read before
figure-cached-note = of all prompts
figure-held = Chats use
figure-held-note = of { $size }
figure-guessed = Guessed right
figure-guessed-note = of tokens tried ahead

# Downloads, on the models page; see ui/models/downloads.py
downloads = Downloading
downloads-count = { $count } models
download-pause = Pause
download-resume = Resume
download-so-far = { $done } of { $total } GiB
download-left = { $time } left
download-goes-on = Continues after a restart
download-queued = In line
download-paused = Paused
download-stopped = Stopped
download-verifying = Checking the download, { $percent }
download-done = { $model } is here and can be loaded.
download-meter = Download of { $model }
download-cancel = Cancel the download of { $model }
download-cancel-question = Cancel the download of { $model }?
download-cancel-about = What has come so far ({ $size }) is deleted. To keep it, pause instead.
download-cancel-nothing = Nothing has come yet.
download-cancel-yes = Cancel and delete

# Adding what is here already; see ui/models/bring.py
bring-upload = From this browser
bring-upload-about = A GGUF file of up to { $size }, or all files of a model that is split. They are copied to the computer that runs Inglenook.
bring-path = From the disk
bring-found = Found in other apps
bring-found-about = Used where they are, never copied or deleted.
bring-found-none = Nothing found in the folders of Hugging Face, Ollama, LM Studio and Jan.
bring-looking = Looking in the folders of Hugging Face, Ollama, LM Studio and Jan
bring-of = { $app }, { $size }
bring-use = Use
bring-here = Here already

# Models elsewhere; see ui/models/connections.py
elsewhere = Elsewhere
elsewhere-allow = Let models elsewhere be used
elsewhere-allow-about = What you send to one of them leaves this computer, along with the rest of that chat, its title and its summary. Each chat says so.
elsewhere-add = Add a connection
elsewhere-none = No connections yet. vLLM, SGLang, TensorRT-LLM, llama-server, Ollama, LM Studio, another Inglenook, or any server with OpenAI’s API.
elsewhere-count = { $count ->
    [one] { $count } connection
   *[other] { $count } connections
}
connection-answers = Answers
connection-fails = Not working
connection-unknown = Not asked yet
connection-off = Switched off
connection-all-off = All switched off
connection-models = { $count ->
    [one] { $count } model
   *[other] { $count } models
}
connection-latency = took { $time }
connection-answered = answered { $when }
connection-switch-on = Switch on
connection-switch-off = Switch off
connection-more = More for { $connection }
connection-test = Test it
connection-change = Change it
connection-remove = Remove it
connection-remove-question = Remove { $connection }?
connection-remove-about = Its key and its models go. Chats keep the answers that came over it.
connection-testing = Asking the server
connection-tested = It answers, and has { $count ->
    [one] { $count } model.
   *[other] { $count } models.
}
connection-left-out = { $count ->
    [one] { $count } more of its list cannot be used: its name cannot be read, or the list is too long.
   *[other] { $count } more of its list cannot be used: their names cannot be read, or the list is too long.
}
connection-name = Name
connection-name-about = Shown with answers that come over it. If left empty, the host’s name is used.
connection-url = Address
connection-url-about = The address of the server’s API. It usually ends in /v1.
connection-url-example = http://gpu.lan:8000/v1
connection-key = Key
connection-key-about = Where the server wants one. It is kept sealed, and never shown again.
connection-key-kept = There is one. Leave this empty to keep it.
connection-key-drop = Forget the key that is kept
connection-key-drop-about = The server is then asked without one, unless you enter another above.
connection-headers = Headers
connection-headers-about = Extra headers to send, one per line, for example X-Team: kitchen. They are kept sealed, too.
connection-headers-kept = There are some. Leave this empty to keep them; what is entered takes their place.
connection-headers-drop = Forget the headers that are kept
connection-headers-drop-about = The server is then asked without any, unless you enter others above.
connection-session = Session header
connection-session-about = A header with a number that keeps a conversation on the server that has it in its cache. The number reveals nothing else. If left empty, none is sent.
connection-details = Headers and session
connection-save = Test and save
connection-rest = { $count } more
model-over = over { $connections }
