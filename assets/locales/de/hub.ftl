# Vom Modell-Hub, von Downloads und von Modellen anderer Apps: was schiefging oder worauf gewartet wird. Siehe app/hub, app/services/downloads.py.
hub-off = Der Modell-Hub ist hier abgeschaltet (hub_offline oder HF_HUB_OFFLINE).
hub-circle = Der Modell-Hub schickt uns im Kreis. Später noch einmal versuchen.
hub-elsewhere = Der Modell-Hub verweist auf einen anderen Server, wo keiner hingehört. Bitte hub_endpoint prüfen.
hub-endless = Die Antwort des Modell-Hubs nimmt kein Ende. Später noch einmal versuchen.
hub-no-repository = „{ $repo }“ ist kein Repository. Geschrieben wird es als Besitzer/Name.
hub-what = das Gesuchte
hub-gated = { $what } ist geschützt: Die Hersteller wollen wissen, wer es verwendet. Bitte auf der Seite im Hub den Bedingungen zustimmen und hier ein Token dieses Kontos eintragen (inglenook models token).
hub-refused = Der Hub gibt { $what } nicht heraus: Es existiert nicht, ist privat oder verlangt ein Token. Bitte den Namen prüfen und ein Token eintragen (inglenook models token).
hub-not-found = Der Hub hat { $what } nicht, oder nicht diese Version oder Datei davon. Bitte den Namen prüfen.
hub-busy = Der Modell-Hub ist überlastet. In einer Weile noch einmal versuchen.
hub-busy-for = Der Modell-Hub ist überlastet. Er bittet, { $seconds } s zu warten.
hub-error = Der Modell-Hub antwortet mit einem Fehler ({ $status }). Später noch einmal versuchen.
hub-silent = { $host } antwortet nicht. Bitte das Netz dieses Computers prüfen oder es später noch einmal versuchen.
hub-unreachable = { $host } ist nicht zu erreichen. Bitte das Netz dieses Computers prüfen; alles andere hier geht auch ohne.
hub-breaks-off = { $host } bricht ab oder antwortet nicht in HTTP. Später noch einmal versuchen; steht ein Proxy dazwischen, bitte diesen prüfen.
hub-certificate-unknown = Das Zertifikat von { $host } hat niemand unterschrieben, dem dieser Computer vertraut; deshalb wurde nichts angefragt. Soll es eine eigene Stelle unterschreiben, deren Zertifikat mit SSL_CERT_FILE angeben und Inglenook neu starten; sonst steht jemand dazwischen.
hub-certificate-date = Das Zertifikat von { $host } gilt heute nicht; deshalb wurde nichts angefragt. Bitte das Datum dieses Computers prüfen; stimmt es, muss der Betreiber das Zertifikat erneuern.
hub-certificate-name = { $host } zeigt das Zertifikat eines anderen Servers; deshalb wurde nichts angefragt. Bitte hub_endpoint prüfen; stimmt es, steht jemand dazwischen.
hub-certificate = { $host } zeigt ein Zertifikat, das nicht angenommen werden kann; deshalb wurde nichts angefragt. Der Betreiber muss es ersetzen.
hub-no-web-address = Der Modell-Hub verweist auf etwas, das keine Webadresse ist ({ $kind }:…). Dem wurde nicht gefolgt. Bitte hub_endpoint prüfen oder den Betreiber des Hubs fragen.
hub-odd = Der Modell-Hub lieferte nicht, was zu erwarten war: { $wanted }. Bitte hub_endpoint prüfen oder es später noch einmal versuchen.
hub-wanted-list = eine Liste von Modellen
hub-wanted-page = was es über { $repo } zu wissen gibt
hub-wanted-commit = einen Commit
hub-wanted-json = JSON
hub-no-token = Das ist kein Token: Bitte noch einmal aus den Einstellungen des Hubs kopieren.

hub-expired = Die Adresse von { $file } ist abgelaufen. Bitte den Download fortsetzen.
hub-sent-away = Die Quelle verweist mitten in einer Datei anderswohin. Später noch einmal versuchen.
hub-compressed = Die Quelle von { $file } schickt die Datei ungefragt komprimiert.
hub-whole-file = Die Quelle von { $file } schickt die ganze Datei, wo nur ein Teil verlangt war.
hub-other-part = Die Quelle von { $file } schickt einen anderen Teil als den verlangten.
hub-source-error = Die Quelle von { $file } antwortet mit { $status }. Später noch einmal versuchen.
hub-unencrypted = Der Modell-Hub verweist auf eine unverschlüsselte Adresse. Ihr wurde nicht gefolgt.
hub-changed = { $file } ist nicht mehr die Datei, die begonnen wurde: Sie wurde an der Quelle ersetzt. Bitte fortsetzen, dann wird die neue von Anfang an geladen.
hub-wrong-content = { $file } kam vollständig an, aber der Inhalt ist nicht der, den der Hub versprochen hat; die Datei wurde verworfen. Bitte fortsetzen, um sie neu zu laden; geschieht das wieder, ist die Quelle oder der Weg zu ihr gestört.
hub-next-attempt = { $reason } (Nächster Versuch in { $seconds } s.)
hub-cut = Die Verbindung endete mitten in { $file }. Bitte den Download fortsetzen.
hub-header-cut = Die Verbindung endete mitten im Dateikopf. Bitte noch einmal versuchen.
hub-long-header = { $file } hat einen Dateikopf von mehr als { $size } MiB.
hub-no-gguf = { $label } von { $repo } ist kein GGUF: Nur bei diesen ist vorab bekannt, ob sie passen.
hub-no-model-file = { $repo } enthält keine Modelldatei in einem hier lesbaren Format: kein GGUF und kein safetensors.
hub-no-variant = { $repo } hat kein „{ $wanted }“. Vorhanden sind: { $known }.
hub-incomplete = { $repo } ist unvollständig: Dort { $more ->
    [0] fehlt { $file }
   *[other] fehlen { $file } und { $more } weitere
 }. Bitte eine andere Datei oder ein anderes Repository wählen.

