// The FM-index on one GPU; the contract is in this folder's __init__.py.

#ifndef ROW
#define ROW unsigned int
#endif

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

constexpr u32 ALL = 0xFFFFFFFF;
constexpr int THREADS = 256;
constexpr int WARP = 32;
constexpr int LINE_BITS = 7;
constexpr int LINE_ROWS = 1 << LINE_BITS;
constexpr int EXCEPTION = 4;

__device__ __forceinline__ i64 warp_number() {
    return ((i64)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
}

__device__ __forceinline__ i64 lower_bound(const i64* __restrict__ values, i64 n_values,
                                           i64 value) {
    i64 first = 0, last = n_values;
    while (first < last) {
        const i64 middle = (first + last) >> 1;
        if (values[middle] < value)
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}

// ---- building

extern "C" __global__ void __launch_bounds__(THREADS)
    mark_exceptions(const i64* __restrict__ exceptions, i64 n_exceptions,
                    u32* __restrict__ excepted) {
    const i64 n_threads = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n_exceptions; i += n_threads)
        atomicOr(excepted + (exceptions[i] >> 5), 0x80000000u >> (exceptions[i] & 31));
}

// The symbol before a suffix; the text is circular.
__device__ __forceinline__ int symbol_before(const u64* __restrict__ packed,
                                             const u32* __restrict__ excepted, i64 n_symbols,
                                             i64 position) {
    const i64 before = position > 0 ? position - 1 : n_symbols - 1;
    const int symbol = (int)(packed[before >> 5] >> (62 - 2 * (before & 31))) & 3;
    if (symbol == 0 && ((excepted[before >> 5] >> (31 - (before & 31))) & 1)) return EXCEPTION;
    return symbol;
}

// A warp packs the lines of one chunk, with counts relative to the chunk, and the chunk's totals.
extern "C" __global__ void __launch_bounds__(THREADS)
    pack_bwt(const u64* __restrict__ packed, const u32* __restrict__ excepted, i64 n_symbols,
             const ROW* __restrict__ suffix_array, i64 n_rows, i64 n_lines, int chunk_bits,
             i64 n_chunks, u64* __restrict__ lines, i64* __restrict__ chunk_counts) {
    const i64 chunk = warp_number();
    if (chunk >= n_chunks) return;
    const int lane = threadIdx.x % WARP;
    const i64 last = min((chunk + 1) << chunk_bits, n_lines);
    u64 counts[5] = {0, 0, 0, 0, 0};
    for (i64 line = chunk << chunk_bits; line < last; line++) {
        u32 low[4], high[4], exception[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const i64 row = line * LINE_ROWS + k * WARP + lane;
            int symbol = EXCEPTION;
            if (row < n_rows)
                symbol = symbol_before(packed, excepted, n_symbols, (i64)suffix_array[row]);
            low[k] = __ballot_sync(ALL, symbol & 1);
            high[k] = __ballot_sync(ALL, symbol & 2);
            exception[k] = __ballot_sync(ALL, symbol & EXCEPTION);
        }
        const u64 words[8] = {counts[0] | (counts[1] << 32),
                              counts[2] | (counts[3] << 32),
                              low[0] | ((u64)low[1] << 32),
                              low[2] | ((u64)low[3] << 32),
                              high[0] | ((u64)high[1] << 32),
                              high[2] | ((u64)high[3] << 32),
                              exception[0] | ((u64)exception[1] << 32),
                              exception[2] | ((u64)exception[3] << 32)};
#pragma unroll
        for (int word = 0; word < 8; word++)
            if (lane == word) lines[8 * line + word] = words[word];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            counts[0] += __popc(~(low[k] | high[k] | exception[k]));
            counts[1] += __popc(low[k] & ~high[k]);
            counts[2] += __popc(high[k] & ~low[k]);
            counts[3] += __popc(high[k] & low[k]);
            counts[4] += __popc(exception[k]);
        }
    }
#pragma unroll
    for (int symbol = 0; symbol < 5; symbol++)
        if (lane == symbol) chunk_counts[symbol * n_chunks + chunk] = (i64)counts[symbol];
}

