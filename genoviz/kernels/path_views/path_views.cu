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
constexpr int RECORDS_AT_ONCE = 4;
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

// The levels of both ends of a node are adjacent, so one load reads them: the end itself is in the
// lower or the upper byte.
__device__ __forceinline__ int level_of(short both, POSITION point) {
    return (signed char)(both >> (8 * (int)(point & 1)));
}

// One warp processes each block of records, 32 at a time, a lane for each record and both its ends.
// Nearly all chosen entries are kept ones, known from the start; each lane finds the last of them
// before it. Only entries far from it may be chosen as well, from first to last:
//
//   lane                      0 1 2 3 4 5 6 7 ...
//   kept                      x . . . . x . .       has a level, or is an end of the path
//   far from the last kept    . . . y y . . .       the first y is chosen; others too near to it
//                                                   are no longer far, and so on
extern "C" __global__ void __launch_bounds__(256)
    choose(const Record* __restrict__ records, const long long n_records, const int n_ends,
           const double spacing, volatile signed char* levels, const int level,
           const long long first_block, const long long stop_block) {
    const long long block = first_block + ((blockIdx.x * (long long)blockDim.x + threadIdx.x) >> 5);
    if (block >= stop_block) return;
    constexpr u32 ALL = 0xFFFFFFFFu;
    const int lane = threadIdx.x & 31;
    const bool has_ends = n_ends == 2;
    const long long first = block << BLOCK_BITS;
    const long long stop = min((block + 1) << BLOCK_BITS, n_records);
    const auto read = [&](long long record) {
        return record < n_records ? records[record] : Record{(POSITION)CLOSING, 0};
    };
    Record here = read(first + lane);
    POSITION handle_before = first == 0 ? (POSITION)CLOSING : records[first - 1].handle;
    double last = (double)__shfl_sync(ALL, here.position, 0);
    for (long long k = first; k < stop; k += 32) {
        const Record later = read(k + 32 + lane);
        POSITION previous = __shfl_up_sync(ALL, here.handle, 1);
        if (lane == 0) previous = handle_before;
        handle_before = __shfl_sync(ALL, here.handle, 31);
        Record next{__shfl_down_sync(ALL, here.handle, 1), __shfl_down_sync(ALL, here.position, 1)};
        const Record after{__shfl_sync(ALL, later.handle, 0), __shfl_sync(ALL, later.position, 0)};
        if (lane == 31) next = after;

        const bool is_record = k + lane < stop && here.handle != (POSITION)CLOSING;
        const bool is_first = previous == (POSITION)CLOSING;
        const bool is_last = next.handle == (POSITION)CLOSING;
        const double from = (double)here.position, to = (double)next.position;
        const short both =
            is_record ? *(const volatile short*)(levels + (here.handle & ~(POSITION)1)) : (short)0;
        const int level_a = level_of(both, here.handle), level_b = level_of(both, ~here.handle);
        bool keeps_a = is_record && (level_a >= level || is_first || (is_last && !has_ends));
        bool keeps_b = is_record && has_ends && (level_b >= level || is_last);

        // The last kept entry before each of this lane's; entry 2 k + e is end e of lane k.
        double base_a, base_b;
        int base_a_at, base_b_at, last_kept_at;
        double last_kept;
        const auto find_bases = [&]() {
            const u32 ends = __ballot_sync(ALL, keeps_b), kept = __ballot_sync(ALL, keeps_a) | ends;
            const u32 earlier = kept & ((1u << lane) - 1u);
            const int lender = 31 - __clz(earlier | 1u), last_lender = 31 - __clz(kept | 1u);
            const double end = keeps_b ? to : from;
            const double lent = __shfl_sync(ALL, end, lender);
            base_a = earlier ? lent : last;
            base_a_at = earlier ? 2 * lender + (int)(ends >> lender & 1u) : -1;
            base_b = keeps_a ? from : base_a;
            base_b_at = keeps_a ? 2 * lane : base_a_at;
            last_kept = __shfl_sync(ALL, end, last_lender);
            last_kept_at = kept ? 2 * last_lender + (int)(ends >> last_lender & 1u) : -1;
        };
        find_bases();
        bool adds_a = false, adds_b = false;
        double chosen = last;
        int chosen_at = -1;
        // Keeps later entries of this lane with a point that has been chosen just now.
        const auto keep_again = [&](int entry) {
            const POSITION point =
                __shfl_sync(ALL, here.handle, entry >> 1) ^ (POSITION)(entry & 1);
            const bool is_again_a =
                is_record && !keeps_a && 2 * lane > entry && here.handle == point;
            const bool is_again_b = is_record && has_ends && !keeps_b && 2 * lane + 1 > entry &&
                                    (here.handle ^ (POSITION)1) == point;
            if (!__any_sync(ALL, is_again_a || is_again_b)) return;
            keeps_a = keeps_a || is_again_a;
            keeps_b = keeps_b || is_again_b;
            find_bases();
        };
        const bool is_new_a = keeps_a && level_a < level, is_new_b = keeps_b && level_b < level;
        for (u32 lanes = __ballot_sync(ALL, is_new_a || is_new_b); lanes; lanes &= lanes - 1) {
            const int found = __ffs(lanes) - 1;
            if (__shfl_sync(ALL, is_new_a, found)) keep_again(2 * found);
            if (__shfl_sync(ALL, is_new_b, found)) keep_again(2 * found + 1);
        }
        while (true) {
            const bool is_far_a = is_record && !keeps_a && 2 * lane > chosen_at &&
                                  from - (chosen_at > base_a_at ? chosen : base_a) >= spacing;
            const bool is_far_b = is_record && has_ends && !keeps_b && 2 * lane + 1 > chosen_at &&
                                  to - (chosen_at > base_b_at ? chosen : base_b) >= spacing;
            const u32 hits = __ballot_sync(ALL, is_far_a || is_far_b);
            if (hits == 0) break;
            const int hit = __ffs(hits) - 1;
            const int coin = __shfl_sync(ALL, is_far_a ? 0 : 1, hit);
            chosen = __shfl_sync(ALL, is_far_a ? from : to, hit);
            chosen_at = 2 * hit + coin;
            adds_a = adds_a || (lane == hit && coin == 0);
            adds_b = adds_b || (lane == hit && coin == 1);
            keep_again(chosen_at);
        }
        last = chosen_at > last_kept_at ? chosen : last_kept_at >= 0 ? last_kept : last;
        if ((keeps_a || adds_a) && level_a < level) levels[here.handle] = (signed char)level;
        if ((keeps_b || adds_b) && level_b < level)
            levels[here.handle ^ (POSITION)1] = (signed char)level;
        here = later;
        __syncwarp();
    }
}

