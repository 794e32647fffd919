// Off-target sites on the GPU. -D GROUPS: groups of letters of the longest guide.

using u8 = unsigned char;
using u32 = unsigned int;
using i64 = long long;
using u64 = unsigned long long;

constexpr int GROUP = 21;
constexpr int LETTERS = GROUP * GROUPS;
// Letters of a guide are padded to fours, so that one load brings four.
constexpr int PADDED_LETTERS = (LETTERS + 3) / 4 * 4;
constexpr int COUNT_BITS = GROUPS == 1 ? 5 : 7;
constexpr int WARP = 32;
constexpr int GUIDES_AT_ONCE = 32;
constexpr u32 ALL_LANES = 0xFFFFFFFFu;

// Storage of hits: block b of the genome has the places b * capacity to (b + 1) * capacity.
struct Hits {
    i64* positions;
    int* guide_ids;
    u8* mismatches;
    u64* n_found;
    u64* counts;
    i64 capacity;
    int n_guides;
    int n_levels;
};

// The range of words to search, and the words of a block.
struct Words {
    i64 first;
    i64 stop;
    i64 per_block;
};

__device__ void add_hit(const Hits& hits, i64 block, i64 position, int guide, int total) {
    const i64 place = static_cast<i64>(atomicAdd(&hits.n_found[block], 1ull));
    if (place < hits.capacity) {
        hits.positions[block * hits.capacity + place] = position;
        hits.guide_ids[block * hits.capacity + place] = guide;
        hits.mismatches[block * hits.capacity + place] = static_cast<u8>(total);
    }
    if (hits.n_levels > 0) {
        atomicAdd(&hits.counts[(block * hits.n_guides + guide) * hits.n_levels + total], 1ull);
    }
}

// 64 bits of a plane, starting `shift` bits after the word `here`.
__device__ u64 shift_words(u64 here, u64 after, int shift) {
    return here >> shift | after << 1 << (63 - shift);
}

// Mismatches of a mask. A plain letter mismatches other letters (N, IUPAC); degenerate ones do not.
__device__ u64 find_misfits(int mask, u64 low, u64 high, u64 other) {
    u64 misfit = __popc(mask) == 1 ? other : 0;
    const u64 base = ~other;
    if (!(mask & 1)) misfit |= ~low & ~high & base;
    if (!(mask & 2)) misfit |= low & ~high;
    if (!(mask & 4)) misfit |= ~low & high;
    if (!(mask & 8)) misfit |= low & high;
    return misfit;
}

__device__ u64 find_row(const u64* low, const u64* high, const u64* other, i64 word, int mask,
                        int place) {
    const i64 at = word + (place >> 6);
    const u64 here = find_misfits(mask, low[at], high[at], other[at]);
    const u64 after = find_misfits(mask, low[at + 1], high[at + 1], other[at + 1]);
    return shift_words(here, after, place & 63);
}

// A letter at a place of the window: its mask above LETTER_SHIFT bits, its place below.
constexpr int LETTER_SHIFT = 16;

__device__ int mask_of(int letter) {
    return letter >> LETTER_SHIFT;
}

__device__ int place_of(int letter) {
    return letter & ((1 << LETTER_SHIFT) - 1);
}

// Starts that match the pattern.
__device__ u64 find_fits(const u64* low, const u64* high, const u64* other, const u64* valid,
                         i64 word, const int* pattern, int n_letters) {
    u64 fits = valid[word];
    for (int k = 0; k < n_letters && fits; k++) {
        fits &= ~find_row(low, high, other, word, mask_of(pattern[k]), place_of(pattern[k]));
    }
    return fits;
}

// The 64 windows of a thread, as halves: GPU registers have 32 bits.
using Windows = uint2;

__device__ Windows split(u64 word) {
    return {static_cast<u32>(word), static_cast<u32>(word >> 32)};
}

__device__ u64 join(Windows a) {
    return a.x | static_cast<u64>(a.y) << 32;
}

__device__ u32 find_sum(u32 a, u32 b, u32 c) {
    u32 sum;
    asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
    return sum;
}

__device__ u32 find_carry(u32 a, u32 b, u32 c) {
    u32 carry;
    asm("lop3.b32 %0, %1, %2, %3, 0xE8;" : "=r"(carry) : "r"(a), "r"(b), "r"(c));
    return carry;
}

__device__ void add_bits(Windows a, Windows b, Windows c, Windows& sum, Windows& carry) {
    carry = {find_carry(a.x, b.x, c.x), find_carry(a.y, b.y, c.y)};
    sum = {find_sum(a.x, b.x, c.x), find_sum(a.y, b.y, c.y)};
}

