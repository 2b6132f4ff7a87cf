# Modelle messen, und was sie kosten; siehe ui/pages/bench.py und app/services/benchmarks.py.

bench-models-wrong = Ein Modell wählen, oder zwei verschiedene.
bench-levels-wrong = Höchstens { $count } Zahlen von Personen zugleich angeben, jede von 1 bis { $most }, etwa 1, 4, 8.
bench-levels-beyond = { $model } antwortet { $slots } zugleich, und { $waiting } weitere können warten; wer darüber hinaus fragt, wird abgewiesen. Bitte höchstens { $most } zugleich angeben.
bench-number-wrong = Eine ganze Zahl von { $least } bis { $most } angeben.
bench-prompts-wrong = 1 bis { $count } Fragen angeben, zusammen höchstens { $chars } Zeichen.
bench-list-wrong = { $name } muss eine Liste sein, ["…"] von Texten oder [1, 4] von Zahlen.
bench-embeds = { $model } macht Embeddings und schreibt nichts, hier gibt es also nichts zu messen.
bench-running = Es wird schon ein Modell gemessen. Das Ende abwarten, oder es anhalten.
bench-none = Diese Messung gibt es nicht. Vielleicht wurde inzwischen eine andere begonnen, oder der Server neu gestartet.
bench-changed = { $model } wurde zwischendurch neu geladen, mit anderen Einstellungen oder weniger Speicher; die Zahlen passen nicht zusammen. Noch einmal messen.
bench-gave-way = { $model } hat einem Modell Platz gemacht, nach dem jemand gefragt hat, und wurde nicht zu Ende gemessen. In Ruhe noch einmal messen.
bench-empty = { $model } hat eine Antwort ohne ein Wort gegeben, also gab es nichts zu messen. Andere Fragen nehmen, oder ein anderes Modell.
bench-too-long = Keine der Fragen passt mit ihrer Antwort in die { $tokens } Token des Modells. Kürzere Fragen nehmen, oder kürzere Antworten.
bench-costs-wrong = Einen Betrag ab 0 angeben, etwa 0,32.

bench-slower = { $percent } % langsamer als am { $date }, bei { $clients } zugleich
bench-faster = { $percent } % schneller als am { $date }, bei { $clients } zugleich
bench-later = Das erste Token kommt { $percent } % später als am { $date }, bei { $clients } zugleich
bench-sooner = Das erste Token kommt { $percent } % früher als am { $date }, bei { $clients } zugleich
bench-as-before = Nicht schneller oder langsamer als am { $date }
bench-since = { $sentence }. Seither geändert: { $parts }
bench-parts = { $one }; { $other }
bench-part-engine = { $before } → { $now }
bench-part-app = Inglenook { $before } → { $now }
bench-part-context = Kontext { $before } → { $now }
bench-part-at-once = zugleich { $before } → { $now }
bench-part-kv = KV { $before } → { $now }
bench-part-threads = Threads { $before } → { $now }
bench-part-device = Gerät { $before } → { $now }
bench-part-layers = Schichten auf der GPU { $before } → { $now }
bench-part-version = eine andere Version der Modelldatei

# Beside runs that it cannot be held against
bench-apart = Nicht verglichen mit der Messung vom { $date }: { $reasons }
bench-apart-prompts = es wurden andere Fragen gestellt
bench-apart-tokens = ihre Antworten hatten { $before } Token, diese { $now }
bench-apart-machine = gemessen wurde auf { $before }
bench-apart-quantisation = das Format war { $before }
bench-apart-levels = gemessen wurde mit { $before } zugleich, diesmal mit { $now }

# Geld; siehe app/services/prices.py
price-million = Bei { $clients } zugleich kostet eine Million Token hier { $price }, solange geschrieben wird.
price-always = Die API verlangt { $api }: Dieser Computer ist vom ersten Token an günstiger.
price-above = Über { $million } Millionen Token im Monat, das sind { $hours } Stunden Schreiben, ist dieser Computer günstiger als die API mit { $api }.
price-never = Die API verlangt { $api }: Sie ist günstiger, wie viel auch geschrieben wird.
price-beyond = Günstiger als die API mit { $api } wäre dieser Computer erst über { $million } Millionen Token im Monat; er kann { $most } Millionen schreiben.

bench = Messen
bench-about = Wie schnell ein Modell auf diesem Computer schreibt, bei eigenen Fragen, und was das kostet.
bench-no-model = Es gibt nichts zu messen. Zuerst ein Modell finden, das auf diesen Computer passt.
bench-model = Modell
bench-against = Daneben
bench-alone = Nichts weiter
bench-questions = Fragen
bench-yours = Eigene ({ $count })
bench-ours = Eingebaute ({ $count })
bench-typed = Getippte
bench-yours-about = Die ersten der ältesten eigenen Chats.
bench-ours-about = Es gibt noch keine eigenen Fragen, also werden eingebaute gestellt.
bench-typed-label = Eigene Fragen
bench-typed-about = Eine je Zeile. Hat eine mehrere Zeilen, kommt eine Zeile aus --- dazwischen.
bench-levels = Zugleich
bench-levels-auto = 1, 2, 4 … so viele es nimmt
bench-levels-about = Wie viele Personen gleichzeitig fragen. Sind es mehr, als das Modell zugleich beantwortet, warten die anderen, und das steht dabei.
bench-tokens = Token je Antwort
bench-tokens-about = Jede wird so lang geschrieben, damit alle dieselbe Arbeit tun.
bench-times-each = Wiederholungen
bench-times-about = Ihr Median zählt, und ihre Spanne wird genannt.
bench-no-numbers = Ganze Zahlen angeben.
bench-start = Messen
bench-leaving = Das wird anderswo beantwortet: Fragen aus den Chats bleiben hier, gesendet werden eingebaute. Was eingetippt wird, wird auch gesendet.
bench-promise = Dauert einige Minuten und geht weiter, wenn die Seite zu ist. Wer chattet, geht vor. Von den Fragen bleibt nur eine Prüfsumme.

