// Products of packed genotypes in float64, genotype by genotype, for wide columns.
//
// Partial sums of CHUNK terms are added up, which keeps rounding errors small.

using u8 = unsigned char;
using i64 = long long;

constexpr int CHUNK = 1024;
constexpr int THREADS = 256;

__device__ double value_of(const u8* __restrict__ row, const double* __restrict__ values,
                           i64 sample) {
    return values[row[sample >> 2] >> 2 * (sample & 3) & 3];
}

// Add the terms of some variants to products of samples, (n_samples, width): one thread per entry
// of the result; neighbouring threads have neighbouring samples.
extern "C" __global__ void multiply_samples(const u8* __restrict__ packed, i64 n_variants,
                                            i64 row_bytes, i64 n_samples,
                                            const double* __restrict__ values,
                                            const double* __restrict__ right, i64 width,
                                            double* __restrict__ out) {
    const i64 item = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
    const i64 sample = item % n_samples, column = item / n_samples;
    if (column >= width) return;
    double total = 0;
    for (i64 start = 0; start < n_variants; start += CHUNK) {
        const i64 stop = start + CHUNK < n_variants ? start + CHUNK : n_variants;
        double sum = 0;
        for (i64 j = start; j < stop; j++) {
            sum += value_of(packed + j * row_bytes, values + 4 * j, sample) *
                   right[j * width + column];
        }
        total += sum;
    }
    out[sample * width + column] += total;
}

// Write products of variants, (n_variants, width): one thread block per variant; each thread takes
// every THREADS-th sample.
extern "C" __global__ void multiply_variants(const u8* __restrict__ packed, i64 n_variants,
                                             i64 row_bytes, i64 n_samples,
                                             const double* __restrict__ values,
                                             const double* __restrict__ left, i64 width,
                                             double* __restrict__ out) {
    __shared__ double sums[THREADS];
    for (i64 j = blockIdx.x; j < n_variants; j += gridDim.x) {
        const u8* row = packed + j * row_bytes;
        for (i64 column = 0; column < width; column++) {
            double total = 0;
            for (i64 start = threadIdx.x; start < n_samples; start += THREADS * CHUNK) {
                const i64 end = start + THREADS * CHUNK;
                double sum = 0;
                for (i64 i = start; i < end && i < n_samples; i += THREADS) {
                    sum += value_of(row, values + 4 * j, i) * left[i * width + column];
                }
                total += sum;
            }
            sums[threadIdx.x] = total;
            __syncthreads();
            for (int half = THREADS / 2; half > 0; half /= 2) {
                if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
                __syncthreads();
            }
            if (threadIdx.x == 0) out[j * width + column] = sums[0];
            __syncthreads();
        }
    }
}
