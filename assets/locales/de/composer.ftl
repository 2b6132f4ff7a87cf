# Messages of this area; see app/language.py.
# The composer, the new chat's page, the model picker. Browser components have these too.

composer-message = Nachricht
composer-ask = Alles fragen. Es bleibt hier.
composer-ask-elsewhere = Alles fragen. Es geht an { $connection }.
composer-send = Senden
composer-stop = Anhalten
composer-cancel = Abbrechen
composer-think = Erst nachdenken
composer-too-long = Das ist zu lang für eine Nachricht. Nehmen Sie den Teil, auf den es ankommt.
composer-held = Noch nicht gesendet: Die Antwort wird noch geschrieben. Halten Sie sie an, oder warten Sie, bis sie zu Ende ist.
composer-over = Das ist mehr als die { NUMBER($window) } Token, die das Modell auf einmal sieht; vielleicht kann es nicht antworten. Nehmen Sie den Teil, auf den es ankommt.
composer-temporary-gone = Der temporäre Chat ist weg: Er war nirgends gespeichert.
composer-length = { NUMBER($characters) } Zeichen, etwa { NUMBER($tokens) } Token
composer-prompts = Vorlagen
composer-no-prompts = Noch keine Vorlagen. Was oft geschrieben wird, lässt sich speichern und mit einem Schrägstrich aufrufen.
composer-manage-prompts = Voreinstellungen und Vorlagen

prompt-insert = Einfügen
prompt-clipboard = Aus der Zwischenablage
prompt-selection = Im Chat markiert
prompt-paste = Einfügen
prompt-paste-refused = Der Browser gibt die Zwischenablage nicht heraus. Bitte von Hand in das Feld einfügen.

param-back = Zurück zu { $value }
param-slider = { $name }, Regler
param-clear = Leeren
param-not-number = Eine Zahl von { $low } bis { $high } angeben.
param-not-whole = Eine ganze Zahl von { $low } bis { $high } angeben.
drawer-close = Schließen
library-import = Importieren
library-export = Exportieren
