"""Errors of predictions against stored results, and the accuracy targets of the project."""
