# Modelle messen, und was sie kosten; siehe ui/pages/bench.py und app/services/benchmarks.py.

bench-models-wrong = Ein Modell wählen, oder zwei verschiedene.
bench-levels-wrong = Höchstens { $count } Zahlen von Personen zugleich angeben, jede von 1 bis { $most }, etwa 1, 4, 8.
bench-number-wrong = Eine ganze Zahl von { $least } bis { $most } angeben.
bench-prompts-wrong = 1 bis { $count } Fragen angeben, zusammen höchstens { $chars } Zeichen.
bench-list-wrong = { $name } muss eine Liste sein, ["…"] von Texten oder [1, 4] von Zahlen.
bench-embeds = { $model } macht Embeddings und schreibt nichts, hier gibt es also nichts zu messen.
bench-running = Es wird schon ein Modell gemessen. Das Ende abwarten, oder es anhalten.
bench-none = Diese Messung gibt es nicht. Vielleicht wurde inzwischen eine andere begonnen, oder der Server neu gestartet.
bench-changed = { $model } wurde zwischendurch neu geladen, mit anderen Einstellungen oder weniger Speicher; die Zahlen passen nicht zusammen. Noch einmal messen.
bench-too-long = Keine der Fragen passt mit ihrer Antwort in die { $tokens } Tokens des Modells. Kürzere Fragen nehmen, oder kürzere Antworten.
bench-costs-wrong = Einen Betrag ab 0 angeben, etwa 0,32.

bench-slower = { $percent } % langsamer als am { $date }, bei { $clients } zugleich
bench-faster = { $percent } % schneller als am { $date }, bei { $clients } zugleich
bench-later = Das erste Token kommt { $percent } % später als am { $date }, bei { $clients } zugleich
bench-sooner = Das erste Token kommt { $percent } % früher als am { $date }, bei { $clients } zugleich
bench-as-before = Wie am { $date }
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

# Geld; siehe app/services/prices.py
price-million = Bei { $clients } zugleich kostet eine Million Tokens hier { $price }, solange geschrieben wird.
price-always = Die API verlangt { $api }: Dieser Computer ist vom ersten Token an günstiger.
price-above = Über { $million } Millionen Tokens im Monat, das sind { $hours } Stunden Schreiben, ist dieser Computer günstiger als die API mit { $api }.
price-never = Die API verlangt { $api }: Sie ist günstiger, wie viel auch geschrieben wird.
price-beyond = Günstiger als die API mit { $api } wäre dieser Computer erst über { $million } Millionen Tokens im Monat; er kann { $most } Millionen schreiben.
