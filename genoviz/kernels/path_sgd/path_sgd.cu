// Path-guided SGD on one GPU; the contract is in this folder's __init__.py.
//
// Compile-time choices (layouts use the defaults; the others reproduce published ablations):
//   REAL          type of a coordinate: double, float
//   POSITION      type of a record's fields: unsigned int, long long
//   WINDOW        lanes that share a burst: 32, 16, 8, 4, 2, 1
//   NODE_ARRAYS   0: one record holds a node's four coordinates; 1: four arrays
//   WARP_MERGE    1: all lanes of a warp take the same branch
//   RNG           0: SplitMix64 in registers; 1: XORWOW states in memory, coalesced; 2: strided
//   REUSE         updates for each pair of steps read (data reuse factor)

#ifndef REAL
#define REAL double
#endif
#ifndef POSITION
#define POSITION unsigned int
#endif
#ifndef WINDOW
#define WINDOW 32
#endif
#ifndef NODE_ARRAYS
#define NODE_ARRAYS 0
#endif
#ifndef WARP_MERGE
#define WARP_MERGE 1
#endif
#ifndef RNG
#define RNG 0
#endif
#ifndef REUSE
#define REUSE 1
#endif

typedef unsigned long long u64;
typedef unsigned int u32;

constexpr int BLOCK_BITS = 10;
constexpr u32 CLOSING = 0xFFFFFFFFu;
constexpr int ZETA_STEP = 100;
constexpr int WARP = 32;
constexpr u32 ALL_LANES = 0xFFFFFFFFu;
constexpr double JOINT = 1e-9;
constexpr double SHORTEST_WEIGHED = 1.0;
constexpr double UNIT = 1.0 / 9007199254740992.0;  // 2^-53
constexpr u64 GOLDEN = 0x9E3779B97F4A7C15ull;

struct __align__(2 * sizeof(POSITION)) Record {
    POSITION handle;
    POSITION position;
};

struct Point {
    REAL x, y;
};

template <typename T>
struct Pair;
template <>
struct Pair<float> {
    typedef float2 type;
};
template <>
struct Pair<double> {
    typedef double2 type;
};

// Parameters shared by all updates of a call; lengths of paths and jumps are in steps.
struct Run {
    long long n_points;
    long long n_records;
    long long n_updates;
    long long space;
    long long exact_space;
    double theta;
    double eta;
    int is_cooling;
};

struct Step {
    long long point;
    double position;
};

__device__ __forceinline__ u64 mix(u64 state) {
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9ull;
    state = (state ^ (state >> 27)) * 0x94D049BB133111EBull;
    return state ^ (state >> 31);
}

// A random stream: next() gives 64 bits. Streams in memory exist for the ablation only.
#if RNG == 0
struct Stream {
    u64 state;
    __device__ Stream(u64 state, u32*, u32, u32) : state(state) {}
    __device__ u64 next() { return mix(state += GOLDEN); }
};
#else
struct Stream {
    u32* states;
    u32 worker, n_workers;
    __device__ Stream(u64, u32* states, u32 worker, u32 n_workers)
        : states(states), worker(worker), n_workers(n_workers) {}
    __device__ volatile u32& word(int k) {
        return states[RNG == 1 ? (u64)k * n_workers + worker : (u64)worker * 12 + k];
    }
    __device__ u32 next_32() {
        u32 t = word(0);
        t ^= t >> 2;
        u32 last = word(4);
        for (int k = 0; k < 4; k++) word(k) = word(k + 1);
        last = last ^ (last << 4) ^ t ^ (t << 1);
        word(4) = last;
        u32 counter = word(5) + 362437u;
        word(5) = counter;
        return last + counter;
    }
    __device__ u64 next() {
        u64 high = next_32();
        return high << 32 | next_32();
    }
};
#endif

// The next bits of a group's stream. In registers, every lane computes the same bits.
__device__ __forceinline__ u64 draw(Stream& stream, u32 group, int lead) {
    const u64 bits = stream.next();
    return RNG == 0 || WINDOW == 1 ? bits : __shfl_sync(group, bits, lead);
}

__device__ __forceinline__ double unit(u64 bits) {
    return (double)(bits >> 11) * UNIT;
}

__device__ __forceinline__ Point load_point(const REAL* points, long long point,
                                            long long n_points) {
#if NODE_ARRAYS
    const long long n_nodes = n_points / 2;
    const long long at = (point & 1) * 2 * n_nodes + (point >> 1);
    return {__ldcg(points + at), __ldcg(points + at + n_nodes)};
#else
    const REAL* at = points + 2 * point;
    const Pair<REAL>::type p = __ldcg((const Pair<REAL>::type*)at);
    return {p.x, p.y};
#endif
}

__device__ __forceinline__ void store_point(REAL* points, long long point, long long n_points,
                                            Point p) {
#if NODE_ARRAYS
    const long long n_nodes = n_points / 2;
    const long long at = (point & 1) * 2 * n_nodes + (point >> 1);
    __stcg(points + at, p.x);
    __stcg(points + at + n_nodes, p.y);
#else
    REAL* at = points + 2 * point;
    __stcg((Pair<REAL>::type*)at, Pair<REAL>::type{p.x, p.y});
#endif
}

__device__ __forceinline__ void move_apart(Point& p, Point& q, double distance, double eta) {
    const double d = fmax(distance, JOINT);
    double dx = (double)p.x - (double)q.x;
    double dy = (double)p.y - (double)q.y;
    if (dx == 0.0) dx = JOINT;
    const double ratio =
        fmin(1.0, eta / fmax(d, SHORTEST_WEIGHED)) * 0.5 * (1.0 - d * rsqrt(dx * dx + dy * dy));
    dx *= ratio;
    dy *= ratio;
    p.x -= (REAL)dx;
    p.y -= (REAL)dy;
    q.x += (REAL)dx;
    q.y += (REAL)dy;
}

