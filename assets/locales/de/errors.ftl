# Was schiefgehen kann, so wie es gesagt wird: was geschah, und was zu tun ist.
error-setup-link = Dieser Einrichtungslink gilt nicht. Bitte den verwenden, den der Server bei seinem letzten Start ausgegeben hat.
error-set-up-already = Inglenook ist schon eingerichtet. Bitte anmelden.
error-set-up-by-other = Inglenook wurde in diesem Augenblick von jemand anderem eingerichtet. Bitte anmelden.
error-too-many-passwords = Zu viele falsche Passwörter. In { $seconds } s noch einmal versuchen.
error-account-disabled = Dieses Konto ist gesperrt. Ein Admin kann helfen.
error-sign-in = Name und Passwort passen nicht zusammen.
error-last-admin = Dies ist der einzige Admin. Bitte zuerst jemand anderen zum Admin machen.
error-no-user = Diese Person gibt es hier nicht.
error-no-key = Diesen Schlüssel gibt es nicht.
error-name-taken = Dieser Name ist vergeben. Bitte einen anderen wählen.
error-name-missing = Bitte einen Namen wählen.
error-name-long = Bitte einen Namen mit höchstens { $count } Zeichen wählen.
error-name-invisible = Bitte einen Namen ohne Steuerzeichen und unsichtbare Zeichen wählen.
error-password-present = Das ist nicht das bisherige Passwort.
error-password-short = Bitte ein Passwort mit mindestens { $count } Zeichen wählen.
error-password-long = Bitte ein Passwort mit höchstens { $count } Zeichen wählen.
error-password-broken = Dieses Passwort enthält ein beschädigtes Zeichen. Bitte neu eingeben.

error-no-chat = Diesen Chat gibt es nicht. Vielleicht wurde er gelöscht.
error-no-message = Diese Nachricht gibt es nicht. Vielleicht wurde ihr Chat gelöscht.
error-title-missing = Bitte dem Chat einen Titel geben.
error-folders-full = Es gibt schon { $count } Ordner. Bitte zuerst einen löschen.
error-not-undone = Das lässt sich nicht mehr rückgängig machen.
error-no-place = Diesen Chat, Ordner oder dieses Schlagwort gibt es nicht. Vielleicht wurde es gelöscht.
error-no-folder = Diesen Ordner gibt es nicht, oder er kann nicht dorthin.
error-message-empty = Bitte zuerst eine Nachricht schreiben.
error-message-long = Die Nachricht ist länger als { $count } Zeichen. Bitte kürzen.
error-message-broken = Die Nachricht enthält ein beschädigtes Zeichen (ein halbes Emoji etwa). Bitte entfernen.
error-answer-in-progress = Hier wird noch eine Antwort geschrieben. Anhalten oder ihr Ende abwarten.
error-not-saved = Die Antwort konnte nicht gespeichert werden. { $detail }
error-broke = In Inglenook ist etwas schiefgegangen; Näheres steht im Protokoll.

error-no-model-yet = Es gibt noch kein Modell. Auf der Seite „Modelle“ lässt sich eines hinzufügen.
error-no-model = Das Modell „{ $model }“ gibt es hier nicht. Vorhanden sind: { $known }.
error-no-model-at-all = Das Modell „{ $model }“ gibt es hier nicht, und auch sonst noch keines. Auf der Seite „Modelle“ lässt sich eines hinzufügen.
error-model-embeds = { $model } berechnet Embeddings und kann nicht chatten. Bitte ein anderes Modell als Standard festlegen.
error-model-writes = { $model } schreibt gerade { $count ->
    [one] eine Antwort
   *[other] { $count } Antworten
 }. Das Ende abwarten oder anhalten.
error-makes-room = Beendet seine Antworten, um Platz für { $model } zu machen.
error-model-starter = { $model } gehört zu Inglenook und lässt sich nicht einzeln entfernen.
error-no-file = Es gibt keine Datei { $path }.
error-path-odd = { $path } ist hier kein brauchbarer Pfad ({ $detail }).
error-adapters = Adapter wirken nur auf GGUF-Dateien. Bitte das Modell ohne sie hinzufügen.
error-shutting-down = Inglenook wird gerade beendet.
error-waiting-for-memory = Wartet auf Speicher, bis { $models } mit Antworten fertig ist.
error-load-stopped = Das Laden von { $model } wurde abgebrochen. Auf der Seite „Modelle“ lässt es sich erneut laden.

