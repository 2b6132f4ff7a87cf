# What stands in a rendered answer beside the model's own words: see assets/build/markdown.
markdown-back-to-text = Back to the text
markdown-code = Code
markdown-copied = Copied
markdown-copy-code = Copy code
markdown-download = Download { $name }
markdown-footnote = Footnote { $number }
markdown-footnotes = Footnotes
markdown-formula-broken = This formula could not be read. This is its source.
markdown-not-copied = Not copied: select the text and copy it by hand
markdown-opens-elsewhere = Opens { $host } in a new tab
markdown-picture = Picture
markdown-plain-text = text
markdown-preview = Preview
markdown-preview-of = Preview of { $language }
markdown-run-scripts = Run scripts
markdown-scripts-off = Scripts are off here.
markdown-wrap = Wrap lines
