"""What ReFrame loads: its settings, and the check that measures a node. Only ReFrame imports these modules."""
