// Views of paths on one GPU; the contract is in this folder's __init__.py.
//
// Compile-time choice:
//   POSITION      type of a record's fields: unsigned int, long long

#ifndef POSITION
#define POSITION unsigned int
#endif

typedef unsigned long long u64;
typedef unsigned int u32;

constexpr int BLOCK_BITS = 10;
constexpr u32 CLOSING = 0xFFFFFFFFu;
constexpr double UNIT = 1.0 / 9007199254740992.0;  // 2^-53
constexpr u64 GOLDEN = 0x9E3779B97F4A7C15ull;

struct __align__(2 * sizeof(POSITION)) Record {
    POSITION handle;
    POSITION position;
};

__device__ __forceinline__ u64 mix(u64 state) {
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9ull;
    state = (state ^ (state >> 27)) * 0x94D049BB133111EBull;
    return state ^ (state >> 31);
}

__device__ __forceinline__ double unit(u64 bits) {
    return (double)(bits >> 11) * UNIT;
}

__device__ __forceinline__ int path_of(long long record, const long long* __restrict__ path_starts,
                                       const int* __restrict__ block_paths) {
    int path = __ldg(block_paths + (record >> BLOCK_BITS));
    while (__ldg(path_starts + path + 1) <= record) path++;
    return path;
}

// One thread goes along each block of records, as on a CPU.
extern "C" __global__ void __launch_bounds__(128)
    choose(const Record* __restrict__ records, const long long n_records,
           const long long* __restrict__ path_starts, const int n_paths,
           const int* __restrict__ block_paths, const int n_ends, const double spacing,
           volatile signed char* levels, const int level, const long long first_block,
           const long long stop_block) {
    const long long block = first_block + blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (block >= stop_block) return;
    const long long first = block << BLOCK_BITS;
    const long long stop = min((block + 1) << BLOCK_BITS, n_records);
    int path = path_of(first, path_starts, block_paths);
    long long start = path_starts[path], last = path_starts[path + 1] - 2;
    double chosen = (double)records[first].position;
    for (long long k = first; k < stop; k++) {
        if (k > last) {  // the closing record
            if (++path < n_paths) {
                start = k + 1;
                last = path_starts[path + 1] - 2;
                chosen = 0.0;
            }
            continue;
        }
        const POSITION handle = records[k].handle;
        for (int coin = 0; coin < n_ends; coin++) {
            const long long point = (long long)(handle ^ (POSITION)coin);
            const double position = (double)records[k + coin].position;
            const bool is_end = (k == start && coin == 0) || (k == last && coin == n_ends - 1);
            const bool is_chosen = levels[point] >= level;
            if (is_chosen || is_end || position - chosen >= spacing) {
                if (!is_chosen) levels[point] = (signed char)level;
                chosen = position;
            }
        }
    }
}

// Tells whether entry e of a block, an end of a step or a point, is in the view.
__device__ __forceinline__ bool is_kept(const Record* __restrict__ records, long long record,
                                        int coin, const signed char* __restrict__ levels,
                                        int level) {
    const POSITION handle = records[record].handle;
    if (handle == (POSITION)CLOSING) return coin == 0;
    return levels[(long long)(handle ^ (POSITION)coin)] >= level;
}

// One warp counts the records of the view in each block.
extern "C" __global__ void __launch_bounds__(256)
    count(const Record* __restrict__ records, const long long n_records, const int n_ends,
          const signed char* __restrict__ levels, const int level, long long* counts,
          const long long first_block, const long long stop_block) {
    const long long block = first_block + ((blockIdx.x * (long long)blockDim.x + threadIdx.x) >> 5);
    if (block >= stop_block) return;
    const long long first = (block << BLOCK_BITS) * n_ends;
    const long long stop = min((block + 1) << BLOCK_BITS, n_records) * n_ends;
    long long n = 0;
    for (long long k = first; k < stop; k += 32) {
        const long long e = k + (threadIdx.x & 31);
        const bool kept =
            e < stop && is_kept(records, e / n_ends, (int)(e % n_ends), levels, level);
        n += __popc(__ballot_sync(0xFFFFFFFFu, kept));
    }
    if ((threadIdx.x & 31) == 0) counts[block] = n;
}

// One warp writes them, in order.
extern "C" __global__ void __launch_bounds__(256)
    fill(Record* __restrict__ found, long long* found_starts, const Record* __restrict__ records,
         const long long n_records, const long long* __restrict__ path_starts,
         const int* __restrict__ block_paths, const int n_ends,
         const signed char* __restrict__ levels, const int level,
         const long long* __restrict__ offsets, const long long first_block,
         const long long stop_block) {
    const long long block = first_block + ((blockIdx.x * (long long)blockDim.x + threadIdx.x) >> 5);
    if (block >= stop_block) return;
    const int lane = threadIdx.x & 31;
    const long long first = (block << BLOCK_BITS) * n_ends;
    const long long stop = min((block + 1) << BLOCK_BITS, n_records) * n_ends;
    long long n = offsets[block];
    for (long long k = first; k < stop; k += 32) {
        const long long e = k + lane, record = e / n_ends;
        const int coin = (int)(e % n_ends);
        const bool kept = e < stop && is_kept(records, record, coin, levels, level);
        const u32 ballot = __ballot_sync(0xFFFFFFFFu, kept);
        if (kept) {
            const long long at = n + __popc(ballot & ((1u << lane) - 1u));
            const POSITION handle = records[record].handle;
            const bool is_closing = handle == (POSITION)CLOSING;
            found[at].handle = is_closing ? handle : handle ^ (POSITION)coin;
            found[at].position = records[record + coin].position;
            if (is_closing) found_starts[path_of(record, path_starts, block_paths) + 1] = at + 1;
        }
        n += __popc(ballot);
    }
}

