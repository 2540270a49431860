"""Global atomic adds: to few and to many addresses, to one address per work-group, and after a local reduction.

The model's assumptions:

- The second-level cache performs adds to the same address one after another, one per clock cycle (NVIDIA's GK110 white
  paper, 2012, for Kepler; assumed for newer devices).
- That cache consists of slices. A slice processes one sector after another and adds to all its words at once, at the
  rate at which it writes sectors (one per cycle if unknown). 512 adjacent bytes belong to one slice. The mapping of
  addresses to slices is not public: the model assumes that each 512 bytes are in a random slice, so that the busiest
  slice has more than its share.
- Atomic adds also use the cache's bandwidth: four bytes written. No work-item uses the previous value.
- If the compiler sees that all lanes of a wave add to one address, it adds their values first and issues one atomic
  add: LLVM does so for AMD (AMDGPUAtomicOptimizer). One address of an RTX 4090 receives some 25 adds per cycle
  (PWhiddy/webgpu-atomics-benchmark).
- A CPU core performs one locked add in about 20 cycles (A. Fog, Instruction tables). If another core owned the line, it
  is transferred through the last cache first.
"""
