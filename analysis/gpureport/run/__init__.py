"""A run from the first prediction to the last finding; a run that is continued; a device that is drafted."""
