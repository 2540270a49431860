"""What is known of devices: the YAML database, checked, resolved and matched to the device present."""
