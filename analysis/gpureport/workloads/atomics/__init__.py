"""Global atomic adds: to few addresses and to many, one address a work-group, and after a reduction in local memory.

What the model assumes. The adds to one address follow each other, one in a clock cycle of the second-level cache, which
performs them (NVIDIA's GK110 white paper, 2012, says so of Kepler; newer parts are assumed to do the same). That cache
is many slices, each of which takes one sector in a cycle, and adds to all its words at once; 256 neighbouring bytes are
one slice's (AMD, ROCm Compute Profiler documentation, L2 cache; NVIDIA's memory partitions: Ruetsch and Micikevicius,
Optimizing Matrix Transpose in CUDA, 2009). How slices are chosen further is hidden: the model spreads them evenly,
while in fact some get more than others. Above all that, adds take the cache's bandwidth, four bytes read and four
written. A compiler that sees that all lanes of a wave add to one address adds them up first and sends one add: LLVM
does for AMD (AMDGPUAtomicOptimizer), and one address takes some 25 adds a cycle on an RTX 4090
(PWhiddy/webgpu-atomics-benchmark). A processor's core performs one locked add in about 20 cycles (A. Fog, Instruction
tables); where another core had the line last, it must come through the last cache first.
"""
