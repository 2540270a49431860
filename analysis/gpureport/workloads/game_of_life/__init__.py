"""Conway's Game of Life: layouts of 32, 8 and 1 bits a cell, and kernels from the naive one to the best."""