__device__ void add_two(Windows a, Windows b, Windows& sum, Windows& carry) {
    carry = {a.x & b.x, a.y & b.y};
    sum = {a.x ^ b.x, a.y ^ b.y};
}

// The sum of GROUP bits, as five bits.
__device__ void add_group(const Windows* letters, Windows* total) {
    Windows ones[7], twos[10], fours[5], sums[3];
#pragma unroll
    for (int k = 0; k < 7; k++) {
        add_bits(letters[3 * k], letters[3 * k + 1], letters[3 * k + 2], ones[k], twos[k]);
    }
    add_bits(ones[0], ones[1], ones[2], sums[0], twos[7]);
    add_bits(ones[3], ones[4], ones[5], sums[1], twos[8]);
    add_bits(sums[0], sums[1], ones[6], total[0], twos[9]);
    add_bits(twos[0], twos[1], twos[2], sums[0], fours[0]);
    add_bits(twos[3], twos[4], twos[5], sums[1], fours[1]);
    add_bits(twos[6], twos[7], twos[8], sums[2], fours[2]);
    add_bits(sums[0], sums[1], sums[2], sums[0], fours[3]);
    add_two(sums[0], twos[9], total[1], fours[4]);
    add_bits(fours[0], fours[1], fours[2], sums[0], sums[1]);
    add_bits(sums[0], fours[3], fours[4], total[2], sums[2]);
    add_two(sums[1], sums[2], total[3], total[4]);
}

// A guide's letters: offsets of its rows in bytes, in shared memory.
__device__ void load_letters(const char* rows, const u32* offsets, Windows* letters) {
#pragma unroll
    for (int k = 0; k < PADDED_LETTERS; k += 4) {
        const uint4 four = *reinterpret_cast<const uint4*>(offsets + k);
        const u32 single[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (k + i < LETTERS) {
                letters[k + i] = *reinterpret_cast<const Windows*>(rows + single[i]);
            }
        }
    }
}

// Windows with at most `limit` mismatches: adding 2^n - 1 - limit overflows for all others.
__device__ Windows find_few(const char* rows, const u32* offsets, int limit) {
    Windows letters[LETTERS], total[7];
    load_letters(rows, offsets, letters);
    add_group(letters, total);
    if constexpr (GROUPS > 1) {
        total[5] = total[6] = Windows{0, 0};
#pragma unroll
        for (int group = 1; group < GROUPS; group++) {
            Windows more[5], carry = {0, 0};
            add_group(letters + group * GROUP, more);
#pragma unroll
            for (int b = 0; b < 5; b++) {
                add_bits(total[b], more[b], carry, total[b], carry);
            }
            add_two(total[5], carry, total[5], carry);
            add_two(total[6], carry, total[6], carry);
        }
    }
    const int rest = (1 << COUNT_BITS) - 1 - limit;
    Windows carry = Windows{0, 0};
#pragma unroll
    for (int b = 0; b < COUNT_BITS; b++) {
        const u32 bit = -(rest >> b & 1);
        carry = {find_carry(total[b].x, bit, carry.x), find_carry(total[b].y, bit, carry.y)};
    }
    return {~carry.x, ~carry.y};
}

// Shared memory after the rows, aligned for loads of four letters.
__device__ u32* skip_rows(Windows* shared, int n_lanes) {
    const int n_bytes = (n_lanes * static_cast<int>(sizeof(Windows)) + 15) & ~15;
    return reinterpret_cast<u32*>(reinterpret_cast<char*>(shared) + n_bytes);
}

// The data of a search.
struct Search {
    const u32* guide_rows;  // (n_guides, PADDED_LETTERS) offsets in bytes
    const int* limits;
    const i64* listed;  // positions of the windows, or null if contiguous
    i64 first_base;
    i64 block_bases;
};

// Find the hits of all guides in the windows of each thread; `start` is the thread's first window.
__device__ void search_rows(const char* rows, u64 fits, u32* shared, i64 start,
                            const Search& search, const Hits& hits) {
    int* limits = reinterpret_cast<int*>(shared + GUIDES_AT_ONCE * PADDED_LETTERS);
    for (int first = 0; first < hits.n_guides; first += GUIDES_AT_ONCE) {
        const int n_guides = min(GUIDES_AT_ONCE, hits.n_guides - first);
        __syncthreads();
        for (int i = threadIdx.x; i < n_guides * PADDED_LETTERS; i += blockDim.x) {
            shared[i] = search.guide_rows[static_cast<i64>(first) * PADDED_LETTERS + i];
        }
        for (int i = threadIdx.x; i < n_guides; i += blockDim.x) {
            limits[i] = min(search.limits[first + i], LETTERS);
        }
        __syncthreads();
        for (int guide = 0; guide < n_guides; guide++) {
            const u32* offsets = shared + guide * PADDED_LETTERS;
            u64 few = join(find_few(rows, offsets, limits[guide])) & fits;
            while (few) {
                const int bit = __ffsll(few) - 1;
                few &= few - 1;
                int total = 0;
                for (int letter = 0; letter < LETTERS; letter++) {
                    const char* row = rows + offsets[letter];
                    total += join(*reinterpret_cast<const Windows*>(row)) >> bit & 1;
                }
                const i64 position = search.listed ? search.listed[start + bit] : start + bit;
                const i64 block = (position - search.first_base) / search.block_bases;
                add_hit(hits, block, position, first + guide, total);
            }
        }
    }
}

