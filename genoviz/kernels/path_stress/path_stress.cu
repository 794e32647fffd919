// Path stress on one GPU; the contract is in this folder's __init__.py.

#ifndef POSITION
#define POSITION unsigned int
#endif

typedef unsigned long long u64;
typedef unsigned int u32;

constexpr int BLOCK_BITS = 10;
constexpr u32 CLOSING = 0xFFFFFFFFu;
constexpr int WARP = 32;
constexpr int THREADS = 256;
constexpr int SAMPLES_PER_CHUNK = 1 << 16;
constexpr double UNIT = 1.0 / 9007199254740992.0;  // 2^-53
constexpr u64 GOLDEN = 0x9E3779B97F4A7C15ull;

struct __align__(2 * sizeof(POSITION)) Record {
    POSITION handle;
    POSITION position;
};

struct Sums {
    double total, total_squares;
    long long n_terms, n_skipped;
};

__device__ __forceinline__ u64 mix(u64 state) {
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9ull;
    state = (state ^ (state >> 27)) * 0x94D049BB133111EBull;
    return state ^ (state >> 31);
}

__device__ __forceinline__ double unit(u64 bits) {
    return (double)(bits >> 11) * UNIT;
}

__device__ __forceinline__ int find_path(long long record,
                                         const long long* __restrict__ path_starts,
                                         const int* __restrict__ block_paths) {
    int path = block_paths[record >> BLOCK_BITS];
    while (path_starts[path + 1] <= record) path++;
    return path;
}

// The term of two steps and ends, or a negative number if their distance is 0.
__device__ __forceinline__ double term_of(const double2* __restrict__ points,
                                          const Record* __restrict__ records, long long a,
                                          long long b, int end_a, int end_b) {
    const double d =
        fabs((double)records[a + end_a].position - (double)records[b + end_b].position);
    if (d == 0.0) return -1.0;
    const double2 p = points[(long long)records[a].handle ^ end_a];
    const double2 q = points[(long long)records[b].handle ^ end_b];
    const double dx = p.x - q.x, dy = p.y - q.y;
    const double error = (sqrt(dx * dx + dy * dy) - d) / d;
    return error * error;
}

__device__ __forceinline__ void add_term(Sums& sums, double term) {
    if (term < 0.0) {
        sums.n_skipped++;
    } else {
        sums.total += term;
        sums.total_squares += term * term;
        sums.n_terms++;
    }
}

__device__ __forceinline__ Sums sum_warp(Sums sums) {
    for (int lanes = WARP / 2; lanes > 0; lanes /= 2) {
        sums.total += __shfl_down_sync(0xFFFFFFFFu, sums.total, lanes);
        sums.total_squares += __shfl_down_sync(0xFFFFFFFFu, sums.total_squares, lanes);
        sums.n_terms += __shfl_down_sync(0xFFFFFFFFu, sums.n_terms, lanes);
        sums.n_skipped += __shfl_down_sync(0xFFFFFFFFu, sums.n_skipped, lanes);
    }
    return sums;
}

// One warp per row: step s against all later steps of its path.
extern "C" __global__ void sum_all_pairs(const double2* __restrict__ points,
                                         const Record* __restrict__ records, long long first_row,
                                         long long stop_row, long long longest,
                                         const long long* __restrict__ path_starts,
                                         const int* __restrict__ block_paths, double* totals,
                                         long long* counts) {
    const long long n_warps = (long long)gridDim.x * blockDim.x / WARP;
    const int lane = threadIdx.x % WARP;
    const long long warp = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    for (long long s = first_row + warp; s < stop_row; s += n_warps) {
        if (records[s].handle == (POSITION)CLOSING) continue;
        const int path = find_path(s, path_starts, block_paths);
        const long long first = path_starts[path], last = path_starts[path + 1] - 2;
        Sums sums = {0.0, 0.0, 0, 0};
        if (first == last && lane == 0) add_term(sums, term_of(points, records, s, s, 0, 1));
        const long long end = min(last, s + longest);
        for (long long t = s + 1 + lane; t <= end; t += WARP)
            for (int ends = 0; ends < 4; ends++)
                add_term(sums, term_of(points, records, s, t, ends & 1, ends >> 1));
        sums = sum_warp(sums);
        if (lane == 0) {
            const long long row = s - first_row;
            totals[row] = sums.total;
            counts[2 * row] = sums.n_terms;
            counts[2 * row + 1] = sums.n_skipped;
        }
    }
}