// Makes counts relative to the superblock and lists exceptions in row order. One lane per line.
extern "C" __global__ void __launch_bounds__(THREADS)
    finish_lines(const ROW* __restrict__ suffix_array, i64 n_rows, i64 n_symbols,
                 const i64* __restrict__ exceptions, i64 n_exceptions, i64 n_lines, int chunk_bits,
                 int super_shift, i64 n_chunks, const i64* __restrict__ chunk_counts,
                 u64* __restrict__ lines, i64* __restrict__ exception_ids) {
    const i64 chunk = warp_number();
    if (chunk >= n_chunks) return;
    const int lane = threadIdx.x % WARP;
    const i64 last = min((chunk + 1) << chunk_bits, n_lines);
    const i64 super_chunk = (((chunk << chunk_bits) >> super_shift) << super_shift) >> chunk_bits;
    u64 since[4];
    for (int symbol = 0; symbol < 4; symbol++) {
        const i64* const counts = chunk_counts + symbol * n_chunks;
        since[symbol] = (u64)(counts[chunk] - counts[super_chunk]);
    }
    i64 n_before = chunk_counts[4 * n_chunks + chunk];
    for (i64 first = chunk << chunk_bits; first < last; first += WARP) {
        const i64 line = first + lane;
        u64 exception[2] = {0, 0};
        if (line < last) {
            u64* const words = lines + 8 * line;
            words[0] += since[0] | (since[1] << 32);
            words[1] += since[2] | (since[3] << 32);
            exception[0] = words[6];
            exception[1] = words[7];
        }
        const int count = __popcll(exception[0]) + __popcll(exception[1]);
        int n_until = count;
        for (int step = 1; step < WARP; step *= 2) {
            const int other = __shfl_up_sync(ALL, n_until, step);
            if (lane >= step) n_until += other;
        }
        i64 place = n_before + n_until - count;
        for (int half = 0; half < 2; half++) {
            for (u64 word = exception[half]; word != 0; word &= word - 1, place++) {
                const i64 row = line * LINE_ROWS + half * 64 + __ffsll((i64)word) - 1;
                if (row >= n_rows) break;
                const i64 position = (i64)suffix_array[row];
                const i64 before = position > 0 ? position - 1 : n_symbols - 1;
                exception_ids[place] = lower_bound(exceptions, n_exceptions, before);
            }
        }
        n_before += __shfl_sync(ALL, n_until, WARP - 1);
    }
}

// Makes counts relative to the superblock instead of to the first line.
extern "C" __global__ void __launch_bounds__(THREADS)
    shift_counts(u32* __restrict__ lines, i64 n_lines, i64 first_line, int super_shift,
                 const i64* __restrict__ counts, const i64* __restrict__ super_counts) {
    const i64 n_threads = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < 4 * n_lines; i += n_threads) {
        const i64 line = i >> 2, symbol = i & 3;
        const i64 super = (first_line + line) >> super_shift;
        const i64 first_super = first_line >> super_shift;
        const i64 before = super_counts[4 * (super - first_super) + symbol];
        lines[16 * line + symbol] += (u32)(counts[symbol] - before);
    }
}

// ---- rows

// The arrays of an index, as in the contract.
struct Index {
    const u64* __restrict__ lines;
    const i64* __restrict__ super_counts;
    int super_shift;

