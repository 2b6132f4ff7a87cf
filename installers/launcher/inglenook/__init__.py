"""The one name that an installed Inglenook takes: its rooms lie in `lib/`, made importable by `inglenook.__main__`."""
