// Particles that fly straight and bounce at the borders of the unit square; one work-item each, ping-pong buffers.
// No contraction to fused multiply-add: results must equal the NumPy reference bit by bit.
#pragma OPENCL FP_CONTRACT OFF

inline void step(float2 *position, float2 *velocity, float dt)
{
    *position += *velocity * dt;
    if (position->x < 0.0f || position->x > 1.0f)
        velocity->x = -velocity->x;
    if (position->y < 0.0f || position->y > 1.0f)
        velocity->y = -velocity->y;
}

// 32 bytes, of which the kernel uses the first 16: as published.
typedef struct {
    float2 position;
    float2 velocity;
    float4 colour;
} Particle;

kernel void step_structs(global const Particle *restrict from, global Particle *restrict to, uint count, float dt)
{
    const size_t i = get_global_id(0);
    if (i >= count)
        return;
    float2 position = from[i].position;
    float2 velocity = from[i].velocity;
    step(&position, &velocity, dt);
    to[i].position = position;
    to[i].velocity = velocity;
}

// The same as a structure of arrays: every byte that moves is used.
kernel void step_arrays(global const float2 *restrict positions, global const float2 *restrict velocities,
                        global float2 *restrict positions_out, global float2 *restrict velocities_out, uint count,
                        float dt)
{
    const size_t i = get_global_id(0);
    if (i >= count)
        return;
    float2 position = positions[i];
    float2 velocity = velocities[i];
    step(&position, &velocity, dt);
    positions_out[i] = position;
    velocities_out[i] = velocity;
}
