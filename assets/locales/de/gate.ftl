# Vor der Anmeldung: Anmelden, Einrichten, Seiten, die es nicht gibt, und die Seite ohne Server.
sign-in = Anmelden
sign-in-welcome = Willkommen zurück
sign-in-where = Inglenook auf { $host }
# Über dem Formular, wo eine Sitzung geendet hat
ended-signed-out = Sie wurden abgemeldet.
ended-disabled = Ein Admin hat Ihr Konto gesperrt. Ihre Chats bleiben erhalten, und ein Admin kann es wieder entsperren.
ended-deleted = Ein Admin hat Ihr Konto gelöscht.
ended-password = Ihr Passwort wurde geändert, deshalb wurden Sie abgemeldet. Melden Sie sich mit dem neuen an.
sign-in-forgotten = Passwort vergessen? Ein neues gibt es vom Admin.
field-name = Name
field-your-name = Ihr Name
field-password = Passwort
field-password-length = Mindestens { $count } Zeichen
password-show = Passwort anzeigen
password-hide = Passwort verbergen

set-up = Einrichten
set-up-welcome = Willkommen zu Hause
set-up-about = Dieses erste Konto gehört dem Admin: Es verwaltet Personen und Modelle. Andere Personen lassen sich später hinzufügen.
continue = Weiter
set-up-done = Schon eingerichtet
set-up-done-about = Dieser Link wurde schon benutzt: Es gibt ein Konto für den Admin. Bitte damit anmelden.
set-up-nearly = Fast geschafft
set-up-wrong-link = Dieser Link passt nicht
set-up-wrong-link-about = Er stammt von einem früheren Start oder wurde abgeschnitten.
# <code> steht um eine Adresse
set-up-look = Im Terminal, in dem Inglenook gestartet wurde, steht ein Link, der auf <code>/setup?token=…</code> endet. Bitte diesen vollständig öffnen.
set-up-why = Der Link ist bei jedem Start neu. Nur wer das Terminal sieht, kann das erste Konto anlegen.

kept-here = Alles wird auf diesem Computer aufbewahrt.
kept-at = Alles wird auf { $host } aufbewahrt.

lost-title = Hier ist nichts
lost-about = Unter dieser Adresse gibt es keine Seite.
admins-title = Nur für Admins
admins-about = Um Modelle und Personen kümmern sich Admins, und Ihr Konto gehört nicht oder nicht mehr dazu. Soll es das, hilft ein Admin.
broken-title = Hier ist etwas schiefgegangen
broken-about = Näheres steht im Protokoll von Inglenook. Bitte noch einmal versuchen.
back-to-chat = Zurück zum Chat

away-title = Inglenook ist gerade nicht da
away-about = { $host } antwortet im Moment nicht. Sobald sich das ändert, geht es hier von selbst weiter.
away-fine = Die Chats sind dort sicher: In diesem Browser wird keiner gespeichert.

missing-title = Da fehlt etwas
missing-about = Ein Teil dieser Seite ging unterwegs verloren. Von Ihren Daten fehlt nichts: Bitte die Seite neu laden.
missing-slow-title = Noch unterwegs
missing-slow-about = Diese Seite braucht länger als sonst. Bitte etwas warten oder sie neu laden.
missing-again = Neu laden
