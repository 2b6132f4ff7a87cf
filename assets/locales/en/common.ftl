# Words that several pages share; see app/language.py. Browser components have these too.
language-name = English
app-description = A private chat with language models on your own machine.
page-title = { $page } · Inglenook

close = Close
cancel = Cancel
try-again = Try again
undo = Undo
new-chat = New chat

# The frame around every page
side-hide = Hide sidebar
side-show = Show sidebar
menu-open = Open menu
menu-close = Close menu
back-to-chats = Back to chats
chats = Chats
models = Models
people = People
settings = Settings
sign-out = Sign out
role-admin = Admin
role-user = Signed in
theme = Theme
theme-light = Light
theme-dark = Dark
theme-system = System
connection-lost = Connection lost.
connection-again = Trying again. Answers go on if the server still runs. What you do now is done once it is back; if it could not be, you are told.
connection-unsure = The connection was lost. What you did last may not have been done: please check.

# Where the words go: on the machine before its reader, or on the office's one
stays-here = Stays on this computer. Check what matters.
stays-at = Stays at { $host }. Check what matters.
stays-now-here = What you write now stays on this computer. Answers above came over { $connections }.
stays-now-at = What you write now stays at { $host }. Answers above came over { $connections }.
nothing-leaves-here = Nothing you write leaves this computer.
nothing-leaves-host = Nothing you write leaves { $host }.
leaves-here = What you write goes to { $connection } and leaves this computer.
leaves-host = What you write goes to { $connection } and leaves { $host }.

# Times of day and days
greeting-morning = Good morning, { $name }
greeting-day = Good afternoon, { $name }
greeting-evening = Good evening, { $name }
greeting-night = Hello, { $name }
today = Today
yesterday = Yesterday
when-today = today
when-yesterday = yesterday
when-on = on { $date }

# Numbers with their units; the numbers come written as the reader's language writes them
size-gib = { $number } GiB
size-mib = { $number } MiB
unit-seconds = { $number } s
unit-milliseconds = { $number } ms
unit-minutes = { $minutes } min { $seconds } s
unit-hours = { $hours } h { $minutes } min
unit-mib-per-s = { $number } MiB/s
unit-kib-per-s = { $number } KiB/s
unit-percent = { $number } %
unit-speed = { $number } tok/s
count-chats = { $count ->
    [one] { $count } chat
   *[other] { $count } chats
}
count-models = { $count ->
    [one] { $count } model
   *[other] { $count } models
}

# A file sent to the server
file-choose = Choose a file
file-drop-here = Drop it here, or
file-let-go = Let go to import
file-sending = Sending { $percent } %
file-too-large = That file is too large.
file-not-sent = The file could not be sent. Is the server still there?
file-missing = { $count ->
    [one] { $files } is still missing: send it, too.
   *[other] { $count } files are still missing, as { $files }: send them, too.
}
file-refused = The server answered { $status }.
