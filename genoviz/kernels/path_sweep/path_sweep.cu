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
};

// Two records to be moved: their handles, and the positions of one end each. Two bits of `coins`
// say which end; NONE means no records.
struct Pair {
    POSITION handle_a, handle_b, from, to;
    int coins;
};

// Two points to be moved: their distance along the path, and half of the weight of their force.
struct Move {
    long long i, j;
    double d, half;
};

__device__ __forceinline__ Move weigh(const Pair& pair, double eta) {
    Move move{};
    if (pair.coins < 0) return move;
    move.i = (long long)(pair.handle_a ^ (POSITION)(pair.coins & 1));
    move.j = (long long)(pair.handle_b ^ (POSITION)(pair.coins >> 1));
    move.d = fmax(fabs((double)pair.from - (double)pair.to), JOINT);
    const double weighed = fmax(move.d, SHORTEST_WEIGHED);
    move.half = weighed <= eta ? 0.5 : 0.5 * eta / weighed;
    return move;
}

// Workers of one block share its L1 cache, which is nearer than L2.
template <bool IS_ONE_BLOCK>
__device__ __forceinline__ void apply(double2* points, const Move& move) {
    if (move.i == move.j) return;  // no pair, or a loop to the same point: nothing can change
    double2* at_i = points + move.i;
    double2* at_j = points + move.j;
    const double2 p = IS_ONE_BLOCK ? *at_i : __ldcg(at_i);
    const double2 q = IS_ONE_BLOCK ? *at_j : __ldcg(at_j);
    double dx = p.x - q.x;
    double dy = p.y - q.y;
    if (dx == 0.0) dx = JOINT;
    const double ratio = move.half * (1.0 - move.d * rsqrt(dx * dx + dy * dy));
    dx *= ratio;
    dy *= ratio;
    const double2 to_i{p.x - dx, p.y - dy}, to_j{q.x + dx, q.y + dy};
    if (IS_ONE_BLOCK) {
        *at_i = to_i;
        *at_j = to_j;
    } else {
        __stcg(at_i, to_i);
        __stcg(at_j, to_j);
    }
}

// Returns a log-uniform jump of 1 to room; the CPU's kernel explains the method.
__device__ __forceinline__ long long draw_jump(u64 bits, long long room) {
    const long long one = 0x3FFll << 52;
    const long long longest = __double_as_longlong((double)(room + 1));
    const long long drawn = one + (long long)(unit(bits) * (double)(longest - one));
    const long long jump = (long long)__longlong_as_double(drawn);
    return jump < room ? jump : room;
}

// Reads the pairs of the records that are due in a sweep, which are numbered by slots.
struct Reader {
    const Record* __restrict__ records;
    const long long* __restrict__ path_starts;
    const int* __restrict__ block_paths;
    const int* __restrict__ strips;
    const Sweep& sweep;
    long long first_strip;  // at or after `sweep.first`
    long long n;            // slots
    int ends;
    bool has_coins;
    long long held = -1, strip = 0;  // the last strip: the next slot is mostly in it too
    // Path of the last record; the next one is mostly on it too, or on a path soon after it.
    int path = 0;
    long long start = 0, last = -1;

    __device__ __forceinline__ Reader(const Record* records, const long long* path_starts,
                                      const int* block_paths, const int* strips, const Sweep& sweep)
        : records(records),
          path_starts(path_starts),
          block_paths(block_paths),
          strips(strips),
          sweep(sweep) {
        const long long every = sweep.every;
        const long long turn = (long long)(sweep.seed % (u64)every);
        first_strip = sweep.first + ((turn - sweep.first) % every + every) % every;
        n = sweep.stop <= first_strip ? 0
                                      : ((sweep.stop - 1 - first_strip) / every + 1) << STRIP_BITS;
        ends = sweep.has_ends ? 3 : 0;
        has_coins = sweep.jump == 0 || ends != 0;
    }

