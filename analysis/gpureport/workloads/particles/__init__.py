"""Moving particles in several memory layouts: half-used 32-byte structures, as published, and denser ones."""
