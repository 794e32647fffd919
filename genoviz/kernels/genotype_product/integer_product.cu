// Products of packed genotypes with the digits of a dense matrix, exact, on integer tensor cores.
//
// A warp of a thread block computes 64 rows of the product (four tiles), in stages of 256 entries:
// four pairs of tensor instructions of 32 entries. One of three components is multiplied: the
// count 0, 1, 1, 2 of codes 0 to 3, or the indicator of code 1 or of code 2. Variants begin at any
// byte, so they are copied with 16-byte alignment and shifted when decoded.
//
//             a stage: 256 entries
//           +------+------+------+------+
//    warp 0 | pair | pair | pair | pair |  64 rows          digits                 sums, 32 bits
//           +------+------+------+------+             +------------------+     +------------------+
//      ...                                      x     | 256 entries      |  =  | 512 rows         |
//           +------+------+------+------+             | 8 N_BLOCKS wide  |     | 8 N_BLOCKS wide  |
//    warp 7 | pair | pair | pair | pair |  64 rows    +------------------+     +------------------+
//           +------+------+------+------+
//
// Genotypes stay at 2 bits in shared memory. A thread expands those of its fragment to bytes in
// registers just before the product, while later stages are copied.
// -D N_BLOCKS: blocks of 8 columns of digits.

using u8 = unsigned char;
using u32 = unsigned int;
using i64 = long long;
using u64 = unsigned long long;

constexpr u32 LOW_BITS = 0x55555555;
constexpr int COUNT = 0;
constexpr int N_WARPS = 8;
constexpr int N_THREADS = 32 * N_WARPS;
constexpr int BLOCKS_AT_ONCE = N_BLOCKS <= 4 ? 2 : 1;
constexpr int N_TILES = 4;
constexpr int WARP_ROWS = 16 * N_TILES;
constexpr int BLOCK_ROWS = WARP_ROWS * N_WARPS;
constexpr int PAIR = 64;
constexpr int STAGE_PAIRS = 4;
constexpr int STAGE_ENTRIES = PAIR * STAGE_PAIRS;
constexpr int N_COLUMNS = 8 * N_BLOCKS;
constexpr int PAIR_DIGITS = 32 * N_BLOCKS;
constexpr int DIGIT_BYTES = 16 * PAIR_DIGITS * STAGE_PAIRS;
constexpr int SAMPLE_PITCH = STAGE_ENTRIES / 4 + 16;
constexpr int VARIANT_PITCH = 16 * (N_WARPS + 2);
constexpr u32 GENOTYPE_BYTES = STAGE_ENTRIES * VARIANT_PITCH;
constexpr u32 STAGE_BYTES = GENOTYPE_BYTES + DIGIT_BYTES;
static_assert(BLOCK_ROWS * SAMPLE_PITCH <= GENOTYPE_BYTES, "a stage holds either kind of rows");

using Counts = int[N_TILES][N_BLOCKS][4];
using Fragments = u32[2][8];  // of two tiles

// Bounds of the packed genotypes, and the bytes of a variant.
struct Packed {
    const u8* bytes;
    i64 n_variants;
    i64 row_bytes;
};

struct Work {
    const uint4* digits;  // in the layout of write_digits
    u8* seen;             // per block: whether it has missing genotypes
    double* sums;         // (splits, n_rows, width)
    i64 n_stages;         // all stages of the sum
    i64 split_stages;     // stages summed by one block
    i64 n_rows;           // rows of the product
    int width;            // columns of the product
    int n_slices;         // digits of a column
    int component;        // COUNT, or the code whose indicator is multiplied
    int is_gated;         // whether to skip blocks without missing genotypes
    int n_buffers;        // stages in shared memory, 2 to 4
};

__device__ u32 shared_address(const void* pointer) {
    return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

__device__ const u8* align(const u8* pointer) {
    return reinterpret_cast<const u8*>(reinterpret_cast<u64>(pointer) & ~15ull);
}

// Copy 16 bytes, or only those before `end`, padded with zeros.
__device__ void copy_async(u32 to, const u8* from, const u8* end) {
    const i64 left = end - from;
    const int n_bytes = left >= 16 ? 16 : left > 0 ? static_cast<int>(left) : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(n_bytes)
                 : "memory");
}

