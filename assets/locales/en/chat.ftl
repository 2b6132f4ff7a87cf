# The conversation: messages and what is done with them, waiting, figures, the context meter. See app/language.py.

# --- one's own message
chat-edit-mine = Edit your message
chat-edit-mine-hint = Asks again from here. The old version stays.
chat-edit-send = Send
chat-edit-too-long = That is too long to send at once. Shorten it.
chat-edit-cancel = Cancel
chat-answer-this = Answer this
chat-delete-from-here = Delete from here on
chat-deleted = Message deleted
chat-undo = Undo

# --- an answer
chat-edit-answer = Edit the answer
chat-edit-answer-hint = Saved as a version of its own.
chat-edit-save = Save
chat-edited = Edited
chat-copy = Copy
chat-copied = Copied
chat-copy-text = Copy as text
chat-copy-markdown = Copy as Markdown
chat-again = Try again
chat-again-with = Try again with another model
chat-go-on = Continue writing
chat-continue = Continue
chat-read = Read aloud
chat-read-stop = Stop reading aloud
chat-more = More
chat-delete = Delete
chat-versions = Versions
chat-version-previous = Previous version
chat-version-next = Next version
chat-stopped = Stopped.
chat-stopped-kept = What was written is kept.
chat-interrupted = Interrupted.
chat-interrupted-why = The answer stopped here.
chat-failed = No answer.
chat-cut = Cut short.
chat-cut-why = It reached its limit of length.
chat-model-starter = Small starter model
chat-model-ready = Ready
chat-model-loading = Loading
chat-model-draining = Unloading
chat-model-on-disk = Loads when you ask
chat-model-failed = Did not load

# --- thinking
chat-thought = Thought first
chat-thought-for = Thought for { $time }

# --- waiting
chat-wait-loading = Loading { $model }
chat-wait-loading-memory = waits for memory until another model has finished answering
chat-wait-loading-other = waits until another model is loaded
chat-wait-summarising = Summing up what came before
chat-wait-queue = { $position ->
    [1] Next in line
    [2] 2nd in line
    [3] 3rd in line
   *[other] Number { $position } in line
 }
chat-wait-queue-why = behind an answer that is being written
chat-wait-reading = Reading
chat-wait-thinking = Thinking
chat-wait-about = about { $time }
chat-wait-soon = any moment now
chat-wait-so-far = { $time } so far
chat-wait-and = {", "}
chat-seconds = { $seconds } s
chat-minutes = { $minutes } min { $seconds } s

# --- figures
chat-figures = Figures
chat-stat-speed = { $speed } tok/s
chat-stat-tokens = { $count ->
    [one] { $count } token
   *[other] { $count } tokens
 }
chat-figure-model = Model
chat-figure-version = Version
chat-figure-connection = Connection
chat-figure-from-elsewhere = { $connection }, from elsewhere
chat-from-elsewhere = From elsewhere, over { $connection }
chat-from-elsewhere-why = What was asked left this computer for this answer.
chat-figure-file = { $name }, { $size } bytes, changed { $changed }
chat-figure-speed = Speed
chat-figure-per-second = { $speed } tokens a second
chat-figure-first-token = First token after
chat-figure-length = Length
chat-figure-read = Read
chat-figure-read-of = { $count ->
    [one] { $count } token
   *[other] { $count } tokens
 }, { $cached } of them known from before
chat-figure-thought = Thought for
chat-figure-duration = Total time
chat-figure-left-out = Not seen
chat-figure-left-out-count = { $count ->
    [one] the oldest message
   *[other] the oldest { $count } messages
 }

# --- the window
chat-limit-left-out = The model no longer sees what stands above
chat-limit-summarised = The model sees what stands above as a summary
chat-limit-summary = Read the summary
chat-context = Context
chat-context-of = { $used } of { $window }
chat-context-about = about { $used } of { $window }
chat-context-label = Context: { $percent } % of what the model can see
chat-context-title = { $used } of { $window } tokens
chat-context-title-about = About { $used } of { $window } tokens
chat-context-estimate = An estimate: the model is not loaded, so it could not count.
chat-context-fits = The model sees the whole chat.
chat-context-left-out = { $count ->
    [one] The oldest message no longer fits. The next answer is written without it.
   *[other] The oldest { $count } messages no longer fit. The next answer is written without them.
 }
chat-context-summarised = { $count ->
    [one] The oldest message no longer fits. The next answer is written from a summary of it.
   *[other] The oldest { $count } messages no longer fit. The next answer is written from a summary of them.
 }
chat-context-when-full = When the chat no longer fits
chat-context-leave-out = Leave out the oldest
chat-context-leave-out-about = At once. What stands above is forgotten.
chat-context-summarise = Sum up the oldest
chat-context-summarise-about = Takes a moment now and then. The gist is kept.

# --- the thread
chat-earlier = Show earlier messages
chat-earlier-print = Earlier messages are left out. To have them all, print from the chat’s menu.
chat-to-end = Go to the end
chat-reply = Reply
chat-reply-to = Reply to { $model }
