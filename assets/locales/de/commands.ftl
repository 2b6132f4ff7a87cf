# Die Befehlsliste (Strg K), die Tastenkürzel und ihre Tasten; siehe ui/shortcuts.py.
commands-title = Suche und Befehle
commands-search = Chats und Befehle durchsuchen
commands-chats = Chats
commands-actions = Aktionen
commands-models = Modelle
commands-none = Nichts gefunden. Vielleicht helfen weniger oder andere Wörter.
commands-found = { $count ->
    [one] { $count } Treffer
   *[other] { $count } Treffer
}
commands-move = bewegen
commands-open = öffnen
commands-scope = Durchsucht Titel und Nachrichten

command-new-chat = Neuer Chat
command-new-chat-about = Neuer Chat über „{ $text }“
command-commands = Suche und Befehle
command-search = Chats durchsuchen
command-composer = Zum Nachrichtenfeld
command-stop = Antwort anhalten
command-edit = Letzte eigene Nachricht bearbeiten
command-copy = Letzte Antwort kopieren
command-undo = Letzten Schritt rückgängig machen
command-previous = Voriger Chat
command-next = Nächster Chat
command-sidebar = Seitenleiste ein- oder ausblenden
command-theme = Hell oder dunkel
command-light = Zu Hell wechseln
command-dark = Zu Dunkel wechseln
command-settings = Einstellungen
command-models = Modelle
command-find-model = Modell finden
command-bench = Modell messen
command-people = Personen
command-library = Bibliothek
command-shortcuts = Tastenkürzel
command-send = Nachricht senden
command-new-line = Neue Zeile
command-use-model = { $model } verwenden

key-mod = Strg
key-shift = Umschalt
key-alt = Alt
