"""Conway's Game of Life with 32, 8 and 1 bits per cell, in kernels from naive to fastest."""
