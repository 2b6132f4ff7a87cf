# Modelle beim Hub finden; siehe ui/pages/find.py und ui/pages/hub_model.py
find = Modell finden
find-about = Jedes Ergebnis wird zuerst mit diesem Computer verglichen.
find-label = Modelle suchen
find-placeholder = Name, Hersteller oder Zweck
find-host = Hugging Face
find-filter-size = Größe
find-any-size = Jede Größe
find-size-2 = Bis 2B
find-size-5 = 2B bis 5B
find-size-10 = 5B bis 10B
find-size-35 = 10B bis 35B
find-size-more = Über 35B
find-filter-format = Format
find-gguf = GGUF
find-safetensors = Safetensors
find-any-format = Jedes Format
find-filter-licence = Lizenz
find-any-licence = Jede Lizenz
find-filter-sort = Reihenfolge
find-sort-downloads = Am meisten geladen
find-sort-trending = Zurzeit beliebt
find-sort-likes = Am beliebtesten
find-sort-changed = Zuletzt geändert
find-sort-new = Neueste
find-starters = Gut für den Anfang
find-starters-about = Frei verwendbar, nach Speicher und Tempo dieses Computers gewählt
find-starters-rest = { $count ->
    [one] { $count } weiteres zeigen
   *[other] { $count } weitere zeigen
}
find-best = Am besten für diesen Computer
find-results = Ergebnisse
find-popular = Von vielen benutzt
find-count = { $count ->
    [0] Keine Ergebnisse
    [one] { $count } Ergebnis
   *[other] { $count } Ergebnisse
}
find-none = Nichts gefunden
find-none-about = Der Hub hat kein Modell zu „{ $text }“ mit diesen Filtern. Weniger Wörter versuchen.
find-none-filter = Der Hub hat kein Modell mit diesen Filtern.
find-more = Mehr zeigen
find-choose = Datei wählen
find-choose-named = Datei von { $model } wählen
find-gated = Mit Zustimmung
find-by = { $owner }
find-downloads = { $count ->
    [one] { $number } Download
   *[other] { $number } Downloads
}
find-changed = geändert { $when }
find-unreachable = Keine Ergebnisse.
does-thinks = Denkt nach
does-tools = Nutzt Werkzeuge
size-about = etwa { $size }
parameters-billion = { $number }B
parameters-million = { $number }M
get = Holen
get-named = { $model } holen
get-installed = Installiert
get-held = Angehalten

fit-unknown-format = Nur bei GGUF-Dateien ist vorher bekannt, ob sie passen.
fit-fits = Passt:
fit-tight = Knapp:
fit-too-big = Zu groß:
fit-unknown = Unbekannt:
fit-room = { $context } Kontext für { $chats } zugleich
fit-room-about = etwa { $context } Kontext für { $chats } zugleich
fit-on-cpu = auf dem Prozessor
fit-on-gpu = auf der GPU
fit-on-both = { $share } % auf der GPU, der Rest auf dem Prozessor
fit-needs = braucht { $needed }, dieser Computer hat { $there }.
fit-try = { $label } versuchen.
speed-about = Etwa { $speed } Token/s.
fit-unknown-open = öffnen, um zu sehen, ob es passt.

hub-open = Beim Hub öffnen
hub-asking = Der Hub wird gefragt
hub-parameters = { $count } Parameter
hub-licence = Lizenz { $licence }
hub-no-licence = Keine Lizenz genannt
hub-files = Dateien
hub-files-about = Die kleinste zuerst. Größere antworten besser und langsamer.
hub-usual = Übliche Wahl
hub-parts = { $count } Teile
hub-judging = Wird geprüft, ob es passt
hub-missing = { $file } fehlt beim Hub.
hub-no-files = Keine Datei zu holen
hub-no-files-about = Es gibt weder GGUF- noch Safetensors-Dateien.
hub-card = Über das Modell
hub-card-about = In den Worten der Hersteller; Bilder sind weggelassen
gated = Die Hersteller möchten wissen, wer es benutzt
gated-about = Mit einem Konto beim Hub den Bedingungen zustimmen und dann ein Token dieses Kontos eintragen. Es wird auf diesem Computer versiegelt aufbewahrt und geht nur an den Hub.
gated-terms = Bedingungen lesen
gated-token = Token
gated-token-other = Anderes Token (eines ist schon hinterlegt)
gated-token-about = Leer wird es vergessen.
gated-keep = Hinterlegen
gated-kept = Hinterlegt.
gated-forgotten = Vergessen.

starter-qwen3-0-6b = Das kleinste und schnellste, für einfache Fragen auf jedem Computer.
starter-granite-2b = Klein und sachlich. Gut für Zusammenfassungen und Listen.
starter-smollm3 = Klein, in allen Teilen offen, in sechs Sprachen.
starter-qwen3-4b = Das beste kleine Allround-Modell, in über 100 Sprachen.
starter-qwen3-8b = Ein starkes Allround-Modell in über 100 Sprachen.
starter-qwen3-14b = Sorgfältiger als das mit 8B, für schwerere Fragen.
starter-gpt-oss-20b = Denkt gut nach. Schreibt etwa so schnell wie ein Modell mit 4B.
starter-qwen3-30b-a3b = Weiß viel. Schreibt etwa so schnell wie ein Modell mit 4B.
starter-qwen3-32b = Langsamer und gründlicher. Für schwere Fragen.
