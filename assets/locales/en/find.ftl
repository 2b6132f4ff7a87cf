# Finding models at the hub; see ui/pages/find.py and ui/pages/hub_model.py
find = Find a model
find-about = Each result is checked against this computer first.
find-label = Search models
find-placeholder = Name, maker or purpose
find-host = Hugging Face
find-filter-size = Size
find-any-size = Any size
find-size-2 = Up to 2B
find-size-5 = 2B to 5B
find-size-10 = 5B to 10B
find-size-35 = 10B to 35B
find-size-more = Over 35B
find-filter-format = Format
find-gguf = GGUF
find-safetensors = Safetensors
find-any-format = Any format
find-filter-licence = Licence
find-any-licence = Any licence
find-filter-sort = Order
find-sort-downloads = Most downloaded
find-sort-trending = Trending
find-sort-likes = Most liked
find-sort-changed = Recently updated
find-sort-new = Newest
find-starters = Good to begin with
find-starters-about = Free to use, and chosen for this computer’s memory and speed
find-starters-rest = { $count ->
    [one] Show { $count } more
   *[other] Show { $count } more
}
find-best = Best for this computer
find-results = Results
find-popular = Used by many
find-count = { $count ->
    [0] No results
    [one] { $count } result
   *[other] { $count } results
}
find-none = Nothing found
find-none-about = The hub has no model for “{ $text }” with these filters. Try fewer words.
find-none-filter = The hub has no model with these filters.
find-more = Show more
find-choose = Choose a file
find-choose-named = Choose a file of { $model }
find-gated = Gated
find-by = { $owner }
find-downloads = { $count ->
    [one] { $number } download
   *[other] { $number } downloads
}
find-changed = changed { $when }
find-unreachable = No results.
does-thinks = Thinks
does-tools = Uses tools
size-about = about { $size }
parameters-billion = { $number }B
parameters-million = { $number }M
get = Get
get-named = Get { $model }
get-installed = Installed
get-held = Paused

fit-unknown-format = Only for GGUF files can it be told beforehand whether they fit.
fit-fits = Fits:
fit-tight = Tight:
fit-too-big = Too big:
fit-unknown = Not known:
fit-room = { $context } context for { $chats } at once
fit-room-about = about { $context } context for { $chats } at once
fit-on-cpu = on the processor
fit-on-gpu = on the GPU
fit-on-both = { $share } % on the GPU, the rest on the processor
fit-needs = needs { $needed }, this computer has { $there }.
fit-try = Try { $label }.
speed-about = About { $speed } tok/s.
fit-unknown-open = open it to see whether it fits.

hub-open = Open at the hub
hub-asking = Asking the hub
hub-parameters = { $count } parameters
hub-licence = Licence { $licence }
hub-no-licence = No licence named
hub-files = Files
hub-files-about = Smallest first. Larger ones answer better, and slower.
hub-usual = Usual choice
hub-parts = { $count } parts
hub-judging = Checking whether it fits
hub-missing = { $file } is missing at the hub.
hub-no-files = No file to get
hub-no-files-about = It has neither GGUF nor safetensors files.
hub-card = About
hub-card-about = As its makers tell it; pictures are left out
gated = Its makers want to know who uses it
gated-about = Accept their terms at the hub with an account there, then enter a token of that account. It is kept sealed on this computer and goes to the hub alone.
gated-terms = Read the terms
gated-token = Token
gated-token-other = Another token (one is kept already)
gated-token-about = Empty forgets it.
gated-keep = Keep
gated-kept = Kept.
gated-forgotten = Forgotten.

starter-qwen3-0-6b = The smallest and quickest, for simple questions on any computer.
starter-granite-2b = Small and matter-of-fact. Good for summaries and lists.
starter-smollm3 = Small, open in all its parts, in six languages.
starter-qwen3-4b = The best small all-rounder, in over 100 languages.
starter-qwen3-8b = A strong all-rounder in over 100 languages.
starter-qwen3-14b = More careful than the 8B, for harder questions.
starter-gpt-oss-20b = Thinks well. Writes about as quickly as a model with 4B.
starter-qwen3-30b-a3b = Knows a great deal. Writes about as quickly as a model with 4B.
starter-qwen3-32b = Slower and more thorough. For hard questions.