// Fill all rows for a thread's windows; rows of the same mask are contiguous.
__device__ void fill_rows(const u64* low, const u64* high, const u64* other, i64 word,
                          const int* row_letters, int n_rows, Windows* rows) {
    u64 here = 0, after = 0;
    int last = -1;
    for (int row = 0; row < n_rows; row++) {
        const int letter = row_letters[row];
        const int place = place_of(letter);
        // Places with the same 64-base word share the planes' words.
        if (letter - (place & 63) != last) {
            last = letter - (place & 63);
            const i64 at = word + (place >> 6);
            here = find_misfits(mask_of(letter), low[at], high[at], other[at]);
            after = find_misfits(mask_of(letter), low[at + 1], high[at + 1], other[at + 1]);
        }
        rows[row * blockDim.x] = split(shift_words(here, after, place & 63));
    }
}

extern "C" __global__ void find_densely(const u64* __restrict__ low, const u64* __restrict__ high,
                                        const u64* __restrict__ other,
                                        const u64* __restrict__ valid, Words words,
                                        const int* __restrict__ row_letters, int n_rows,
                                        const u32* __restrict__ guide_rows,
                                        const int* __restrict__ pattern, int n_letters,
                                        const int* __restrict__ limits, Hits hits) {
    extern __shared__ Windows shared[];
    const int stride = blockDim.x;
    Windows* rows = shared + threadIdx.x;
    const i64 thread = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
    const i64 word = words.first + thread;
    u64 fits = 0;
    if (word < words.stop) {
        fits = find_fits(low, high, other, valid, word, pattern, n_letters);
    }
    if (!__syncthreads_or(fits != 0)) {
        return;
    }
    if (word < words.stop) {
        fill_rows(low, high, other, word, row_letters, n_rows, rows);
    }
    rows[n_rows * stride] = Windows{0, 0};
    const Search search = {guide_rows, limits, nullptr, words.first << 6, words.per_block << 6};
    u32* letters = skip_rows(shared, (n_rows + 1) * stride);
    search_rows(reinterpret_cast<const char*>(rows), fits, letters, word << 6, search, hits);
}

// Mark the starts that match the pattern, and count them in each word.
extern "C" __global__ void mark_fits(const u64* __restrict__ low, const u64* __restrict__ high,
                                     const u64* __restrict__ other, const u64* __restrict__ valid,
                                     i64 first_word, i64 n_words, const int* __restrict__ pattern,
                                     int n_letters, u64* __restrict__ fits,
                                     int* __restrict__ n_fits) {
    const i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n_words) {
        fits[i] = find_fits(low, high, other, valid, first_word + i, pattern, n_letters);
        n_fits[i] = __popcll(fits[i]);
    }
}

// List the starts; `stops` is the inclusive prefix sum of `n_fits`.
extern "C" __global__ void list_starts(const u64* __restrict__ fits, i64 first_word, i64 n_words,
                                       const i64* __restrict__ stops, i64* __restrict__ starts) {
    const i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n_words) {
        return;
    }
    u64 marks = fits[i];
    i64 place = stops[i] - __popcll(marks);
    while (marks) {
        starts[place++] = ((first_word + i) << 6) + __ffsll(marks) - 1;
        marks &= marks - 1;
    }
}

__device__ u32 read_window(const u64* plane, i64 position) {
    const i64 word = position >> 6;
    return static_cast<u32>(shift_words(plane[word], plane[word + 1], position & 63));
}

// The guides' letters in a span of places; row_of gives the row of a letter, if there is one.
struct Rows {
    int first_place;
    int n_places;
    int n_masks;
    int n_rows;
};

