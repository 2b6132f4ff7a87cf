# Measuring models, and what they cost; see ui/pages/bench.py and app/services/benchmarks.py.

# What went wrong with a wish, or with a run
bench-models-wrong = Choose one model, or two different ones.
bench-levels-wrong = Give at most { $count } numbers of people at once, each from 1 to { $most }, as 1, 4, 8.
bench-levels-beyond = { $model } answers { $slots } at once, and { $waiting } more may wait in line: whoever is beyond that is turned away. Give at most { $most } at once.
bench-number-wrong = Give a whole number from { $least } to { $most }.
bench-prompts-wrong = Give 1 to { $count } prompts, of { $chars } characters together at most.
bench-list-wrong = { $name } must be a list, as ["…"] of texts or [1, 4] of numbers.
bench-embeds = { $model } makes embeddings and writes nothing, so there is nothing to measure here.
bench-running = A model is being measured already. Wait for its end, or stop it.
bench-none = There is no such measurement. Another may have been begun since, or the server has started anew.
bench-changed = { $model } was loaded anew in between, with other settings or less memory, so its figures are of two kinds. Measure again.
bench-gave-way = { $model } made room for a model that somebody asked for, so it was not measured to the end. Measure again when it is quiet.
bench-empty = { $model } gave an answer without a word, so there was nothing to measure. Take other prompts, or another model.
bench-too-long = None of the prompts fits into the model’s { $tokens } tokens with its answer. Take shorter ones, or shorter answers.
bench-costs-wrong = Give an amount of 0 or more, as 0.32.

# Beside the run before
bench-slower = { $percent } % slower than on { $date }, with { $clients } at once
bench-faster = { $percent } % faster than on { $date }, with { $clients } at once
bench-later = The first token comes { $percent } % later than on { $date }, with { $clients } at once
bench-sooner = The first token comes { $percent } % sooner than on { $date }, with { $clients } at once
bench-as-before = No faster or slower than on { $date }
bench-since = { $sentence }. Changed since: { $parts }
bench-parts = { $one }; { $other }
bench-part-engine = { $before } → { $now }
bench-part-app = Inglenook { $before } → { $now }
bench-part-context = context { $before } → { $now }
bench-part-at-once = at once { $before } → { $now }
bench-part-kv = KV { $before } → { $now }
bench-part-threads = threads { $before } → { $now }
bench-part-device = device { $before } → { $now }
bench-part-layers = layers on the GPU { $before } → { $now }
bench-part-version = another version of the model’s file

# Beside runs that it cannot be held against
bench-apart = Not compared with the run of { $date }: { $reasons }
bench-apart-prompts = other questions were asked
bench-apart-tokens = its answers had { $before } tokens, these { $now }
bench-apart-machine = it was measured on { $before }
bench-apart-quantisation = the format was { $before }
bench-apart-levels = it was measured with { $before } at once, this with { $now }

# Money; see app/services/prices.py
price-million = With { $clients } at once a million tokens cost { $price } here, as long as it writes.
price-always = The API asks { $api }: this machine is cheaper from the first token on.
price-above = Above { $million } million tokens a month, which are { $hours } hours of writing, this machine is cheaper than the API at { $api }.
price-never = The API asks { $api }: it is cheaper, however much is written.
price-beyond = This machine would be cheaper than the API at { $api } only above { $million } million tokens a month; it can write { $most } million.

# The page
bench = Measure
bench-about = How fast a model writes on this computer, on your own questions, and what that costs.
bench-no-model = There is nothing to measure. Find a model that fits this computer first.
bench-model = Model
bench-against = Beside it
bench-alone = Nothing else
bench-questions = Questions
bench-yours = Yours ({ $count })
bench-ours = Built in ({ $count })
bench-typed = Typed
bench-yours-about = The first ones of your oldest chats.
bench-ours-about = You have asked nothing yet, so some of ours are asked.
bench-typed-label = Your questions
bench-typed-about = One a line. If one has several lines, put a line of --- between them.
bench-levels = At once
bench-levels-auto = 1, 2, 4 … as many as it takes
bench-levels-about = How many people ask at the same time. If there are more than the model can answer at once, the others wait in line, and the results say so.
bench-tokens = Tokens an answer
bench-tokens-about = Each is written to this length, so that all do the same work.
bench-times-each = Repetitions
bench-times-about = Their median counts, and their spread is told.
bench-no-numbers = Give whole numbers.
bench-start = Measure
bench-leaving = This is answered elsewhere: questions of your chats stay here, and some of ours are sent. What you type is sent, too.
bench-promise = Takes some minutes, and goes on when you leave. Whoever chats goes first. Nothing of the questions is kept but a hash.