__device__ void copy_digits(u32 to, const uint4* from) {
    for (int k = threadIdx.x; k < PAIR_DIGITS * STAGE_PAIRS; k += N_THREADS) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + 16 * k), "l"(from + k)
                     : "memory");
    }
}

__device__ void commit_copies() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

__device__ u32 load_word(u32 address) {
    u32 word;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address));
    return word;
}

__device__ u32 load_byte(u32 address) {
    u32 byte;
    asm volatile("ld.shared.u8 %0, [%1];" : "=r"(byte) : "r"(address));
    return byte;
}

__device__ uint4 load_digits(u32 address) {
    uint4 digits;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(digits.x), "=r"(digits.y), "=r"(digits.z), "=r"(digits.w)
                 : "r"(address));
    return digits;
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
// Warpgroup instructions: tensor cores read digits directly from shared memory, and a product runs
// while the next fragments are decoded.
constexpr int STAGES_IN_USE = N_BLOCKS > 4 ? 2 : 1;
constexpr int PAIRS_AT_ONCE = STAGE_PAIRS;

#define COUNTS_OF(block) "+r"(c[block][0]), "+r"(c[block][1]), "+r"(c[block][2]), "+r"(c[block][3])

__device__ void multiply_tile(int (&c)[N_BLOCKS][4], const u32* a, u64 b) {
#if N_BLOCKS == 1
    asm volatile(
        "{ .reg .pred p; setp.eq.u32 p, 0, 0; "
        "wgmma.mma_async.sync.aligned.m64n8k32.s32.u8.s8 "
        "{%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, %8, p; }"
        : COUNTS_OF(0)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
#elif N_BLOCKS == 4
    asm volatile(
        "{ .reg .pred p; setp.eq.u32 p, 0, 0; "
        "wgmma.mma_async.sync.aligned.m64n32k32.s32.u8.s8 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
        "{%16, %17, %18, %19}, %20, p; }"
        : COUNTS_OF(0), COUNTS_OF(1), COUNTS_OF(2), COUNTS_OF(3)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
#elif N_BLOCKS == 8
    asm volatile(
        "{ .reg .pred p; setp.eq.u32 p, 0, 0; "
        "wgmma.mma_async.sync.aligned.m64n64k32.s32.u8.s8 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, "
        "%17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "{%32, %33, %34, %35}, %36, p; }"
        : COUNTS_OF(0), COUNTS_OF(1), COUNTS_OF(2), COUNTS_OF(3), COUNTS_OF(4), COUNTS_OF(5),
          COUNTS_OF(6), COUNTS_OF(7)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
#elif N_BLOCKS == 10
    asm volatile(
        "{ .reg .pred p; setp.eq.u32 p, 0, 0; "
        "wgmma.mma_async.sync.aligned.m64n80k32.s32.u8.s8 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, "
        "%17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39}, "
        "{%40, %41, %42, %43}, %44, p; }"
        : COUNTS_OF(0), COUNTS_OF(1), COUNTS_OF(2), COUNTS_OF(3), COUNTS_OF(4), COUNTS_OF(5),
          COUNTS_OF(6), COUNTS_OF(7), COUNTS_OF(8), COUNTS_OF(9)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
#endif
}

// Matrix descriptor of 32 entries of digits: matrices of 8 columns by 16 entries, contiguous.
__device__ u64 describe_digits(u32 address) {
    constexpr u64 ENTRY_STEP = 128 / 16, COLUMN_STEP = 256 / 16;
    return (address & 0x3ffff) >> 4 | ENTRY_STEP << 16 | COLUMN_STEP << 32;
}

__device__ void multiply_tiles(Counts& counts, int part, Fragments& a, u32 digits) {
#pragma unroll
    for (int k = 0; k < 16; k++) asm volatile("" : "+r"(a[k / 8][k % 8])::"memory");
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int tile = 0; tile < 2; tile++) {
        multiply_tile(counts[2 * part + tile], a[tile], describe_digits(digits));
        multiply_tile(counts[2 * part + tile], a[tile] + 4,
                      describe_digits(digits + 8 * PAIR_DIGITS));
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int N_UNDER_WAY>
__device__ void wait_for_tiles() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N_UNDER_WAY) : "memory");
}

__device__ void show_copies() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
#else
constexpr int STAGES_IN_USE = 1;
constexpr int PAIRS_AT_ONCE = 1;

__device__ void multiply_tile(int (&c)[4], const u32* a, u32 b0, u32 b1) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ void multiply_tiles(Counts& counts, int part, Fragments& a, u32 digits) {
#pragma unroll
    for (int block = 0; block < N_BLOCKS; block++) {
        const uint4 b = load_digits(digits + 16 * (32 * block + threadIdx.x % 32));
#pragma unroll
        for (int tile = 0; tile < 2; tile++) {
            multiply_tile(counts[2 * part + tile][block], a[tile], b.x, b.y);
            multiply_tile(counts[2 * part + tile][block], a[tile] + 4, b.z, b.w);
        }
    }
}

template <int N_UNDER_WAY>
__device__ void wait_for_tiles() {}

__device__ void show_copies() {}
#endif

// Wait, in all threads, until the oldest stage in flight is complete.
__device__ void wait_for_stage(int n_ahead) {
    if (n_ahead == 1) {
        asm volatile("cp.async.wait_group 0;" ::: "memory");
    } else if (n_ahead == 2) {
        asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else {
        asm volatile("cp.async.wait_group 2;" ::: "memory");
    }
    show_copies();
    __syncthreads();
}

// Look up bytes of the table by the four low nibbles, which are below 4.
__device__ u32 look_up(u32 table, u32 nibbles) {
    u32 bytes;
    asm("prmt.b32 %0, %1, 0, %2;" : "=r"(bytes) : "r"(table), "r"(nibbles));
    return bytes;
}

__device__ u32 missing_of(u32 codes) {
    return codes & ~(codes >> 1) & LOW_BITS;
}

// Rows of the product are variants, entries are samples: a thread holds words of 16 samples.
class Variants {
  public:
    __device__ Variants(const Packed& packed, const Work& work)
        : end_(packed.bytes + packed.n_variants * packed.row_bytes),
          table_(work.component == COUNT ? 0x02010100u : 1u << (8 * work.component)) {
        const i64 first_row = static_cast<i64>(blockIdx.x) * BLOCK_ROWS;
        const u8* block = packed.bytes + first_row * packed.row_bytes;
        const i64 row = threadIdx.x / 4;
        const i64 offset = blockIdx.y * work.split_stages * (STAGE_ENTRIES / 4);
        first_ = align(block + row * packed.row_bytes) + offset + 16 * (threadIdx.x % 4);
        last_ = align(block + threadIdx.x * packed.row_bytes) + offset + 64;
        pass_bytes_ = 8 * N_WARPS * packed.row_bytes;
        const int lane = threadIdx.x % 32;
        for (int half = 0; half < 2; half++) {
            const int own = threadIdx.x / 32 * WARP_ROWS + 8 * half + lane / 4;
            const u32 shift = reinterpret_cast<u64>(block + own * packed.row_bytes) & 15;
            words_[half] = own * SAMPLE_PITCH + (shift & 12) + 4 * (lane % 4);
            shifts_[half] = 8 * (shift & 3);
        }
    }

    __device__ void copy_stage(u32 to, i64 stage) const {
        const i64 offset = stage * (STAGE_ENTRIES / 4);
        const u32 own = to + threadIdx.x / 4 * SAMPLE_PITCH + 16 * (threadIdx.x % 4);
#pragma unroll
        for (int pass = 0; pass < 8; pass++) {
            copy_async(own + pass * 8 * N_WARPS * SAMPLE_PITCH,
                       first_ + offset + pass * pass_bytes_, end_);
        }
#pragma unroll
        for (int pass = 0; pass < 2; pass++) {
            copy_async(to + (threadIdx.x + pass * N_THREADS) * SAMPLE_PITCH + 64,
                       last_ + offset + 4 * pass * pass_bytes_, end_);
        }
    }

    // Decode tiles 2 `part` and 2 `part` + 1.
    __device__ u32 decode(u32 stage, int pair, int part, Fragments& a) const {
        u32 missing = 0;
#pragma unroll
        for (int tile = 0; tile < 2; tile++) {
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const u32 at =
                    stage + words_[half] + 16 * (2 * part + tile) * SAMPLE_PITCH + 16 * pair;
                const u32 codes = __funnelshift_r(load_word(at), load_word(at + 4), shifts_[half]);
                missing |= missing_of(codes);
                const u32 even = codes & 0x33333333, odd = codes >> 2 & 0x33333333;
                a[tile][half] = look_up(table_, even);
                a[tile][half + 2] = look_up(table_, even >> 16);
                a[tile][half + 4] = look_up(table_, odd);
                a[tile][half + 6] = look_up(table_, odd >> 16);
            }
        }
        return missing;
    }

    __device__ static int row_of(int tile, int half, int group) {
        return 16 * tile + 8 * half + group;
    }

    __device__ static double scale_of(int) { return 1; }

  private:
    const u8* end_;
    const u8* first_;
    const u8* last_;
    i64 pass_bytes_;
    u32 table_;
    u32 words_[2];
    u32 shifts_[2];
};

// Rows of the product are samples, entries are variants: a thread holds 8 samples of 16 variants.
// Sample 4 i + s stays multiplied by 4^s, which saves shifts.
class Samples {
  public:
    __device__ Samples(const Packed& packed, const Work& work)
        : end_(packed.bytes + packed.n_variants * packed.row_bytes),
          row_bytes_(packed.row_bytes),
          is_count_(work.component == COUNT),
          flip_(work.component == 2 ? ~0u : 0) {
        const i64 first_variant = blockIdx.y * work.split_stages * STAGE_ENTRIES;
        const u8* block = packed.bytes + first_variant * row_bytes_;
        const i64 offset = static_cast<i64>(blockIdx.x) * (BLOCK_ROWS / 4);
        first_ = align(block + threadIdx.x / N_WARPS * row_bytes_) + offset +
                 16 * (threadIdx.x % N_WARPS);
        last_ = align(block + threadIdx.x * row_bytes_) + offset + 16 * N_WARPS;
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        for (int k = 0; k < 4; k++) {
            const int row = 4 * k + lane % 4;
            const u32 shift = reinterpret_cast<u64>(block + row * row_bytes_) & 15;
            bytes_[k] = row * VARIANT_PITCH + shift + 16 * warp + 2 * (lane / 4);
        }
    }

    __device__ void copy_stage(u32 to, i64 stage) const {
        const i64 offset = stage * STAGE_ENTRIES * row_bytes_;
        const u32 own = to + threadIdx.x / N_WARPS * VARIANT_PITCH + 16 * (threadIdx.x % N_WARPS);
#pragma unroll
        for (int pass = 0; pass < STAGE_ENTRIES / 32; pass++) {
            copy_async(own + 32 * pass * VARIANT_PITCH, first_ + offset + 32 * pass * row_bytes_,
                       end_);
        }
#pragma unroll
        for (int pass = 0; pass < STAGE_ENTRIES / N_THREADS; pass++) {
            const int row = threadIdx.x + pass * N_THREADS;
            copy_async(to + row * VARIANT_PITCH + 16 * N_WARPS,
                       last_ + offset + pass * N_THREADS * row_bytes_, end_);
        }
    }

    // Decode tiles 2 `part` and 2 `part` + 1.
    __device__ u32 decode(u32 stage, int pair, int part, Fragments& a) const {
        u32 missing = 0;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const u32 codes = gather(stage + (PAIR * pair + 16 * k) * VARIANT_PITCH + part);
            missing |= missing_of(codes);
            const u32 numbers = recode(codes);
#pragma unroll
            for (int s = 0; s < 4; s++) {
                a[s / 2][4 * (k / 2) + 2 * (k % 2) + s % 2] = numbers & 0x03030303u << 2 * s;
            }
        }
        return missing;
    }

    __device__ static int row_of(int tile, int half, int group) {
        return 8 * group + 2 * tile + half;
    }

    __device__ static double scale_of(int row) { return 1.0 / (1 << 2 * (row & 3)); }

  private:
    const u8* end_;
    const u8* first_;
    const u8* last_;
    i64 row_bytes_;
    bool is_count_;
    u32 flip_;
    u32 bytes_[4];

    // One byte of each of four variants.
    __device__ u32 gather(u32 at) const {
        const u32 low = __byte_perm(load_byte(at + bytes_[0]), load_byte(at + bytes_[1]), 0x0040);
        const u32 high = __byte_perm(load_byte(at + bytes_[2]), load_byte(at + bytes_[3]), 0x0040);
        return __byte_perm(low, high, 0x5410);
    }

    __device__ u32 recode(u32 codes) const {
        if (is_count_) return codes - (codes >> 1 & LOW_BITS);
        return missing_of(codes ^ flip_);
    }
};