    __device__ __forceinline__ void read(Pair& pair, long long slot) {
        pair.coins = NONE;
        if (slot >> STRIP_BITS != held) {
            held = slot >> STRIP_BITS;
            strip = __ldg(strips + first_strip + held * sweep.every);
        }
        const long long a = (strip << STRIP_BITS) + (slot & ((1 << STRIP_BITS) - 1));
        if (a >= sweep.n_records) return;
        if (a < start || a > last) {
            path = path_of(a, a < start ? 0 : path, path_starts, block_paths);
            start = __ldg(path_starts + path);
            last = __ldg(path_starts + path + 1) - 2;
            if (a > last) return;  // the closing record
        }
        const u64 bits = has_coins ? mix((u64)a * GOLDEN + sweep.seed) : 0;
        long long b = a + sweep.jump;
        if (sweep.jump == 0) {
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
    }
};

// Large levels: consecutive records go to consecutive workers, so their reads are coalesced.
// But consecutive pairs of a path, (0, jump) and (jump, 2 jump), share a point. Each phase
// therefore covers every other stretch of `jump` records, so that no two pairs of a path share one
// and no move is lost:
//
//   jump 2, phase 0    a a b b a a b b          phase 1    - - a a b b a a b b
//
extern "C" __global__ void __launch_bounds__(256, 4)
    sweep(double2* points, const Record* __restrict__ records,
          const long long* __restrict__ path_starts, const int* __restrict__ block_paths,
          const int* __restrict__ strips, const Sweep sweep, const int phase) {
    Reader reader(records, path_starts, block_paths, strips, sweep);
    const long long worker = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (worker >= sweep.n_workers) return;
    const long long jump = sweep.jump, n = reader.n, step = sweep.n_workers;
    const int jump_bits = 63 - __clzll(jump | 1);
    const bool is_power = jump == 1ll << jump_bits;

    const auto read_pair = [&](Pair& pair, long long k) {
        long long slot = k;
        if (jump > 0) {
            const long long stretch = is_power ? k >> jump_bits : k / jump;
            slot = (2 * stretch + phase) * jump + (k - stretch * jump);
            if (slot >= n) {
                pair.coins = NONE_FROM_HERE_ON;
                return;
            }
        }
        reader.read(pair, slot);
    };

    // Prefetch the records of the next pair while this pair waits for its points.
    Pair next{};
    next.coins = NONE;
    if (worker < n) read_pair(next, worker);
    for (long long k = worker; k < n && next.coins != NONE_FROM_HERE_ON; k += step) {
        const Pair pair = next;
        next.coins = NONE;
        if (k + step < n) read_pair(next, k + step);
        apply<false>(points, weigh(pair, sweep.eta));
    }
}

// Small levels: a worker moves pairs one after the other along the path, as on a CPU. It has
// `lanes` threads of a warp (a power of two), as its time is that of a chain of dependent
// instructions: the threads read and weigh as many pairs at once, and only the moves take turns.
//
//   lane          0 1 2 3            turn 0      1      2      3
//   read, weigh   a b c d            move a      move b  move c  move d
//
template <bool IS_ONE_BLOCK>
__device__ __forceinline__ void go_in_order(double2* points, Reader& reader, const Sweep& sweep,
                                            int lanes) {
    const long long thread = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    const long long worker = thread / lanes, n = reader.n;
    const int lane = threadIdx.x & (lanes - 1);
    const bool is_idle = worker >= sweep.n_workers;
    const long long begin = is_idle ? 0 : n * worker / sweep.n_workers;
    const long long n_own = is_idle ? 0 : n * (worker + 1) / sweep.n_workers - begin;
    // Random starts: on repetitive paths, workers in step would meet at the same points.
    const long long ahead = n_own > 0 ? (long long)(mix(sweep.seed + worker) % (u64)n_own) : 0;
    // The same for all workers of a warp, which wait for each other.
    const long long n_most = (n + sweep.n_workers - 1) / sweep.n_workers;

    const auto read_pair = [&](Pair& pair, long long k) {
        pair.coins = NONE;
        const long long from_start = k + ahead < n_own ? k + ahead : k + ahead - n_own;
        if (k < n_own) reader.read(pair, begin + from_start);
    };

    Pair next;
    read_pair(next, lane);
    for (long long k = lane; k - lane < n_most; k += lanes) {
        const Move move = weigh(next, sweep.eta);
        read_pair(next, k + lanes);
        for (int turn = 0; turn < lanes; turn++) {
            if (lane == turn) apply<IS_ONE_BLOCK>(points, move);
            __syncwarp();
        }
    }
}

extern "C" __global__ void __launch_bounds__(1024, 1)
    sweep_in_order(double2* points, const Record* __restrict__ records,
                   const long long* __restrict__ path_starts, const int* __restrict__ block_paths,
                   const int* __restrict__ strips, const Sweep sweep, const int lanes) {
    Reader reader(records, path_starts, block_paths, strips, sweep);
    if (gridDim.x == 1)
        go_in_order<true>(points, reader, sweep, lanes);
    else
        go_in_order<false>(points, reader, sweep, lanes);
}

extern "C" __global__ void __launch_bounds__(256)
    merge(double2* const* __restrict__ copies, double2* __restrict__ before, const int n_copies,
          const signed char* __restrict__ levels, const int level, const long long n) {
    const long long n_threads = gridDim.x * (long long)blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += n_threads) {
        if (levels[i] < level) continue;
        const double2 old = before[i];
        double2 merged = old;
        double farthest = 0.0;
        int mover = -1;
        for (int k = 0; k < n_copies; k++) {
            const double2 at = copies[k][i];
            const double dx = at.x - old.x, dy = at.y - old.y;
            if (dx * dx + dy * dy <= farthest) continue;
            merged = at;
            farthest = dx * dx + dy * dy;
            mover = k;
        }
        if (mover < 0) continue;
        for (int k = 0; k < n_copies; k++)
            if (k != mover) copies[k][i] = merged;
        before[i] = merged;
    }
}
