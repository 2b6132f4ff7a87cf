# The list of commands (Ctrl K), the sheet of shortcuts, and their keys; see ui/shortcuts.py.
commands-title = Search and commands
commands-search = Search chats and commands
commands-chats = Chats
commands-actions = Actions
commands-models = Models
commands-none = Nothing found. Try fewer or other words.
commands-found = { $count ->
    [one] { $count } result
   *[other] { $count } results
}
commands-move = move
commands-open = open
commands-scope = Searches titles and messages

command-new-chat = New chat
command-new-chat-about = New chat about “{ $text }”
command-commands = Search and commands
command-search = Search chats
command-composer = Go to the message field
command-stop = Stop the answer
command-edit = Edit your last message
command-copy = Copy the last answer
command-undo = Undo the last step
command-previous = Previous chat
command-next = Next chat
command-sidebar = Show or hide the sidebar
command-theme = Light or dark
command-light = Switch to light
command-dark = Switch to dark
command-settings = Settings
command-models = Models
command-find-model = Find a model
command-bench = Measure a model
command-people = People
command-library = Library
command-shortcuts = Keyboard shortcuts
command-send = Send the message
command-new-line = New line
command-use-model = Use { $model }

key-mod = Ctrl
key-shift = Shift
key-alt = Alt
