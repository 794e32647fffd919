// Canonical k-mers on one GPU; the contract is in this folder's __init__.py.
// A thread computes the k-mer that ends at its letter. A thread block shares the codes of its
// letters and of the k - 1 before them. NO_KEY, which is no canonical k-mer, is written if there is
// none.

typedef unsigned char u8;
typedef unsigned long long u64;

constexpr int THREADS = 256;
constexpr int MAX_BEFORE = 31;
constexpr u64 NO_KEY = ~0ull;
constexpr u64 HASH_FACTOR = 0x9E3779B97F4A7C15ull;
constexpr int HASH_SHIFT = 40;

extern "C" __global__ void take_keys(const u8* __restrict__ letters, long long n_letters,
                                     const u8* __restrict__ codes, int k, u64 mask, u64 part,
                                     u64* __restrict__ keys) {
    __shared__ u8 shared[THREADS + MAX_BEFORE];
    const long long start = (long long)blockIdx.x * THREADS - (k - 1);
    for (int i = threadIdx.x; i < THREADS + k - 1; i += THREADS) {
        const long long at = start + i;
        shared[i] = at >= 0 && at < n_letters ? codes[letters[at]] : 4;
    }
    __syncthreads();
    const long long end = (long long)blockIdx.x * THREADS + threadIdx.x;
    if (end >= n_letters) return;
    u64 forward = 0, reverse = 0;
    int worst = 0;
    for (int i = 0; i < k; ++i) {
        const int code = shared[threadIdx.x + i];
        worst |= code;
        forward = forward << 2 | (code & 3);
        reverse |= (u64)(3 - (code & 3)) << 2 * i;
    }
    const u64 key = min(forward, reverse);
    const bool is_kept = worst < 4 && ((key * HASH_FACTOR >> HASH_SHIFT) & mask) == part;
    keys[end] = is_kept ? key : NO_KEY;
}
