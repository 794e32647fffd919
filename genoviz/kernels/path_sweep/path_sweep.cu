// Sweeps over paths on one GPU; the contract is in this folder's __init__.py.
//
// Compile-time choice:
//   POSITION      type of a record's fields: unsigned int, long long

#ifndef POSITION
#define POSITION unsigned int
#endif

typedef unsigned long long u64;

constexpr int BLOCK_BITS = 10;
constexpr int STRIP_BITS = 9;
constexpr int NONE = -1, NONE_FROM_HERE_ON = -2;
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

// Returns the path of a record, which is not before `path`.
__device__ __forceinline__ int path_of(long long record, int path,
                                       const long long* __restrict__ path_starts,
                                       const int* __restrict__ block_paths) {
    path = max(path, __ldg(block_paths + (record >> BLOCK_BITS)));
    while (__ldg(path_starts + path + 1) <= record) path++;
    return path;
}

// Parameters shared by all moves of a sweep; a jump is in records.
struct Sweep {
    long long jump;
    double eta;
    u64 seed;
    long long n_records;
    long long every;
    long long first;
    long long stop;
    long long n_workers;
    int has_ends;
    int is_in_order;
};

// Two records to be moved: their handles, and the positions of one end each. Two bits of `coins`
// say which end; NONE means no records.
struct Pair {
    POSITION handle_a, handle_b, from, to;
    int coins;
};

__device__ __forceinline__ void move_pair(double* points, const Pair& pair, double eta) {
    const long long i = (long long)(pair.handle_a ^ (POSITION)(pair.coins & 1));
    const long long j = (long long)(pair.handle_b ^ (POSITION)(pair.coins >> 1));
    if (i == j) return;  // a loop to the same point: the distance cannot change
    const double d = fmax(fabs((double)pair.from - (double)pair.to), JOINT);
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

// Returns a log-uniform jump of 1 to room; the CPU's kernel explains the method.
__device__ __forceinline__ long long draw_jump(u64 bits, long long room) {
    const long long one = 0x3FFll << 52;
    const long long longest = __double_as_longlong((double)(room + 1));
    const long long drawn = one + (long long)(unit(bits) * (double)(longest - one));
    const long long jump = (long long)__longlong_as_double(drawn);
    return jump < room ? jump : room;
}

// A worker's records are contiguous or strided.
//
//   is_in_order    worker 0 0 0 0 1 1 1 1    moves follow the path, as on a CPU, but reads of a
//                                            warp are not coalesced, and a worker that comes to
//                                            another path stops its warp: for small levels
//   else           worker 0 1 0 1 0 1 0 1    reads are coalesced, but consecutive pairs of a path,
//                                            (0, jump) and (jump, 2 jump), share a point
// For the strided order, each phase covers every other stretch of `jump` records, so that no two
// pairs of a path share a point and no move is lost:
//
//   jump 2, phase 0    a a b b a a b b          phase 1    - - a a b b a a b b
//
extern "C" __global__ void __launch_bounds__(256, 4)
    sweep(double* points, const Record* __restrict__ records,
          const long long* __restrict__ path_starts, const int* __restrict__ block_paths,
          const int* __restrict__ strips, const Sweep sweep, const int phase) {
    const long long worker = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    const int ends = sweep.has_ends ? 3 : 0;
    // Path of the last record; the next one is mostly on it too, or on a path soon after it.
    int path = 0;
    long long start = 0, last = -1;
    const long long jump = sweep.jump, every = sweep.every, n_workers = sweep.n_workers;
    const u64 seed = sweep.seed;
    const bool is_in_order = sweep.is_in_order;
    // The strips due in this sweep, counted from the first one at or after `first`.
    const long long turn = (long long)(seed % (u64)every);
    const long long first_strip = sweep.first + ((turn - sweep.first) % every + every) % every;
    const long long n_strips =
        sweep.stop <= first_strip ? 0 : (sweep.stop - 1 - first_strip) / every + 1;
    const long long n = n_strips << STRIP_BITS;
    const long long begin = is_in_order ? n * worker / n_workers : worker;
    const long long end = worker >= n_workers ? begin
                          : is_in_order       ? n * (worker + 1) / n_workers
                                              : n;
    const long long step = is_in_order ? 1 : n_workers;
    // Random starts: on repetitive paths, workers in step would meet at the same points.
    const long long ahead =
        is_in_order && end > begin ? (long long)(mix(seed + worker) % (u64)(end - begin)) : 0;
    const int jump_bits = 63 - __clzll(jump | 1);
    const bool is_power = jump == 1ll << jump_bits;
    const bool has_phases = jump > 0 && !is_in_order;

    const bool has_coins = jump == 0 || ends != 0;
    long long held = -1, strip = 0;  // the last strip; in order, the next slot is mostly in it too
    const auto read_pair = [&](Pair& pair, long long k) {
        pair.coins = NONE;
        long long slot = k + ahead < end ? k + ahead : k + ahead - (end - begin);
        if (has_phases) {
            const long long stretch = is_power ? k >> jump_bits : k / jump;
            slot = (2 * stretch + phase) * jump + (k - stretch * jump);
            if (slot >= n) {
                pair.coins = NONE_FROM_HERE_ON;
                return;
            }
        }
        if (slot >> STRIP_BITS != held) {
            held = slot >> STRIP_BITS;
            strip = __ldg(strips + first_strip + held * every);
        }
        const long long a = (strip << STRIP_BITS) + (slot & ((1 << STRIP_BITS) - 1));
        if (a >= sweep.n_records) return;
        if (a < start || a > last) {
            path = path_of(a, a < start ? 0 : path, path_starts, block_paths);
            start = __ldg(path_starts + path);
            last = __ldg(path_starts + path + 1) - 2;
            if (a > last) return;  // the closing record
        }
        const u64 bits = has_coins ? mix((u64)a * GOLDEN + seed) : 0;
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
            return;
        }
        pair.coins = (int)(bits >> 1) & ends;
        pair.handle_a = records[a].handle;
        pair.handle_b = records[b].handle;
        pair.from = records[a + (pair.coins & 1)].position;
        pair.to = records[b + (pair.coins >> 1)].position;
    };

    // Prefetch the records of the next pair while this pair waits for its points.
    Pair next{};
    next.coins = NONE;
    if (begin < end) read_pair(next, begin);
    for (long long k = begin; k < end && next.coins != NONE_FROM_HERE_ON; k += step) {
        const Pair pair = next;
        next.coins = NONE;
        if (k + step < end) read_pair(next, k + step);
        if (pair.coins >= 0) move_pair(points, pair, sweep.eta);
    }
}

extern "C" __global__ void __launch_bounds__(256)
    merge(double2* const* __restrict__ copies, double2* __restrict__ before, const int n_copies,
          const long long n) {
    const long long n_threads = gridDim.x * (long long)blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += n_threads) {
        const double2 old = before[i];
        double2 merged = old;
        double farthest = 0.0;
        for (int k = 0; k < n_copies; k++) {
            const double2 at = copies[k][i];
            const double dx = at.x - old.x, dy = at.y - old.y;
            if (dx * dx + dy * dy <= farthest) continue;
            merged = at;
            farthest = dx * dx + dy * dy;
        }
        for (int k = 0; k < n_copies; k++) copies[k][i] = merged;
        before[i] = merged;
    }
}
