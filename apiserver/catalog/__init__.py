"""The catalog ``models.yaml``: entries, validation, versions."""
