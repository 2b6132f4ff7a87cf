# Was in einer Antwort neben den Worten des Modells steht: siehe assets/build/markdown.
markdown-back-to-text = Zurück zum Text
markdown-code = Code
markdown-copied = Kopiert
markdown-copy-code = Code kopieren
markdown-download = { $name } herunterladen
markdown-footnote = Fußnote { $number }
markdown-footnotes = Fußnoten
markdown-formula-broken = Diese Formel ließ sich nicht lesen. Hier steht ihr Quelltext.
markdown-not-copied = Nicht kopiert: den Text markieren und von Hand kopieren
markdown-opens-elsewhere = Öffnet { $host } in einem neuen Tab
markdown-picture = Bild
markdown-plain-text = Text
markdown-preview = Vorschau
markdown-preview-of = Vorschau von { $language }
markdown-run-scripts = Skripte ausführen
markdown-scripts-off = Skripte sind hier aus.
markdown-wrap = Zeilen umbrechen
