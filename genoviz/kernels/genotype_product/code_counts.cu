// Count the codes of packed genotypes: one thread block per variant.

using u8 = unsigned char;
using u32 = unsigned int;
using i64 = long long;
using u64 = unsigned long long;

constexpr u32 LOW_BITS = 0x55555555;
constexpr int N_THREADS = 128;

// Mask of the bits of a memory word that belong to samples first_bit to last_bit.
__device__ u32 own_bits(i64 word, i64 first_bit, i64 last_bit) {
    const i64 start = 32 * word;
    u32 mask = LOW_BITS;
    if (start < first_bit) mask &= ~0u << (first_bit - start);
    if (start + 32 > last_bit) mask &= last_bit > start ? ~0u >> (start + 32 - last_bit) : 0;
    return mask;
}

extern "C" __global__ void __launch_bounds__(N_THREADS)
    count_codes(const u8* __restrict__ packed, i64 n_variants, i64 row_bytes, i64 n_samples,
                u64* __restrict__ counts) {
    __shared__ u64 found[3];
    for (i64 j = blockIdx.x; j < n_variants; j += gridDim.x) {
        if (threadIdx.x < 3) found[threadIdx.x] = 0;
        __syncthreads();
        const u8* row = packed + j * row_bytes;
        const u64 offset = reinterpret_cast<u64>(row) & 15;
        const uint4* aligned = reinterpret_cast<const uint4*>(row - offset);
        const i64 first_bit = 8 * offset, last_bit = first_bit + 2 * n_samples;
        u32 lows = 0, highs = 0, boths = 0;
        for (i64 k = threadIdx.x; 128 * k < last_bit; k += N_THREADS) {
            const uint4 four = aligned[k];
            const u32 words[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
            for (int w = 0; w < 4; w++) {
                const u32 mask = own_bits(4 * k + w, first_bit, last_bit);
                const u32 low = words[w] & mask, high = words[w] >> 1 & mask;
                lows += __popc(low);
                highs += __popc(high);
                boths += __popc(low & high);
            }
        }
        lows = __reduce_add_sync(~0u, lows);
        highs = __reduce_add_sync(~0u, highs);
        boths = __reduce_add_sync(~0u, boths);
        if (threadIdx.x % 32 == 0) {
            atomicAdd(found, lows);
            atomicAdd(found + 1, highs);
            atomicAdd(found + 2, boths);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            u64* out = counts + 4 * j;
            out[0] = n_samples - found[0] - found[1] + found[2];
            out[1] = found[0] - found[2];
            out[2] = found[1] - found[2];
            out[3] = found[2];
        }
        __syncthreads();
    }
}