    __device__ __forceinline__ u64 next_row(u32 symbol, u64 row) const {
        const u64 line = row >> LINE_BITS;
        const u64* const words = lines + 8 * line;
        const ulonglong2 low = *(const ulonglong2*)(words + 2);
        const ulonglong2 high = *(const ulonglong2*)(words + 4);
        const ulonglong2 exception = *(const ulonglong2*)(words + 6);
        const u64 low_flip = (u64)(symbol & 1) - 1, high_flip = (u64)(symbol >> 1) - 1;
        const u64 bits = (1ull << (row & 63)) - 1, is_second = 0 - ((row >> 6) & 1);
        const u64 first =
            (low.x ^ low_flip) & (high.x ^ high_flip) & ~exception.x & (bits | is_second);
        const u64 second =
            (low.y ^ low_flip) & (high.y ^ high_flip) & ~exception.y & bits & is_second;
        const u64 count = (words[symbol >> 1] >> (32 * (symbol & 1))) & 0xFFFFFFFF;
        return (u64)super_counts[4 * (line >> super_shift) + symbol] + count + __popcll(first) +
               __popcll(second);
    }

    __device__ __forceinline__ u32 symbol_of(u64 row) const {
        const u64* const words = lines + 8 * (row >> LINE_BITS) + ((row >> 6) & 1);
        const int bit = (int)(row & 63);
        return (u32)((words[2] >> bit) & 1) | ((u32)((words[4] >> bit) & 1) << 1) |
               ((u32)((words[6] >> bit) & 1) << 2);
    }

    // The number of exceptions in the BWT before a row.
    __device__ __forceinline__ u64 n_exceptions_before(u64 row) const {
        u64 n_bases = 0;
        for (u32 symbol = 0; symbol < 4; symbol++)
            n_bases += next_row(symbol, row) - (u64)super_counts[symbol];
        return row - n_bases;
    }
};

// Row ranges of k-mers with one base prepended; A overwrites the entry of the shorter k-mer.
extern "C" __global__ void __launch_bounds__(THREADS)
    fill_level(const u64* __restrict__ lines, const i64* __restrict__ super_counts, int super_shift,
               i64 n_kmers, ROW* __restrict__ start_table) {
    const Index index = {lines, super_counts, super_shift};
    const i64 n_threads = (i64)gridDim.x * blockDim.x;
    for (i64 code = (i64)blockIdx.x * blockDim.x + threadIdx.x; code < n_kmers; code += n_threads) {
        const u64 first = (u64)start_table[2 * code], last = (u64)start_table[2 * code + 1];
        for (u32 symbol = 0; symbol < 4; symbol++) {
            u64 above = 0, below = 0;
            if (first < last) {
                above = index.next_row(symbol, first);
                below = index.next_row(symbol, last);
                if (above == below) above = below = 0;
            }
            start_table[2 * (symbol * n_kmers + code)] = (ROW)above;
            start_table[2 * (symbol * n_kmers + code) + 1] = (ROW)below;
        }
    }
}

// ---- searching

struct Rows {
    u64 first, last;
};

// Reads a k-mer from its last base on, until it is complete or few enough rows are left.
__device__ __forceinline__ Rows search(const Index& index, i64 n_symbols,
                                       const ROW* __restrict__ start_table, int table_k,
                                       const u64* __restrict__ words, int length, u64 n_enough,
                                       int* n_taken) {
    u64 rest = words[0], first = 0, last = (u64)n_symbols;
    int taken = 0;
    if (length >= table_k) {
        const u64 code = rest & ((1ull << (2 * table_k)) - 1);
        first = (u64)start_table[2 * code];
        last = (u64)start_table[2 * code + 1];
        taken = table_k;
        rest >>= 2 * table_k;
    }
    while (taken < length && last > first + n_enough) {
        const u32 symbol = (u32)rest & 3;
        first = index.next_row(symbol, first);
        last = index.next_row(symbol, last);
        taken++;
        rest >>= 2;
        if ((taken & 31) == 0 && taken < length) rest = words[taken >> 5];
    }
    *n_taken = taken;
    return {first, last};
}

