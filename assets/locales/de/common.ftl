# Wörter, die mehrere Seiten teilen; siehe app/language.py. Auch Teile im Browser haben sie.
language-name = Deutsch
app-description = Ein privater Chat mit Sprachmodellen auf dem eigenen Rechner.
page-title = { $page } · Inglenook

close = Schließen
cancel = Abbrechen
try-again = Erneut versuchen
undo = Rückgängig
new-chat = Neuer Chat

# Der Rahmen um jede Seite
side-hide = Seitenleiste ausblenden
side-show = Seitenleiste einblenden
menu-open = Menü öffnen
menu-close = Menü schließen
back-to-chats = Zurück zu den Chats
chats = Chats
models = Modelle
people = Personen
settings = Einstellungen
sign-out = Abmelden
role-admin = Admin
role-user = Angemeldet
theme = Farbschema
theme-light = Hell
theme-dark = Dunkel
theme-system = System
connection-lost = Verbindung unterbrochen.
connection-again = Neuer Versuch läuft. Antworten werden weitergeschrieben, falls der Server noch läuft. Was Sie jetzt tun, geschieht danach; ging es verloren, erfahren Sie es.
connection-unsure = Die Verbindung war unterbrochen. Was Sie zuletzt getan haben, ist vielleicht nicht geschehen: Bitte nachsehen.

# Wohin die Worte gehen
stays-here = Bleibt auf diesem Computer. Wichtiges bitte prüfen.
stays-at = Bleibt auf { $host }. Wichtiges bitte prüfen.
stays-now-here = Was jetzt geschrieben wird, bleibt auf diesem Computer. Antworten oben kamen über { $connections }.
stays-now-at = Was jetzt geschrieben wird, bleibt auf { $host }. Antworten oben kamen über { $connections }.
nothing-leaves-here = Nichts Geschriebenes verlässt diesen Computer.
nothing-leaves-host = Nichts Geschriebenes verlässt { $host }.
leaves-here = Geschriebenes geht an { $connection } und verlässt diesen Computer.
leaves-host = Geschriebenes geht an { $connection } und verlässt { $host }.

# Tageszeiten und Tage
greeting-morning = Guten Morgen, { $name }
greeting-day = Guten Tag, { $name }
greeting-evening = Guten Abend, { $name }
greeting-night = Hallo, { $name }
today = Heute
yesterday = Gestern
when-today = heute
when-yesterday = gestern
when-on = am { $date }

# Zahlen mit Einheiten
size-gib = { $number } GiB
size-mib = { $number } MiB
unit-seconds = { $number } s
unit-milliseconds = { $number } ms
unit-minutes = { $minutes } min { $seconds } s
unit-hours = { $hours } h { $minutes } min
unit-mib-per-s = { $number } MiB/s
unit-kib-per-s = { $number } KiB/s
unit-percent = { $number } %
unit-speed = { $number } Token/s
count-chats = { $count ->
    [one] { $count } Chat
   *[other] { $count } Chats
}
count-models = { $count ->
    [one] { $count } Modell
   *[other] { $count } Modelle
}

# Eine Datei für den Server
file-choose = Datei wählen
file-drop-here = Hier ablegen oder
file-let-go = Loslassen zum Importieren
file-sending = { $percent } % gesendet
file-too-large = Diese Datei ist zu groß.
file-not-sent = Die Datei konnte nicht gesendet werden. Ist der Server noch da?
file-missing = { $count ->
    [one] { $files } fehlt noch: bitte auch senden.
   *[other] { $count } Dateien fehlen noch, etwa { $files }: bitte auch senden.
}
file-refused = Der Server hat mit { $status } geantwortet.