# Vom Rechenwerk: nach seiner Art, mit dessen eigenen Worten dahinter
error-context = Dieses Modell fasst höchstens { $limit } Token, die Nachrichten haben { $count }. Bitte kürzen oder das Modell mit größerem Kontext laden.
error-queue-full = Es warten schon zu viele Anfragen. In { $seconds } s noch einmal versuchen.
error-template = Die Chat-Vorlage dieses Modells nimmt diese Nachrichten nicht an: { $detail }
error-request = So lässt sich das nicht beantworten: { $detail }
error-memory = Dafür reicht der Speicher nicht: { $detail }
error-load = Dieses Modell ließ sich nicht laden: { $detail }
error-engine = Das Modell wurde beim Antworten unterbrochen: { $detail }
error-inside = Beim Rechnen ist etwas schiefgegangen: { $detail }

error-import-running = Ein Import läuft schon. Sein Ende abwarten oder ihn abbrechen.
error-import-large = Die Datei ist größer als { $count } Bytes. Bitte teilen oder einen Admin fragen.
error-import-broke = In Inglenook ist etwas schiefgegangen; Näheres steht im Protokoll. Bitte noch einmal versuchen.
error-file-empty = Die Datei ist leer.
error-disk-full = Auf der Platte ist kein Platz für diese Datei. Bitte Platz schaffen und noch einmal versuchen.
error-file-not-kept = Die Datei konnte nicht abgelegt werden: { $detail }.
error-upload-ending = Hier lassen sich nur GGUF-Dateien senden. Ihre Namen enden auf .gguf.
error-upload-cut = Die Datei ist nicht ganz angekommen. Noch einmal senden.
error-upload-there = Eine Datei dieses Namens ist schon da oder unterwegs. Umbenennen oder die andere zuerst entfernen.
error-file-unreadable = Die Datei lässt sich nicht lesen: { $detail }.

import-empty = Die Datei ist leer.
import-empty-choose = Die Datei ist leer. Bitte conversations.json wählen oder das ZIP, so wie es kam.
import-no-list = Das ist keine JSON-Liste.
import-no-list-choose = Das ist keine JSON-Liste. Bitte conversations.json wählen oder das ZIP, so wie es kam.
import-zip-without-json = In diesem ZIP ist keine JSON-Datei.
import-zip-damaged = Dieses ZIP ist beschädigt ({ $detail }). Bitte noch einmal herunterladen.
import-zip-large = Diese Datei ist ausgepackt größer als { $count } MiB, viel mehr als bei Chats üblich. Bitte auspacken und die conversations.json importieren.
import-many-chats = Nur die ersten { $count } Chats dieser Datei wurden gelesen. Bitte die Datei teilen und den Rest importieren.
import-many-bad = { $count } Einträge dieser Datei sind keine Chats, der Rest wurde deshalb nicht gelesen. Bitte noch einmal exportieren.
import-zip-many = Dieses ZIP enthält zu viele Dateien. Bitte auspacken und die conversations.json importieren.

# Warum ein Chat beim Import ausgelassen wurde
skipped-not-stored = Er konnte nicht gespeichert werden; Näheres steht im Protokoll von Inglenook.
skipped-encrypted = Der Inhalt ist verschlüsselt.
skipped-damaged = Der Inhalt ist im ZIP beschädigt ({ $detail }).
skipped-cut-off = Die Datei endet mittendrin: Sie wurde abgeschnitten.
skipped-deep = Der Eintrag ist zu tief verschachtelt.
skipped-many-values = Der Eintrag enthält mehr als { $count } Werte.
skipped-large = Der Eintrag ist größer als { $count } MiB.
skipped-nothing = Zwischen zwei Kommas steht nichts.
skipped-no-utf8 = Das ist kein gültiger UTF-8-Text.
skipped-no-json = Das ist kein gültiges JSON.
skipped-no-chat = Das ist keine Unterhaltung.
skipped-unknown = Das ist keine Unterhaltung von ChatGPT, Open WebUI oder Inglenook.
skipped-empty = Sie enthält keine Nachrichten.

