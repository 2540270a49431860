"""Transfers between host and device, and between two devices."""
