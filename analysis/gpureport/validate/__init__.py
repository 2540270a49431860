"""How far predictions are off what was measured, and what is required of them."""
