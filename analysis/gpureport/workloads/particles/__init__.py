"""Particles that fly and bounce: 32-byte structs of which half is used, as published, and layouts that waste less."""

from gpureport.workloads.particles.arrays import Arrays
from gpureport.workloads.particles.structs import ShortStructs, Structs, WholeStructs

__all__ = ["Arrays", "ShortStructs", "Structs", "WholeStructs"]