// Search the listed windows: a warp transposes 32 windows into half a word of each row by ballots.
extern "C" __global__ void find_listed(const u64* __restrict__ low, const u64* __restrict__ high,
                                       const u64* __restrict__ other,
                                       const i64* __restrict__ starts, i64 n_starts, Words words,
                                       const u8* __restrict__ masks, const int* __restrict__ row_of,
                                       Rows rows, const u32* __restrict__ guide_rows,
                                       const int* __restrict__ limits, Hits hits) {
    extern __shared__ Windows shared[];
    // Pad by one: lanes that write different rows then conflict less for shared memory banks.
    const int stride = blockDim.x + 1;
    const i64 first = static_cast<i64>(blockIdx.x) * blockDim.x * 64;
    const int lane = threadIdx.x % WARP;
    const int n_halves = 2 * blockDim.x;
    for (int half = threadIdx.x / WARP; half < n_halves; half += blockDim.x / WARP) {
        const i64 i = first + static_cast<i64>(half) * WARP + lane;
        u32 a = 0, b = 0, c = 0;
        if (i < n_starts) {
            const i64 position = starts[i] + rows.first_place;
            a = read_window(low, position);
            b = read_window(high, position);
            c = read_window(other, position);
        }
        const bool has_other = __any_sync(ALL_LANES, c != 0);
        u32 lows = 0, highs = 0, others = 0;
        for (int place = 0; place < rows.n_places; place++) {
            const u32 low_vote = __ballot_sync(ALL_LANES, a >> place & 1);
            const u32 high_vote = __ballot_sync(ALL_LANES, b >> place & 1);
            const u32 vote = has_other ? __ballot_sync(ALL_LANES, c >> place & 1) : 0;
            if (lane == place) {
                lows = low_vote;
                highs = high_vote;
                others = vote;
            }
        }
        if (lane < rows.n_places) {
            for (int slot = 0; slot < rows.n_masks; slot++) {
                const int row = row_of[slot * rows.n_places + lane];
                if (row >= 0) {
                    reinterpret_cast<u32*>(shared + row * stride)[half] =
                        static_cast<u32>(find_misfits(masks[slot], lows, highs, others));
                }
            }
        }
    }
    shared[rows.n_rows * stride + threadIdx.x] = Windows{0, 0};
    __syncthreads();
    const i64 start = first + static_cast<i64>(threadIdx.x) * 64;
    const i64 n_own = min(max(n_starts - start, 0ll), 64ll);
    const u64 fits = n_own == 64 ? ~0ull : (1ull << n_own) - 1;
    const Search search = {guide_rows, limits, starts, words.first << 6, words.per_block << 6};
    search_rows(reinterpret_cast<const char*>(shared + threadIdx.x), fits,
                skip_rows(shared, (rows.n_rows + 1) * stride), start, search, hits);
}

// Four bits a base, AND and popcount: one thread per start.
__device__ int count_misfits(const u64* window, const u64* plain, const u64* out, int n_words,
                             int n_plain) {
    int total = n_plain;
    for (int k = 0; k < n_words; k++) {
        total += __popcll(window[k] & out[k]) - __popcll(window[k] & plain[k]);
    }
    return total;
}

constexpr int MAX_NIBBLE_WORDS = 56;

// A pattern as count_misfits takes it.
struct Pattern {
    const u64* plain;
    const u64* out;
    int n_plain;
    int length;
};

extern "C" __global__ void find_by_popcount(
    const u64* __restrict__ low, const u64* __restrict__ high, const u64* __restrict__ other,
    const u64* __restrict__ valid, Words words, Pattern pattern, const u64* __restrict__ plain,
    const u64* __restrict__ out, const int* __restrict__ totals, const int* __restrict__ limits,
    Hits hits) {
    const i64 start = (words.first << 6) + static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (start >= words.stop << 6 || !(valid[start >> 6] >> (start & 63) & 1)) {
        return;
    }
    const int n_words = (pattern.length + 15) / 16;
    u64 window[MAX_NIBBLE_WORDS];
    for (int k = 0; k < n_words; k++) {
        window[k] = 0;
        for (int i = 0; i < min(16, pattern.length - 16 * k); i++) {
            const i64 position = start + 16 * k + i;
            const i64 word = position >> 6;
            const int bit = position & 63;
            const u64 base = (low[word] >> bit & 1) | (high[word] >> bit & 1) << 1;
            const u64 nibble = (1ull << base) * (1 ^ (other[word] >> bit & 1));
            window[k] |= nibble << (4 * i);
        }
    }
    if (count_misfits(window, pattern.plain, pattern.out, n_words, pattern.n_plain)) {
        return;
    }
    for (int guide = 0; guide < hits.n_guides; guide++) {
        const i64 at = static_cast<i64>(guide) * n_words;
        const int total = count_misfits(window, plain + at, out + at, n_words, totals[guide]);
        if (total <= limits[guide]) {
            const i64 block = (start - (words.first << 6)) / (words.per_block << 6);
            add_hit(hits, block, start, guide, total);
        }
    }
}
