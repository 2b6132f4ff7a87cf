# Die Seitenleiste der Chatseite: die Liste der Chats, Ordner, Suche. Siehe app/language.py.

sidebar-new-chat = Neuer Chat
sidebar-search = Suchen
sidebar-chats = Chats
sidebar-empty = Hier werden die Chats stehen.
sidebar-writing = Schreibt eine Antwort
sidebar-menu-of = Menü von { $name }
sidebar-new-title = Neuer Titel
sidebar-undo = Rückgängig

# Überschriften
sidebar-pinned = Angeheftet
sidebar-folders = Ordner
sidebar-today = Heute
sidebar-yesterday = Gestern
sidebar-week = Letzte 7 Tage
sidebar-month = Letzte 30 Tage
sidebar-month-name = { $month ->
    [1] Januar
    [2] Februar
    [3] März
    [4] April
    [5] Mai
    [6] Juni
    [7] Juli
    [8] August
    [9] September
    [10] Oktober
    [11] November
   *[12] Dezember
 }

# das Menü eines Chats
sidebar-pin = Anheften
sidebar-unpin = Loslösen
sidebar-pin-up = Nach oben
sidebar-rename = Umbenennen
sidebar-move-to = Verschieben
sidebar-no-folder = Kein Ordner
sidebar-tags = Schlagwörter
sidebar-tag-new = Neues Schlagwort
sidebar-add = Hinzufügen
sidebar-select = Auswählen
sidebar-archive = Archivieren
sidebar-unarchive = Zurückholen
sidebar-export = Als { $form } exportieren
sidebar-print = Drucken
sidebar-delete = Löschen

# Ordner und Archiv
sidebar-folder-new = Neuer Ordner
sidebar-folder-name = Name des Ordners
sidebar-folder-inside = Neuer Ordner darin
sidebar-folder-up = Nach oben
sidebar-folder-down = Nach unten
sidebar-folder-out = Herausnehmen
sidebar-folder-delete = Ordner löschen, Chats behalten
sidebar-archive-name = Archiv
sidebar-archived = Archiviert
sidebar-archive-back = Zurück zu den Chats
sidebar-archive-empty = Das Archiv ist leer.

# viele auf einmal
sidebar-selected = { $count } ausgewählt
sidebar-select-end = Auswahl beenden

# gesagt, wenn es getan ist, mit „Rückgängig“ daneben
sidebar-done-moved = { $count ->
    [one] Chat verschoben
   *[other] { $count } Chats verschoben
 }
sidebar-done-pinned = { $count ->
    [one] Chat angeheftet
   *[other] { $count } Chats angeheftet
 }
sidebar-done-unpinned = { $count ->
    [one] Chat losgelöst
   *[other] { $count } Chats losgelöst
 }
sidebar-done-archived = { $count ->
    [one] Chat archiviert
   *[other] { $count } Chats archiviert
 }
sidebar-done-unarchived = { $count ->
    [one] Chat zurückgeholt
   *[other] { $count } Chats zurückgeholt
 }
sidebar-done-deleted = { $count ->
    [one] Chat gelöscht
   *[other] { $count } Chats gelöscht
 }
sidebar-done-tagged = { $count ->
    [one] Schlagwort vergeben
   *[other] Schlagwort an { $count } Chats vergeben
 }
sidebar-done-untagged = Schlagwort entfernt
sidebar-done-folder = Ordner angelegt
sidebar-done-folder-deleted = Ordner gelöscht, seine Chats sind noch da
sidebar-done-folder-moved = Ordner verschoben
sidebar-done-renamed = Umbenannt

# Suche
sidebar-search-label = Chats durchsuchen
sidebar-search-close = Suche schließen
sidebar-search-hint = Gesucht wird in Titeln und allen Nachrichten. Wörter wie { $tag }:arbeit oder { $before }:2026-10 grenzen ein.
sidebar-found = { $more ->
    [yes] Mehr als { $count } Chats mit „{ $words }“
   *[no] { $count ->
        [0] Kein Chat mit „{ $words }“
        [one] { $count } Chat mit „{ $words }“
       *[other] { $count } Chats mit „{ $words }“
     }
 }
sidebar-found-all = { $more ->
    [yes] Mehr als { $count } Chats
   *[no] { $count ->
        [0] Kein solcher Chat
        [one] { $count } Chat
       *[other] { $count } Chats
     }
 }
sidebar-filters = Suche eingrenzen
sidebar-filter-folder = Ordner
sidebar-filter-tag = Schlagwort
sidebar-filter-date = Datum
sidebar-filter-who = Wer
sidebar-filter-model = Modell
sidebar-from-me = Meine Nachrichten
sidebar-from-model = Antworten
sidebar-before-year = Vor { $year }

# Wörter, die die Suche versteht, wie sie hineingeschrieben werden: app/services/search_words.py kennt sie alle
sidebar-word-tag = schlagwort
sidebar-word-in = ordner
sidebar-word-before = vor
sidebar-word-after = nach
sidebar-word-from = von
sidebar-word-me = mir
sidebar-word-model-role = modell
sidebar-word-model = modell
sidebar-word-is = ist
sidebar-word-pinned = angeheftet
sidebar-word-archived = archiviert

# ein Schalter auf der Seite der Einstellungen
sidebar-titles = Namen für Chats
sidebar-titles-about = Nach der ersten Antwort gibt das Modell einem neuen Chat seinen Titel. Selbst geschriebene Titel bleiben.
