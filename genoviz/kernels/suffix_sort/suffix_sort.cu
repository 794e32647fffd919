// Suffixes sorted on one GPU; the contract is in this folder's __init__.py.
//
// Compile-time choices, which cuda_sort.py makes:
//   INDEX            type of positions: unsigned int, long long
//   CHUNK            items that a warp processes
//   CHUNKS_TO_LIST   chunks that a warp processes when it lists suffixes of a block
//   PREFIX_BITS      maximum number of leading key bits that are counted at a time

#ifndef INDEX
#define INDEX unsigned int
#endif

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

constexpr u32 ALL = 0xFFFFFFFF;
constexpr int THREADS = 256;
constexpr int WARP = 32;
constexpr int N_WARPS = THREADS / WARP;
constexpr int ITEMS = sizeof(INDEX) == 4 ? 12 : 8;
constexpr int TILE = THREADS * ITEMS;
constexpr int DIGIT_BITS = 8;
constexpr int N_DIGITS = 1 << DIGIT_BITS;
constexpr int MAX_PASSES = 8;
constexpr int SCAN_THREADS = 1024;
constexpr int SCAN_ITEMS = 8;
constexpr int SORT_BLOCKS = 4;
constexpr int DISTANCE_BITS = 5;
constexpr u64 NO_EXCEPTION = (1ull << DISTANCE_BITS) - 1;

// A word of a tile's digit counts, as other tiles read it: the pass that wrote it, whether it is
// the tile's own count or a prefix sum, and the count.
constexpr int COUNT_BITS = 41;
constexpr u64 COUNT = (1ull << COUNT_BITS) - 1;
constexpr u64 OF_ALL_TILES = 1ull << COUNT_BITS;
constexpr int TIME_SHIFT = COUNT_BITS + 1;

// ---- keys

// A key: `width` bases from a position on, with A after an exception, then the distance to it.
__device__ __forceinline__ u64 key_at(const u64* __restrict__ packed,
                                      const u32* __restrict__ excepted, i64 position, int width) {
    const i64 word = position >> 5;
    const int shift = (int)(position & 31);
    const u64 bases = (packed[word] << (2 * shift)) | ((packed[word + 1] >> 1) >> (63 - 2 * shift));
    const u64 marks = (((u64)excepted[word] << 32) | excepted[word + 1]) << shift;
    const int distance = __clzll((i64)marks);
    if (distance >= width) return ((bases >> (64 - 2 * width)) << DISTANCE_BITS) | NO_EXCEPTION;
    const u64 kept = distance > 0 ? (bases >> (64 - 2 * distance)) << (2 * (width - distance)) : 0;
    return (kept << DISTANCE_BITS) | (u64)distance;
}

__device__ __forceinline__ bool has_exception(u64 key) {
    return (key & NO_EXCEPTION) != NO_EXCEPTION;
}

// Index of the rank of a suffix: its position, or its number among those of a cover.
struct Numbers {
    const int* __restrict__ places;
    int cover_bits;
    i64 size;

    __device__ __forceinline__ i64 of(i64 position) const {
        if (size == 0) return position;
        const i64 residue = position & ((1ll << cover_bits) - 1);
        return (position >> cover_bits) * size + places[residue];
    }
};

// The ranks of the suffixes at the positions of a difference cover.
struct Cover {
    const INDEX* __restrict__ ranks;
    const int* __restrict__ deltas;
    Numbers numbers;

    // Whether the first of two suffixes with 2^cover_bits common bases is the smaller one.
    __device__ __forceinline__ bool is_before(i64 first, i64 second) const {
        const i64 mask = (1ll << numbers.cover_bits) - 1;
        const i64 distance = ((i64)deltas[(second - first) & mask] - first) & mask;
        return ranks[numbers.of(first + distance)] < ranks[numbers.of(second + distance)];
    }
};

extern "C" __global__ void __launch_bounds__(THREADS)
    mark_exceptions(const i64* __restrict__ exceptions, i64 n_exceptions,
                    u32* __restrict__ excepted) {
    const i64 n_threads = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n_exceptions; i += n_threads)
        atomicOr(excepted + (exceptions[i] >> 5), 0x80000000u >> (exceptions[i] & 31));
}

// ---- radix sort: least significant digit first, each pass reads and writes the pairs once
// (Adinets and Merrill 2022, arXiv 2206.01784)

