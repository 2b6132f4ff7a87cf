# Die Seite der Einstellungen; siehe ui/pages/settings.py.
settings-for = Für { $name }, auf jedem Gerät.

settings-look = Aussehen
settings-theme-about = System richtet sich nach dem Gerät.
settings-language = Sprache
settings-language-about = System richtet sich nach dem Browser.
settings-text = Schriftgröße
settings-text-about = Zusätzlich zur Einstellung des Browsers.
settings-writing = Schreiben
settings-enter = Die Eingabetaste
settings-enter-about = Bei der anderen Wahl sendet { $keys }.
settings-enter-send = Sendet
settings-enter-newline = Neue Zeile

settings-password = Passwort
settings-password-present = Bisheriges Passwort
settings-password-new = Neues Passwort
settings-password-change = Passwort ändern
settings-password-changed = Geändert. Andere Geräte sind abgemeldet.

settings-keys = API-Schlüssel
settings-keys-about = Für Programme, die OpenAIs API sprechen, unter /v1 an dieser Adresse.
settings-key-name = Name eines neuen Schlüssels
settings-key-example = Laptop, Editor
settings-key-terminal = Kommandozeile
settings-key-make = Schlüssel anlegen
settings-key-copy = Bitte jetzt kopieren; er wird nicht noch einmal angezeigt.
settings-key-made = { $hint }, angelegt { $when }
settings-key-used = zuletzt { $when } verwendet
settings-key-used-never = noch nicht verwendet
settings-key-revoke = Widerrufen
settings-key-revoke-named = { $name } widerrufen
settings-key-revoke-question = { $name } widerrufen?
settings-key-revoke-about = Programme, die ihn verwenden, werden ab sofort abgewiesen.

settings-files = Eigene Chats
settings-files-about = Als Dateien, zum Aufheben oder Mitnehmen.
settings-export = Alle Chats exportieren
settings-export-about = JSON lässt sich hier und in Open WebUI wieder einlesen. Markdown ist ein ZIP mit lesbaren Texten.
settings-export-as = Alle Chats als { $form } exportieren
settings-import = Chats importieren
settings-import-about = Aus ChatGPT, Open WebUI oder Inglenook: das JSON oder das ZIP, so wie es kam. Bis { $size }. Wo ein Chat Dateien oder Bilder hatte, steht an ihrer Stelle eine Notiz mit ihren Namen.
settings-import-limit = Wie groß sie sein dürfen, legt die Einstellung import_max_bytes fest.
settings-import-reading = { $file } wird gelesen
settings-import-meter = Gelesen
settings-import-so-far = { $count ->
    [one] { $count } Chat
   *[other] { $count } Chats
} bisher, { $percent } % gelesen. Diese Seite kann geschlossen werden.
settings-import-done = Importiert.
settings-import-cancelled = Abgebrochen.
settings-import-failed = Das ging schief.
settings-import-hide = Ausblenden
settings-import-added = { $count ->
    [one] { $count } Chat hinzugefügt.
   *[other] { $count } Chats hinzugefügt.
}
settings-import-updated = { $count ->
    [one] { $count } Chat enthielt Neues.
   *[other] { $count } Chats enthielten Neues.
}
settings-import-known = { $count ->
    [one] { $count } Chat war schon da.
   *[other] { $count } Chats waren schon da.
}
settings-import-skipped = { $count } übersprungen, und warum
settings-import-more = Und { $count } weitere.
settings-import-entry = Eintrag { $number }
settings-import-entry-of = Eintrag { $number } aus { $file }
settings-import-file = Die Datei
settings-import-place = { $place }: { $reason }

settings-device = Dieses Gerät
settings-sign-out-about = Begonnene Antworten werden weitergeschrieben.

settings-models = Modelle
settings-models-about = Für alle hier. Nur Admins sehen das.
rules-budget = Speicher für alle Modelle zusammen, in GiB
rules-budget-about = Was am längsten ungenutzt ist, macht Platz. Gilt ab dem nächsten Laden.
rules-no-budget = so viel, wie da ist
rules-limit = Downloads höchstens, in MiB je Sekunde
rules-limit-about = Alle Downloads zusammen. Gilt sofort.
rules-no-limit = keine Grenze
rules-limit-wrong = Bitte eine Zahl von MiB über 0 angeben oder das Feld leer lassen.
rules-hours = Stunden der Downloads
rules-hours-about = Wann Downloads laufen dürfen, nach der Uhr dieses Computers, etwa 22:00-06:00.
rules-always = immer
rules-place = Downloads kommen in
rules-own = Eigener Ordner
rules-shared = Gemeinsamer Cache
rules-place-about = Für alles, was von jetzt an verlangt wird: { $own } oder { $shared }, das auch andere Programme verwenden.
rules-daily = Einmal am Tag beim Hub nach neueren Versionen fragen
rules-daily-about = Gesendet werden nur die Namen der Modelle, die von dort kamen. Ungefragt wird nichts heruntergeladen.
