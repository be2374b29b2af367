"""Model calls: from a URI to a reply that is retried, validated, priced and recorded."""