template <class Rows>
__device__ void write_sums(const Work& work, const Counts& counts, bool is_empty, int* shared) {
    constexpr int PITCH = N_COLUMNS + 1;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    __syncthreads();
#pragma unroll
    for (int tile = 0; tile < N_TILES; tile++) {
#pragma unroll
        for (int block = 0; block < N_BLOCKS; block++) {
#pragma unroll
            for (int k = 0; k < 4; k++) {
                const int row = warp * WARP_ROWS + Rows::row_of(tile, k / 2, lane / 4);
                shared[row * PITCH + 8 * block + 2 * (lane % 4) + k % 2] = counts[tile][block][k];
            }
        }
    }
    __syncthreads();
    const i64 first_row = static_cast<i64>(blockIdx.x) * BLOCK_ROWS;
    for (int k = threadIdx.x; k < BLOCK_ROWS * work.width; k += N_THREADS) {
        const int row = k / work.width, column = k % work.width;
        if (first_row + row >= work.n_rows) break;
        const int* digits = shared + row * PITCH + column * work.n_slices;
        double sum = 0;
        for (int slice = work.n_slices - 1; slice >= 0; slice--) sum = 256 * sum + digits[slice];
        const i64 out = (blockIdx.y * work.n_rows + first_row + row) * work.width + column;
        work.sums[out] = is_empty ? 0 : sum * Rows::scale_of(row);
    }
}

