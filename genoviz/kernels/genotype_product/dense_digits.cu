// Split a dense matrix into digits of base 256 from -128 to 127, and turn sums of digits back into
// numbers.
//
// A column is scaled by the power of two above its largest entry. One digit more than the entries'
// bits need leaves room for the sign and for balanced digits. N_BLOCKS: as in integer_product.cu.

using u32 = unsigned int;
using i64 = long long;
using u64 = unsigned long long;

constexpr int MAX_WIDTH = 20;
constexpr int PAIR = 64;

// Columns of a C-ordered matrix; rows are multiplied by their weight unless it is null.
struct Dense {
    const double* numbers;
    const double* weights;
    i64 n_rows;
    i64 n_columns;
    i64 first_column;
    int width;

    __device__ double at(i64 row, int column) const {
        const double number = numbers[row * n_columns + first_column + column];
        return weights ? weights[row] * number : number;
    }
};

__device__ int exponent_of(u64 largest) {
    int exponent = 0;
    frexp(__longlong_as_double(static_cast<i64>(largest)), &exponent);
    return exponent;
}

__device__ int bits_of(int n_slices) {
    return 8 * n_slices - 2;
}

// Find the largest magnitude of each column, as the bits of a float64 (NaN is the largest).
extern "C" __global__ void find_largest(const Dense dense, u64* __restrict__ largest) {
    __shared__ u64 found[MAX_WIDTH];
    if (threadIdx.x < dense.width) found[threadIdx.x] = 0;
    __syncthreads();
    const i64 n_threads = static_cast<i64>(gridDim.x) * blockDim.x / dense.width * dense.width;
    const i64 thread = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (thread < n_threads) {
        const int column = thread % dense.width;
        u64 own = 0;
        for (i64 row = thread / dense.width; row < dense.n_rows; row += n_threads / dense.width) {
            const u64 bits = __double_as_longlong(fabs(dense.at(row, column)));
            own = bits > own ? bits : own;
        }
        atomicMax(found + column, own);
    }
    __syncthreads();
    if (threadIdx.x < dense.width) atomicMax(largest + threadIdx.x, found[threadIdx.x]);
}

// Sum weighted columns: one row of sums per block.
extern "C" __global__ void sum_columns(const Dense dense, double* __restrict__ sums) {
    extern __shared__ double own[];
    const int n_lanes = blockDim.x / dense.width;
    const int lane = threadIdx.x / dense.width, column = threadIdx.x % dense.width;
    double sum = 0;
    if (lane < n_lanes) {
        const i64 step = static_cast<i64>(gridDim.x) * n_lanes;
        for (i64 row = static_cast<i64>(blockIdx.x) * n_lanes + lane; row < dense.n_rows;
             row += step) {
            sum += dense.at(row, column);
        }
    }
    own[threadIdx.x] = sum;
    __syncthreads();
    if (lane == 0) {
        for (int other = 1; other < n_lanes; other++) sum += own[other * dense.width + column];
        sums[static_cast<i64>(blockIdx.x) * dense.width + column] = sum;
    }
}

// Write digits in the layout of the tensor cores: each thread writes 16 bytes of one digit column.
//
// Column c of N_BLOCKS * 8 is digit c % n_slices of column c / n_slices. The 64 entries of a pair
// are in the order in which the rows of the product decode them: byte b of word t of half h of an
// instruction. A lane reads the words of two instructions together; a warpgroup reads the four
// words of each half of one.
extern "C" __global__ void write_digits(const Dense dense, const u64* __restrict__ largest,
                                        int n_slices, int is_transposed, int is_of_groups,
                                        i64 n_pairs, uint4* __restrict__ digits) {
    const i64 unit = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
    const i64 pair = unit / (32 * N_BLOCKS);
    if (pair >= n_pairs) return;
    const int place = unit % (32 * N_BLOCKS);
    const int block = is_of_groups ? place / 16 % N_BLOCKS : place / 32;
    const int digit_column = 8 * block + (is_of_groups ? place % 8 : place / 4 % 8);
    const int column = digit_column / n_slices, slice = digit_column % n_slices;
    u32 words[4] = {};
    if (column < dense.width) {
        const int shift = bits_of(n_slices) - exponent_of(largest[column]);
#pragma unroll
        for (int k = 0; k < 16; k++) {
            const int byte = k % 4;
            const int word = is_of_groups ? k / 4 : place % 4;
            const int half = is_of_groups ? place / 8 % 2 : k / 4 % 2;
            const int step = is_of_groups ? place / (16 * N_BLOCKS) : k / 8;
            const int entry = is_transposed ? 16 * word + 8 * half + 2 * byte + step
                                            : 32 * step + 16 * half + 4 * byte + word;
            const i64 row = PAIR * pair + entry;
            if (row < dense.n_rows) {
                const i64 number = llrint(scalbn(dense.at(row, column), shift));
                const u64 raised = static_cast<u64>(number) + 0x80808080808080ull;
                const u32 digit = (raised >> 8 * slice & 0xff) ^ 0x80;
                words[k / 4] |= digit << 8 * byte;
            }
        }
    }
    digits[unit] = make_uint4(words[0], words[1], words[2], words[3]);
}

// Add the sums of all splits to columns of the product, with a weight per row unless null.
extern "C" __global__ void add_sums(const double* __restrict__ sums, int n_splits, i64 n_rows,
                                    const u64* __restrict__ largest, int n_slices,
                                    const double* __restrict__ weights, i64 first_column, int width,
                                    i64 n_columns, double* __restrict__ out) {
    const i64 item = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (item >= n_rows * width) return;
    double sum = 0;
    for (int split = 0; split < n_splits; split++) sum += sums[split * n_rows * width + item];
    const i64 row = item / width;
    const int column = item % width;
    const double greatest = __longlong_as_double(static_cast<i64>(largest[column]));
    double number = scalbn(sum, exponent_of(largest[column]) - bits_of(n_slices));
    if (!isfinite(greatest)) number = nan("");
    out[row * n_columns + first_column + column] += weights ? weights[row] * number : number;
}

// Split the values of codes into a common offset and weights of the three components: the count 0,
// 1, 1, 2 of codes 0 to 3, and the indicators of codes 1 and 2. Flags weights above rounding
// errors.
extern "C" __global__ void split_values(const double4* __restrict__ values, i64 n_variants,
                                        double* __restrict__ offsets, double* __restrict__ weights,
                                        int* __restrict__ is_used) {
    const i64 j = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (j >= n_variants) return;
    constexpr double FEW_ULPS = 16 * 2.220446049250313e-16;
    const double4 own = values[j];
    const double slope = (own.w - own.x) / 2;
    const double rests[2] = {own.y - own.x - slope, own.z - own.x - slope};
    const double size = fmax(fmax(fabs(own.x), fabs(own.y)), fmax(fabs(own.z), fabs(own.w)));
    offsets[j] = own.x;
    weights[j] = slope;
    is_used[0] = 1;
    for (int k = 0; k < 2; k++) {
        const bool is_rounding = fabs(rests[k]) <= FEW_ULPS * size;
        weights[(k + 1) * n_variants + j] = is_rounding ? 0 : rests[k];
        if (!is_rounding) is_used[k + 1] = 1;
    }
}
