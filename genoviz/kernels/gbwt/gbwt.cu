// Decode the paths of a GBWT. The contract is in the Python package that holds this file.
//
// First, all visits are expanded: the successor of each, and the handle that it writes. Then one
// thread walks each segment, twice: to measure it, and to write its steps. Segments that begin next
// to each other mostly stay so, so reads of a warp coalesce.

typedef unsigned char Byte;
typedef unsigned int Handle;
typedef long long Index;
typedef unsigned long long Word;

constexpr Handle NO_STEP = 0xFFFFFFFF;
constexpr Index MAX_VISITS = 1LL << 48;
constexpr Index END = -1, NOWHERE = -3;
constexpr int BYTE_BITS = 16;
constexpr Word FACTOR_1 = 0x9E3779B97F4A7C15, FACTOR_2 = 0xBF58476D1CE4E5B9;

__device__ Index first_item() {
    return blockIdx.x * static_cast<Index>(blockDim.x) + threadIdx.x;
}

__device__ Index n_threads() {
    return static_cast<Index>(gridDim.x) * blockDim.x;
}

// A varint (7 bits a byte); -1 if it is cut short.
__device__ Index read_code(const Byte* data, Index& at, Index stop) {
    Index value = 0;
    for (int shift = 0; at < stop && shift < 63; shift += 7) {
        const Index byte = data[at++];
        value |= (byte & 127) << shift;
        if (byte < 128) {
            return value;
        }
    }
    return -1;
}

// The encoding of runs, which depends on the number of edges.
struct RunCode {
    Index sigma, inverse, threshold;

    __device__ explicit RunCode(Index n_edges)
        : sigma(n_edges),
          inverse(n_edges < 255 ? ((1 << BYTE_BITS) + n_edges - 1) / n_edges : 0),
          threshold(n_edges < 255 ? 256 / n_edges : 0) {}

    // The length of the next run, and its edge; -1 if it is invalid.
    __device__ Index read(const Byte* data, Index& at, Index stop, Index& edge) const {
        if (sigma >= 255) {
            edge = read_code(data, at, stop);
            const Index length = read_code(data, at, stop);
            return edge < 0 || length < 0 ? -1 : length + 1;
        }
        const Index byte = data[at++];
        const Index rest = (byte * inverse) >> BYTE_BITS;
        edge = byte - rest * sigma;
        if (rest + 1 > threshold) {
            return -1;
        }
        if (rest + 1 < threshold) {
            return rest + 1;
        }
        const Index more = read_code(data, at, stop);
        return more < 0 ? -1 : threshold + more;
    }
};

__device__ Index place_of(Index record, Index n_places) {
    const Index slot = (record - 1) >> 1;
    return record & 1 ? slot : n_places - 1 - slot;
}

__device__ Index record_at(Index place, Index n_places) {
    return 2 * place < n_places ? 2 * place + 1 : 2 * (n_places - 1 - place) + 2;
}

// The number of visits of a record; -1 if it violates the format.
__device__ Index measure_record(const Byte* data, Index at, Index stop, Index alphabet_offset,
                                Index n_records) {
    const Index sigma = read_code(data, at, stop);
    if (sigma < 0 || 2 * sigma > stop - at) {
        return -1;
    }
    Index node = 0;
    for (Index edge = 0; edge < sigma; ++edge) {
        const Index gap = read_code(data, at, stop);
        const Index rank = read_code(data, at, stop);
        if (gap < 0 || rank < 0 || (edge > 0 && gap == 0) || gap > MAX_VISITS) {
            return -1;
        }
        node += gap;
        const Index record = node - alphabet_offset;
        if (node != 0 && (record < 1 || record >= n_records)) {
            return -1;
        }
    }
    if (sigma == 0) {
        return at == stop ? 0 : -1;
    }
    const RunCode code(sigma);
    Index n = 0, edge = 0;
    while (at < stop) {
        const Index length = code.read(data, at, stop, edge);
        if (length < 0 || length > MAX_VISITS || edge >= sigma) {
            return -1;
        }
        n += length;
        if (n > MAX_VISITS) {
            return -1;
        }
    }
    return n;
}

extern "C" __global__ void measure_records(const Byte* __restrict__ data,
                                           const Index* __restrict__ record_bytes,
                                           Index alphabet_offset, Index n_records,
                                           Index* __restrict__ sizes, Word* __restrict__ wrong) {
    for (Index record = 1 + first_item(); record < n_records; record += n_threads()) {
        const Index n = measure_record(data, record_bytes[record], record_bytes[record + 1],
                                       alphabet_offset, n_records);
        sizes[place_of(record, n_records - 1)] = n < 0 ? 0 : n;
        if (n < 0) {
            atomicMin(wrong, static_cast<Word>(record));
        }
    }
}

extern "C" __global__ void count_edges(const Byte* __restrict__ data,
                                       const Index* __restrict__ record_bytes, Index n_places,
                                       Index* __restrict__ counts) {
    for (Index place = first_item(); place < n_places; place += n_threads()) {
        const Index record = record_at(place, n_places);
        Index at = record_bytes[record];
        counts[place] = read_code(data, at, record_bytes[record + 1]);
    }
}

