# The page of prompts and presets.

library-title = Library
library-about = What you write often, and how you like to be answered.
library-prompts = Prompts
library-presets = Presets
library-new-prompt = New prompt
library-edit-prompt = Edit prompt
library-new-preset = New preset
library-edit-preset = Edit preset
library-no-prompts = Save what you write often, and call it up in a chat with a slash.
library-no-presets = Save a system prompt with a model and its settings, and begin chats with it.
library-nothing-set = As the model does by itself
library-default = Default for new chats
library-set-default = Begin new chats with it
library-no-default = No longer begin new chats with it
library-edit = Edit
library-duplicate = Duplicate
library-delete = Delete
library-more = More for { $name }
library-copy = Copy of { $name }
library-undo = Undo
library-prompt-deleted = Prompt deleted
library-preset-deleted = Preset deleted

library-name = Name
library-command = Command
library-command-about = What you type after the slash. Left empty, it is made of the name.
library-content = Prompt
library-variables-about = Two braces ask for something: {"{{"}name{"}}"}, {"{{"}language=German{"}}"}, {"{{"}tone=warm|formal{"}}"}. Known are {"{{"}date{"}}"}, {"{{"}time{"}}"}, {"{{"}clipboard{"}}"} and {"{{"}selection{"}}"}.
library-asks-for = Asks for: { $names }
library-model = Model
library-any-model = Whichever is chosen
library-save = Save

library-file = As a file
library-file-about = Prompts and presets as JSON. Prompts exported by Open WebUI are read too.
library-too-large = That file is too large. Split it.
library-imported = { $prompts ->
    [one] { $prompts } prompt
   *[other] { $prompts } prompts
} and { $presets ->
    [one] { $presets } preset
   *[other] { $presets } presets
} added.
library-known = { $count ->
    [one] { $count } was here already.
   *[other] { $count } were here already.
}
library-skipped = { $count ->
    [one] { $count } skipped:
   *[other] { $count } skipped:
}