template <class Rows>
__device__ void multiply(const Packed& packed, const Work& work) {
    extern __shared__ uint4 shared[];
    Counts counts = {};
    const i64 number = static_cast<i64>(blockIdx.y) * gridDim.x + blockIdx.x;
    const bool is_empty = work.is_gated && !work.seen[number];
    if (!is_empty) {
        const Rows rows(packed, work);
        const i64 first = blockIdx.y * work.split_stages;
        const i64 n_stages = min(work.split_stages, work.n_stages - first);
        const uint4* digits = work.digits + first * (PAIR_DIGITS * STAGE_PAIRS);
        const u32 base = shared_address(shared);
        const auto copy_stage = [&](i64 stage, int buffer) {
            if (stage < n_stages) {
                const u32 to = base + buffer * STAGE_BYTES;
                rows.copy_stage(to, stage);
                copy_digits(to + GENOTYPE_BYTES, digits + stage * (PAIR_DIGITS * STAGE_PAIRS));
            }
            commit_copies();
        };
        const int n_ahead = work.n_buffers - STAGES_IN_USE;
        for (int stage = 0; stage < n_ahead; stage++) copy_stage(stage, stage);
        u32 missing = 0;
        int buffer = 0, next = n_ahead;
        for (i64 stage = 0; stage < n_stages; stage++) {
            wait_for_tiles<STAGES_IN_USE - 1>();
            wait_for_stage(n_ahead);
            copy_stage(stage + n_ahead, next);
            const u32 from = base + buffer * STAGE_BYTES;
            buffer = buffer + 1 == work.n_buffers ? 0 : buffer + 1;
            next = next + 1 == work.n_buffers ? 0 : next + 1;
#pragma unroll PAIRS_AT_ONCE
            for (int pair = 0; pair < STAGE_PAIRS; pair++) {
#pragma unroll
                for (int part = 0; part < 2; part++) {
                    Fragments a;
                    missing |= rows.decode(from, pair, part, a);
                    wait_for_tiles<1>();
                    multiply_tiles(counts, part, a,
                                   from + GENOTYPE_BYTES + 16 * PAIR_DIGITS * pair);
                }
            }
        }
        wait_for_tiles<0>();
        missing = __syncthreads_or(missing);
        if (work.component == COUNT && threadIdx.x == 0) work.seen[number] = missing != 0;
    }
    write_sums<Rows>(work, counts, is_empty, reinterpret_cast<int*>(shared));
}

extern "C" __global__ void __launch_bounds__(N_THREADS, BLOCKS_AT_ONCE)
    multiply_samples(const Packed packed, const Work work) {
    multiply<Samples>(packed, work);
}

extern "C" __global__ void __launch_bounds__(N_THREADS, BLOCKS_AT_ONCE)
    multiply_variants(const Packed packed, const Work work) {
    multiply<Variants>(packed, work);
}
