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
