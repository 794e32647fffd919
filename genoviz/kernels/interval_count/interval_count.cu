// Interval counts on one GPU; the contract is in this folder's __init__.py.

#ifndef KEY
#define KEY unsigned int
#endif
#ifndef INDEX
#define INDEX int
#endif

typedef unsigned long long u64;
typedef long long i64;

constexpr int THREADS = 256;
constexpr int CELLS_PER_BLOCK = 2048;
constexpr int SCAN = 8;

__device__ __forceinline__ i64 lower_bound(const KEY* __restrict__ keys, i64 first, i64 last,
                                           i64 value) {
    while (first < last) {
        const i64 middle = (first + last) >> 1;
        if ((i64)keys[middle] < value)
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}

// The cells of a table over sorted keys: equal stretches of 2^shift coordinates from low on.
struct Cells {
    i64 low, n_cells;
    int shift;
};

__device__ __forceinline__ int bit_length(i64 value) {
    return 64 - __clzll(value);
}

// Cells of about 2^cell_bits keys, or of one coordinate if there are fewer coordinates than cells.
__device__ __forceinline__ Cells cells_of(const KEY* __restrict__ keys, i64 n_keys, int cell_bits) {
    const i64 low = keys[0], span = (i64)keys[n_keys - 1] - low;
    const int bits = bit_length(span) - bit_length(n_keys);
    const int shift = bits > 0 ? bits + cell_bits : 0;
    return {low, (span >> shift) + 1, shift};
}

// Finds the first sorted key of each cell. A block takes consecutive cells: two of its threads find
// the range of keys, and all threads search in it. The table ends with n_keys twice, so values
// beyond all keys have a cell.
extern "C" __global__ void __launch_bounds__(THREADS)
    fill_table(const KEY* __restrict__ keys, i64 n_keys, int cell_bits, INDEX* __restrict__ table) {
    __shared__ i64 span[2];
    const Cells cells = cells_of(keys, n_keys, cell_bits);
    if (blockIdx.x == 0 && threadIdx.x < 2) table[cells.n_cells + threadIdx.x] = (INDEX)n_keys;
    for (i64 first = (i64)blockIdx.x * CELLS_PER_BLOCK; first < cells.n_cells;
         first += (i64)gridDim.x * CELLS_PER_BLOCK) {
        const i64 last = min(first + CELLS_PER_BLOCK, cells.n_cells);
        if (threadIdx.x < 2) {
            const i64 cell = threadIdx.x == 0 ? first : last;
            span[threadIdx.x] = lower_bound(keys, 0, n_keys, cells.low + (cell << cells.shift));
        }
        __syncthreads();
        for (i64 cell = first + threadIdx.x; cell < last; cell += THREADS)
            table[cell] =
                (INDEX)lower_bound(keys, span[0], span[1], cells.low + (cell << cells.shift));
        __syncthreads();
    }
}

// Sets or lowers each count by the number of keys below the value + step.
extern "C" __global__ void __launch_bounds__(THREADS)
    look_up(const KEY* __restrict__ values, i64 n_values, int step, const KEY* __restrict__ keys,
            i64 n_keys, int cell_bits, const INDEX* __restrict__ table, int is_subtracted,
            INDEX* __restrict__ counts) {
    const i64 n_threads = (i64)gridDim.x * blockDim.x;
    const Cells cells = cells_of(keys, n_keys, cell_bits);
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n_values; i += n_threads) {
        const i64 value = (i64)__ldcs(values + i) + step;
        const i64 cell = min(max(value - cells.low, 0ll) >> cells.shift, cells.n_cells);
        i64 k = table[cell];
        if (cells.shift > 0) {
            const i64 last = table[cell + 1];
            if (last - k > SCAN) {
                k = lower_bound(keys, k, last, value);
            } else {
                while (k < last && (i64)keys[k] < value) k++;
            }
        }
        if (is_subtracted)
            __stcs(counts + i, (INDEX)(__ldcs(counts + i) - (INDEX)k));
        else
            __stcs(counts + i, (INDEX)k);
    }
}

// Two endpoints per interval: coordinate, start flag, and the number of the interval.
extern "C" __global__ void __launch_bounds__(THREADS)
    pack_endpoints(const KEY* __restrict__ starts, const KEY* __restrict__ ends, i64 n,
                   int owner_bits, i64 first_owner, ulonglong2* __restrict__ endpoints) {
    const i64 n_threads = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += n_threads) {
        const u64 owner = (u64)(first_owner + i);
        endpoints[i] = make_ulonglong2(((((u64)starts[i] << 1) | 1ull) << owner_bits) | owner,
                                       (((u64)ends[i] << 1) << owner_bits) | owner);
    }
}

// Flags the sorted endpoints that are starts, and those that are ends, of subjects.
extern "C" __global__ void __launch_bounds__(THREADS)
    mark_subjects(const u64* __restrict__ endpoints, i64 n_endpoints, int owner_bits, i64 n_queries,
                  INDEX* __restrict__ started, INDEX* __restrict__ ended) {
    const i64 n_threads = (i64)gridDim.x * blockDim.x;
    const u64 mask = (1ull << owner_bits) - 1;
    for (i64 k = (i64)blockIdx.x * blockDim.x + threadIdx.x; k < n_endpoints; k += n_threads) {
        const u64 endpoint = endpoints[k];
        const bool is_subject = (i64)(endpoint & mask) >= n_queries;
        const bool is_start = (endpoint >> owner_bits) & 1;
        started[k] = is_subject && is_start;
        ended[k] = is_subject && !is_start;
    }
}

// The prefix sums at the two endpoints of each query.
extern "C" __global__ void __launch_bounds__(THREADS)
    gather(const u64* __restrict__ endpoints, i64 n_endpoints, int owner_bits, i64 n_queries,
           const INDEX* __restrict__ started, const INDEX* __restrict__ ended,
           INDEX* __restrict__ started_of_query, INDEX* __restrict__ ended_of_query) {
    const i64 n_threads = (i64)gridDim.x * blockDim.x;
    const u64 mask = (1ull << owner_bits) - 1;
    for (i64 k = (i64)blockIdx.x * blockDim.x + threadIdx.x; k < n_endpoints; k += n_threads) {
        const u64 endpoint = endpoints[k];
        const i64 owner = (i64)(endpoint & mask);
        if (owner >= n_queries) continue;
        if ((endpoint >> owner_bits) & 1)
            ended_of_query[owner] = ended[k];
        else
            started_of_query[owner] = started[k];
    }
}
