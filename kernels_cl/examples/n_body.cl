// Acceleration of each body by the gravity of all bodies; x, y, z, mass.

kernel void accelerate(global float4 *restrict accelerations, global const float4 *restrict bodies, const uint n)
{
    const float3 mine = bodies[get_global_id(0)].xyz;
    float3 sum = 0;

    for (uint i = 0; i < n; ++i) {
        const float4 other = bodies[i];
        const float3 way = other.xyz - mine;
        const float squared = dot(way, way) + 0.01f, inverse = rsqrt(squared);

        sum += other.w * inverse * inverse * inverse * way;
    }
    accelerations[get_global_id(0)] = (float4)(sum, 0);
}
