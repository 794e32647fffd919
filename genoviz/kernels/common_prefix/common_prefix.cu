// Longest common prefixes on one GPU; the contract is in this folder's __init__.py.

#ifndef ROW
#define ROW unsigned int
#endif

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

constexpr u32 ALL = 0xFFFFFFFF;
constexpr u32 UNKNOWN = 0xFFFFFFFF;
constexpr int THREADS = 256;
constexpr int WARP = 32;
constexpr int WORD = 32;

// A text, and a bitmap of its exceptions.
struct Text {
    const u64* __restrict__ packed;
    const u32* __restrict__ excepted;
    i64 n_symbols;

    __device__ __forceinline__ u64 bases(i64 position) const {
        const i64 word = position >> 5;
        const int shift = 2 * (int)(position & 31);
        return (packed[word] << shift) | ((packed[word + 1] >> 1) >> (63 - shift));
    }

    __device__ __forceinline__ u64 marks(i64 position) const {
        const i64 word = position >> 5;
        const u64 both = ((u64)excepted[word] << 32) | excepted[word + 1];
        return both << (position & 31);
    }

    // The number of common bases among 32 symbols from two positions on. Beyond the text there are
    // none.
    __device__ __forceinline__ int n_common(i64 one, i64 other) const {
        if (max(one, other) >= n_symbols) return 0;
        const int n_equal = __clzll((i64)(bases(one) ^ bases(other))) >> 1;
        const int n_bases = __clzll((i64)(marks(one) | marks(other)));
        return min(n_equal, n_bases);
    }
};

extern "C" __global__ void __launch_bounds__(THREADS)
    mark_exceptions(const i64* __restrict__ exceptions, i64 n_exceptions,
                    u32* __restrict__ excepted) {
    const i64 n_threads = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n_exceptions; i += n_threads)
        atomicOr(excepted + (exceptions[i] >> 5), 0x80000000u >> (exceptions[i] & 31));
}

// Compares neighbours up to a number of words, and counts the longer ones.
extern "C" __global__ void __launch_bounds__(THREADS)
    compare_rows(const u64* __restrict__ packed, const u32* __restrict__ excepted, i64 n_symbols,
                 const ROW* __restrict__ suffix_array, int n_words, u32* __restrict__ lengths,
                 u64* __restrict__ n_unknown) {
    const Text text = {packed, excepted, n_symbols};
    const i64 n_threads = (i64)gridDim.x * blockDim.x;
    u32 n_longer = 0;
    for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < n_symbols; row += n_threads) {
        u32 length = 0;
        if (row > 0) {
            const i64 one = (i64)suffix_array[row - 1], other = (i64)suffix_array[row];
            int n_common = WORD;
            for (int word = 0; word < n_words && n_common == WORD; word++) {
                n_common = text.n_common(one + length, other + length);
                length += n_common;
            }
            if (n_common == WORD) {
                length = UNKNOWN;
                n_longer++;
            }
        }
        lengths[row] = length;
    }
    if (n_longer > 0) atomicAdd(n_unknown, (u64)n_longer);
}

// A warp computes the common prefix of two suffixes, from a known length up to maximum + 1.
__device__ __forceinline__ i64 extend_by_warp(const Text& text, i64 one, i64 other, i64 length,
                                              i64 maximum, bool* is_whole) {
    u32 ending = 0;
    while (ending == 0 && length < maximum) {
        const i64 from = length + threadIdx.x % WARP * WORD;
        const int n_common = text.n_common(one + from, other + from);
        ending = __ballot_sync(ALL, n_common < WORD);
        const int last = ending != 0 ? __ffs(ending) - 1 : WARP;
        length += last * WORD;
        if (ending != 0) length += __shfl_sync(ALL, n_common, last);
    }
    *is_whole = ending != 0;
    return length;
}

// A warp compares the neighbours of a row.
extern "C" __global__ void __launch_bounds__(THREADS)
    compare_long_rows(const u64* __restrict__ packed, const u32* __restrict__ excepted,
                      i64 n_symbols, const ROW* __restrict__ suffix_array,
                      const i64* __restrict__ rows, i64 n_rows, i64 known, i64 maximum,
                      u32* __restrict__ lengths, u64* __restrict__ n_unknown) {
    const Text text = {packed, excepted, n_symbols};
    const i64 n_warps = (i64)gridDim.x * blockDim.x / WARP;
    for (i64 k = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / WARP; k < n_rows; k += n_warps) {
        const i64 row = rows[k];
        bool is_whole;
        const i64 length = extend_by_warp(text, (i64)suffix_array[row - 1], (i64)suffix_array[row],
                                          known, maximum, &is_whole);
        if (threadIdx.x % WARP == 0) {
            if (is_whole)
                lengths[row] = (u32)length;
            else
                atomicAdd(n_unknown, 1ull);
        }
    }
}

