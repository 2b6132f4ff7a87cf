# The sidebar of the chat page: the list of chats, folders, search. See app/language.py.

sidebar-new-chat = New chat
sidebar-search = Search
sidebar-chats = Chats
sidebar-empty = Your chats will appear here.
sidebar-writing = Writing an answer
sidebar-menu-of = Menu of { $name }
sidebar-new-title = New title
sidebar-undo = Undo

# headings
sidebar-pinned = Pinned
sidebar-folders = Folders
sidebar-today = Today
sidebar-yesterday = Yesterday
sidebar-week = Previous 7 days
sidebar-month = Previous 30 days
sidebar-month-name = { $month ->
    [1] January
    [2] February
    [3] March
    [4] April
    [5] May
    [6] June
    [7] July
    [8] August
    [9] September
    [10] October
    [11] November
   *[12] December
 }

# the menu of a chat
sidebar-pin = Pin
sidebar-unpin = Unpin
sidebar-pin-up = Move up
sidebar-rename = Rename
sidebar-move-to = Move to
sidebar-no-folder = No folder
sidebar-tags = Tags
sidebar-tag-new = New tag
sidebar-add = Add
sidebar-select = Select
sidebar-archive = Archive
sidebar-unarchive = Bring back
sidebar-export = Export as { $form }
sidebar-print = Print
sidebar-delete = Delete

# folders and the archive
sidebar-folder-new = New folder
sidebar-folder-name = Name of the folder
sidebar-folder-inside = New folder inside
sidebar-folder-up = Move up
sidebar-folder-down = Move down
sidebar-folder-out = Move out
sidebar-folder-delete = Delete folder, keep chats
sidebar-archive-name = Archive
sidebar-archived = Archived
sidebar-archive-back = Back to chats
sidebar-archive-empty = The archive is empty.

# many at once
sidebar-selected = { $count } selected
sidebar-select-end = End selection

# said when it is done, with Undo beside it
sidebar-done-moved = { $count ->
    [one] Chat moved
   *[other] { $count } chats moved
 }
sidebar-done-pinned = { $count ->
    [one] Chat pinned
   *[other] { $count } chats pinned
 }
sidebar-done-unpinned = { $count ->
    [one] Chat unpinned
   *[other] { $count } chats unpinned
 }
sidebar-done-archived = { $count ->
    [one] Chat archived
   *[other] { $count } chats archived
 }
sidebar-done-unarchived = { $count ->
    [one] Chat brought back
   *[other] { $count } chats brought back
 }
sidebar-done-deleted = { $count ->
    [one] Chat deleted
   *[other] { $count } chats deleted
 }
sidebar-done-tagged = { $count ->
    [one] Chat tagged
   *[other] { $count } chats tagged
 }
sidebar-done-untagged = Tag removed
sidebar-done-folder = Folder created
sidebar-done-folder-deleted = Folder deleted, its chats are kept
sidebar-done-folder-moved = Folder moved
sidebar-done-renamed = Renamed

# search
sidebar-search-label = Search chats
sidebar-search-close = Close search
sidebar-search-hint = Search looks at titles and every message. Narrow it with words such as { $tag }:work or { $before }:2026-10.
sidebar-found = { $more ->
    [yes] More than { $count } chats say “{ $words }”
   *[no] { $count ->
        [0] No chat says “{ $words }”
        [one] { $count } chat says “{ $words }”
       *[other] { $count } chats say “{ $words }”
     }
 }
sidebar-found-all = { $more ->
    [yes] More than { $count } chats
   *[no] { $count ->
        [0] No such chat
        [one] { $count } chat
       *[other] { $count } chats
     }
 }
sidebar-filters = Narrow the search
sidebar-filter-folder = Folder
sidebar-filter-tag = Tag
sidebar-filter-date = Date
sidebar-filter-who = Who
sidebar-filter-model = Model
sidebar-from-me = My messages
sidebar-from-model = Answers
sidebar-before-year = Before { $year }

# words that the search understands, as they are written into it: app/services/search_words.py knows them all
sidebar-word-tag = tag
sidebar-word-in = in
sidebar-word-before = before
sidebar-word-after = after
sidebar-word-from = from
sidebar-word-me = me
sidebar-word-model-role = model
sidebar-word-model = model
sidebar-word-is = is
sidebar-word-pinned = pinned
sidebar-word-archived = archived

# a switch on the settings page
sidebar-titles = Names for chats
sidebar-titles-about = After the first answer the model gives a new chat its title. A title you write stays.
