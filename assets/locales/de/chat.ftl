# Das Gespräch: Nachrichten und was mit ihnen geschieht, Warten, Zahlen, der Platz im Kontext. Siehe app/language.py.

# --- die eigene Nachricht
chat-edit-mine = Eigene Nachricht bearbeiten
chat-edit-mine-hint = Fragt ab hier neu. Die alte Fassung bleibt.
chat-edit-send = Senden
chat-edit-too-long = Das ist zu lang, um es auf einmal zu senden. Bitte kürzen.
chat-edit-cancel = Abbrechen
chat-answer-this = Beantworten
chat-delete-from-here = Ab hier löschen
chat-deleted = Nachricht gelöscht
chat-undo = Rückgängig

# --- eine Antwort
chat-edit-answer = Antwort bearbeiten
chat-edit-answer-hint = Wird als eigene Fassung gespeichert.
chat-edit-save = Speichern
chat-edited = Bearbeitet
chat-copy = Kopieren
chat-copied = Kopiert
chat-copy-text = Als Text kopieren
chat-copy-markdown = Als Markdown kopieren
chat-again = Noch einmal
chat-again-with = Noch einmal mit einem anderen Modell
chat-go-on = Weiterschreiben
chat-continue = Fortsetzen
chat-read = Vorlesen
chat-read-stop = Vorlesen beenden
chat-more = Mehr
chat-delete = Löschen
chat-versions = Fassungen
chat-version-previous = Vorige Fassung
chat-version-next = Nächste Fassung
chat-stopped = Angehalten.
chat-stopped-kept = Was geschrieben war, ist noch da.
chat-interrupted = Unterbrochen.
chat-interrupted-why = Hier brach die Antwort ab.
chat-failed = Keine Antwort.
chat-cut = Abgeschnitten.
chat-cut-why = Die größte Länge war erreicht.
chat-model-starter = Kleines Startmodell
chat-model-ready = Bereit
chat-model-loading = Lädt
chat-model-draining = Wird entladen
chat-model-on-disk = Lädt, sobald gefragt wird
chat-model-failed = Ließ sich nicht laden

# --- Nachdenken
chat-thought = Erst nachgedacht
chat-thought-for = { $time } nachgedacht

# --- Warten
chat-wait-loading = { $model } wird geladen
chat-wait-loading-memory = wartet auf Speicher, bis ein anderes Modell fertig geantwortet hat
chat-wait-loading-other = wartet, bis ein anderes Modell geladen ist
chat-wait-summarising = Fasst das Bisherige zusammen
chat-wait-queue = { $position ->
    [1] Als Nächstes an der Reihe
    [2] An 2. Stelle
    [3] An 3. Stelle
   *[other] An { $position }. Stelle
 }
chat-wait-queue-why = nach einer Antwort, die gerade geschrieben wird
chat-wait-reading = Liest
chat-wait-thinking = Denkt nach
chat-wait-about = etwa { $time }
chat-wait-soon = jeden Moment
chat-wait-so-far = { $time } bisher
chat-wait-and = {", "}
chat-seconds = { $seconds } s
chat-minutes = { $minutes } min { $seconds } s

# --- Zahlen
chat-figures = Zahlen
chat-stat-speed = { $speed } Token/s
chat-stat-tokens = { $count ->
    [one] { $count } Token
   *[other] { $count } Token
 }
chat-figure-model = Modell
chat-figure-version = Version
chat-figure-connection = Verbindung
chat-figure-from-elsewhere = { $connection }, von anderswo
chat-from-elsewhere = Von anderswo, über { $connection }
chat-from-elsewhere-why = Für diese Antwort hat die Frage diesen Computer verlassen.
chat-figure-file = { $name }, { $size } Bytes, geändert { $changed }
chat-figure-speed = Tempo
chat-figure-per-second = { $speed } Token je Sekunde
chat-figure-first-token = Erstes Token nach
chat-figure-length = Länge
chat-figure-read = Gelesen
chat-figure-read-of = { $count ->
    [one] { $count } Token
   *[other] { $count } Token
 }, davon { $cached } noch bekannt
chat-figure-thought = Nachgedacht
chat-figure-duration = Insgesamt
chat-figure-left-out = Nicht gesehen
chat-figure-left-out-count = { $count ->
    [one] die älteste Nachricht
   *[other] die ältesten { $count } Nachrichten
 }

# --- das Fenster
chat-limit-left-out = Was hierüber steht, sieht das Modell nicht mehr
chat-limit-summarised = Was hierüber steht, kennt das Modell als Zusammenfassung
chat-limit-summary = Zusammenfassung lesen
chat-context = Kontext
chat-context-of = { $used } von { $window }
chat-context-about = etwa { $used } von { $window }
chat-context-label = Kontext: { $percent } % dessen, was das Modell sehen kann
chat-context-title = { $used } von { $window } Token
chat-context-title-about = Etwa { $used } von { $window } Token
chat-context-estimate = Eine Schätzung: Das Modell ist nicht geladen und konnte nicht zählen.
chat-context-fits = Das Modell sieht den ganzen Chat.
chat-context-left-out = { $count ->
    [one] Die älteste Nachricht passt nicht mehr. Die nächste Antwort entsteht ohne sie.
   *[other] Die ältesten { $count } Nachrichten passen nicht mehr. Die nächste Antwort entsteht ohne sie.
 }
chat-context-summarised = { $count ->
    [one] Die älteste Nachricht passt nicht mehr. Die nächste Antwort entsteht aus einer Zusammenfassung.
   *[other] Die ältesten { $count } Nachrichten passen nicht mehr. Die nächste Antwort entsteht aus einer Zusammenfassung.
 }
chat-context-when-full = Wenn der Chat nicht mehr passt
chat-context-leave-out = Älteste Nachrichten weglassen
chat-context-leave-out-about = Sofort. Was weiter oben steht, ist vergessen.
chat-context-summarise = Älteste Nachrichten zusammenfassen
chat-context-summarise-about = Dauert ab und zu einen Moment. Das Wesentliche bleibt.

# --- der Verlauf
chat-earlier = Frühere Nachrichten zeigen
chat-earlier-print = Frühere Nachrichten fehlen hier. Über „Drucken“ im Menü des Chats kommen alle aufs Papier.
chat-to-end = Zum Ende
chat-reply = Antworten
chat-reply-to = Antwort an { $model }
