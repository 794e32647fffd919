// Sweeps over paths on one GPU; the contract is in this folder's __init__.py.
//
// Compile-time choice:
//   POSITION      type of a record's fields: unsigned int, long long

#ifndef POSITION
#define POSITION unsigned int
#endif

typedef unsigned long long u64;
typedef unsigned int u32;

constexpr int BLOCK_BITS = 10;
constexpr int STRIP_BITS = 9;
constexpr u32 CLOSING = 0xFFFFFFFFu;
constexpr double JOINT = 1e-9;
constexpr double SHORTEST_WEIGHED = 1.0;
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

__device__ __forceinline__ void move_pair(double* points, const Record* __restrict__ records,
                                          long long a, long long b, int coin_a, int coin_b,
                                          double eta) {
    const long long i = (long long)(records[a].handle ^ (POSITION)coin_a);
    const long long j = (long long)(records[b].handle ^ (POSITION)coin_b);
    if (i == j) return;  // a loop comes back to its point, which is as far from itself as it can be
    const double from = (double)records[a + coin_a].position;
    const double d = fmax(fabs(from - (double)records[b + coin_b].position), JOINT);
    double2 p = __ldcg((const double2*)points + i);
    double2 q = __ldcg((const double2*)points + j);
    double dx = p.x - q.x;
    double dy = p.y - q.y;
    if (dx == 0.0) dx = JOINT;
    const double weighed = fmax(d, SHORTEST_WEIGHED);
    const double ratio =
        (weighed <= eta ? 0.5 : 0.5 * eta / weighed) * (1.0 - d * rsqrt(dx * dx + dy * dy));
    dx *= ratio;
    dy *= ratio;
    __stcg((double2*)points + i, double2{p.x - dx, p.y - dy});
    __stcg((double2*)points + j, double2{q.x + dx, q.y + dy});
}

// Returns a jump of 1 to room, even on a log scale; see the CPU's for how.
__device__ __forceinline__ long long draw_jump(u64 bits, long long room) {
    const long long one = 0x3FFll << 52;
    const long long longest = __double_as_longlong((double)(room + 1));
    const long long drawn = one + (long long)(unit(bits) * (double)(longest - one));
    const long long jump = (long long)__longlong_as_double(drawn);
    return jump < room ? jump : room;
}

// A worker's records lie together or far apart.
//
//   is_in_order    worker 0 0 0 0 1 1 1 1    a move goes on along the path, as on a CPU, but the
//                                            workers of a warp read far apart: for small levels
//   else           worker 0 1 0 1 0 1 0 1    warps read in order, and pairs that follow each
//                                            other, (0, jump) and (jump, 2 jump), share a point
// In the second way a phase goes over every other stretch of `jump` records, so that no move of one
// path is lost:
//
//   jump 2, phase 0    a a b b a a b b          phase 1    - - a a b b a a b b
//
// A grid of one block makes all sweeps [first_sweep, stop_sweep) of a call, any other one alone.
extern "C" __global__ void __launch_bounds__(1024)
    sweep(double* points, const Record* __restrict__ records,
          const long long* __restrict__ path_starts, const int* __restrict__ block_paths,
          const long long* __restrict__ jumps, const double* __restrict__ etas,
          const u64* __restrict__ seeds, const int first_sweep, const int stop_sweep,
          const int has_ends, const long long every, const long long first, const long long stop,
          const int phase, const int is_in_order, const long long n_workers) {
    const long long worker = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    const int ends = has_ends ? 1 : 0;
    long long start = 0, last = -1;  // the path of the record before, as the next is mostly on it
    for (int number = first_sweep; number < stop_sweep; number++) {
        const long long jump = jumps[number];
        const double eta = etas[number];
        const u64 seed = seeds[number];
        // The strips whose turn it is, counted from the first at or behind `first`.
        const long long turn = (long long)(seed % (u64)every);
        const long long at = first >> STRIP_BITS, behind = (stop - 1) >> STRIP_BITS;
        const long long first_strip = at + ((turn - at) % every + every) % every;
        const long long n_strips = behind < first_strip ? 0 : (behind - first_strip) / every + 1;
        const long long n = n_strips << STRIP_BITS;
        const long long begin = is_in_order ? n * worker / n_workers : worker;
        const long long end = worker >= n_workers ? begin
                              : is_in_order       ? n * (worker + 1) / n_workers
                                                  : n;
        // Workers that all began at the begin of their part would meet on paths that repeat.
        const long long ahead =
            is_in_order && end > begin ? (long long)(mix(seed + worker) % (u64)(end - begin)) : 0;
        const int jump_bits = 63 - __clzll(jump | 1);
        const bool is_power = jump == 1ll << jump_bits;
        for (long long k = begin; k < end; k += is_in_order ? 1 : n_workers) {
            long long slot = k + ahead < end ? k + ahead : k + ahead - (end - begin);
            if (jump > 0 && !is_in_order) {
                const long long stretch = is_power ? k >> jump_bits : k / jump;
                slot = (2 * stretch + phase) * jump + (k - stretch * jump);
                if (slot >= n) break;  // as do all later ones of this worker
            }
            const long long strip = first_strip + (slot >> STRIP_BITS) * every;
            const long long a = (strip << STRIP_BITS) + (slot & ((1 << STRIP_BITS) - 1));
            if (a >= stop || records[a].handle == (POSITION)CLOSING) continue;
            if (a < start || a > last) {
                const int path = path_of(a, path_starts, block_paths);
                start = __ldg(path_starts + path);
                last = __ldg(path_starts + path + 1) - 2;
            }
            const u64 bits = mix((u64)a * GOLDEN + seed);
            long long b = a + jump;
            if (jump == 0) {
                bool is_back = bits & 1;
                long long room = is_back ? a - start : last - a;
                if (room == 0) {
                    is_back = !is_back;
                    room = last - start;
                }
                const long long drawn = draw_jump(bits, room);
                b = is_back ? a - drawn : a + drawn;
            } else if (b > last) {
                continue;
            }
            move_pair(points, records, a, b, (int)(bits >> 1) & ends, (int)(bits >> 2) & ends, eta);
        }
        __syncthreads();
    }
}