// Where a point lies: between which two others, how far from the first, and what is added.
struct Place {
    long long point, a, b;
    double share, across, along;
};

// Tells whether entry k, an end of a step or a point, is to be placed by who asks; and where.
__device__ __forceinline__ bool find_place(Place& found, int* is_placed,
                                           const Record* __restrict__ records,
                                           const signed char* __restrict__ levels, int level,
                                           int n_ends, double noise, u64 seed, long long k) {
    const long long record = k / n_ends;
    const POSITION handle = records[record].handle;
    if (handle == (POSITION)CLOSING) return false;
    const long long point = (long long)(handle ^ (POSITION)(k % n_ends));
    if (levels[point] != level || atomicExch(is_placed + point, 1)) return false;
    // The path's ends lie above the level, so that both ways end.
    long long before = k, after = k, a = point, b = point;
    while (levels[a] <= level) {
        before--;
        a = (long long)(records[before / n_ends].handle ^ (POSITION)(before % n_ends));
    }
    while (levels[b] <= level) {
        after++;
        b = (long long)(records[after / n_ends].handle ^ (POSITION)(after % n_ends));
    }
    const double begin = (double)records[before / n_ends + before % n_ends].position;
    const double length = (double)records[after / n_ends + after % n_ends].position - begin;
    const double here = (double)records[record + k % n_ends].position - begin;
    const double share = here / fmax(length, 1.0);
    const double width = noise * length * sqrt(share * (1.0 - share));
    const u64 bits = mix((u64)point * GOLDEN + seed);
    const u64 more = mix(bits + GOLDEN);
    found = Place{
        point, a, b, share, width * (2.0 * unit(bits) - 1.0), width * (2.0 * unit(more) - 1.0)};
    return true;
}

extern "C" __global__ void __launch_bounds__(256)
    place(double* points, int* is_placed, const Record* __restrict__ records,
          const long long* __restrict__ path_starts, const int* __restrict__ block_paths,
          const signed char* __restrict__ levels, const int level, const int n_ends,
          const double noise, const u64 seed, const long long first, const long long stop) {
    const long long n_threads = gridDim.x * (long long)blockDim.x;
    const long long thread = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    Place at;
    for (long long k = first * n_ends + thread; k < stop * n_ends; k += n_threads) {
        if (!find_place(at, is_placed, records, levels, level, n_ends, noise, seed, k)) continue;
        const double2 p = ((const double2*)points)[at.a];
        const double2 q = ((const double2*)points)[at.b];
        ((double2*)points)[at.point] = double2{(1.0 - at.share) * p.x + at.share * q.x + at.across,
                                               (1.0 - at.share) * p.y + at.share * q.y + at.along};
    }
}

extern "C" __global__ void __launch_bounds__(256)
    link(int2* __restrict__ links, float* __restrict__ shares, int* is_placed,
         const Record* __restrict__ records, const long long* __restrict__ path_starts,
         const int* __restrict__ block_paths, const signed char* __restrict__ levels,
         const int level, const int n_ends, const double noise, const u64 seed,
         const long long first, const long long stop) {
    const long long n_threads = gridDim.x * (long long)blockDim.x;
    const long long thread = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    Place at;
    for (long long k = first * n_ends + thread; k < stop * n_ends; k += n_threads) {
        if (!find_place(at, is_placed, records, levels, level, n_ends, noise, seed, k)) continue;
        links[at.point] = int2{(int)at.a, (int)at.b};
        shares[3 * at.point] = (float)at.share;
        shares[3 * at.point + 1] = (float)at.across;
        shares[3 * at.point + 2] = (float)at.along;
    }
}

extern "C" __global__ void __launch_bounds__(256)
    follow(double2* points, const int* __restrict__ followers, const int2* __restrict__ links,
           const float* __restrict__ shares, const long long first, const long long stop) {
    const long long n_threads = gridDim.x * (long long)blockDim.x;
    const long long thread = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    for (long long k = first + thread; k < stop; k += n_threads) {
        const long long point = followers[k];
        const int2 link = links[point];
        const double2 p = points[link.x], q = points[link.y];
        const double share = shares[3 * point];
        points[point] = double2{p.x + share * (q.x - p.x) + shares[3 * point + 1],
                                p.y + share * (q.y - p.y) + shares[3 * point + 2]};
    }
}