// Which ends of a record, or which point, the view keeps: bit 0 for the first, bit 1 for the other.
// It keeps the closing records of all paths.
__device__ __forceinline__ int kept_ends(POSITION handle, int n_ends,
                                         const signed char* __restrict__ levels, int level) {
    if (handle == (POSITION)CLOSING) return 1;
    const short both = __ldg((const short*)(levels + (handle & ~(POSITION)1)));
    const int first = level_of(both, handle) >= level ? 1 : 0;
    return n_ends == 2 && level_of(both, ~handle) >= level ? first | 2 : first;
}

// One warp counts the records of the view in each block.
extern "C" __global__ void __launch_bounds__(256)
    count(const Record* __restrict__ records, const long long n_records, const int n_ends,
          const signed char* __restrict__ levels, const int level, long long* counts,
          const long long first_block, const long long stop_block) {
    const long long block = first_block + ((blockIdx.x * (long long)blockDim.x + threadIdx.x) >> 5);
    if (block >= stop_block) return;
    const long long stop = min((block + 1) << BLOCK_BITS, n_records);
    int n = 0;
#pragma unroll 4
    for (long long record = (block << BLOCK_BITS) + (threadIdx.x & 31); record < stop; record += 32)
        n += __popc(kept_ends(records[record].handle, n_ends, levels, level));
    for (int apart = 16; apart; apart >>= 1) n += __shfl_xor_sync(0xFFFFFFFFu, n, apart);
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
    const u32 below = (1u << lane) - 1u;
    const long long stop = min((block + 1) << BLOCK_BITS, n_records);
    const auto read = [&](long long record) {
        return record < stop ? records[record] : Record{0, 0};
    };
    const auto look = [&](const Record& at, long long record) {
        return record < stop ? kept_ends(at.handle, n_ends, levels, level) : 0;
    };
    // Records are read two turns before they are written, and their levels one turn.
    const long long begin = (block << BLOCK_BITS) + lane;
    Record here = read(begin), next = read(begin + 32);
    int kept = look(here, begin);
    long long n = offsets[block];
    for (long long record = begin; record - lane < stop; record += 32) {
        const Record later = read(record + 64);
        const int kept_next = look(next, record + 32);
        const u32 firsts = __ballot_sync(0xFFFFFFFFu, kept & 1);
        const u32 others = __ballot_sync(0xFFFFFFFFu, kept & 2);
        long long at = n + __popc(firsts & below) + __popc(others & below);
        if (kept & 1) {
            found[at++] = here;
            if (here.handle == (POSITION)CLOSING)
                found_starts[path_of(record, path_starts, block_paths) + 1] = at;
        }
        if (kept & 2) found[at] = Record{here.handle ^ (POSITION)1, records[record + 1].position};
        n += __popc(firsts) + __popc(others);
        here = next;
        next = later;
        kept = kept_next;
    }
}

// Each visit makes as many pairs as the point has been visited before.
extern "C" __global__ void __launch_bounds__(256)
    count_visits(const Record* __restrict__ records, const long long n_records, const int shift,
                 const long long stride, u32* n_visits, u64* totals) {
    const long long n_threads = gridDim.x * (long long)blockDim.x;
    u64 n = 0, n_pairs = 0;
    for (long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x; k * stride < n_records;
         k += n_threads) {
        const POSITION handle = records[k * stride].handle;
        if (handle == (POSITION)CLOSING) continue;
        n++;
        n_pairs += atomicAdd(n_visits + (handle >> shift), 1u);
    }
    for (int apart = 16; apart > 0; apart >>= 1) {
        n += __shfl_down_sync(0xFFFFFFFFu, n, apart);
        n_pairs += __shfl_down_sync(0xFFFFFFFFu, n_pairs, apart);
    }
    if ((threadIdx.x & 31) == 0 && n > 0) {
        atomicAdd(totals, n);
        atomicAdd(totals + 1, n_pairs);
    }
}

