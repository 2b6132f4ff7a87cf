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
error-import-cut = Inglenook wurde beendet, während es die Datei las. Was bis dahin gelesen war, ist hier. Die Datei bitte noch einmal wählen, dann kommt nur der Rest dazu.
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

# Was Speicher, Schnittstelle und Befehle sonst noch sagen
error-words = { $detail }
error-store = Die Datenbank macht nicht mit: { $detail }
error-migration = Die Datenbank ließ sich nicht erneuern: { $detail }
error-database-too-new = Die Datenbank stammt von einem neueren Inglenook: { $detail }
error-not-signed-in = Bitte anmelden oder einen API-Schlüssel mitschicken.
error-admins-only = Das dürfen nur Admins. Bitte jemanden davon fragen.
error-must-be-text = { $name } muss ein Text sein.
error-tag-unnamed = Bitte dem Schlagwort einen Namen geben.
error-folder-unnamed = Bitte dem Ordner einen Namen geben.
error-context-input = Dieses Modell fasst höchstens { $limit } Token, input[{ $index }] hat { $count }. Bitte kürzen oder auf mehrere Eingaben verteilen.

# Von Modellen: Hinzufügen, Erneuern, Einstellungen
error-waiting-for-load = Wartet, bis ein anderes Modell geladen ist.
either-or = { $first } oder { $last }
error-pinned = { $detail } Angeheftet und deshalb nicht dafür entladen: { $models }.
error-path-unreadable = { $path } lässt sich nicht lesen: { $detail }. Bitte die Zugriffsrechte prüfen.
error-files-gone = { $path } ist nicht mehr da. Bitte zurücklegen oder das Modell hier entfernen.
error-files-gone-of-app = { $path } ist nicht mehr da. Die Datei gehörte zu { $app }. Bitte zurücklegen oder das Modell hier entfernen.
error-found-none = Es gibt keine Datei { $name } und in anderen Apps kein Modell dieses Namens: siehe `models found`.
error-found-several = Mehrere Modelle heißen so: { $which }. Bitte eines mit seinem ganzen Namen oder mit seinem Pfad hinzufügen.
error-found-unusable = { $name } von { $app } lässt sich nicht verwenden. { $detail }
error-model-removed = Das Modell „{ $model }“ wurde inzwischen entfernt.
error-update-starter = { $model } wird mit Inglenook erneuert. Bitte die Datei als eigenes Modell hinzufügen.
error-update-kind = Von { $model } und { $file } schreibt eines Texte, das andere berechnet Embeddings.
error-update-known = { $path } ist schon { $model }, unter der Kennung { $id }.
error-version-already = { $model } hat diese Version schon.
error-version-gone = { $path } ist nicht mehr da, deshalb kann { $model } nicht dorthin zurück. Bitte die Datei zurücklegen.
error-version-in-use = { $model } hat gerade diese Version. Bitte zuerst zu einer anderen zurückkehren oder das Modell entfernen.
error-version-first = { $model } hat hier keine frühere Version.
error-version-many = Mehr als eine Version von { $model } beginnt mit „{ $version }“.
error-version-none = Keine Version von { $model } beginnt mit „{ $version }“.
error-no-such-model = Das Modell „{ $model }“ gibt es hier nicht.
error-budget = Der Arbeitsspeicher für Modelle ist eine Zahl von GiB, größer als 0 und höchstens { $count }.
error-alias-taken = „{ $alias }“ heißt schon { $model }. Bitte einen anderen Zweitnamen wählen.
error-alias-odd = „{ $alias }“ ist kein Zweitname: erlaubt sind bis zu 100 Buchstaben, Ziffern und . : / @ + - _
error-aliases-many = Ein Modell darf { $count } Zweitnamen haben.
error-setting-none = Eine Einstellung „{ $name }“ hat ein Modell nicht.
error-setting-number = { $what }: bitte eine ganze Zahl von { $low } bis { $high } angeben.
error-setting-yes-no = { $what }: bitte ja oder nein sagen.
error-setting-context = Der Kontext in Token
error-setting-users = Personen zugleich
error-setting-layers = Schichten auf der GPU
error-setting-threads = Threads
error-setting-keep-alive = Sekunden, die es im Speicher bleibt
error-setting-preloaded = Ob es beim Start geladen wird
error-setting-pinned = Ob es im Speicher bleibt
error-setting-kv = Der KV-Typ ist einer von { $known }.
error-setting-weights = Das Format der Gewichte ist eines von { $known }, oder auto für das auf der Platte.
error-setting-weights-gguf = { $model } ist eine GGUF-Datei, deren Format feststeht. „models optimize“ macht davon eine Kopie in einem anderen.
error-setting-device = Das Gerät ist cpu, gpu oder gpu0, gpu1 und so weiter.
error-setting-trained = { $model } wurde für { $count } Token Kontext trainiert und taugt darüber hinaus nicht.
error-setting-cpu-layers = Nur mit dem Prozessor liegen keine Schichten auf einer GPU. Bitte eines von beiden weglassen.
error-setting-embeds = { $model } berechnet Embeddings: Personen zugleich, KV-Typ, Vorlage und Voreinstellung gibt es dabei nicht.
error-template-text = Eine Chat-Vorlage ist ein Text.
error-template-unfit = Diese Chat-Vorlage wird nicht angenommen. { $detail }

