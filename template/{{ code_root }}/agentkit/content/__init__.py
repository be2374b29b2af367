"""Where content comes from: pages, documents, search. Optional; each module is imported by name."""
