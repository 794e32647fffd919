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
    const double ratio =
        fmin(1.0, eta / fmax(d, SHORTEST_WEIGHED)) * 0.5 * (1.0 - d * rsqrt(dx * dx + dy * dy));
    dx *= ratio;
    dy *= ratio;
    __stcg((double2*)points + i, double2{p.x - dx, p.y - dy});
    __stcg((double2*)points + j, double2{q.x + dx, q.y + dy});
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
extern "C" __global__ void __launch_bounds__(256)
    sweep(double* points, const Record* __restrict__ records,
          const long long* __restrict__ path_starts, const int* __restrict__ block_paths,
          const long long jump, const double eta, const int has_ends, const long long first,
          const long long stop, const u64 seed, const int phase, const int is_in_order,
          const long long n_workers) {
    const long long worker = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (worker >= n_workers) return;
    const long long n = stop - first;
    const long long begin = is_in_order ? n * worker / n_workers : worker;
    const long long end = is_in_order ? n * (worker + 1) / n_workers : n;
    for (long long k = begin; k < end; k += is_in_order ? 1 : n_workers) {
        long long a = first + k;
        if (jump > 0 && !is_in_order) {
            const long long stretch = k / jump;
            a = first + (2 * stretch + phase) * jump + (k - stretch * jump);
            if (a >= stop) return;  // as do all later ones of this worker
        }
        if (records[a].handle == (POSITION)CLOSING) continue;
        const int path = path_of(a, path_starts, block_paths);
        const long long last = __ldg(path_starts + path + 1) - 2;
        const u64 bits = mix((u64)a * GOLDEN + seed);
        long long b = a + jump;
        if (jump == 0) {
            const long long start = __ldg(path_starts + path);
            bool is_back = bits & 1;
            long long room = is_back ? a - start : last - a;
            if (room == 0) {
                is_back = !is_back;
                room = last - start;
            }
            const long long drawn = (long long)exp(unit(bits) * log((double)room + 1.0));
            const long long step = drawn < room ? drawn : room;
            b = is_back ? a - step : a + step;
        } else if (b > last) {
            continue;
        }
        const int ends = has_ends ? 1 : 0;
        move_pair(points, records, a, b, (int)(bits >> 1) & ends, (int)(bits >> 2) & ends, eta);
    }
}

extern "C" __global__ void __launch_bounds__(256)
    place(double* points, int* is_placed, const Record* __restrict__ records,
          const long long* __restrict__ path_starts, const int* __restrict__ block_paths,
          const signed char* __restrict__ levels, const int level, const int n_ends,
          const double noise, const u64 seed, const long long first, const long long stop) {
    const long long n_threads = gridDim.x * (long long)blockDim.x;
    const long long thread = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    for (long long k = first * n_ends + thread; k < stop * n_ends; k += n_threads) {
        const long long record = k / n_ends;
        const POSITION handle = records[record].handle;
        if (handle == (POSITION)CLOSING) continue;
        const long long point = (long long)(handle ^ (POSITION)(k % n_ends));
        if (levels[point] != level || atomicExch(is_placed + point, 1)) continue;
        // The path's ends lie above the level, so that both ways end.
        long long before = k, after = k, a = point, b = point;
        while (levels[a] <= level) {
            before--;
            a = (long long)(records[before / n_ends].handle ^ (POSITION)(before % n_ends));
        }
        while (levels[b] <= level) {
            after++;
            b = (long long)(records[after / n_ends].handle ^ (POSITION)(after % n_ends));
        }
        const double begin = (double)records[before / n_ends + before % n_ends].position;
        const double length = (double)records[after / n_ends + after % n_ends].position - begin;
        const double here = (double)records[record + k % n_ends].position - begin;
        const double share = here / fmax(length, 1.0);
        const double width = noise * length * sqrt(share * (1.0 - share));
        const u64 bits = mix((u64)point * GOLDEN + seed);
        const u64 more = mix(bits + GOLDEN);
        const double2 p = ((const double2*)points)[a];
        const double2 q = ((const double2*)points)[b];
        ((double2*)points)[point] =
            double2{(1.0 - share) * p.x + share * q.x + width * (2.0 * unit(bits) - 1.0),
                    (1.0 - share) * p.y + share * q.y + width * (2.0 * unit(more) - 1.0)};
    }
}