disk-no-room = Der Platz reicht nicht: { $needed } kommen noch, { $kept } der Platte bleiben frei, und in { $folder } sind { $free } frei. Bitte { $lacking } freimachen und noch einmal versuchen.
disk-no-room-beside = Der Platz reicht nicht: { $needed } kommen noch, { $promised } sind anderen Downloads versprochen, { $kept } der Platte bleiben frei, und in { $folder } sind { $free } frei. Bitte { $lacking } freimachen und noch einmal versuchen.
disk-full = Die Platte von { $folder } ist voll. Bitte Platz schaffen und dann fortsetzen: Es geht nichts verloren.
disk-nearly-full = Die Platte von { $folder } ist voll ({ $free } sind übrig von { $kept }, die frei bleiben). Bitte Platz schaffen und dann fortsetzen: Es geht nichts verloren.

download-none = Diesen Download gibt es nicht.
download-needs-torch = { $label } von { $repo } braucht PyTorch, das hier nicht installiert ist: pip install 'inglenook[gpu]'. Oder eine GGUF-Datei desselben Modells nehmen.
download-not-under-way = { $label } von { $repo } wird gerade nicht geladen.
download-not-stopped = { $label } von { $repo } ist weder angehalten noch fehlgeschlagen.
download-unusable = Alles kam vollständig und unversehrt an, lässt sich aber nicht verwenden: { $detail }
download-by-other = Ein anderes Inglenook lädt gerade in diesen Datenordner. Bitte sein Ende abwarten oder es beenden.
download-waits-for-start = Geht weiter, wenn Inglenook läuft oder der Download noch einmal verlangt wird.
download-waits-for-hours = Wartet auf die Stunden, in denen Downloads laufen dürfen: { $hours }.
download-waits-for-process = Wartet auf ein anderes Inglenook, das in denselben Datenordner lädt.
download-waits-for-others = Wartet, bis ein anderer Download fertig ist.
download-not-written = Die Dateien lassen sich nicht schreiben: { $detail }. Bitte beheben und dann fortsetzen.
download-broke = In Inglenook ist etwas schiefgegangen; Näheres steht im Protokoll. Bitte fortsetzen, um es noch einmal zu versuchen.
download-not-removed = Was davon schon da ist, lässt sich nicht löschen: { $detail }. Bitte das beheben und es noch einmal versuchen.
download-rules = Stunden bitte als 22:00-06:00 schreiben und eine Grenze von mindestens 1.024 Bytes je Sekunde angeben.
download-rules-known = Es gibt die Regeln layout, bytes_per_s und hours.

found-part-missing = { $file } fehlt.
found-gone = { $path } ist nicht mehr da.
found-no-gguf = Die Gewichte liegen nicht in einer GGUF-Datei.
found-not-whole = { $app } hat es nicht vollständig heruntergeladen.
found-adapter = Darüber liegt ein Adapter. Bitte beide Dateien mit ihren Pfaden hinzufügen, mit --lora.
found-it = Das
found-unfit = Das läuft hier nicht: { $detail }

speed-by-answers = Gemessen: an { $count } Antworten, die es hier zuletzt geschrieben hat.
speed-by-run = Hier gemessen, eine Frage nach der anderen.
speed-by-bandwidth = Berechnet aus den Gewichten, die jedes Token liest, und dem Speicher dieses Computers, gemessen mit { $bandwidth } GB/s.
speed-by-card = Berechnet aus den Gewichten, die jedes Token liest, und dem Speicher von { $card }, gemessen mit { $bandwidth } GB/s.
speed-by-others = Berechnet aus den Gewichten, die jedes Token liest, und dem Speicher dieses Computers, gemessen mit { $bandwidth } GB/s; berichtigt nach den Antworten von { $count ->
    [one] { $count } Modell
   *[other] { $count } Modellen
 } hier.

update-not-of-hub = { $model } kommt nicht vom Hub: Es gibt nichts, womit es zu vergleichen wäre.