// Expand the visits of each record: the successor of each, and the handle that it writes.
extern "C" __global__ void expand_records(
    const Byte* __restrict__ data, const Index* __restrict__ record_bytes, Index alphabet_offset,
    const Index* __restrict__ record_starts, const Handle* __restrict__ handles, Index n_places,
    const Index* __restrict__ edge_starts, Index* __restrict__ targets, int block_bits,
    Index* __restrict__ nexts, Handle* __restrict__ written, Byte* __restrict__ is_head,
    int* __restrict__ fault) {
    for (Index place = first_item(); place < n_places; place += n_threads()) {
        const Index record = record_at(place, n_places);
        Index at = record_bytes[record];
        const Index stop = record_bytes[record + 1];
        const Index sigma = read_code(data, at, stop);
        if (sigma == 0) {
            continue;
        }
        Index* const own = targets + 2 * edge_starts[place];
        Index node = 0;
        for (Index edge = 0; edge < sigma; ++edge) {
            node += read_code(data, at, stop);
            const Index rank = read_code(data, at, stop);
            own[2 * edge] = own[2 * edge + 1] = END;
            if (node != 0) {
                const Index to = place_of(node - alphabet_offset, n_places);
                const Index limit = record_starts[to + 1];
                const Index target = record_starts[to] + rank;
                own[2 * edge] = target < limit ? target : limit;
                own[2 * edge + 1] = limit;
            }
        }
        const RunCode code(sigma);
        const Handle handle = handles[place];
        Index visit = record_starts[place], edge = 0;
        while (at < stop) {
            const Index length = code.read(data, at, stop, edge);
            const Index target = own[2 * edge];
            if (target != END) {
                if (length > own[2 * edge + 1] - target) {
                    *fault = 1;
                    break;
                }
                own[2 * edge] = target + length;
            }
            for (Index k = 0; k < length; ++k) {
                const Index next = target == END ? END : target + k;
                nexts[visit + k] = next;
                written[visit + k] = handle;
                if (next != END &&
                    (next <= visit + k || (next >> block_bits) != (visit + k) >> block_bits)) {
                    is_head[next] = 1;
                }
            }
            visit += length;
        }
    }
}

extern "C" __global__ void measure_segments(const Index* __restrict__ heads, Index n_heads,
                                            const Index* __restrict__ nexts,
                                            const Handle* __restrict__ written, int block_bits,
                                            Index* __restrict__ lengths, Index* __restrict__ exits,
                                            Word* __restrict__ n_walked) {
    for (Index segment = first_item(); segment < n_heads; segment += n_threads()) {
        Index visit = heads[segment], n = 0, n_visits = 0, next;
        while (true) {
            n += written[visit] != NO_STEP;
            ++n_visits;
            next = nexts[visit];
            if (next <= visit || (next >> block_bits) != visit >> block_bits) {
                break;
            }
            visit = next;
        }
        lengths[segment] = n;
        exits[segment] = next;
        atomicAdd(n_walked, static_cast<Word>(n_visits));
    }
}

// Store the segment that begins at each visit.
extern "C" __global__ void find_segments(const Index* __restrict__ heads, Index n_heads,
                                         Index* __restrict__ visits, Index n) {
    for (Index i = first_item(); i < n; i += n_threads()) {
        const Index visit = visits[i];
        if (visit < 0) {
            continue;
        }
        Index low = 0, high = n_heads;
        while (low < high) {
            const Index middle = (low + high) >> 1;
            if (heads[middle] < visit) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        visits[i] = low < n_heads && heads[low] == visit ? low : NOWHERE;
    }
}

__device__ Word hash(Handle handle, Index place) {
    Word bits = static_cast<Word>(place) * FACTOR_1 ^ static_cast<Word>(handle) * FACTOR_2;
    bits = (bits ^ (bits >> 32)) * FACTOR_2;
    return bits ^ (bits >> 32);
}

extern "C" __global__ void write_steps(
    const Index* __restrict__ heads, Index n_heads, const Index* __restrict__ nexts,
    const Handle* __restrict__ written, const Index* __restrict__ lengths,
    const Index* __restrict__ sequences, const Index* __restrict__ places,
    const Index* __restrict__ path_offsets, Handle* __restrict__ steps, Word* __restrict__ hashes) {
    for (Index segment = first_item(); segment < n_heads; segment += n_threads()) {
        const Index sequence = sequences[segment], begin = path_offsets[sequence >> 1];
        const Index n = lengths[segment];
        const Handle turned = sequence & 1;
        Index place = places[segment], visit = heads[segment];
        if (turned) {
            place = path_offsets[(sequence >> 1) + 1] - begin - 1 - place;
        }
        Word total = 0;
        for (Index k = 0; k < n; visit = nexts[visit]) {
            const Handle handle = written[visit];
            if (handle == NO_STEP) {
                continue;
            }
            const Index own = turned ? place - k : place + k;
            if (!turned) {
                steps[begin + own] = handle;
            }
            total += hash(handle ^ turned, own);
            ++k;
        }
        atomicAdd(&hashes[sequence], total);
    }
}
