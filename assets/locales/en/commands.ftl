# Messages of this area; see app/language.py.
