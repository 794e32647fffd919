"""Vector code of the genotype products that LLVM does not generate from scalar loops.

A *word* holds 32 genotypes: its byte ``t`` is ``s0 + 3 s1 + 9 s2 + 27 s3`` for the states of
genotypes ``4t`` to ``4t + 3``. A state is the sum of a code's bits: 0 for code 0, 1 for codes 1
and 2, 2 for code 3. Even bytes go to one word and odd bytes to another, as 16-bit numbers times
eight, which are offsets into tables. A vector has 64 bytes: eight words.
"""

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from genoviz.kernels.instructions import spread

GROUP = 4
"""Genotypes of a byte."""
TABLE_ROWS = 3**GROUP
TABLES = 8
"""Bytes of a word; each has its own table."""
N_STATES = 3
LANES = 8
"""Words of a vector."""
LINE = 64
"""Bytes of a vector, and of a cache line."""
WIDE = 64
ROW_BYTES = 8, 16, 32, WIDE
"""Possible sizes of rows of planes, bytes."""
PLANE_BYTES = (WIDE, 0), *((wide, rest) for wide in (0, WIDE) for rest in ROW_BYTES[:-1])

ir = cgutils.ir
_I8, _I32, _I64 = (ir.IntType(bits) for bits in (8, 32, 64))
_WORDS = ir.VectorType(_I64, LANES)
_PLACE_BITS, _UNIT = 16, 8
_PLACE = _I64((1 << _PLACE_BITS) - 1)


def _spread(word):
    return ir.Constant(_WORDS, [word] * LANES)