extern "C" __global__ void __launch_bounds__(THREADS)
    find_rows(const u64* __restrict__ lines, const i64* __restrict__ super_counts, int super_shift,
              i64 n_symbols, const ROW* __restrict__ start_table, int table_k,
              const u64* __restrict__ words, i64 n_words, const int* __restrict__ lengths,
              i64 n_kmers, ROW* __restrict__ row_ranges) {
    const Index index = {lines, super_counts, super_shift};
    const i64 n_threads = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n_kmers; i += n_threads) {
        int taken;
        const Rows rows = search(index, n_symbols, start_table, table_k, words + i * n_words,
                                 lengths[i], 0, &taken);
        const bool is_found = rows.first < rows.last;
        row_ranges[2 * i] = is_found ? (ROW)rows.first : 0;
        row_ranges[2 * i + 1] = is_found ? (ROW)rows.last : 0;
    }
}

// Whether the unread bases of a k-mer equal the text before a position.
__device__ __forceinline__ bool is_rest_before(const u64* __restrict__ packed,
                                               const i64* __restrict__ exceptions, i64 n_exceptions,
                                               const u64* __restrict__ words, int length, int taken,
                                               i64 position) {
    const i64 start = position - (length - taken);
    if (start < 0) return false;
    for (i64 end = position; taken < length;) {
        const int n = min(length - taken, 32 - (taken & 31)), unused = 64 - 2 * n;
        const i64 first = end - n, word = first >> 5;
        const int shift = 2 * (int)(first & 31);
        const u64 bases = (packed[word] << shift) | ((packed[word + 1] >> 1) >> (63 - shift));
        const u64 rest = (words[taken >> 5] >> (2 * (taken & 31))) << unused;
        if (((bases >> unused) << unused) != rest) return false;
        taken += n;
        end -= n;
    }
    const i64 next = lower_bound(exceptions, n_exceptions, start);
    return next == n_exceptions || exceptions[next] >= position;
}

// Counts the rows of each k-mer. Once one row is left, compares the unread bases with the text.
extern "C" __global__ void __launch_bounds__(THREADS)
    count_rows(const u64* __restrict__ lines, const i64* __restrict__ super_counts, int super_shift,
               i64 n_symbols, const ROW* __restrict__ start_table, int table_k,
               const u64* __restrict__ packed, const i64* __restrict__ exceptions, i64 n_exceptions,
               const ROW* __restrict__ suffix_array, const u64* __restrict__ words, i64 n_words,
               const int* __restrict__ lengths, i64 n_kmers, i64* __restrict__ counts) {
    const Index index = {lines, super_counts, super_shift};
    const u64 n_enough = suffix_array != nullptr ? 1 : 0;
    const i64 n_threads = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n_kmers; i += n_threads) {
        const u64* const kmer = words + i * n_words;
        const int length = lengths[i];
        int taken;
        const Rows rows =
            search(index, n_symbols, start_table, table_k, kmer, length, n_enough, &taken);
        i64 count = (i64)(rows.last - rows.first);
        if (taken < length && count > 0)
            count = is_rest_before(packed, exceptions, n_exceptions, kmer, length, taken,
                                   (i64)suffix_array[rows.first]);
        counts[i] = count;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    extend_rows(const u64* __restrict__ lines, const i64* __restrict__ super_counts,
                int super_shift, i64 n_ranges, const unsigned char* __restrict__ symbols,
                ROW* __restrict__ row_ranges) {
    const Index index = {lines, super_counts, super_shift};
    const i64 n_threads = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n_ranges; i += n_threads) {
        const u64 first = index.next_row(symbols[i], (u64)row_ranges[2 * i]);
        const u64 last = index.next_row(symbols[i], (u64)row_ranges[2 * i + 1]);
        row_ranges[2 * i] = first < last ? (ROW)first : 0;
        row_ranges[2 * i + 1] = first < last ? (ROW)last : 0;
    }
}