// Histograms of the digits of all passes.
template <class KeyOf>
__device__ __forceinline__ void count_all_digits(KeyOf key_of, i64 n_keys, int n_passes,
                                                 u64* __restrict__ counts) {
    __shared__ u32 local[MAX_PASSES * N_DIGITS];
    for (int i = threadIdx.x; i < MAX_PASSES * N_DIGITS; i += THREADS) local[i] = 0;
    __syncthreads();
    const i64 n_threads = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n_keys; i += n_threads) {
        u64 key = key_of(i);
        for (int pass = 0; pass < n_passes; pass++, key >>= DIGIT_BITS)
            atomicAdd(local + pass * N_DIGITS + (int)(key & (N_DIGITS - 1)), 1u);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n_passes * N_DIGITS; i += THREADS)
        if (local[i] > 0) atomicAdd(counts + i, (u64)local[i]);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    count_digits(const u64* __restrict__ keys, i64 n_keys, int n_passes, u64* __restrict__ counts) {
    count_all_digits([=](i64 i) { return keys[i]; }, n_keys, n_passes, counts);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    count_digits_of_text(const u64* __restrict__ packed, const u32* __restrict__ excepted,
                         i64 n_symbols, int width, int n_passes, u64* __restrict__ counts) {
    count_all_digits([=](i64 i) { return key_at(packed, excepted, i, width); }, n_symbols, n_passes,
                     counts);
}

// Exclusive prefix sum over the threads of a block.
__device__ __forceinline__ u64 sum_before(u64 value, u64* __restrict__ warp_sums) {
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    u64 sum = value;
    for (int step = 1; step < WARP; step *= 2) {
        const u64 other = __shfl_up_sync(ALL, sum, step);
        if (lane >= step) sum += other;
    }
    if (lane == WARP - 1) warp_sums[warp] = sum;
    __syncthreads();
    for (int i = 0; i < warp; i++) sum += warp_sums[i];
    return sum - value;
}

// Exclusive prefix sums of the digit histograms. One block for each pass.
extern "C" __global__ void __launch_bounds__(N_DIGITS) scan_digits(u64* __restrict__ counts) {
    __shared__ u64 warp_sums[N_WARPS];
    u64* const count = counts + blockIdx.x * N_DIGITS + threadIdx.x;
    *count = sum_before(*count, warp_sums);
}

// Decoupled look-back: the keys with the thread's digit in earlier tiles. Publishes the prefix sum.
__device__ __forceinline__ u64 look_back(volatile u64* __restrict__ tile_counts, i64 tile, u64 time,
                                         u64 count) {
    u64 before = 0;
    for (i64 other = tile - 1; other >= 0; other--) {
        u64 seen;
        do {
            seen = tile_counts[other * N_DIGITS + threadIdx.x];
        } while (seen >> TIME_SHIFT != time);
        before += seen & COUNT;
        if (seen & OF_ALL_TILES) break;
    }
    tile_counts[tile * N_DIGITS + threadIdx.x] =
        (time << TIME_SHIFT) | OF_ALL_TILES | (before + count);
    return before;
}

// Sorts the pairs of a tile by one digit and scatters them to their final places of the pass.
template <class KeyOf, class ValueOf>
__device__ __forceinline__ void sort_tile(KeyOf key_of, ValueOf value_of, i64 n_pairs, int shift,
                                          const u64* __restrict__ digit_starts,
                                          u64* __restrict__ tile_counts, u64 time,
                                          u32* __restrict__ n_taken, u32 n_taken_before,
                                          u64* __restrict__ keys_out,
                                          INDEX* __restrict__ values_out) {
    __shared__ u64 exchanged[TILE];
    __shared__ INDEX exchanged_values[TILE];
    __shared__ u32 warp_counts[N_WARPS][N_DIGITS];
    __shared__ INDEX offsets[N_DIGITS];
    __shared__ u64 warp_sums[N_WARPS];
    __shared__ u32 taken;
    const int thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP;
    if (thread == 0) taken = atomicAdd(n_taken, 1u) - n_taken_before;
    for (int i = thread; i < N_WARPS * N_DIGITS; i += THREADS) (&warp_counts[0][0])[i] = 0;
    __syncthreads();
    const i64 tile = taken, first = tile * TILE + warp * (WARP * ITEMS) + lane;

    u64 keys[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const i64 i = first + k * WARP;
        keys[k] = i < n_pairs ? key_of(i) : ~0ull;
    }
    u32 ranks[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const u32 digit = (u32)(keys[k] >> shift) & (N_DIGITS - 1);
        u32 peers = ALL;
#pragma unroll
        for (int bit = 0; bit < DIGIT_BITS; bit++) {
            const bool is_set = (digit >> bit) & 1;
            const u32 set = __ballot_sync(ALL, is_set);
            peers &= is_set ? set : ~set;
        }
        const int leader = __ffs(peers) - 1;
        u32 before = 0;
        if (lane == leader) {
            before = warp_counts[warp][digit];
            warp_counts[warp][digit] = before + __popc(peers);
        }
        __syncwarp();
        ranks[k] = __shfl_sync(ALL, before, leader) + __popc(peers & ((1u << lane) - 1));
    }
    __syncthreads();

    u64 count = 0;
    for (int i = 0; i < N_WARPS; i++) count += warp_counts[i][thread];
    if (tile > 0)
        ((volatile u64*)tile_counts)[tile * N_DIGITS + thread] = (time << TIME_SHIFT) | count;
    const u64 start = sum_before(count, warp_sums);
    u32 warp_start = (u32)start;
    for (int i = 0; i < N_WARPS; i++) {
        const u32 warp_count = warp_counts[i][thread];
        warp_counts[i][thread] = warp_start;
        warp_start += warp_count;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const u32 digit = (u32)(keys[k] >> shift) & (N_DIGITS - 1);
        const u32 place = warp_counts[warp][digit] + ranks[k];
        const i64 i = first + k * WARP;
        exchanged[place] = keys[k];
        if (i < n_pairs) exchanged_values[place] = value_of(i);
    }
    offsets[thread] =
        (INDEX)(digit_starts[thread] + look_back(tile_counts, tile, time, count) - start);
    __syncthreads();

    const int n_valid = (int)min((i64)TILE, n_pairs - tile * TILE);
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const int i = k * THREADS + thread;
        if (i >= n_valid) break;
        const u64 key = exchanged[i];
        const INDEX place = offsets[(u32)(key >> shift) & (N_DIGITS - 1)] + (INDEX)i;
        keys_out[place] = key;
        values_out[place] = exchanged_values[i];
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, SORT_BLOCKS)
    sort_pairs(const u64* __restrict__ keys, const INDEX* __restrict__ values, i64 n_pairs,
               int shift, const u64* __restrict__ digit_starts, u64* __restrict__ tile_counts,
               u64 time, u32* __restrict__ n_taken, u32 n_taken_before, u64* __restrict__ keys_out,
               INDEX* __restrict__ values_out) {
    sort_tile([=](i64 i) { return keys[i]; }, [=](i64 i) { return values[i]; }, n_pairs, shift,
              digit_starts, tile_counts, time, n_taken, n_taken_before, keys_out, values_out);
}

// The first pass over all suffixes, from the end of the text.
extern "C" __global__ void __launch_bounds__(THREADS, SORT_BLOCKS)
    sort_text(const u64* __restrict__ packed, const u32* __restrict__ excepted, int width,
              i64 n_symbols, const u64* __restrict__ digit_starts, u64* __restrict__ tile_counts,
              u64 time, u32* __restrict__ n_taken, u32 n_taken_before, u64* __restrict__ keys_out,
              INDEX* __restrict__ values_out) {
    const i64 last = n_symbols - 1;
    sort_tile([=](i64 i) { return key_at(packed, excepted, last - i, width); },
              [=](i64 i) { return (INDEX)(last - i); }, n_symbols, 0, digit_starts, tile_counts,
              time, n_taken, n_taken_before, keys_out, values_out);
}

// ---- selections: warps count in chunks, a prefix sum over chunks, then warps write

// Exclusive prefix sum of pairs over the lanes of a warp.
__device__ __forceinline__ ulonglong2 sum_before_lane(ulonglong2 pair) {
    ulonglong2 sum = pair;
    for (int step = 1; step < WARP; step *= 2) {
        const u64 x = __shfl_up_sync(ALL, sum.x, step), y = __shfl_up_sync(ALL, sum.y, step);
        if ((int)(threadIdx.x % WARP) >= step) sum = make_ulonglong2(sum.x + x, sum.y + y);
    }
    return make_ulonglong2(sum.x - pair.x, sum.y - pair.y);
}

// Exclusive prefix sum of pairs. One block.
extern "C" __global__ void __launch_bounds__(SCAN_THREADS)
    scan_pairs(ulonglong2* __restrict__ pairs, i64 n_pairs, ulonglong2* __restrict__ total) {
    __shared__ ulonglong2 warp_sums[WARP + 1];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    ulonglong2 carry = make_ulonglong2(0, 0);
    for (i64 block = 0; block < n_pairs; block += SCAN_THREADS * SCAN_ITEMS) {
        const i64 first = block + threadIdx.x * SCAN_ITEMS;
        ulonglong2 own[SCAN_ITEMS], sum = make_ulonglong2(0, 0);
#pragma unroll
        for (int k = 0; k < SCAN_ITEMS; k++) {
            own[k] = first + k < n_pairs ? pairs[first + k] : make_ulonglong2(0, 0);
            sum = make_ulonglong2(sum.x + own[k].x, sum.y + own[k].y);
        }
        ulonglong2 before = sum_before_lane(sum);
        if (lane == WARP - 1) warp_sums[warp] = make_ulonglong2(before.x + sum.x, before.y + sum.y);
        __syncthreads();
        if (warp == 0) {
            const ulonglong2 warp_sum = warp_sums[lane], start = sum_before_lane(warp_sum);
            warp_sums[lane] = start;
            if (lane == WARP - 1)
                warp_sums[WARP] = make_ulonglong2(start.x + warp_sum.x, start.y + warp_sum.y);
        }
        __syncthreads();
        before.x += carry.x + warp_sums[warp].x;
        before.y += carry.y + warp_sums[warp].y;
#pragma unroll
        for (int k = 0; k < SCAN_ITEMS; k++) {
            if (first + k < n_pairs) pairs[first + k] = before;
            before = make_ulonglong2(before.x + own[k].x, before.y + own[k].y);
        }
        carry.x += warp_sums[WARP].x;
        carry.y += warp_sums[WARP].y;
        __syncthreads();
    }
    if (threadIdx.x == 0) *total = carry;
}

__device__ __forceinline__ i64 warp_number() {
    return ((i64)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
}

// The sorted keys of all suffixes, or of those in groups.
struct Sorted {
    const u64* __restrict__ keys;
    const INDEX* __restrict__ groups;
    i64 n_keys;
    bool has_distances;

    // Whether a suffix differs from the one before it.
    __device__ __forceinline__ bool is_head(i64 i) const {
        if (i == 0 || i >= n_keys) return true;
        const u64 key = keys[i];
        return key != keys[i - 1] || (has_distances && has_exception(key)) ||
               (groups != nullptr && groups[i] != groups[i - 1]);
    }
};

// Counts, for each chunk, the suffixes tied with a neighbour, and the groups that begin there.
extern "C" __global__ void __launch_bounds__(THREADS)
    count_ties(const u64* __restrict__ keys, const INDEX* __restrict__ groups, i64 n_keys,
               int has_distances, ulonglong2* __restrict__ chunk_counts) {
    const Sorted sorted = {keys, groups, n_keys, has_distances != 0};
    const i64 chunk = warp_number(), first = chunk * CHUNK, last = min(first + CHUNK, n_keys);
    if (first >= n_keys) return;
    u32 n_tied = 0, n_groups = 0;
    for (i64 i = first + threadIdx.x % WARP; i < last; i += WARP) {
        const bool is_head = sorted.is_head(i), ends = sorted.is_head(i + 1);
        n_tied += !(is_head && ends);
        n_groups += is_head && !ends;
    }
    for (int step = WARP / 2; step > 0; step /= 2) {
        n_tied += __shfl_xor_sync(ALL, n_tied, step);
        n_groups += __shfl_xor_sync(ALL, n_groups, step);
    }
    if (threadIdx.x % WARP == 0) chunk_counts[chunk] = make_ulonglong2(n_tied, n_groups);
}

// Lists the tied suffixes and their groups. Fills suffix array and ranks if they are given.
extern "C" __global__ void __launch_bounds__(THREADS)
    list_ties(const u64* __restrict__ keys, const INDEX* __restrict__ groups, i64 n_keys,
              int has_distances, const ulonglong2* __restrict__ chunk_counts,
              const ulonglong2* __restrict__ total, const INDEX* __restrict__ positions,
              const INDEX* __restrict__ slots, i64 first_slot, INDEX* __restrict__ suffix_array,
              INDEX* __restrict__ ranks, const int* __restrict__ places, int cover_bits, i64 size,
              INDEX* __restrict__ positions_out, INDEX* __restrict__ slots_out,
              INDEX* __restrict__ groups_out, INDEX* __restrict__ firsts_out) {
    const Sorted sorted = {keys, groups, n_keys, has_distances != 0};
    const Numbers numbers = {places, cover_bits, size};
    const i64 chunk = warp_number(), first = chunk * CHUNK, last = min(first + CHUNK, n_keys);
    if (chunk == 0 && threadIdx.x == 0) firsts_out[total->y] = (INDEX)total->x;
    if (first >= n_keys) return;
    const int lane = threadIdx.x % WARP;
    const u32 below = (1u << lane) - 1;
    u64 n_tied = chunk_counts[chunk].x, n_groups = chunk_counts[chunk].y;
    for (i64 k = first; k < last; k += WARP) {
        const i64 i = k + lane;
        const bool is_head = sorted.is_head(i), ends = sorted.is_head(i + 1);
        const bool is_tied = i < last && !(is_head && ends), begins = is_tied && is_head;
        const u32 tied = __ballot_sync(ALL, is_tied), beginning = __ballot_sync(ALL, begins);
        if (i < last && (is_tied || ranks != nullptr || suffix_array != nullptr)) {
            const INDEX slot = slots != nullptr ? slots[i] : (INDEX)(first_slot + i);
            const INDEX position = positions[i];
            if (is_tied) {
                const i64 place = (i64)(n_tied + __popc(tied & below));
                const i64 group = (i64)(n_groups + __popc(beginning & (below | (1u << lane)))) - 1;
                positions_out[place] = position;
                slots_out[place] = slot;
                groups_out[place] = (INDEX)group;
                if (begins) firsts_out[group] = (INDEX)place;
            } else if (ranks != nullptr) {
                const i64 number = numbers.of((i64)position);
                if (ranks[number] != slot) ranks[number] = slot;
            }
            if (suffix_array != nullptr) suffix_array[slot - (INDEX)first_slot] = position;
        }
        n_tied += __popc(tied);
        n_groups += __popc(beginning);
    }
}

// Counts, for each chunk, the large groups and their suffixes.
extern "C" __global__ void __launch_bounds__(THREADS)
    count_large(const INDEX* __restrict__ firsts, const ulonglong2* __restrict__ total,
                i64 small_size, i64 n_chunks, ulonglong2* __restrict__ chunk_counts) {
    const i64 n_groups = (i64)total->y;
    const i64 chunk = warp_number(), first = chunk * CHUNK, last = min(first + CHUNK, n_groups);
    if (chunk >= n_chunks) return;
    u64 n_large = 0, n_suffixes = 0;
    for (i64 i = first + threadIdx.x % WARP; i < last; i += WARP) {
        const i64 size = (i64)(firsts[i + 1] - firsts[i]);
        if (size > small_size) n_large++, n_suffixes += (u64)size;
    }
    for (int step = WARP / 2; step > 0; step /= 2) {
        n_large += __shfl_xor_sync(ALL, n_large, step);
        n_suffixes += __shfl_xor_sync(ALL, n_suffixes, step);
    }
    if (threadIdx.x % WARP == 0) chunk_counts[chunk] = make_ulonglong2(n_large, n_suffixes);
}

// Numbers the large groups, and finds the first suffix of each among those of large groups.
extern "C" __global__ void __launch_bounds__(THREADS)
    list_large(const INDEX* __restrict__ firsts, const ulonglong2* __restrict__ total,
               i64 small_size, const ulonglong2* __restrict__ chunk_counts,
               INDEX* __restrict__ large_numbers, INDEX* __restrict__ large_firsts) {
    const i64 n_groups = (i64)total->y;
    const i64 chunk = warp_number(), first = chunk * CHUNK, last = min(first + CHUNK, n_groups);
    if (first >= n_groups) return;
    const int lane = threadIdx.x % WARP;
    u64 n_large = chunk_counts[chunk].x, n_suffixes = chunk_counts[chunk].y;
    for (i64 k = first; k < last; k += WARP) {
        const i64 i = k + lane;
        const u64 size = i < last ? (u64)(firsts[i + 1] - firsts[i]) : 0;
        const bool is_large = size > (u64)small_size;
        const u32 large = __ballot_sync(ALL, is_large);
        u64 sum = is_large ? size : 0;
        for (int step = 1; step < WARP; step *= 2) {
            const u64 other = __shfl_up_sync(ALL, sum, step);
            if (lane >= step) sum += other;
        }
        if (is_large) {
            large_numbers[i] = (INDEX)(n_large + __popc(large & ((1u << lane) - 1)));
            large_firsts[i] = (INDEX)(n_suffixes + sum - size);
        }
        n_large += __popc(large);
        n_suffixes += __shfl_sync(ALL, sum, WARP - 1);
    }
}

// The suffixes of a block: keys in [low, high), not less than the suffix at `first` and less than
// the one at `last` (-1: no bound). With `n_of_2_64` > 0 a random sample: positions whose hash is
// below it.
struct Block {
    const u64* __restrict__ packed;
    const u32* __restrict__ excepted;
    int width;
    u64 low, high;
    i64 first, last;
    u64 n_of_2_64, seed;
    Cover cover;

    __device__ __forceinline__ bool is_before(i64 one, i64 other) const {
        if (one == other) return false;
        for (i64 depth = 0; depth >> cover.numbers.cover_bits == 0; depth += width) {
            const u64 key = key_at(packed, excepted, one + depth, width);
            const u64 other_key = key_at(packed, excepted, other + depth, width);
            if (key != other_key) return key < other_key;
            if (has_exception(key)) return one > other;
        }
        return cover.is_before(one, other);
    }

    // A mask of 32 positions from `start` on, the last one in the lowest bit: those whose first 16
    // bases are compatible with the block. `*sure` has those that these bases already prove to be
    // in it.
    __device__ __forceinline__ u32 candidates(i64 start, u32* sure) const {
        const i64 word = start >> 5;
        const int offset = (int)(start & 31);
        const u64 first_word = packed[word], second_word = packed[word + 1];
        const u64 one = (first_word << (2 * offset)) | ((second_word >> 1) >> (63 - 2 * offset));
        const u64 two =
            (second_word << (2 * offset)) | ((packed[word + 2] >> 1) >> (63 - 2 * offset));
        const u32 bases[3] = {(u32)(one >> 32), (u32)one, (u32)(two >> 32)};
        const int shift = 2 * width + DISTANCE_BITS - 32;
        const u32 least = (u32)(low >> shift), range = (u32)((high - 1) >> shift) - least;
        u32 found = 0;
#pragma unroll
        for (int k = 0; k < WARP; k++) {
            const u32 prefix = __funnelshift_l(bases[k / 16 + 1], bases[k / 16], 2 * (k % 16));
            found |= (u32)(prefix - least <= range) << (WARP - 1 - k);
        }
        u64 marks = ((u64)excepted[word] << 32) | excepted[word + 1];
        marks = (marks << offset) | ((u64)excepted[word + 2] >> 1 >> (31 - offset));
        u32 unsure = 0;
        if (marks != 0) {
            // Positions with an exception among the next 16 symbols.
            for (int step = 1; step < 16; step *= 2) marks |= marks << step;
            unsure = (u32)(marks >> 32);
        }
        const u64 rest = (1ull << shift) - 1;
        const bool is_whole = (low & rest) == 0 && ((high - 1) & rest) == rest;
        *sure = is_whole && n_of_2_64 == 0 && first < 0 && last < 0 ? found & ~unsure : 0;
        return found | unsure;
    }

    __device__ __forceinline__ bool has(i64 position, u64 key) const {
        if (key < low || key >= high) return false;
        if (n_of_2_64 != 0 && mix((u64)position ^ seed) >= n_of_2_64) return false;
        if (first >= 0 && is_before(position, first)) return false;
        return last < 0 || is_before(position, last);
    }

    static __device__ __forceinline__ u64 mix(u64 bits) {
        bits = (bits ^ (bits >> 33)) * 0xFF51AFD7ED558CCDull;
        bits = (bits ^ (bits >> 33)) * 0xC4CEB9FE1A85EC53ull;
        return bits ^ (bits >> 33);
    }
};

// Lists the candidates of a block in a chunk of the text, read backwards; returns their number.
// With `n_sure`, proven ones are only counted there.
__device__ __forceinline__ int list_candidates(const Block& block, i64 n_symbols, i64 first,
                                               unsigned short* __restrict__ offsets, int* n_sure) {
    const int lane = threadIdx.x % WARP;
    const i64 last = n_symbols - 1 - first - lane * WARP, start = last - (WARP - 1);
    u32 found = 0, sure = 0;
    if (start >= 0)
        found = block.candidates(start, &sure);
    else if (last >= 0)
        found = (2u << last) - 1;  // the first symbols of the text
    if (n_sure != nullptr) {
        *n_sure += __popc(sure);
        found &= ~sure;
    }
    int n_until = __popc(found);
    for (int step = 1; step < WARP; step *= 2) {
        const int other = __shfl_up_sync(ALL, n_until, step);
        if (lane >= step) n_until += other;
    }
    int place = n_until - __popc(found);
    for (; found != 0; found &= found - 1)
        offsets[place++] = (unsigned short)(lane * WARP + __ffs((int)found) - 1);
    __syncwarp();
    return __shfl_sync(ALL, n_until, WARP - 1);
}

// Counts the suffixes of a block in chunks of the text, read backwards.
extern "C" __global__ void __launch_bounds__(THREADS)
    count_block(const u64* __restrict__ packed, const u32* __restrict__ excepted, i64 n_symbols,
                int width, u64 low, u64 high, i64 first_suffix, i64 last_suffix, u64 n_of_2_64,
                u64 seed, const INDEX* __restrict__ ranks, const int* __restrict__ deltas,
                const int* __restrict__ places, int cover_bits, i64 size,
                ulonglong2* __restrict__ warp_counts) {
    __shared__ unsigned short listed[N_WARPS][CHUNK];
    const Cover cover = {ranks, deltas, {places, cover_bits, size}};
    const Block block = {packed,       excepted,    width,     low,  high,
                         first_suffix, last_suffix, n_of_2_64, seed, cover};
    const i64 warp = warp_number();
    if (warp * CHUNKS_TO_LIST * CHUNK >= n_symbols) return;
    unsigned short* const offsets = listed[threadIdx.x / WARP];
    int n_chosen = 0;
    for (int k = 0; k < CHUNKS_TO_LIST; k++) {
        const i64 first = (warp * CHUNKS_TO_LIST + k) * CHUNK;
        const int n_listed = list_candidates(block, n_symbols, first, offsets, &n_chosen);
        for (int i = threadIdx.x % WARP; i < n_listed; i += WARP) {
            const i64 position = n_symbols - 1 - first - offsets[i];
            n_chosen += block.has(position, key_at(packed, excepted, position, width));
        }
        __syncwarp();
    }
    for (int step = WARP / 2; step > 0; step /= 2) n_chosen += __shfl_xor_sync(ALL, n_chosen, step);
    if (threadIdx.x % WARP == 0) warp_counts[warp] = make_ulonglong2((u64)n_chosen, 0);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    list_block(const u64* __restrict__ packed, const u32* __restrict__ excepted, i64 n_symbols,
               int width, u64 low, u64 high, i64 first_suffix, i64 last_suffix, u64 n_of_2_64,
               u64 seed, const INDEX* __restrict__ ranks, const int* __restrict__ deltas,
               const int* __restrict__ places, int cover_bits, i64 size,
               const ulonglong2* __restrict__ warp_counts, u64* __restrict__ keys,
               INDEX* __restrict__ positions) {
    __shared__ unsigned short listed[N_WARPS][CHUNK];
    const Cover cover = {ranks, deltas, {places, cover_bits, size}};
    const Block block = {packed,       excepted,    width,     low,  high,
                         first_suffix, last_suffix, n_of_2_64, seed, cover};
    const i64 warp = warp_number();
    if (warp * CHUNKS_TO_LIST * CHUNK >= n_symbols) return;
    const int lane = threadIdx.x % WARP;
    unsigned short* const offsets = listed[threadIdx.x / WARP];
    u64 n_chosen = warp_counts[warp].x;
    for (int chunk = 0; chunk < CHUNKS_TO_LIST; chunk++) {
        const i64 first = (warp * CHUNKS_TO_LIST + chunk) * CHUNK;
        const int n_listed = list_candidates(block, n_symbols, first, offsets, nullptr);
        for (int k = 0; k < n_listed; k += WARP) {
            u64 key = 0;
            i64 position = 0;
            bool is_chosen = false;
            if (k + lane < n_listed) {
                position = n_symbols - 1 - first - offsets[k + lane];
                key = key_at(packed, excepted, position, width);
                is_chosen = block.has(position, key);
            }
            const u32 chosen = __ballot_sync(ALL, is_chosen);
            if (is_chosen) {
                const i64 place = (i64)(n_chosen + __popc(chosen & ((1u << lane) - 1)));
                keys[place] = key;
                positions[place] = (INDEX)position;
            }
            n_chosen += __popc(chosen);
        }
        __syncwarp();
    }
}

// Lists the suffixes of a cover with their keys, from the end of the text.
extern "C" __global__ void __launch_bounds__(THREADS)
    list_cover(const u64* __restrict__ packed, const u32* __restrict__ excepted, int width,
               const int* __restrict__ residues, int cover_bits, i64 size, i64 n_suffixes,
               u64* __restrict__ keys, INDEX* __restrict__ positions) {
    const i64 n_threads = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n_suffixes; i += n_threads) {
        const i64 number = n_suffixes - 1 - i, turn = number / size;
        const i64 position = (turn << cover_bits) + residues[number - turn * size];
        keys[i] = key_at(packed, excepted, position, width);
        positions[i] = (INDEX)position;
    }
}

// Extends the row range of each k-mer by sorted keys; k-mers with an exception have none.
extern "C" __global__ void __launch_bounds__(THREADS)
    add_starts(const u64* __restrict__ keys, i64 n_keys, int key_bits, int table_k, i64 first_row,
               INDEX* __restrict__ start_table) {
    const auto code_of = [=](i64 i) {
        const u64 key = keys[i];
        if ((int)(key & NO_EXCEPTION) < table_k) return (i64)-1;
        return (i64)(key >> (key_bits - 2 * table_k));
    };
    const i64 n_threads = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n_keys; i += n_threads) {
        const i64 code = code_of(i);
        if (code < 0) continue;
        if (i == 0 || code_of(i - 1) != code)
            atomicMin(start_table + 2 * code, (INDEX)(first_row + i));
        if (i == n_keys - 1 || code_of(i + 1) != code)
            atomicMax(start_table + 2 * code + 1, (INDEX)(first_row + i + 1));
    }
}

// Histogram of (key >> shift) & mask over the keys in [low, high) of some positions. Each thread
// block counts in shared memory first: many keys would contend for few counters.
extern "C" __global__ void __launch_bounds__(THREADS)
    count_prefixes(const u64* __restrict__ packed, const u32* __restrict__ excepted, i64 first,
                   i64 last, int width, u64 low, u64 high, int shift, u64 mask,
                   u64* __restrict__ counts) {
    __shared__ u32 found[1 << PREFIX_BITS];
    for (int k = threadIdx.x; k <= (int)mask; k += blockDim.x) found[k] = 0;
    __syncthreads();
    const i64 n_threads = (i64)gridDim.x * blockDim.x;
    for (i64 i = first + (i64)blockIdx.x * blockDim.x + threadIdx.x; i < last; i += n_threads) {
        const u64 key = key_at(packed, excepted, i, width);
        if (key >= low && key < high) atomicAdd(found + ((key >> shift) & mask), 1u);
    }
    __syncthreads();
    for (int k = threadIdx.x; k <= (int)mask; k += blockDim.x) {
        if (found[k] > 0) atomicAdd(counts + k, (u64)found[k]);
    }
}

// ---- ties

// The tied suffixes; groups are contiguous.
struct Ties {
    const INDEX* __restrict__ groups;
    const INDEX* __restrict__ firsts;
    const INDEX* __restrict__ large_numbers;
    const INDEX* __restrict__ large_firsts;
    i64 small_size;
};

// Computes the key of each tied suffix at a depth, and lists those of large groups with the group.
template <class KeyOf>
__device__ __forceinline__ void fill_keys(KeyOf key_of, const INDEX* __restrict__ positions,
                                          i64 n_tied, const Ties& ties, int key_bits,
                                          u64* __restrict__ keys, u64* __restrict__ large_keys,
                                          INDEX* __restrict__ large_positions) {
    const i64 n_threads = (i64)gridDim.x * blockDim.x;
    for (i64 t = (i64)blockIdx.x * blockDim.x + threadIdx.x; t < n_tied; t += n_threads) {
        const INDEX position = positions[t];
        const u64 key = key_of((i64)position);
        const INDEX group = ties.groups[t], first = ties.firsts[group];
        if ((i64)(ties.firsts[group + 1] - first) > ties.small_size) {
            const i64 place = (i64)ties.large_firsts[group] + (t - (i64)first);
            large_keys[place] = ((u64)ties.large_numbers[group] << key_bits) | key;
            large_positions[place] = position;
        } else {
            keys[t] = key;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    fill_text_keys(const u64* __restrict__ packed, const u32* __restrict__ excepted, i64 depth,
                   int width, const INDEX* __restrict__ positions, i64 n_tied,
                   const INDEX* __restrict__ groups, const INDEX* __restrict__ firsts,
                   const INDEX* __restrict__ large_numbers, const INDEX* __restrict__ large_firsts,
                   i64 small_size, int key_bits, u64* __restrict__ keys,
                   u64* __restrict__ large_keys, INDEX* __restrict__ large_positions) {
    fill_keys([=](i64 position) { return key_at(packed, excepted, position + depth, width); },
              positions, n_tied, {groups, firsts, large_numbers, large_firsts, small_size},
              key_bits, keys, large_keys, large_positions);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    fill_rank_keys(const INDEX* __restrict__ ranks, const int* __restrict__ places, int cover_bits,
                   i64 size, i64 depth, const INDEX* __restrict__ positions, i64 n_tied,
                   const INDEX* __restrict__ groups, const INDEX* __restrict__ firsts,
                   const INDEX* __restrict__ large_numbers, const INDEX* __restrict__ large_firsts,
                   i64 small_size, int key_bits, u64* __restrict__ keys,
                   u64* __restrict__ large_keys, INDEX* __restrict__ large_positions) {
    const Numbers numbers = {places, cover_bits, size};
    fill_keys([=](i64 position) { return (u64)ranks[numbers.of(position + depth)]; }, positions,
              n_tied, {groups, firsts, large_numbers, large_firsts, small_size}, key_bits, keys,
              large_keys, large_positions);
}

// Sorts small groups by counting the smaller suffixes of each; copies the sorted large ones.
extern "C" __global__ void __launch_bounds__(THREADS)
    order_groups(const u64* __restrict__ keys, const INDEX* __restrict__ positions, i64 n_tied,
                 const INDEX* __restrict__ groups, const INDEX* __restrict__ firsts,
                 const INDEX* __restrict__ large_firsts, i64 small_size, u64 key_mask,
                 const u64* __restrict__ large_keys, const INDEX* __restrict__ large_positions,
                 u64* __restrict__ keys_out, INDEX* __restrict__ positions_out) {
    const i64 n_threads = (i64)gridDim.x * blockDim.x;
    for (i64 t = (i64)blockIdx.x * blockDim.x + threadIdx.x; t < n_tied; t += n_threads) {
        const INDEX group = groups[t];
        const i64 first = (i64)firsts[group], last = (i64)firsts[group + 1];
        if (last - first > small_size) {
            const i64 place = (i64)large_firsts[group] + (t - first);
            keys_out[t] = large_keys[place] & key_mask;
            positions_out[t] = large_positions[place];
        } else {
            const u64 key = keys[t];
            i64 place = first;
            for (i64 i = first; i < last; i++) {
                const u64 other = keys[i];
                place += other < key || (other == key && i < t);
            }
            keys_out[place] = key;
            positions_out[place] = positions[t];
        }
    }
}

// Sorts small groups by comparing texts up to a depth. The new key is the number of smaller ones.
extern "C" __global__ void __launch_bounds__(THREADS)
    order_groups_by_text(const u64* __restrict__ packed, const u32* __restrict__ excepted,
                         i64 depth, int width, int n_words, const INDEX* __restrict__ positions,
                         i64 n_tied, const INDEX* __restrict__ groups,
                         const INDEX* __restrict__ firsts, u64* __restrict__ keys_out,
                         INDEX* __restrict__ positions_out) {
    const i64 n_threads = (i64)gridDim.x * blockDim.x;
    for (i64 t = (i64)blockIdx.x * blockDim.x + threadIdx.x; t < n_tied; t += n_threads) {
        const INDEX group = groups[t];
        const i64 first = (i64)firsts[group], last = (i64)firsts[group + 1];
        const i64 position = (i64)positions[t];
        i64 n_smaller = 0, n_equal = 0;
        for (i64 i = first; i < last; i++) {
            if (i == t) continue;
            const i64 other = (i64)positions[i];
            int order = 0;
            i64 from = depth;
            for (int word = 0; word < n_words && order == 0; word++, from += width) {
                const u64 key = key_at(packed, excepted, position + from, width);
                const u64 other_key = key_at(packed, excepted, other + from, width);
                if (key != other_key)
                    order = other_key < key ? -1 : 1;
                else if (has_exception(key))
                    order = other > position ? -1 : 1;
            }
            n_smaller += order < 0;
            n_equal += order == 0 && i < t;
        }
        keys_out[first + n_smaller + n_equal] = (u64)n_smaller;
        positions_out[first + n_smaller + n_equal] = (INDEX)position;
    }
}

// The rank of each suffix: its row in the suffix array, or that of its group if tied.
extern "C" __global__ void __launch_bounds__(THREADS)
    fill_ranks(const INDEX* __restrict__ suffix_array, i64 n_suffixes, i64 first_slot,
               INDEX* __restrict__ ranks, const int* __restrict__ places, int cover_bits,
               i64 size) {
    const Numbers numbers = {places, cover_bits, size};
    const i64 n_threads = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n_suffixes; i += n_threads)
        ranks[numbers.of((i64)suffix_array[i])] = (INDEX)(first_slot + i);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    fill_tied_ranks(const INDEX* __restrict__ positions, const INDEX* __restrict__ slots,
                    i64 n_tied, const INDEX* __restrict__ groups, const INDEX* __restrict__ firsts,
                    INDEX* __restrict__ ranks, const int* __restrict__ places, int cover_bits,
                    i64 size) {
    const Numbers numbers = {places, cover_bits, size};
    const i64 n_threads = (i64)gridDim.x * blockDim.x;
    for (i64 t = (i64)blockIdx.x * blockDim.x + threadIdx.x; t < n_tied; t += n_threads) {
        const INDEX rank = slots[firsts[groups[t]]];
        const i64 number = numbers.of((i64)positions[t]);
        if (ranks[number] != rank) ranks[number] = rank;
    }
}

// ---- ties of suffixes that share as many bases as the modulus of a cover

// Keys of large groups: the number of the distance to the cover, and the rank there. Suffixes with
// the same distance compare by rank.
extern "C" __global__ void __launch_bounds__(THREADS)
    fill_cover_keys(const INDEX* __restrict__ ranks, const int* __restrict__ places, int cover_bits,
                    i64 size, const int* __restrict__ offsets, const int* __restrict__ classes,
                    int rank_bits, const INDEX* __restrict__ positions, i64 n_tied,
                    const INDEX* __restrict__ groups, const INDEX* __restrict__ firsts,
                    const INDEX* __restrict__ large_numbers, const INDEX* __restrict__ large_firsts,
                    i64 small_size, int key_bits, u64* __restrict__ keys,
                    u64* __restrict__ large_keys, INDEX* __restrict__ large_positions) {
    const Numbers numbers = {places, cover_bits, size};
    const auto key_of = [=](i64 position) {
        const i64 residue = position & ((1ll << cover_bits) - 1);
        const u64 rank = (u64)ranks[numbers.of(position + offsets[residue])];
        return ((u64)classes[residue] << rank_bits) | rank;
    };
    fill_keys(key_of, positions, n_tied, {groups, firsts, large_numbers, large_firsts, small_size},
              key_bits, keys, large_keys, large_positions);
}

__device__ __forceinline__ i64 lower_bound(const u64* __restrict__ keys, i64 first, i64 last,
                                           u64 key) {
    while (first < last) {
        const i64 middle = (first + last) >> 1;
        if (keys[middle] < key)
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}

// Stores tied suffixes in their rows. Small groups count the smaller suffixes; large groups, whose
// keys are sorted, find the number of smaller ones in each distance class by binary search.
extern "C" __global__ void __launch_bounds__(THREADS)
    order_by_cover(const INDEX* __restrict__ ranks, const int* __restrict__ deltas,
                   const int* __restrict__ places, int cover_bits, i64 size, int rank_bits,
                   int n_classes, const INDEX* __restrict__ positions, i64 n_tied,
                   const INDEX* __restrict__ groups, const INDEX* __restrict__ firsts,
                   const INDEX* __restrict__ slots, const INDEX* __restrict__ large_firsts,
                   i64 small_size, int key_bits, const u64* __restrict__ large_keys,
                   const INDEX* __restrict__ large_positions, INDEX* __restrict__ rows) {
    const Cover cover = {ranks, deltas, {places, cover_bits, size}};
    const i64 n_threads = (i64)gridDim.x * blockDim.x;
    for (i64 t = (i64)blockIdx.x * blockDim.x + threadIdx.x; t < n_tied; t += n_threads) {
        const INDEX group = groups[t];
        const i64 first = (i64)firsts[group], last = (i64)firsts[group + 1];
        i64 position, n_smaller = 0;
        if (last - first <= small_size) {
            position = (i64)positions[t];
            for (i64 i = first; i < last; i++)
                n_smaller += i != t && cover.is_before((i64)positions[i], position);
        } else {
            const i64 start = (i64)large_firsts[group], end = start + (last - first);
            position = (i64)large_positions[start + t - first];
            const u64 of_group = large_keys[start] >> key_bits << key_bits;
            i64 next = start;
            for (int number = 1; number <= n_classes; number++) {
                const i64 begin = next;
                next = number < n_classes ? lower_bound(large_keys, begin, end,
                                                        of_group + ((u64)number << rank_bits))
                                          : end;
                i64 low = begin, high = next;
                while (low < high) {
                    const i64 middle = (low + high) >> 1, other = (i64)large_positions[middle];
                    if (other != position && cover.is_before(other, position))
                        low = middle + 1;
                    else
                        high = middle;
                }
                n_smaller += low - begin;
            }
        }
        rows[slots[first + n_smaller]] = (INDEX)position;
    }
}