optimize-nothing = Kein anderes Format verspricht für { $model } mehr. Bitte eines selbst wählen, mit --to.
optimize-already = { $model } ist schon in { $format }. Bitte ein anderes Format wählen.
optimize-replaced = { $file } wurde ersetzt, während gemessen wurde. Bitte noch einmal versuchen.
optimize-older = { $path } ist älter als { $file } und könnte eine Kopie von etwas anderem sein. Bitte dieses Modell auf der Seite „Modelle“ entfernen oder die Datei verschieben und es noch einmal versuchen.
optimize-no-room = Eine Kopie in { $format } braucht etwa { $needed } MB, und in { $folder } sind { $free } MB frei. Bitte Platz schaffen oder ein anderes --data-dir wählen.
optimize-running = `models optimize` läuft schon in diesem Datenordner. Bitte das Ende abwarten.
optimize-running-by = `models optimize` läuft schon in diesem Datenordner (Prozess { $process }). Bitte das Ende abwarten.

command-file-there = { $path } gibt es schon. Bitte einen anderen Namen wählen.
command-key-many = Mehr als ein Schlüssel beginnt mit „{ $key }“. Siehe `inglenook keys list`.
command-key-none = Kein Schlüssel beginnt mit „{ $key }“. Siehe `inglenook keys list`.
command-no-user = Es gibt niemanden namens { $name }. Siehe `inglenook users list`.
command-anyway = { $reason } Um es trotzdem herunterzuladen, --anyway anfügen.
command-download-many = Mehr als ein Download ist „{ $download }“. Siehe `inglenook models downloads`.
command-download-none = Kein Download ist „{ $download }“. Siehe `inglenook models downloads`.
command-no-admin = Inglenook läuft unter { $url } ohne Admin. Einen anlegen: inglenook users add NAME --admin.
command-no-answer = Inglenook unter { $url } antwortet nicht ({ $detail }). Bitte noch einmal versuchen.
command-odd-answer = Inglenook antwortet mit { $status }. Vielleicht steht im Protokoll, warum.
listen-no-address = „{ $host }“ ist keine Adresse dieses Computers. Bitte ein anderes --host wählen.
listen-in-use = Port { $port } ist belegt{ $by }. Bitte jenes Programm beenden oder mit --port einen anderen Port wählen.
listen-not = Auf { $host }, Port { $port }, lässt sich nicht lauschen: { $detail }. Bitte anderes wählen.
listen-by = {" "}von { $name } (Prozess { $process })
error-preset-of-admin = Eine solche Voreinstellung eines Admins gibt es nicht.
command-preset-many = Mehr als eine Voreinstellung ist „{ $preset }“: { $known }. Bitte ihre Kennung angeben.
command-preset-none = Kein Admin hat eine Voreinstellung „{ $preset }“. Vorhanden sind: { $known }.
