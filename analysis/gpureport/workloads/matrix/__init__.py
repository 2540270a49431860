"""Matrix units: products of small matrices in registers, by number format."""
