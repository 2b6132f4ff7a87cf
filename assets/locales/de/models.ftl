# Die Seite der Modelle, und Worte über Modelle anderswo; siehe ui/pages/models.py.
models-about = Was auf diesem Computer läuft.
models-add-file = Datei hinzufügen
models-add-about = Ein Modell im GGUF-Format auf dem Computer, auf dem Inglenook läuft. Es bleibt, wo es ist.
models-add-where = Speicherort
models-add = Hinzufügen
models-installed = Installiert
models-total = { $models }, { $size } auf der Platte
models-none = Noch keine Modelle
models-none-admin = Eine GGUF-Datei hinzufügen, die auf diesem Computer liegt.
models-none-user = Der Admin kann eines hinzufügen.

model-ready = Bereit
model-loading = Lädt
model-unloading = Wird entladen
model-on-disk = Auf der Platte
model-failed = Nicht geladen
model-default = Standard
model-starter = Kleines Startmodell
model-embeddings = Embeddings
model-of-size = { $kind }, { $size } auf der Platte
model-adapter = { $name } mit { $scale }
model-device = auf { $device }
model-context = { $context } Kontext
model-context-most = höchstens
model-room = { $context } für { $chats }
model-room-text = { $context } für jeden Text

model-load = Laden
model-unload = Entladen
model-more = Mehr zu { $model }
model-set-default = Als Standard festlegen
model-remove = Entfernen
model-unload-question = { $model } entladen?
model-unload-answers = { $count ->
    [one] Es schreibt gerade { $count } Antwort. Sie hält an und kann später fortgesetzt werden.
   *[other] Es schreibt gerade { $count } Antworten. Sie halten an und können später fortgesetzt werden.
}
model-unload-vectors = { $count ->
    [one] Es berechnet gerade Vektoren für { $count } Anfrage. Sie schlägt fehl und kann später wiederholt werden.
   *[other] Es berechnet gerade Vektoren für { $count } Anfragen. Sie schlagen fehl und können später wiederholt werden.
}
model-remove-question = { $model } entfernen?
model-remove-files = Mit ihm werden aus dem Modellordner gelöscht: { $files }.
model-remove-kept = Die Datei bleibt unter { $path }.

memory = Arbeitsspeicher
memory-in-use = { $used } von { $total } GiB belegt
memory-told = Arbeitsspeicher: { $parts }
memory-free = Frei
memory-others = Andere Programme
memory-free-told = { $size } frei
memory-others-told = { $size } in anderen Programmen
memory-faded = Blass: Platz für Unterhaltungen

figure-running = In Arbeit
figure-waiting = { $count } in der Warteschlange
figure-speed = Schreibtempo
figure-speed-note = alle zusammen, jetzt
figure-first = Erstes Token nach
figure-next = Dann eines alle
figure-slowest = langsamste 5 %: { $time }
figure-nothing = noch nichts geschrieben
figure-over = über { $time }
figure-cached = Schon gelesen
figure-cached-note = von allen Eingaben
figure-held = Chats belegen
figure-held-note = von { $size }
figure-guessed = Richtig geraten
figure-guessed-note = von vorab versuchten Token