// The place of a point: its two neighbours, relative distance from the first, and noise.
struct Place {
    long long point, a, b;
    double share, across, along;
};

// Whether this thread, of all that meet the point, is the one that places it.
__device__ __forceinline__ bool claims(signed char* is_placed, POSITION point) {
    // CUDA has no exchange of bytes. Memory comes in multiples of four.
    u32* word = (u32*)(is_placed + (point & ~(POSITION)3));
    const u32 bit = 1u << (8 * (int)(point & 3));
    return !(atomicOr(word, bit) & bit);
}

// The place of entry k, an end of a step or a point, which this thread has claimed.
__device__ __forceinline__ Place find_place(const Record* __restrict__ records,
                                            const signed char* __restrict__ levels, int level,
                                            int n_ends, double noise, u64 seed, long long k) {
    const int shift = n_ends - 1;
    const auto point_of = [&](long long entry) {
        return (long long)(records[entry >> shift].handle ^ (POSITION)(entry & shift));
    };
    const auto position_of = [&](long long entry) {
        return (double)records[(entry >> shift) + (entry & shift)].position;
    };
    const long long point = point_of(k);
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
    return Place{
        point, a, b, share, width * (2.0 * unit(bits) - 1.0), width * (2.0 * unit(more) - 1.0)};
}

// Calls `use` with the place of each point of the level that no other thread has placed.
template <typename Use>
__device__ __forceinline__ void find_places(const Use& use, signed char* is_placed,
                                            const Record* __restrict__ records,
                                            const signed char* __restrict__ levels, int level,
                                            int n_ends, double noise, u64 seed, long long first,
                                            long long stop) {
    const long long n_threads = gridDim.x * (long long)blockDim.x;
    const long long thread = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    // Nearly all records are of points that need no place. Their loads depend on each other, so a
    // thread waits for those of several records at once.
    for (long long begin = first + thread; begin < stop; begin += RECORDS_AT_ONCE * n_threads) {
        POSITION handles[RECORDS_AT_ONCE];
        short both[RECORDS_AT_ONCE], placed[RECORDS_AT_ONCE];
#pragma unroll
        for (int k = 0; k < RECORDS_AT_ONCE; k++) {
            const long long record = begin + k * n_threads;
            handles[k] = record < stop ? records[record].handle : (POSITION)CLOSING;
        }
#pragma unroll
        for (int k = 0; k < RECORDS_AT_ONCE; k++) {
            const bool is_closing = handles[k] == (POSITION)CLOSING;
            const POSITION node = is_closing ? 0 : handles[k] & ~(POSITION)1;
            both[k] = __ldg((const short*)(levels + node));
            // Most points are already placed, and a load is cheaper than claiming one.
            placed[k] = __ldcg((const short*)(is_placed + node));
        }
#pragma unroll
        for (int k = 0; k < RECORDS_AT_ONCE; k++) {
            if (handles[k] == (POSITION)CLOSING) continue;
            for (int coin = 0; coin < n_ends; coin++) {
                const POSITION point = handles[k] ^ (POSITION)coin;
                if (level_of(both[k], point) != level || level_of(placed[k], point)) continue;
                if (claims(is_placed, point))
                    use(find_place(records, levels, level, n_ends, noise, seed,
                                   (begin + k * n_threads) * n_ends + coin));
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(256)
    place(double2* points, signed char* is_placed, const Record* __restrict__ records,
          const signed char* __restrict__ levels, const int level, const int n_ends,
          const double noise, const u64 seed, const long long first, const long long stop) {
    const auto put = [&](const Place& at) {
        const double2 p = points[at.a], q = points[at.b];
        points[at.point] = double2{(1.0 - at.share) * p.x + at.share * q.x + at.across,
                                   (1.0 - at.share) * p.y + at.share * q.y + at.along};
    };
    find_places(put, is_placed, records, levels, level, n_ends, noise, seed, first, stop);
}

extern "C" __global__ void __launch_bounds__(256)
    link(int2* __restrict__ links, float* __restrict__ shares, signed char* is_placed,
         const Record* __restrict__ records, const signed char* __restrict__ levels,
         const int level, const int n_ends, const double noise, const u64 seed,
         const long long first, const long long stop) {
    const auto note = [&](const Place& at) {
        links[at.point] = int2{(int)at.a, (int)at.b};
        shares[3 * at.point] = (float)at.share;
        shares[3 * at.point + 1] = (float)at.across;
        shares[3 * at.point + 2] = (float)at.along;
    };
    find_places(note, is_placed, records, levels, level, n_ends, noise, seed, first, stop);
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