// Reads single bases, then one letter of several bases, which splits a row range into up to four.
extern "C" __global__ void __launch_bounds__(THREADS)
    branch_rows(const u64* __restrict__ lines, const i64* __restrict__ super_counts,
                int super_shift, const ROW* __restrict__ start_table, int table_k,
                const unsigned char* __restrict__ sets, const i64* __restrict__ set_ends,
                const i64* __restrict__ n_taken, const i64* __restrict__ n_wanted,
                const i64* __restrict__ branch_kmers, i64 n_branches,
                const ROW* __restrict__ branch_ranges, ROW* __restrict__ branches) {
    const Index index = {lines, super_counts, super_shift};
    const i64 n_threads = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n_branches; i += n_threads) {
        const i64 kmer = branch_kmers[i];
        const unsigned char* const last_set = sets + set_ends[kmer] - 1;
        const i64 n_single = n_wanted[kmer] - 1;
        i64 taken = n_taken[kmer];
        u64 first = (u64)branch_ranges[2 * i], last = (u64)branch_ranges[2 * i + 1];
        if (taken == 0 && n_single >= table_k) {
            u64 code = 0;
            for (int k = 0; k < table_k; k++) {
                const u32 bases = *(last_set - k);
                code |= (u64)((bases >> 1) - (bases >> 3)) << (2 * k);
            }
            first = (u64)start_table[2 * code];
            last = (u64)start_table[2 * code + 1];
            taken = table_k;
        }
        for (; taken < n_single && first < last; taken++) {
            const u32 bases = *(last_set - taken), symbol = (bases >> 1) - (bases >> 3);
            first = index.next_row(symbol, first);
            last = index.next_row(symbol, last);
        }
        const u32 bases = *(last_set - n_single);
        for (u32 symbol = 0; symbol < 4; symbol++) {
            u64 above = 0, below = 0;
            if (first < last && ((bases >> symbol) & 1)) {
                above = index.next_row(symbol, first);
                below = index.next_row(symbol, last);
                if (above == below) above = below = 0;
            }
            branches[8 * i + 2 * symbol] = (ROW)above;
            branches[8 * i + 2 * symbol + 1] = (ROW)below;
        }
    }
}

// ---- locating and inverting

extern "C" __global__ void __launch_bounds__(THREADS)
    locate(const u64* __restrict__ lines, const i64* __restrict__ super_counts, int super_shift,
           const i64* __restrict__ exceptions, i64 n_exceptions,
           const i64* __restrict__ exception_ids, const ROW* __restrict__ samples, int rate_bits,
           const ROW* __restrict__ rows, i64 n_rows, ROW* __restrict__ positions) {
    const Index index = {lines, super_counts, super_shift};
    const u64 rate_mask = (1ull << rate_bits) - 1;
    const i64 n_threads = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n_rows; i += n_threads) {
        u64 row = (u64)rows[i];
        i64 n_steps = 0, start = -1;
        while (start < 0) {
            if ((row & rate_mask) == 0) {
                start = (i64)samples[row >> rate_bits];
                break;
            }
            const u32 symbol = index.symbol_of(row);
            if (symbol == EXCEPTION) {
                const i64 exception = exception_ids[index.n_exceptions_before(row)];
                start = exception == n_exceptions - 1 ? 0 : exceptions[exception] + 1;
            } else {
                row = index.next_row(symbol, row);
                n_steps++;
            }
        }
        positions[i] = (ROW)(start + n_steps);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    walk_chains(const u64* __restrict__ lines, const i64* __restrict__ super_counts,
                int super_shift, const i64* __restrict__ exception_ids, i64 n_exceptions,
                i64 n_chains, const i64* __restrict__ chain_starts,
                const i64* __restrict__ chain_ends, i64* __restrict__ chain_rows,
                unsigned char* __restrict__ symbols) {
    const Index index = {lines, super_counts, super_shift};
    const i64 n_threads = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n_chains; i += n_threads) {
        u64 row = (u64)chain_rows[i];
        for (i64 position = chain_ends[i] - 1; position >= chain_starts[i]; position--) {
            const u32 symbol = index.symbol_of(row);
            symbols[position] = (unsigned char)symbol;
            if (symbol == EXCEPTION) {
                const i64 exception = exception_ids[index.n_exceptions_before(row)];
                row = (u64)(n_exceptions - 1 - exception);
            } else {
                row = index.next_row(symbol, row);
            }
        }
        chain_rows[i] = (i64)row;
    }
}
