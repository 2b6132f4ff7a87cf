# Die Seite der Modelle, und Worte über Modelle anderswo; siehe ui/pages/models.py.
models-about = Was auf diesem Computer läuft, und was laufen könnte.
models-add-file = Datei hinzufügen
models-add-about = Ein Modell im GGUF-Format auf dem Computer, auf dem Inglenook läuft. Es bleibt, wo es ist.
models-add-where = Speicherort
models-add = Hinzufügen
models-installed = Installiert
models-total = { $models }, { $size } auf der Platte
models-show-all = Alle { $count } zeigen
models-none = Noch keine Modelle
models-none-admin = Eines finden, das auf diesen Computer passt, oder eine vorhandene Datei hinzufügen.
models-find = Mehr finden

model-ready = Bereit
model-loading = Lädt
model-loading-share = Lädt, { $percent } %
model-unloading = Wird entladen
model-on-disk = Auf der Platte
model-failed = Nicht geladen
model-default = Standard
model-starter = Kleines Startmodell
model-embeddings = Embeddings
model-size = { $size } auf der Platte
model-pinned = Bleibt im Speicher
model-details = Details und Einstellungen
model-pin = Im Speicher halten
model-unpin = Entladen erlauben
model-called = Programme nennen es { $id }.
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
model-set-default-named = Als Standard festlegen: { $model }
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
model-remove-kept-of-app = Die Datei gehört auch zu { $app } und bleibt unter { $path }.
model-remove-gone = Die Datei ist schon nicht mehr da.
model-remove-chats = { $count ->
    [one] Ein Chat nutzt es: Seine Antworten bleiben, und dort ist ein anderes Modell zu wählen.
   *[other] { $count } Chats nutzen es: Ihre Antworten bleiben, und dort ist ein anderes Modell zu wählen.
}

memory = Arbeitsspeicher
memory-in-use = { $used } von { $total } GiB belegt
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

# Downloads auf der Seite der Modelle; siehe ui/models/downloads.py
downloads = Wird geladen
downloads-count = { $count } Modelle
download-pause = Anhalten
download-resume = Fortsetzen
download-so-far = { $done } von { $total } GiB
download-left = noch { $time }
download-goes-on = Geht nach einem Neustart weiter
download-queued = In der Warteschlange
download-paused = Angehalten
download-stopped = Abgebrochen
download-verifying = Wird geprüft, { $percent }
download-done = { $model } ist da und kann geladen werden.
download-meter = Download von { $model }
download-cancel = Download von { $model } abbrechen
download-cancel-question = Download von { $model } abbrechen?
download-cancel-about = Die { $size }, die schon da sind, werden gelöscht. Wer sie behalten will, hält nur an.
download-cancel-nothing = Es ist noch nichts angekommen.
download-cancel-yes = Abbrechen und löschen

# Was schon da ist, hinzufügen; siehe ui/models/bring.py
bring-upload = Aus diesem Browser
bring-upload-about = Eine GGUF-Datei von höchstens { $size } oder alle Dateien eines geteilten Modells. Sie werden auf den Computer kopiert, auf dem Inglenook läuft.
bring-path = Von der Platte
bring-found = In anderen Programmen gefunden
bring-found-about = Werden dort verwendet, wo sie sind, und nie kopiert oder gelöscht.
bring-found-none = Nichts gefunden in den Ordnern von Hugging Face, Ollama, LM Studio und Jan.
bring-looking = Die Ordner von Hugging Face, Ollama, LM Studio und Jan werden durchsucht
bring-of = { $app }, { $size }
bring-use = Verwenden
bring-here = Schon da

# Modelle anderswo; siehe ui/models/connections.py
elsewhere = Anderswo
elsewhere-allow = Modelle anderswo zulassen
elsewhere-allow-about = Was zu ihnen gesagt wird, verlässt diesen Computer, mit dem Chat, zu dem es gehört, seinem Titel und seiner Zusammenfassung. Jeder Chat sagt das.
elsewhere-add = Verbindung hinzufügen
elsewhere-none = Noch keine Verbindungen. vLLM, SGLang, TensorRT-LLM, llama-server, Ollama, LM Studio, ein anderes Inglenook oder jeder Server mit der API von OpenAI.
elsewhere-count = { $count ->
    [one] { $count } Verbindung
   *[other] { $count } Verbindungen
}
connection-answers = Antwortet
connection-fails = Funktioniert nicht
connection-unknown = Noch nicht gefragt
connection-off = Ausgeschaltet
connection-all-off = Alle ausgeschaltet
connection-models = { $count ->
    [one] { $count } Modell
   *[other] { $count } Modelle
}
connection-latency = brauchte { $time }
connection-answered = antwortete { $when }
connection-switch-on = Einschalten
connection-switch-off = Ausschalten
connection-more = Mehr zu { $connection }
connection-test = Testen
connection-change = Ändern
connection-remove = Entfernen
connection-remove-question = { $connection } entfernen?
connection-remove-about = Schlüssel und Modelle gehen mit. Chats behalten die Antworten, die darüber kamen.
connection-testing = Der Server wird gefragt
connection-tested = Er antwortet und hat { $count ->
    [one] { $count } Modell.
   *[other] { $count } Modelle.
}
connection-left-out = { $count ->
    [one] { $count } weiteres seiner Liste ist nicht nutzbar: Sein Name ist nicht lesbar, oder die Liste ist zu lang.
   *[other] { $count } weitere seiner Liste sind nicht nutzbar: Ihre Namen sind nicht lesbar, oder die Liste ist zu lang.
}
connection-name = Name
connection-name-about = Antworten, die darüber kommen, tragen diesen Namen. Leer gelassen heißt sie wie ihr Host.
connection-url = Adresse
connection-url-about = Die Adresse der API des Servers. Meist endet sie auf /v1.
connection-url-example = http://gpu.lan:8000/v1
connection-key = Schlüssel
connection-key-about = Falls der Server einen verlangt. Er wird versiegelt aufbewahrt und nie wieder gezeigt.
connection-key-kept = Es gibt einen. Bleibt das Feld leer, bleibt er.
connection-key-drop = Den aufbewahrten Schlüssel vergessen
connection-key-drop-about = Gefragt wird dann ohne Schlüssel, außer oben steht ein anderer.
connection-headers = Header
connection-headers-about = Werden mitgesendet, einer je Zeile, wie X-Team: kitchen. Auch sie werden versiegelt aufbewahrt.
connection-headers-kept = Es gibt welche. Bleibt das Feld leer, bleiben sie; was hier steht, tritt an ihre Stelle.
connection-headers-drop = Die aufbewahrten Header vergessen
connection-headers-drop-about = Gefragt wird dann ohne Header, außer oben stehen andere.
connection-session = Sitzungs-Header
connection-session-about = Hält ein Gespräch auf dem Server, der es im Cache hat, durch eine Nummer, die sonst nichts verrät. Leer: Er wird nicht gesendet.
connection-details = Header und Sitzung
connection-save = Testen und speichern
connection-rest = { $count } weitere
model-over = über { $connections }
