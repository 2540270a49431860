"""Device specifications: the YAML database, checked, resolved and matched to present devices."""
