# How a chat is answered: the new chat's page, the picker, the drawer, temporary chats.

hello-sub = What shall we work on?
hello-letter = Write a letter
hello-letter-start = Write a letter to{" "}
hello-sum-up = Sum up a text
hello-sum-up-start =
    Sum up this text in five points:

    {""}
hello-code = Explain code
hello-code-start =
    Explain step by step what this code does:

    {""}
hello-think = Think something through
hello-think-start = Help me think this through:{" "}
hello-starter = This model is for a first try: quick, but it knows little.
hello-starter-link = Add a larger one
hello-no-model = There is no model yet.
hello-no-model-link = Add one
hello-not-here = This chat is not here
hello-not-here-title = Not here
hello-not-here-about = It may have been deleted, or it belongs to somebody else.
hello-new-chat = New chat

picker-model = Model:{" "}
picker-models = Models
picker-none = No model yet
picker-absent-off = Not reachable
picker-absent-removed = Removed
picker-absent-unknown = Not here
absent-use = Use { $model }
absent-others = Other models
absent-unsent = Nothing was sent. Choose another model first.
picker-all = All models
picker-add = Add a model
picker-find = Find a model
picker-presets = Presets
picker-no-preset = No preset
picker-library = Presets and prompts
picker-starter = small starter model
picker-starter-long = Small starter model
picker-state-ready = Ready
picker-state-loading = Loading
picker-state-draining = Unloading
picker-state-on-disk = Loads when you ask
picker-state-failed = Did not load
picker-elsewhere = Elsewhere, over { $connections }
picker-elsewhere-ready = Answers when you ask
picker-elsewhere-failing = Did not answer last time

head-menu = Chat menu
head-new-chat = New chat
head-settings = Chat settings
head-settings-changed = Chat settings, changed
head-temporary = Temporary chat

temporary-title = Temporary chat
temporary-about = Kept nowhere. It is gone when you leave this page or reload it.
temporary-line = Temporary: kept nowhere, gone when you leave this page.
temporary-gone = This temporary chat is gone
temporary-gone-about = It was kept nowhere, and the page that began it was left.
temporary-ask = Ask anything. It is not kept.

setup-title = Chat settings
setup-about = For this chat, from the next answer on.
setup-reset = Reset all
setup-library = Presets and prompts

param-system-prompt = System prompt
param-system-prompt-about = Who the model is and how it answers. It reads this before every answer.
param-temperature = Temperature
param-temperature-about = Low stays with the likeliest words, high takes more chances.
param-top-p = Top-p
param-top-p-about = Only the likeliest words that together have this share of the chances.
param-top-k = Top-k
param-top-k-about = Only this many of the likeliest words. 0 is no limit.
param-min-p = Min-p
param-min-p-about = Leaves out words less likely than this share of the likeliest one’s chance.
param-repetition-penalty = Repetition penalty
param-repetition-penalty-about = Above 1, words that were said are said less. 1 is off.
param-max-tokens = Longest answer
param-max-tokens-about = In tokens; a token is about four letters. Continue goes on from there.
param-seed = Seed
param-seed-none = any
param-seed-about = With the same number the same question gets the same answer.
param-stop = Stop at
param-stop-placeholder = One a line
param-stop-about = The answer ends before any of these. Write \n for a new line.
param-reasoning = Think first
param-reasoning-about = Slower, and better at what takes several steps. Where the model knows how.
param-when-full = When the chat is too long
param-when-full-about = What happens to the oldest messages. The system prompt always stays.
param-model-s-choice = Default
param-on = On
param-off = Off
param-leave-out = Leave out
param-summarise = Sum up
