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

// One warp processes each block of records, 32 entries at a time. An entry is an end of a step or a
// point. Of 32 entries, the chosen ones are found from first to last:
//
//   chosen before           o                         position of the last one
//   lane                      0 1 2 3 4 5 6 7 ...
//   has a level, or is far    . . x . . x x .         the first x is chosen; lanes too near to it
//                                                     are no longer far, and so on
extern "C" __global__ void __launch_bounds__(256)
    choose(const Record* __restrict__ records, const long long n_records, const int n_ends,
           const double spacing, volatile signed char* levels, const int level,
           const long long first_block, const long long stop_block) {
    const long long block = first_block + ((blockIdx.x * (long long)blockDim.x + threadIdx.x) >> 5);
    if (block >= stop_block) return;
    const int lane = threadIdx.x & 31, shift = n_ends - 1;
    const long long first = (block << BLOCK_BITS) << shift;
    const long long stop = min((block + 1) << BLOCK_BITS, n_records) << shift;
    double chosen = (double)records[first >> shift].position;
    for (long long k = first; k < stop; k += 32) {
        const long long record = (k + lane) >> shift;
        const int coin = (int)((k + lane) & shift);
        const bool is_entry = k + lane < stop && records[record].handle != (POSITION)CLOSING;
        POSITION point = 0;
        double position = 0.0;
        bool is_kept = false, is_chosen = false;
        if (is_entry) {
            point = records[record].handle ^ (POSITION)coin;
            position = (double)records[record + coin].position;
            const bool is_first =
                coin == 0 && (record == 0 || records[record - 1].handle == (POSITION)CLOSING);
            const bool is_last = coin == shift && records[record + 1].handle == (POSITION)CLOSING;
            is_kept = is_first || is_last || levels[point] >= level;
        }
        for (int from = 0; from < 32;) {
            const bool is_hit =
                is_entry && lane >= from && (is_kept || position - chosen >= spacing);
            const u32 hits = __ballot_sync(0xFFFFFFFFu, is_hit);
            if (hits == 0) break;
            const int hit = __ffs(hits) - 1;
            chosen = __shfl_sync(0xFFFFFFFFu, position, hit);
            is_chosen = is_chosen || lane == hit;
            // The same point may occur again among the 32 entries.
            const POSITION found = __shfl_sync(0xFFFFFFFFu, point, hit);
            is_kept = is_kept || (is_entry && point == found);
            from = hit + 1;
        }
        if (is_chosen && levels[point] < level) levels[point] = (signed char)level;
        __syncwarp();
    }
}

// Whether entry e of a block, an end of a step or a point, is in the view.
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
    const long long first = (block << BLOCK_BITS) << (n_ends - 1);
    const long long stop = min((block + 1) << BLOCK_BITS, n_records) << (n_ends - 1);
    long long n = 0;
    for (long long k = first; k < stop; k += 32) {
        const long long e = k + (threadIdx.x & 31);
        const bool kept =
            e < stop && is_kept(records, e >> (n_ends - 1), (int)(e & (n_ends - 1)), levels, level);
        n += __popc(__ballot_sync(0xFFFFFFFFu, kept));
    }
    if ((threadIdx.x & 31) == 0) counts[block] = n;
}

// One warp writes the records of each block, in order.
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
    const long long first = (block << BLOCK_BITS) << (n_ends - 1);
    const long long stop = min((block + 1) << BLOCK_BITS, n_records) << (n_ends - 1);
    long long n = offsets[block];
    for (long long k = first; k < stop; k += 32) {
        const long long e = k + lane, record = e >> (n_ends - 1);
        const int coin = (int)(e & (n_ends - 1));
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

// The place of a point: its two neighbours, relative distance from the first, and noise.
struct Place {
    long long point, a, b;
    double share, across, along;
};

// Whether this thread is to place entry k, an end of a step or a point; and where.
__device__ __forceinline__ bool find_place(Place& found, int* is_placed,
                                           const Record* __restrict__ records,
                                           const signed char* __restrict__ levels, int level,
                                           int n_ends, double noise, u64 seed, long long k) {
    const int shift = n_ends - 1;
    const auto point_of = [&](long long entry) {
        return (long long)(records[entry >> shift].handle ^ (POSITION)(entry & shift));
    };
    const auto position_of = [&](long long entry) {
        return (double)records[(entry >> shift) + (entry & shift)].position;
    };
    if (records[k >> shift].handle == (POSITION)CLOSING) return false;
    const long long point = point_of(k);
    if (levels[point] != level) return false;
    // Test before the exchange: most points are already placed, and a load is cheaper.
    if (__ldcg(is_placed + point) || atomicExch(is_placed + point, 1)) return false;
    // The ends of the path have a higher level, so both searches end.
    long long before = k, after = k, a = point, b = point;
    while (levels[a] <= level) a = point_of(--before);
    while (levels[b] <= level) b = point_of(++after);
    const double begin = position_of(before);
    const double length = position_of(after) - begin;
    const double here = position_of(k) - begin;
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
