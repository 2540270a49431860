"""Repeated transposition of bit matrices in registers, through local memory and by sub-group exchanges."""
