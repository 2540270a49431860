// Particles that move in straight lines and bounce at the borders of the unit square; one per work-item, two buffers
// used in turn. No contraction to fused multiply-add: results must be bitwise equal to the NumPy reference.
#pragma OPENCL FP_CONTRACT OFF

inline int outside(float coordinate)
{
    return coordinate < 0.0f || coordinate > 1.0f;
}

// The velocity after a step, without a branch. A comparison of vectors gives all ones or zero; its sign bit flips the
// sign.
inline float2 bounced(float2 position, float2 velocity)
{
    const int2 crossed = (position < 0.0f) | (position > 1.0f);
    return as_float2(as_int2(velocity) ^ (crossed & (int2)(INT_MIN)));
}

// 32 bytes, of which only the first 16 are accessed, member by member.
typedef struct {
    float2 position;
    float2 velocity;
    float4 colour;
} Particle;

// As published: a branch stores the velocity of particles that crossed a border a second time.
kernel void step_members(global const Particle *restrict from, global Particle *restrict to, uint count, float dt)
{
    const size_t i = get_global_id(0);
    if (i >= count)
        return;
    const float2 velocity = from[i].velocity;
    const float2 position = from[i].position + velocity * dt;
    to[i].position = position;
    to[i].velocity = velocity;
    if (outside(position.x))
        to[i].velocity.x = -velocity.x;
    if (outside(position.y))
        to[i].velocity.y = -velocity.y;
}

// Structures of 16 bytes, position and velocity, as one vector.
kernel void step_whole(global const float4 *restrict from, global float4 *restrict to, uint count, float dt)
{
    const size_t i = get_global_id(0);
    if (i >= count)
        return;
    float4 state = from[i];
    state.lo += state.hi * dt;
    state.hi = bounced(state.lo, state.hi);
    to[i] = state;
}

// A structure of arrays: every byte transferred is used.
kernel void step_arrays(global const float2 *restrict positions, global const float2 *restrict velocities,
                        global float2 *restrict positions_out, global float2 *restrict velocities_out, uint count,
                        float dt)
{
    const size_t i = get_global_id(0);
    if (i >= count)
        return;
    const float2 velocity = velocities[i];
    const float2 position = positions[i] + velocity * dt;
    positions_out[i] = position;
    velocities_out[i] = bounced(position, velocity);
}
