# Die Seite mit allen, die sich anmelden dürfen, für Admins; siehe ui/pages/people.py.
people-about = Wer sich hier anmelden darf, und die Schlüssel der Programme.
people-count = { $count ->
    [one] { $count } Person
   *[other] { $count } Personen
}
people-accounts = Konten
people-show-all = Alle { $count } anzeigen
people-add = Person hinzufügen
people-you = Eigenes Konto
people-disabled = Gesperrt
people-since = Seit { $date }
people-seen = Zuletzt { $when } da
people-seen-never = Noch nicht da gewesen
people-more = Mehr zu { $name }
people-own = Eigene Einstellungen
people-password = Neues Passwort
people-make-admin = Zum Admin machen
people-unmake-admin = Adminrechte entziehen
people-disable = Sperren
people-enable = Entsperren
people-delete = Löschen

people-name-about = Damit meldet sich die Person an.
people-role = Rolle
people-role-user = Nutzer
people-role-about = Admins kümmern sich um Personen und Modelle; Chats gehören auch dann nur denen, die sie schreiben.
people-password-about = Mindestens { $count } Zeichen. Bleibt das Feld leer, wird eines erzeugt und einmal angezeigt.
people-added = { $name } kann sich anmelden.
people-password-title = Neues Passwort für { $name }
people-password-ends = { $name } wird überall abgemeldet.
people-password-set = Passwort setzen
people-password-done = { $name } hat ein neues Passwort.
people-password-once = Dieses Passwort wird nur einmal angezeigt. Bitte weitergeben; in den Einstellungen lässt es sich ändern.
people-password-made = Passwort

people-is-admin = { $name } ist jetzt Admin.
people-is-user = { $name } ist nicht mehr Admin.
people-is-disabled = { $name } ist gesperrt und überall abgemeldet.
people-is-enabled = { $name } ist entsperrt und kann sich wieder anmelden.
people-disable-question = { $name } sperren?
people-disable-about = Sofort überall abgemeldet, und Antworten, die gerade entstehen, brechen ab. API-Schlüssel ruhen, Chats bleiben. { $name } lässt sich wieder entsperren.

people-delete-title = { $name } löschen?
people-delete-about = Damit geht auch, endgültig:
people-delete-chats = { $count ->
    [one] { $count } Chat
   *[other] { $count } Chats
} mit { $messages ->
    [one] { $messages } Nachricht
   *[other] { $messages } Nachrichten
}
people-delete-prompts = { $count ->
    [one] { $count } Vorlage oder Voreinstellung
   *[other] { $count } Vorlagen und Voreinstellungen
}
people-delete-keys = { $count ->
    [one] { $count } API-Schlüssel
   *[other] { $count } API-Schlüssel
}
people-delete-nothing = Chats, Vorlagen oder Schlüssel gibt es nicht.
people-delete-instead = Sollen die Chats bleiben und nur { $name } draußen, das Konto sperren.
people-delete-type = Zur Sicherheit { $name } eingeben
people-delete-yes = Endgültig löschen
people-delete-busy = Wird gelöscht
people-deleted = { $name } ist gelöscht.

people-keys-about = Alle legen ihre eigenen in den Einstellungen an.
people-keys-none = Kein Programm hat einen Schlüssel.
people-key-revoked = Der Schlüssel { $key } ist widerrufen.
people-key-of = von { $name }
