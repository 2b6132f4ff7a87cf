# Measuring models, and what they cost; see ui/pages/bench.py and app/services/benchmarks.py.

# What went wrong with a wish, or with a run
bench-models-wrong = Choose one model, or two different ones.
bench-levels-wrong = Give at most { $count } numbers of people at once, each from 1 to { $most }, as 1, 4, 8.
bench-number-wrong = Give a whole number from { $least } to { $most }.
bench-prompts-wrong = Give 1 to { $count } prompts, of { $chars } characters together at most.
bench-list-wrong = { $name } must be a list, as ["…"] of texts or [1, 4] of numbers.
bench-embeds = { $model } makes embeddings and writes nothing, so there is nothing to measure here.
bench-running = A model is being measured already. Wait for its end, or stop it.
bench-none = There is no such measurement. Another may have been begun since, or the server has started anew.
bench-changed = { $model } was loaded anew in between, with other settings or less memory, so its figures are of two kinds. Measure again.
bench-too-long = None of the prompts fits into the model’s { $tokens } tokens with its answer. Take shorter ones, or shorter answers.
bench-costs-wrong = Give an amount of 0 or more, as 0.32.

# Beside the run before
bench-slower = { $percent } % slower than on { $date }, at { $clients } at once
bench-faster = { $percent } % faster than on { $date }, at { $clients } at once
bench-later = The first token comes { $percent } % later than on { $date }, at { $clients } at once
bench-sooner = The first token comes { $percent } % sooner than on { $date }, at { $clients } at once
bench-as-before = As on { $date }
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

# Money; see app/services/prices.py
price-million = At { $clients } at once a million tokens cost { $price } here, as long as it writes.
price-always = The API asks { $api }: this machine is cheaper from the first token on.
price-above = Above { $million } million tokens a month, which are { $hours } hours of writing, this machine is cheaper than the API at { $api }.
price-never = The API asks { $api }: it is cheaper, however much is written.
price-beyond = This machine would be cheaper than the API at { $api } only above { $million } million tokens a month; it can write { $most } million.