bench-measuring = Measuring { $models }
bench-meter = How far the measurement is
bench-stop = Stop
bench-loading = Loading
bench-warming = Warming up
bench-now = { $clients } at once, { $repetition } of { $all }
bench-last-round = { $speed } in the round before
bench-answers = { $done } of { $all } answers
bench-state-done = Measured.
bench-state-stopped = Stopped. Nothing of it is kept.
bench-state-failed = The measurement failed.

bench-result = Result
bench-so-far = so far
bench-speed = Tokens a second
bench-speed-about = All answers together; more is better.
bench-first = Time to the first token
bench-first-about = From the question on, the median; less is better.
bench-before = On { $date }
bench-of = { $model }: { $sentence }
bench-col-clients = Concurrency
bench-col-speed = Tok/s
bench-col-stream = Tok/s of one answer
bench-col-first = Time to first token
bench-col-between = Time between tokens
bench-col-price = A million tokens
bench-col-other = { $what }, other
bench-col-ratio = { $what }, ratio
bench-columns = Tok/s: all answers together. Of one answer: its own, after its first token. Times are medians; p95 is what 95 of 100 stay below.
bench-p95 = p95 { $time }
bench-slots = asked, { $slots } at once
bench-line = { $slots } are answered at once: where more ask, the others wait in line, and their wait is measured too.
bench-spread = { $low } to { $high }
bench-beside = Side by side
bench-beside-about = { $other }, the other, beside { $one }, turn by turn
bench-alike = within the spread
bench-times = { $ratio } ×
bench-and = { $one } and { $other }
bench-disturbed = Where somebody was answered meanwhile, the figures are lower than they could be. Measure again when it is quiet.
bench-guessed = Up to { $share } of the tokens were guessed ahead: more than in plain talk, since a text that is written on past its end repeats itself.
bench-disturbed-short = disturbed
bench-engine = { $engine } on the { $device }
bench-threads = { $count ->
    [one] { $count } thread
   *[other] { $count } threads
}
bench-elsewhere = { $engine } to a server elsewhere
bench-window = { $context } context
bench-room = { $context } context for { $clients } at once, KV { $kv }
bench-app = Inglenook { $version } on { $machine }
bench-asked = { $prompts }, about { $length } tokens each, { $heat }. Answers of { $tokens } tokens, the likeliest word each time, past the end of the text. { $repetitions }
bench-prompts-own = { $count ->
    [one] { $count } question from chats
   *[other] { $count } questions from chats
}
bench-prompts-given = { $count ->
    [one] { $count } typed question
   *[other] { $count } typed questions
}
bench-prompts-built-in = { $count ->
    [one] { $count } built-in question
   *[other] { $count } built-in questions
}
bench-cold = none of it cached
bench-warm = { $count } tokens of them cached
bench-repetitions = { $count ->
    [one] Measured once.
   *[other] Median of { $count }.
}

bench-money = Money
bench-money-about = in any one currency
cost-watts = Watts
cost-watts-about = From the wall, while it writes.
cost-kwh-price = A kilowatt hour
cost-kwh-price-about = What electricity costs.
cost-rent-per-hour = Rent an hour
cost-rent-per-hour-about = Of a machine that is paid by use.
cost-per-month = Each month
cost-per-month-about = Whether it writes or not: its price over its years, a flat rent.
cost-api-price = API
cost-api-price-about = A million output tokens there.
cost-unknown = Type in what this computer takes, and see what a million tokens cost, and from when on it is cheaper than an API.
cost-unmeasured = Measure a model first.

bench-history = History
bench-history-about = each beside its last run
bench-entry = { $model }, { $date }
bench-entry-with = { $engine }, Inglenook { $version }; { $prompts }, { $tokens } tokens
bench-entry-at = with { $clients } at once
bench-entry-first = first token, with { $clients }
