# The models page, and words about models elsewhere; see ui/pages/models.py.
models-about = What runs on this computer.
models-add-file = Add a file
models-add-about = A model in the GGUF format, on the computer that runs Inglenook. It stays where it is.
models-add-where = Where it is
models-add = Add
models-installed = Installed
models-total = { $models }, { $size } on disk
models-none = No models yet
models-none-admin = Add a GGUF file that lies on this computer.
models-none-user = Ask your admin to add one.

model-ready = Ready
model-loading = Loading
model-unloading = Unloading
model-on-disk = On disk
model-failed = Did not load
model-default = Default
model-starter = Small starter model
model-embeddings = Embeddings
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
figure-held = Chats hold
figure-held-note = of { $size }
figure-guessed = Guessed right
figure-guessed-note = of tokens tried ahead
