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
library-model-gone = { $model } (not here any more)
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

# What can go wrong here: see `Said` in app/language.py
error-parameter-unknown = There is no parameter named “{ $name }”. Remove it.
error-system-prompt-long = The system prompt is longer than { $count } characters. Shorten it.
error-on-or-off = Choose on or off.
error-number = Give a number from { $low } to { $high }.
error-whole-number = Give a whole number.
error-lines = Give lines of text.
error-many-lines = Give at most { $count } of them, each of at most { $characters } characters.
error-when-full = Choose to leave out the oldest messages or to sum them up.
error-preset-name = Give the preset a name.
error-no-preset = There is no such preset. It may have been deleted.
error-prompt-name = Give the prompt a name.
error-prompt-command = Give a command of letters and digits.
error-prompt-empty = Write what the prompt says.
error-prompt-long = The prompt is longer than { $count } characters. Shorten it.
error-command-taken = /{ $command } is taken by “{ $name }”. Choose another command.
error-no-prompt = There is no such prompt. It may have been deleted.
error-library-not-json = The file is not JSON. Choose one that was exported here, or by Open WebUI.
error-library-none = The file holds no prompts or presets. Choose one that was exported here, or by Open WebUI.
error-library-many = The file holds more than { $count } entries. Split it.
error-entry-object = An entry is no object.
error-entry-parameters = Its parameters are no object.
error-entry-text = Its { $key } is no text.