// The predecessor of each suffix in the suffix array; the first has itself.
extern "C" __global__ void __launch_bounds__(THREADS)
    fill_previous(const ROW* __restrict__ suffix_array, i64 n_symbols, ROW* __restrict__ previous) {
    const i64 n_threads = (i64)gridDim.x * blockDim.x;
    for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < n_symbols; row += n_threads)
        previous[suffix_array[row]] = suffix_array[row > 0 ? row - 1 : 0];
}

// A later position with a known length. If the neighbour of an earlier position is at the same
// distance, both prefixes end at the same place, provided the bases in between are equal.
struct Known {
    i64 position, distance, length;

    __device__ __forceinline__ Known(const ROW* __restrict__ previous,
                                     const u32* __restrict__ lengths_by_position, i64 known,
                                     i64 n_symbols)
        : position(known), distance(0), length(0) {
        if (known >= n_symbols) return;
        distance = (i64)previous[known] - known;
        length = (i64)lengths_by_position[known];
    }

    __device__ __forceinline__ bool tells(i64 earlier, i64 neighbour, i64 n_equal) const {
        return distance != 0 && neighbour - earlier == distance && n_equal >= position - earlier;
    }
};

// Lengths by position, for every `stride`-th position. A length is at least that of an earlier
// position minus their distance. So a warp takes `n_steps` consecutive positions; it knows the
// first of several, and the one after them.
extern "C" __global__ void __launch_bounds__(THREADS)
    extend_far_lengths(const u64* __restrict__ packed, const u32* __restrict__ excepted,
                       i64 n_symbols, const ROW* __restrict__ previous, i64 stride, int n_steps,
                       u32* __restrict__ lengths_by_position) {
    const Text text = {packed, excepted, n_symbols};
    const i64 warp = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    i64 position = warp * n_steps * stride, length = 0;
    const bool knows = n_steps > 1;
    const Known known(previous, lengths_by_position,
                      knows ? position + n_steps * stride : n_symbols, n_symbols);
    for (int k = 0; k < n_steps && position < n_symbols; k++, position += stride) {
        if (k == 0 && knows) {
            length = (i64)lengths_by_position[position];
            continue;
        }
        const i64 other = (i64)previous[position], to_known = known.position - position;
        length = max(length - stride, (i64)0);
        bool is_whole = other == position;
        if (is_whole) length = 0;
        if (!is_whole && knows)
            length = extend_by_warp(text, position, other, length, to_known, &is_whole);
        if (!is_whole && known.tells(position, other, length))
            length = to_known + known.length;
        else if (!is_whole)
            length = extend_by_warp(text, position, other, length, n_symbols, &is_whole);
        if (threadIdx.x % WARP == 0) lengths_by_position[position] = (u32)min(length, (i64)UNKNOWN);
    }
}

// The same with a thread in place of a warp, for short strides.
extern "C" __global__ void __launch_bounds__(THREADS)
    extend_lengths(const u64* __restrict__ packed, const u32* __restrict__ excepted, i64 n_symbols,
                   const ROW* __restrict__ previous, i64 stride, int n_steps,
                   u32* __restrict__ lengths_by_position) {
    const Text text = {packed, excepted, n_symbols};
    i64 position = ((i64)blockIdx.x * blockDim.x + threadIdx.x) * n_steps * stride;
    if (position >= n_symbols) return;
    const Known known(previous, lengths_by_position, position + n_steps * stride, n_symbols);
    i64 length = (i64)lengths_by_position[position];
    for (int k = 1; k < n_steps; k++) {
        position += stride;
        if (position >= n_symbols) return;
        const i64 other = (i64)previous[position];
        length = max(length - stride, (i64)0);
        int n_common = other == position ? 0 : WORD;
        if (other == position) length = 0;
        while (n_common == WORD) {
            if (known.tells(position, other, length)) {
                length = known.position - position + known.length;
                break;
            }
            n_common = text.n_common(position + length, other + length);
            length += n_common;
        }
        lengths_by_position[position] = (u32)min(length, (i64)UNKNOWN);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    gather_lengths(const u32* __restrict__ lengths_by_position,
                   const ROW* __restrict__ suffix_array, i64 n_symbols, u32* __restrict__ lengths) {
    const i64 n_threads = (i64)gridDim.x * blockDim.x;
    for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < n_symbols; row += n_threads)
        lengths[row] = lengths_by_position[suffix_array[row]];
}