def _repeat(*some_bytes):
    """Return a vector constant that repeats the given bytes."""
    return _spread(int.from_bytes(bytes(some_bytes * (8 // len(some_bytes))), "little"))


_LOW_BITS, _PAIRS, _NIBBLES = _repeat(0x55), _repeat(0x33), _repeat(0x0F)


def _swap(builder, low, high, bits, kept):
    """Exchange the upper fields of one vector for the lower ones of another."""
    shift = _spread(bits)
    change = builder.and_(builder.xor(builder.lshr(low, shift), high), kept)
    return builder.xor(low, builder.shl(change, shift)), builder.xor(high, change)


def _transpose(builder, vectors, steps):
    """Transpose fields among vectors; a step is their distance, width in bits, and mask."""
    for distance, bits, kept in steps:
        for k in range(len(vectors)):
            if not k & distance:
                pair = vectors[k], vectors[k + distance]
                vectors[k], vectors[k + distance] = _swap(builder, *pair, bits, kept)


_CODE_STEPS = (2, 4, _NIBBLES), (1, 2, _PAIRS)
_BYTE_STEPS = tuple(
    (distance, 8 * distance, _repeat(*[0xFF] * distance, *[0] * distance)) for distance in (4, 2, 1)
)


def _number(builder, codes):
    """Return the even and the odd words of words of codes."""

    def shifted(vector, bits):
        return builder.lshr(vector, _spread(bits))

    states = builder.sub(codes, builder.and_(shifted(codes, 1), _LOW_BITS))
    pairs = builder.sub(states, builder.and_(shifted(states, 2), _PAIRS))
    upper = builder.and_(shifted(pairs, 4), _NIBBLES)
    fours = builder.sub(builder.add(pairs, upper), builder.shl(upper, _spread(3)))
    even = builder.shl(builder.and_(fours, _repeat(0xFF, 0)), _spread(3))
    return even, builder.and_(shifted(fours, 5), _repeat(0xF8, 0x07))


def _data(context, builder, signature, arguments, k):
    return context.make_array(signature.args[k])(context, builder, arguments[k]).data


def _load_words(builder, data, index):
    return builder.load(builder.bitcast(builder.gep(data, [index]), _WORDS.as_pointer()), align=8)


def _store_words(builder, words, data, index):
    builder.store(words, builder.bitcast(builder.gep(data, [index]), _WORDS.as_pointer()), align=8)


@intrinsic
def number_columns(typing_context, rows, width, first, even, odd, place, step):  # noqa: ARG001
    """Compute the words of 256 columns of 32 rows of packed codes.

    Rows have ``width`` words, of which eight from ``first`` on are read. Column ``32 c + 4 p + f``
    becomes word ``place + (8 f + p) step + c`` of ``even`` and ``odd``.
    """

    def generate(context, builder, signature, arguments):
        rows, even, odd = (_data(context, builder, signature, arguments, k) for k in (0, 3, 4))
        width, first, place, step = (arguments[k] for k in (1, 2, 5, 6))
        fields = []
        for table in range(TABLES):
            four = [
                _load_words(builder, rows, builder.add(builder.mul(width, _I64(row)), first))
                for row in range(GROUP * table, GROUP * table + GROUP)
            ]
            _transpose(builder, four, _CODE_STEPS)
            fields.append(four)
        for f in range(GROUP):
            eight = [four[f] for four in fields]
            _transpose(builder, eight, _BYTE_STEPS)
            for p, codes in enumerate(eight):
                index = builder.add(place, builder.mul(step, _I64(8 * f + p)))
                for numbers, words in zip(_number(builder, codes), (even, odd), strict=True):
                    _store_words(builder, numbers, words, index)
        return context.get_dummy_value()

    size = types.int64
    return types.void(rows, size, size, even, odd, size, size), generate


@intrinsic
def number_rows(typing_context, rows, even, odd, place, step):  # noqa: ARG001
    """Compute the words of eight rows of eight words of packed codes.

    Word ``p`` of row ``k`` becomes word ``place + p step + k`` of ``even`` and ``odd``.
    """

    def generate(context, builder, signature, arguments):
        rows, even, odd = (_data(context, builder, signature, arguments, k) for k in (0, 1, 2))
        eight = [_load_words(builder, rows, _I64(LANES * k)) for k in range(LANES)]
        for distance in (4, 2, 1):
            upper = [k for k in range(LANES) if k & distance]
            first = [k if k not in upper else k - distance + LANES for k in range(LANES)]
            second = [k + distance if k not in upper else k + LANES for k in range(LANES)]
            for k in range(LANES):
                if not k & distance:
                    pair = eight[k], eight[k + distance]
                    eight[k], eight[k + distance] = (
                        builder.shuffle_vector(
                            *pair, ir.Constant(ir.VectorType(ir.IntType(32), LANES), order)
                        )
                        for order in (first, second)
                    )
        for p, codes in enumerate(eight):
            index = builder.add(arguments[3], builder.mul(arguments[4], _I64(p)))
            for numbers, words in zip(_number(builder, codes), (even, odd), strict=True):
                _store_words(builder, numbers, words, index)
        return context.get_dummy_value()

    return types.void(rows, even, odd, types.int64, types.int64), generate


def _row_type(context, dtype, n_bytes):
    """Return the vector type of a row of ``n_bytes``, and its number of elements."""
    element = context.get_data_type(dtype)
    n = n_bytes // (dtype.bitwidth // 8)
    return (element if n == 1 else ir.VectorType(element, n)), n


def _row_at(builder, data, index, kind):
    return builder.bitcast(builder.gep(data, [index]), kind.as_pointer())


def _equals(builder, value, number):
    return builder.icmp_signed("==", value, _I64(number))


@intrinsic
def fill_tables(typing_context, weights, rows, item, row, n_bytes, tables, place):  # noqa: ARG001
    """Fill tables from ``tables[place]`` on with weighted sums of rows of ``n_bytes`` each.

    The rows begin at ``rows[row]``, the weights of the first row's states at ``weights[3 item]``.
    """

    def generate(context, builder, signature, arguments):
        weights, rows, tables = (
            _data(context, builder, signature, arguments, k) for k in (0, 1, 5)
        )
        item, row, n_bytes, place = (arguments[k] for k in (2, 3, 4, 6))
        for size in ROW_BYTES:
            kind, n = _row_type(context, signature.args[5].dtype, size)
            with (
                builder.if_then(_equals(builder, n_bytes, size)),
                cgutils.for_range(builder, _I64(TABLES)) as loop,
            ):
                first = builder.mul(loop.index, _I64(GROUP))
                weight = builder.mul(builder.add(item, first), _I64(N_STATES))
                source = builder.add(row, builder.mul(first, _I64(n)))
                target = builder.add(place, builder.mul(loop.index, _I64(TABLE_ROWS * n)))
                _fill_table(
                    builder,
                    builder.gep(weights, [weight]),
                    _row_at(builder, rows, source, kind),
                    _row_at(builder, tables, target, kind),
                    size // n,
                )
        return context.get_dummy_value()

    size = types.int64
    return types.void(weights, rows, size, size, size, tables, size), generate


def _fill_table(builder, weights, rows, table, align):
    kind = table.type.pointee
    terms = []
    for k in range(GROUP):
        row = builder.load(builder.gep(rows, [_I64(k)]), align=align)
        scales = (
            builder.load(builder.gep(weights, [_I64(N_STATES * k + state)]))
            for state in range(N_STATES)
        )
        terms.append([builder.fmul(row, _fill_vector(builder, kind, scale)) for scale in scales])
    low, high = ([builder.fadd(a, b) for b in terms[k + 1] for a in terms[k]] for k in (0, 2))
    for k, (b, a) in enumerate((b, a) for b in high for a in low):
        builder.store(builder.fadd(a, b), builder.gep(table, [_I64(k)]), align=align)


def _fill_vector(builder, kind, scalar):
    """Broadcast a scalar to a vector."""
    if not isinstance(kind, ir.VectorType):
        return scalar
    return spread(builder, scalar, kind.count)


@intrinsic
def add_words(typing_context, even, odd, word, tables, sums, place, n_rows, wide, rest):  # noqa: ARG001
    """Look up table rows by words, one word for each row of sums, and add them to the sums.

    ``wide`` and ``rest`` are the bytes of a row in one plane and in the next, or 0. The tables of
    the second plane follow those of the first; so do its rows of sums, from ``sums[place]`` on.
    """

    def generate(context, builder, signature, arguments):
        even, odd, tables, sums = (
            _data(context, builder, signature, arguments, k) for k in (0, 1, 3, 4)
        )
        word, place, n_rows, wide, rest = (arguments[k] for k in (2, 5, 6, 7, 8))
        tables = builder.bitcast(tables, _I8.as_pointer())
        for sizes in PLANE_BYTES:
            is_it = builder.and_(_equals(builder, wide, sizes[0]), _equals(builder, rest, sizes[1]))
            with builder.if_then(is_it), cgutils.for_range(builder, n_rows) as loop:
                index = builder.add(word, loop.index)
                halves = [builder.load(builder.gep(words, [index])) for words in (even, odd)]
                numbers = [
                    builder.and_(builder.lshr(halves[t & 1], _I64(_PLACE_BITS * (t // 2))), _PLACE)
                    for t in range(TABLES)
                ]
                table, plane = tables, place
                for size in filter(None, sizes):
                    kind, n = _row_type(context, signature.args[4].dtype, size)
                    target = builder.add(plane, builder.mul(loop.index, _I64(n)))
                    _add_table_rows(
                        builder, table, numbers, _row_at(builder, sums, target, kind), size
                    )
                    table = builder.gep(table, [_I64(TABLES * TABLE_ROWS * size)])
                    plane = builder.add(plane, builder.mul(n_rows, _I64(n)))
        return context.get_dummy_value()

    size = types.int64
    return types.void(even, odd, size, tables, sums, size, size, size, size), generate


def _add_table_rows(builder, tables, numbers, target, n_bytes):
    """Add a row of each table to a row of sums."""
    total = None
    for t, number in enumerate(numbers):
        offset = builder.mul(number, _I64(n_bytes // _UNIT))
        offset = builder.add(offset, _I64(t * TABLE_ROWS * n_bytes))
        source = builder.bitcast(builder.gep(tables, [offset]), target.type)
        term = builder.load(source, align=n_bytes)
        total = term if total is None else builder.fadd(total, term)
    total = builder.fadd(builder.load(target, align=n_bytes), total)
    builder.store(total, target, align=n_bytes)


@intrinsic
def add_row(typing_context, rows, item, n_items, sums, row, n_rows, n_wide, rest):  # noqa: ARG001
    """Add a row of a matrix to a row of another, in all planes.

    There are ``n_wide`` planes of 64 bytes a row, and one of ``rest`` bytes unless that is 0.
    """

    def generate(context, builder, signature, arguments):
        rows, sums = (_data(context, builder, signature, arguments, k) for k in (0, 3))
        item, n_items, row, n_rows, n_wide, rest = (arguments[k] for k in (1, 2, 4, 5, 6, 7))
        dtype = signature.args[3].dtype

        def add(plane, size):
            kind, n = _row_type(context, dtype, size)
            n_plane = _I64(_row_type(context, dtype, WIDE)[1])

            def at(data, index, n_all):
                place = builder.mul(builder.mul(plane, n_all), n_plane)
                return _row_at(builder, data, builder.add(place, builder.mul(index, _I64(n))), kind)

            source, target = at(rows, item, n_items), at(sums, row, n_rows)
            terms = [builder.load(place, align=size // n) for place in (source, target)]
            builder.store(builder.fadd(*terms), target, align=size // n)

        with cgutils.for_range(builder, n_wide) as loop:
            add(loop.index, WIDE)
        for size in ROW_BYTES[:-1]:
            with builder.if_then(_equals(builder, rest, size)):
                add(n_wide, size)
        return context.get_dummy_value()

    size = types.int64
    return types.void(rows, size, size, sums, size, size, size, size), generate


@intrinsic
def copy_bytes(typing_context, packed, place, rows, word, n):  # noqa: ARG001
    """Copy ``n`` bytes from ``packed.flat[place]`` on to words from ``rows[word]`` on."""

    def generate(context, builder, signature, arguments):
        packed, rows = (_data(context, builder, signature, arguments, k) for k in (0, 2))
        target = builder.bitcast(builder.gep(rows, [arguments[3]]), _I8.as_pointer())
        source = builder.gep(packed, [arguments[1]])
        is_line = _equals(builder, arguments[4], LINE)
        with builder.if_else(is_line) as (then, otherwise):
            with then:
                line = builder.load(builder.bitcast(source, _WORDS.as_pointer()), align=1)
                builder.store(line, builder.bitcast(target, _WORDS.as_pointer()), align=8)
            with otherwise:
                cgutils.raw_memcpy(builder, target, source, arguments[4], 1)
        return context.get_dummy_value()

    size = types.int64
    return types.void(packed, size, rows, size, size), generate
