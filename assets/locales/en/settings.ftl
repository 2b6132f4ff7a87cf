# The settings page; see ui/pages/settings.py.
settings-for = For { $name }, on every device.

settings-look = How it looks
settings-theme-about = System follows your device.
settings-language = Language
settings-language-about = System follows your browser.
settings-text = Text size
settings-text-about = On top of your browser’s own setting.
settings-writing = Writing
settings-enter = The Enter key
settings-enter-about = With the other choice, { $keys } sends.
settings-enter-send = Sends
settings-enter-newline = New line

settings-password = Password
settings-password-present = Current password
settings-password-new = New password
settings-password-change = Change password
settings-password-changed = Changed. Other devices are signed out.

settings-keys = API keys
settings-keys-about = For programs that speak OpenAI’s API, at /v1 on this address.
settings-key-name = Name of a new key
settings-key-example = Laptop, editor
settings-key-terminal = command line
settings-key-make = Make a key
settings-key-copy = Copy it now; it is not shown again.
settings-key-made = { $hint }, made { $when }
settings-key-used = last used { $when }
settings-key-used-never = not used yet
settings-key-revoke = Revoke
settings-key-revoke-named = Revoke { $name }
settings-key-revoke-question = Revoke { $name }?
settings-key-revoke-about = Programs that use it are refused from now on.

settings-files = Your chats
settings-files-about = As files, to keep or to take elsewhere.
settings-export = Export all chats
settings-export-about = JSON comes back in here, and into Open WebUI. Markdown is a ZIP of texts to read.
settings-export-as = Export all chats as { $form }
settings-import = Import chats
settings-import-about = From ChatGPT, Open WebUI or Inglenook: the JSON, or the ZIP as you received it. Up to { $size }. Where a chat had files or pictures, a note with their names takes their place.
settings-import-limit = The setting import_max_bytes sets how large they may be.
settings-import-reading = Reading { $file }
settings-import-meter = Read
settings-import-so-far = { $count ->
    [one] { $count } chat
   *[other] { $count } chats
} so far, { $percent } % read. You can close this page.
settings-import-done = Imported.
settings-import-cancelled = Cancelled.
settings-import-failed = That went wrong.
settings-import-hide = Hide
settings-import-added = { $count ->
    [one] { $count } chat added.
   *[other] { $count } chats added.
}
settings-import-updated = { $count ->
    [one] { $count } chat had something new.
   *[other] { $count } chats had something new.
}
settings-import-known = { $count ->
    [one] { $count } chat was here already.
   *[other] { $count } chats were here already.
}
settings-import-skipped = { $count } skipped, and why
settings-import-more = And { $count } more.
settings-import-entry = Entry { $number }
settings-import-entry-of = Entry { $number } of { $file }
settings-import-file = The file
settings-import-place = { $place }: { $reason }

settings-device = This device
settings-sign-out-about = Answers being written go on.

settings-models = Models
settings-models-about = For everybody here. Only admins see this.
rules-budget = Memory for all models together, in GiB
rules-budget-about = When it is full, the model unused for longest makes room. Takes effect at the next load.
rules-no-budget = as much as there is
rules-limit = Downloads at most, in MiB a second
rules-limit-about = For all downloads together. Takes effect at once.
rules-no-limit = no limit
rules-limit-wrong = Give a number of MiB above 0, or leave it empty.
rules-hours = Download hours
rules-hours-about = When downloads may run, by this computer’s clock, for example 22:00-06:00.
rules-always = always
rules-place = Downloads go to
rules-own = Own folder
rules-shared = Shared cache
rules-place-about = For new downloads: { $own }, or { $shared }, which other programs use too.
rules-daily = Ask the hub once a day for newer versions
rules-daily-about = Only names of the models that came from there are sent. Nothing is downloaded unasked.
