"""A run from the first prediction to the last finding; resumed runs; drafts of unknown devices."""