bench-measuring = { $models } wird gemessen
bench-meter = Wie weit die Messung ist
bench-stop = Anhalten
bench-loading = Lädt
bench-warming = Läuft warm
bench-now = { $clients } zugleich, { $repetition } von { $all }
bench-last-round = { $speed } in der Runde davor
bench-answers = { $done } von { $all } Antworten
bench-state-done = Gemessen.
bench-state-stopped = Angehalten. Nichts davon bleibt.
bench-state-failed = Die Messung ist gescheitert.

bench-result = Ergebnis
bench-so-far = bis jetzt
bench-speed = Token je Sekunde
bench-speed-about = Alle Antworten zusammen; mehr ist besser.
bench-first = Zeit bis zum ersten Token
bench-first-about = Ab der Frage, der Median; weniger ist besser.
bench-before = Am { $date }
bench-of = { $model }: { $sentence }
bench-col-clients = Gleichzeitig
bench-col-speed = Token/s
bench-col-stream = Token/s einer Antwort
bench-col-first = Zeit bis zum ersten Token
bench-col-between = Zeit zwischen Token
bench-col-price = Eine Million Token
bench-col-other = { $what }, daneben
bench-col-ratio = { $what }, Verhältnis
bench-columns = Token/s: alle Antworten zusammen. Einer Antwort: ihre eigenen, nach ihrem ersten Token. Zeiten sind Mediane; p95 ist, worunter 95 von 100 bleiben.
bench-p95 = p95 { $time }
bench-slots = fragen, { $slots } zugleich
bench-line = { $slots } werden zugleich beantwortet: Fragen mehr, warten die anderen, und ihre Wartezeit wird mitgemessen.
bench-spread = { $low } bis { $high }
bench-beside = Nebeneinander
bench-beside-about = { $other } neben { $one }, abwechselnd gemessen
bench-alike = innerhalb der Spanne
bench-times = { $ratio } ×
bench-and = { $one } und { $other }
bench-disturbed = Wo inzwischen jemand eine Antwort bekam, sind die Zahlen niedriger, als sie sein könnten. In Ruhe noch einmal messen.
bench-guessed = Bis zu { $share } der Token wurden vorausgeraten: mehr als im Gespräch, denn ein Text, der über sein Ende hinaus geschrieben wird, wiederholt sich.
bench-disturbed-short = gestört
bench-engine = { $engine } auf { $device }
bench-threads = { $count ->
    [one] { $count } Thread
   *[other] { $count } Threads
}
bench-elsewhere = { $engine } zu einem Server anderswo
bench-window = { $context } Kontext
bench-room = { $context } Kontext für { $clients } zugleich, KV { $kv }
bench-app = Inglenook { $version } auf { $machine }
bench-asked = { $prompts }, je etwa { $length } Token, { $heat }. Antworten von { $tokens } Token, stets das wahrscheinlichste Wort, über das Ende des Textes hinaus. { $repetitions }
bench-prompts-own = { $count ->
    [one] { $count } Frage aus Chats
   *[other] { $count } Fragen aus Chats
}
bench-prompts-given = { $count ->
    [one] { $count } getippte Frage
   *[other] { $count } getippte Fragen
}
bench-prompts-built-in = { $count ->
    [one] { $count } eingebaute Frage
   *[other] { $count } eingebaute Fragen
}
bench-cold = nichts davon im Cache
bench-warm = { $count } Token davon im Cache
bench-repetitions = { $count ->
    [one] Einmal gemessen.
   *[other] Median von { $count }.
}

bench-money = Geld
bench-money-about = in einer Währung nach Wahl
cost-watts = Watt
cost-watts-about = Aus der Steckdose, während es schreibt.
cost-kwh-price = Eine Kilowattstunde
cost-kwh-price-about = Was Strom kostet.
cost-rent-per-hour = Miete je Stunde
cost-rent-per-hour-about = Eines Computers, der nach Gebrauch bezahlt wird.
cost-per-month = Jeden Monat
cost-per-month-about = Ob er schreibt oder nicht: sein Preis über die Jahre, eine feste Miete.
cost-api-price = API
cost-api-price-about = Eine Million ausgegebene Token dort.
cost-unknown = Eintragen, was dieser Computer braucht, dann steht hier, was eine Million Token kostet und ab wann er günstiger ist als eine API.
cost-unmeasured = Zuerst ein Modell messen.

bench-history = Verlauf
bench-history-about = jede neben der Messung davor
bench-entry = { $model }, { $date }
bench-entry-with = { $engine }, Inglenook { $version }; { $prompts }, { $tokens } Token
bench-entry-at = bei { $clients } zugleich
bench-entry-first = erstes Token, bei { $clients }
