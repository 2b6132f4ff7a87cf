# Messages of this area; see app/language.py.
# The composer, the new chat's page, the model picker. Browser components have these too.

composer-message = Message
composer-ask = Ask anything. It stays here.
composer-ask-elsewhere = Ask anything. It goes to { $connection }.
composer-send = Send
composer-stop = Stop
composer-cancel = Cancel
composer-think = Think first
composer-too-long = That is too long to send at once. Take the part that matters.
composer-held = Not sent yet: the answer is still being written. Stop it, or wait until it ends.
composer-over = This is more than the { NUMBER($window) } tokens that the model sees at once, so it may not be able to answer. Take the part that matters.
composer-temporary-gone = The temporary chat is gone: it was kept nowhere.
composer-length = { NUMBER($characters) } characters, about { NUMBER($tokens) } tokens
composer-prompts = Prompts
composer-no-prompts = No prompts yet. Save what you write often, and call it up with a slash.
composer-manage-prompts = Presets and prompts

prompt-insert = Insert
prompt-clipboard = From the clipboard
prompt-selection = Marked in the chat
prompt-paste = Paste
prompt-paste-refused = The browser keeps the clipboard to itself. Paste into the field by hand.

param-back = Back to { $value }
param-slider = { $name }, slider
param-clear = Clear
param-not-number = Give a number from { $low } to { $high }.
param-not-whole = Give a whole number from { $low } to { $high }.
drawer-close = Close
library-import = Import
library-export = Export