# Wie ein Modell laufen soll; siehe app/services/model_settings.py
error-setting-budget = Das Speicherbudget ist eine Zahl von GiB, mehr als 0 und höchstens { $most }.
error-setting-alias-taken = „{ $alias }“ ist schon der Name von { $model }. Einen anderen Namen wählen.
error-setting-alias = „{ $alias }“ geht nicht als Name: bis zu 100 Buchstaben, Ziffern und . : / @ + - _ sind möglich.
error-setting-aliases = Ein Modell kann { $most } weitere Namen haben.
error-setting-context = Der Kontext in Token: eine ganze Zahl von { $low } bis { $high } angeben.
error-setting-context-trained = { $model } wurde für { $tokens } Token Kontext trainiert und taugt darüber nichts.
error-setting-users = Nutzer zugleich: eine ganze Zahl von { $low } bis { $high } angeben.
error-setting-layers = Schichten auf der GPU: eine ganze Zahl von { $low } bis { $high } angeben.
error-setting-layers-cpu = Auf dem Prozessor allein liegen keine Schichten auf einer GPU. Eines von beiden weglassen.
error-setting-threads = Threads: eine ganze Zahl von { $low } bis { $high } angeben.
error-setting-keep-alive = Zeit im Speicher in Sekunden: eine ganze Zahl von { $low } bis { $high } angeben.
error-setting-kv-type = Die Genauigkeit ist eine von { $known }.
error-setting-device = Das Gerät ist cpu, gpu oder gpu0, gpu1 und so weiter.
error-setting-preloaded = Ob es beim Start geladen wird: ja oder nein angeben.
error-setting-pinned = Ob es im Speicher bleibt: ja oder nein angeben.
error-setting-embeds = { $model } berechnet Embeddings: es hat keine Nutzer zugleich, Genauigkeit, Vorlage oder Voreinstellung.
error-setting-preset = Diese Voreinstellung gibt es nicht.
error-setting-template-text = Eine Chat-Vorlage ist ein Text.
error-setting-template = Diese Chat-Vorlage wird nicht angenommen. { $detail }

# Der Hub und Downloads; siehe app/hub/client.py
error-hub-off = Der Modell-Hub ist hier ausgeschaltet (hub_offline oder HF_HUB_OFFLINE).
error-hub-silent = { $host } antwortet nicht. Das Netzwerk dieses Computers prüfen oder es später noch einmal versuchen.
error-hub-unreachable = { $host } ist nicht erreichbar. Das Netzwerk dieses Computers prüfen; alles andere hier geht auch ohne.
error-hub-gated = { $model } gibt es nur mit Zustimmung: die Hersteller möchten wissen, wer es benutzt. Auf der Seite beim Hub den Bedingungen zustimmen und hier ein Token dieses Kontos eintragen (inglenook models token).
error-hub-refused = Der Hub gibt { $model } nicht heraus: es existiert nicht, ist privat oder verlangt ein Token. Den Namen prüfen und ein Token eintragen (inglenook models token).
error-hub-none = Der Hub hat kein { $model } oder nicht diese Version oder Datei davon. Den Namen prüfen.
error-hub-failed = Der Modell-Hub antwortet mit einem Fehler ({ $status }). Später noch einmal versuchen.
error-hub-repo = „{ $repo }“ ist kein Repository. Es wird als Besitzer/Name geschrieben.
error-hub-token = Das ist kein Token: es noch einmal aus den Einstellungen des Hubs kopieren.
download-waits-hours = Wartet auf die Stunden, in denen geladen werden darf, { $hours }.
download-waits-other = Wartet auf ein anderes Inglenook, das in denselben Datenordner lädt.
download-waits-turn = Wartet, bis ein anderer Download fertig ist.
