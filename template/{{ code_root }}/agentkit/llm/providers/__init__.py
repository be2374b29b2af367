"""Adapters, one small file each; `create_provider` imports the one a URI asks for."""