// Parameters of the draws: from `n_paths` by share, pairs `shortest` to `longest` steps apart.
struct Draws {
    long long n_paths;
    long long shortest;
    long long longest;
    long long first_sample;
    long long n_samples;
    long long n_values;
    u64 key;
};

__device__ __forceinline__ double draw_term(const double2* __restrict__ points,
                                            const Record* __restrict__ records,
                                            const long long* __restrict__ path_starts,
                                            const long long* __restrict__ paths,
                                            const double* __restrict__ shares, const Draws& draws,
                                            long long sample) {
    u64 bits = mix(draws.key + (u64)(2 * (draws.first_sample + sample) + 1) * GOLDEN);
    const double chosen = unit(bits);
    long long low = 0, high = draws.n_paths - 1;
    while (low < high) {
        const long long middle = (low + high) >> 1;
        if (shares[middle] > chosen)
            high = middle;
        else
            low = middle + 1;
    }
    const long long first = path_starts[paths[low]];
    const long long n_steps = path_starts[paths[low] + 1] - 1 - first;
    if (n_steps == 1) return term_of(points, records, first, first, 0, 1);
    const long long n_jumps = min(draws.longest, n_steps - 1) - draws.shortest + 1;
    long long jump, place;
    do {
        bits = mix(bits + GOLDEN);
        jump = draws.shortest + (long long)(unit(bits) * (double)n_jumps);
        bits = mix(bits + GOLDEN);
        place = (long long)(unit(bits) * (double)(n_steps - draws.shortest));
    } while (place + jump >= n_steps);
    const long long s = first + place;
    return term_of(points, records, s, s + jump, bits & 1, bits >> 1 & 1);
}

// One block per chunk of samples.
extern "C" __global__ void __launch_bounds__(THREADS)
    sum_samples(const double2* __restrict__ points, const Record* __restrict__ records,
                const long long* __restrict__ path_starts, const long long* __restrict__ paths,
                const double* __restrict__ shares, const Draws draws, float* values,
                double* sums_out, long long* counts_out) {
    __shared__ Sums of_warp[THREADS / WARP];
    const long long n_chunks = (draws.n_samples + SAMPLES_PER_CHUNK - 1) / SAMPLES_PER_CHUNK;
    for (long long chunk = blockIdx.x; chunk < n_chunks; chunk += gridDim.x) {
        const long long start = chunk * SAMPLES_PER_CHUNK;
        const long long stop = min(start + SAMPLES_PER_CHUNK, draws.n_samples);
        Sums sums = {0.0, 0.0, 0, 0};
        for (long long sample = start + threadIdx.x; sample < stop; sample += THREADS) {
            const double term =
                draw_term(points, records, path_starts, paths, shares, draws, sample);
            add_term(sums, term);
            if (sample < draws.n_values) values[sample] = term < 0.0 ? nanf("") : (float)term;
        }
        sums = sum_warp(sums);
        if (threadIdx.x % WARP == 0) of_warp[threadIdx.x / WARP] = sums;
        __syncthreads();
        if (threadIdx.x == 0) {
            double total = 0.0, total_squares = 0.0;
            long long n_terms = 0;
            for (int warp = 0; warp < THREADS / WARP; warp++) {
                total += of_warp[warp].total;
                total_squares += of_warp[warp].total_squares;
                n_terms += of_warp[warp].n_terms;
            }
            sums_out[2 * chunk] = total;
            sums_out[2 * chunk + 1] = total_squares;
            counts_out[chunk] = n_terms;
        }
        __syncthreads();
    }
}
