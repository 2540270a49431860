"""Instruction primitives: how many a compute unit executes in a cycle, and how long a result takes to be ready."""
