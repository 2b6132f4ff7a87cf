"""How pages reach the browser: in few files, small ones, that it keeps. `ui.install` calls `deliver`.

NiceGUI's page asks for a dozen files of its own and one more a component. Here they are joined, in memory, at the first
request: one style sheet (styles.py), one script (scripts.py), and a module or two of components (components.py).
NiceGUI's own template is what is served, with those in the place of what they hold (template.py). Nothing of NiceGUI is
copied into this repository: of a version that cannot be read in this way the page is served as it is.
"""