__device__ __forceinline__ long long draw_zipf(double u, long long n, double theta,
                                               const double* __restrict__ zeta,
                                               const double* __restrict__ zipf_factor,
                                               long long exact_space) {
    const long long index = n <= exact_space ? n : exact_space + (n - exact_space) / ZETA_STEP + 1;
    const double scaled = u * __ldg(zeta + index);
    if (scaled < 1.0) return 1;
    if (scaled < 1.0 + exp2f((float)-theta)) return 2;
    const double factor = __ldg(zipf_factor + index);
    const float share = exp2f(log2f((float)(factor * u - factor + 1.0)) / (float)(1.0 - theta));
    const long long jump = 1 + (long long)((double)n * share);
    return jump < n ? jump : n;
}

__device__ __forceinline__ Step read_step(const Record* __restrict__ records, long long at,
                                          int coin) {
    const Record record = records[at];
    const POSITION position = coin ? records[at + 1].position : record.position;
    return {(long long)(record.handle ^ (POSITION)coin), (double)position};
}

extern "C" __global__ void __launch_bounds__(256)
    make_updates(REAL* points, const Record* __restrict__ records,
                 const long long* __restrict__ path_starts, const int* __restrict__ block_paths,
                 const double* __restrict__ zeta, const double* __restrict__ zipf_factor,
                 const Run run, u64* states, u32* rng_states, u64* n_done_total) {
    const u32 thread = blockIdx.x * blockDim.x + threadIdx.x;
    const u32 n_workers = gridDim.x * blockDim.x / WINDOW;
    const u32 worker = thread / WINDOW;
    const int lane = threadIdx.x % WARP;
    const int place = lane % WINDOW;
    const int lead = lane - place;
    const u32 group = WINDOW == WARP ? ALL_LANES : ((1u << (WINDOW % WARP)) - 1u) << lead;
    const long long share =
        run.n_updates * (worker + 1ll) / n_workers - run.n_updates * (long long)worker / n_workers;
#if RNG == 0
    Stream stream(states[worker], rng_states, worker, n_workers);
#else
    Stream stream(0, rng_states, thread, gridDim.x * blockDim.x);
#endif
    u64 branch_state = mix(~states[thread / WARP * (WARP / WINDOW)]);
    long long n_done = 0;
    while (n_done < share) {
        const long long drawn =
            (long long)(unit(draw(stream, group, lead)) * (double)run.n_records);
        if (records[drawn].handle == (POSITION)CLOSING) continue;
        const u64 bits = draw(stream, group, lead);
        const u64 branch = WARP_MERGE && WINDOW < WARP ? mix(branch_state += GOLDEN) : bits;
        int path = __ldg(block_paths + (drawn >> BLOCK_BITS));
        while (__ldg(path_starts + path + 1) <= drawn) path++;
        const long long first = __ldg(path_starts + path);
        const long long last = __ldg(path_starts + path + 1) - 2;
        const double u = unit(bits);
        long long jump;
        bool forward;
        if (run.is_cooling || (branch & 1)) {
            forward = drawn == first || (drawn != last && (bits & 2));
            const long long reach = forward ? last - drawn : drawn - first;
            jump = draw_zipf(u, reach < run.space ? reach : run.space, run.theta, zeta, zipf_factor,
                             run.exact_space);
        } else {
            const long long partner = first + (long long)(u * (double)(last - first + 1));
            if (partner == drawn) continue;
            forward = partner > drawn;
            jump = forward ? partner - drawn : drawn - partner;
        }
        const u64 coins = draw(stream, group, lead) >> 2 * place;
        // Runs of `jump` lanes leave gaps of `jump` steps, so that no two lanes share a step.
        const long long offset = place + (jump < WINDOW ? place / (int)jump * jump : 0);
        const long long a = forward ? drawn - offset : drawn + offset;
        const bool is_inside = a >= first && a <= last;
        const u32 active = __ballot_sync(group, is_inside) & group;
        n_done += __popc(active) * REUSE;
        if (!is_inside) continue;
        const Step step_a = read_step(records, a, coins & 1);
        Step step_b = read_step(records, forward ? a + jump : a - jump, coins >> 1 & 1);
        Point p = load_point(points, step_a.point, run.n_points);
        Point q = load_point(points, step_b.point, run.n_points);
        move_apart(p, q, fabs(step_a.position - step_b.position), run.eta);
#if REUSE > 1
        // The b sides rotate among the lanes; each lane carries its moved point along.
        const int n_active = __popc(active);
        const int from = lead + (place + 1) % n_active;
        for (int reuse = 1; reuse < REUSE; reuse++) {
            step_b.point = __shfl_sync(active, step_b.point, from);
            step_b.position = __shfl_sync(active, step_b.position, from);
            q.x = __shfl_sync(active, q.x, from);
            q.y = __shfl_sync(active, q.y, from);
            if (step_a.point != step_b.point)
                move_apart(p, q, fabs(step_a.position - step_b.position), run.eta);
        }
#endif
        store_point(points, step_a.point, run.n_points, p);
        store_point(points, step_b.point, run.n_points, q);
    }
    if (place == 0) {
        atomicAdd(n_done_total, (u64)n_done);
#if RNG == 0
        states[worker] = stream.state;
#endif
    }
}
