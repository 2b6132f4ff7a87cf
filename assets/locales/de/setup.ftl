# How a chat is answered: the new chat's page, the picker, the drawer, temporary chats.

hello-sub = Woran soll es gehen?
hello-letter = Brief schreiben
hello-letter-start = Schreibe einen Brief an{" "}
hello-sum-up = Text zusammenfassen
hello-sum-up-start =
    Fasse diesen Text in fünf Punkten zusammen:

    {""}
hello-code = Code erklären
hello-code-start =
    Erkläre Schritt für Schritt, was dieser Code tut:

    {""}
hello-think = Etwas durchdenken
hello-think-start = Hilf mir, das zu durchdenken:{" "}
hello-starter = Dieses Modell ist für den ersten Versuch: schnell, aber es weiß wenig.
hello-starter-link = Ein größeres hinzufügen
hello-no-model = Noch ist kein Modell da.
hello-no-model-link = Eines hinzufügen
hello-not-here = Dieser Chat ist nicht hier
hello-not-here-title = Nicht hier
hello-not-here-about = Er wurde vielleicht gelöscht, oder er gehört jemand anderem.
hello-new-chat = Neuer Chat

picker-model = Modell:{" "}
picker-models = Modelle
picker-none = Noch kein Modell
picker-absent-off = Nicht erreichbar
picker-absent-removed = Entfernt
picker-absent-unknown = Nicht hier
absent-use = { $model } nehmen
absent-others = Andere Modelle
absent-unsent = Es wurde nichts gesendet. Bitte zuerst ein anderes Modell wählen.
picker-all = Alle Modelle
picker-add = Modell hinzufügen
picker-find = Modell suchen
picker-presets = Voreinstellungen
picker-no-preset = Keine Voreinstellung
picker-library = Voreinstellungen und Vorlagen
picker-starter = kleines Startmodell
picker-starter-long = Kleines Startmodell
picker-state-ready = Bereit
picker-state-loading = Wird geladen
picker-state-draining = Wird entladen
picker-state-on-disk = Lädt bei der ersten Frage
picker-state-failed = Nicht geladen
picker-elsewhere = Anderswo, über { $connections }
picker-elsewhere-ready = Antwortet auf Anfrage
picker-elsewhere-failing = Hat zuletzt nicht geantwortet

head-menu = Chat-Menü
head-new-chat = Neuer Chat
head-settings = Chat-Einstellungen
head-settings-changed = Chat-Einstellungen, geändert
head-temporary = Temporärer Chat

temporary-title = Temporärer Chat
temporary-about = Wird nirgends gespeichert. Beim Verlassen oder Neuladen dieser Seite ist er weg.
temporary-line = Temporär: nirgends gespeichert, beim Verlassen der Seite weg.
temporary-gone = Dieser temporäre Chat ist weg
temporary-gone-about = Er war nirgends gespeichert, und die Seite, auf der er begann, wurde verlassen.
temporary-ask = Alles fragen. Es wird nicht gespeichert.

setup-title = Chat-Einstellungen
setup-about = Für diesen Chat, ab der nächsten Antwort.
setup-reset = Alles zurücksetzen
setup-library = Voreinstellungen und Vorlagen

param-system-prompt = Systemprompt
param-system-prompt-about = Wer das Modell ist und wie es antwortet. Es liest dies vor jeder Antwort.
param-temperature = Temperatur
param-temperature-about = Niedrig bleibt bei den wahrscheinlichsten Wörtern, hoch wagt mehr.
param-top-p = Top-p
param-top-p-about = Nur die wahrscheinlichsten Wörter, die zusammen diesen Anteil ausmachen.
param-top-k = Top-k
param-top-k-about = Nur so viele der wahrscheinlichsten Wörter. 0 heißt ohne Grenze.
param-min-p = Min-p
param-min-p-about = Lässt Wörter weg, die unter diesem Anteil des wahrscheinlichsten liegen.
param-repetition-penalty = Wiederholungsstrafe
param-repetition-penalty-about = Über 1 kommen gesagte Wörter seltener wieder. 1 ist aus.
param-max-tokens = Längste Antwort
param-max-tokens-about = In Token; ein Token sind etwa vier Buchstaben. „Weiter“ setzt dort fort.
param-seed = Startwert
param-seed-none = beliebig
param-seed-about = Mit derselben Zahl bekommt dieselbe Frage dieselbe Antwort.
param-stop = Anhalten bei
param-stop-placeholder = Eines je Zeile
param-stop-about = Die Antwort endet vor jedem davon. \n steht für eine neue Zeile.
param-reasoning = Erst nachdenken
param-reasoning-about = Langsamer, und besser bei mehreren Schritten. Wenn das Modell es kann.
param-when-full = Wenn der Chat zu lang wird
param-when-full-about = Was mit den ältesten Nachrichten geschieht. Der Systemprompt bleibt immer.
param-model-s-choice = Standard
param-on = An
param-off = Aus
param-leave-out = Weglassen
param-summarise = Zusammenfassen
