# The page of prompts and presets.

library-title = Bibliothek
library-about = Was oft geschrieben wird, und wie geantwortet werden soll.
library-prompts = Vorlagen
library-presets = Voreinstellungen
library-new-prompt = Neue Vorlage
library-edit-prompt = Vorlage bearbeiten
library-new-preset = Neue Voreinstellung
library-edit-preset = Voreinstellung bearbeiten
library-no-prompts = Was oft geschrieben wird, hier speichern und im Chat mit einem Schrägstrich aufrufen.
library-no-presets = Einen Systemprompt mit Modell und Einstellungen speichern und Chats damit beginnen.
library-nothing-set = Wie das Modell von sich aus
library-default = Standard für neue Chats
library-set-default = Neue Chats damit beginnen
library-no-default = Neue Chats nicht mehr damit beginnen
library-edit = Bearbeiten
library-duplicate = Duplizieren
library-delete = Löschen
library-more = Mehr zu { $name }
library-copy = Kopie von { $name }
library-undo = Rückgängig
library-prompt-deleted = Vorlage gelöscht
library-preset-deleted = Voreinstellung gelöscht

library-name = Name
library-command = Befehl
library-command-about = Was nach dem Schrägstrich getippt wird. Bleibt das Feld leer, entsteht er aus dem Namen.
library-content = Vorlage
library-variables-about = Zwei Klammern fragen nach etwas: {"{{"}name{"}}"}, {"{{"}sprache=Deutsch{"}}"}, {"{{"}ton=herzlich|förmlich{"}}"}. Bekannt sind {"{{"}date{"}}"}, {"{{"}time{"}}"}, {"{{"}clipboard{"}}"} und {"{{"}selection{"}}"}.
library-asks-for = Fragt nach: { $names }
library-model = Modell
library-any-model = Das gewählte
library-model-gone = { $model } (nicht mehr hier)
library-save = Speichern

library-file = Als Datei
library-file-about = Vorlagen und Voreinstellungen als JSON. Auch Vorlagen aus Open WebUI werden gelesen.
library-too-large = Diese Datei ist zu groß. Bitte aufteilen.
library-imported = { $prompts ->
    [one] { $prompts } Vorlage
   *[other] { $prompts } Vorlagen
} und { $presets ->
    [one] { $presets } Voreinstellung
   *[other] { $presets } Voreinstellungen
} hinzugefügt.
library-known = { $count ->
    [one] { $count } war schon da.
   *[other] { $count } waren schon da.
}
library-skipped = { $count ->
    [one] { $count } übersprungen:
   *[other] { $count } übersprungen:
}

# What can go wrong here: see `Said` in app/language.py
error-parameter-unknown = Einen Parameter „{ $name }“ gibt es nicht. Bitte entfernen.
error-system-prompt-long = Der Systemprompt ist länger als { $count } Zeichen. Bitte kürzen.
error-on-or-off = An oder aus wählen.
error-number = Eine Zahl von { $low } bis { $high } angeben.
error-whole-number = Eine ganze Zahl angeben.
error-lines = Zeilen mit Text angeben.
error-many-lines = Höchstens { $count } angeben, jede mit höchstens { $characters } Zeichen.
error-when-full = Wählen, ob die ältesten Nachrichten weggelassen oder zusammengefasst werden.
error-preset-name = Der Voreinstellung einen Namen geben.
error-no-preset = Diese Voreinstellung gibt es nicht. Vielleicht wurde sie gelöscht.
error-prompt-name = Der Vorlage einen Namen geben.
error-prompt-command = Einen Befehl aus Buchstaben und Ziffern angeben.
error-prompt-empty = Schreiben, was in der Vorlage stehen soll.
error-prompt-long = Die Vorlage ist länger als { $count } Zeichen. Bitte kürzen.
error-command-taken = /{ $command } gehört schon zu „{ $name }“. Einen anderen Befehl wählen.
error-no-prompt = Diese Vorlage gibt es nicht. Vielleicht wurde sie gelöscht.
error-library-not-json = Die Datei ist kein JSON. Bitte eine wählen, die hier oder von Open WebUI exportiert wurde.
error-library-none = Die Datei enthält weder Vorlagen noch Voreinstellungen. Bitte eine wählen, die hier oder von Open WebUI exportiert wurde.
error-library-many = Die Datei enthält mehr als { $count } Einträge. Bitte aufteilen.
error-entry-object = Ein Eintrag ist kein Objekt.
error-entry-parameters = Die Parameter sind kein Objekt.
error-entry-text = { $key } ist kein Text.
