"""Transposition of bit matrices, many times over: by registers, local memory and sub-group exchanges."""
