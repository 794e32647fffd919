"""Vector code of the off-target search that LLVM does not generate from scalar loops."""

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from genoviz.kernels.instructions import spread

VECTOR_WORDS = 8
AT_ONCE = 2
"""Vectors of a finder processed together: more would need more registers than there are."""

ir = cgutils.ir
_I32, _I64 = ir.IntType(32), ir.IntType(64)
_VECTOR = ir.VectorType(_I64, VECTOR_WORDS)
_MAJORITY = 0xE8


def _full_add(builder, features, a, b, c):
    """Return sum and carry of three bits."""
    return builder.xor(builder.xor(a, b), c), _find_carry(builder, features, a, b, c)


def _find_carry(builder, features, a, b, c):
    """Return the majority of three bits: one AVX-512 instruction, where LLVM emits two."""
    if "+avx512f" in features:
        name = "llvm.x86.avx512.pternlog.q.512"
        signature = ir.FunctionType(_VECTOR, [_VECTOR, _VECTOR, _VECTOR, _I32])
        function = cgutils.get_or_insert_function(builder.module, signature, name)
        return builder.call(function, [a, b, c, _I32(_MAJORITY)])
    return builder.or_(builder.and_(a, b), builder.and_(c, builder.or_(a, b)))


class _BitSum:
    """The sum of bits that arrive one by one; ``columns[i]`` holds bits of weight 2^i.

    Three bits of a column are added as soon as they are there, to keep few in registers.
    """

    def __init__(self, builder, features):
        self._builder, self._features = builder, features
        self._columns = []

    def add(self, bit, place=0):
        if place == len(self._columns):
            self._columns.append([])
        column = self._columns[place]
        column.append(bit)
        if len(column) == 3:
            total, carry = _full_add(self._builder, self._features, *column)
            column[:] = [total]
            self.add(carry, place + 1)

    def finish(self):
        """Return the bits of the sum."""
        place = 0
        while place < len(self._columns):
            column = self._columns[place]
            if len(column) == 2:
                first, second = column
                column[:] = [self._builder.xor(first, second)]
                self.add(self._builder.and_(first, second), place + 1)
            place += 1
        return [column[0] for column in self._columns]


def _vector_at(builder, data, index):
    return builder.bitcast(builder.gep(data, [index]), _VECTOR.as_pointer())


def make_finder(n_rows, lanes):
    """Return an intrinsic that marks the windows with few mismatches in ``n_rows`` letters."""
    n_bits = n_rows.bit_length()

    @intrinsic
    def find(typing_context, rows, letters, first, fits, hits, limit):  # noqa: ARG001
        """Fill ``hits`` for the words of the lanes, and return whether there are any.

        ``letters[first:first + n_rows]`` are the first words of the guide's rows.
        """

        def generate(context, builder, signature, arguments):
            features = context.codegen().magic_tuple()[2]

            def data(k):
                return context.make_array(signature.args[k])(context, builder, arguments[k]).data

            def load(pointer, index):
                return builder.load(_vector_at(builder, pointer, index), align=8)

            row_data, letter_data, fit_data, hit_data = data(0), data(1), data(3), data(4)
            first, limit = arguments[2], arguments[5]
            starts = [
                builder.load(builder.gep(letter_data, [builder.add(first, _I64(k))]))
                for k in range(n_rows)
            ]
            # Adding 2^n - 1 - limit overflows exactly if the sum is above the limit.
            rest = builder.sub(_I64((1 << n_bits) - 1), limit)
            rest_bits = [
                spread(
                    builder,
                    builder.sub(_I64(0), builder.and_(builder.lshr(rest, _I64(b)), _I64(1))),
                    VECTOR_WORDS,
                )
                for b in range(n_bits)
            ]
            found = ir.Constant(_VECTOR, [0] * VECTOR_WORDS)
            for first_word in range(0, lanes, VECTOR_WORDS * AT_ONCE):
                words = range(first_word, first_word + VECTOR_WORDS * AT_ONCE, VECTOR_WORDS)
                sums = [_BitSum(builder, features) for _ in words]
                for start in starts:
                    for word, bits in zip(words, sums, strict=True):
                        bits.add(load(row_data, builder.add(start, _I64(word))))
                for word, bits in zip(words, sums, strict=True):
                    total = bits.finish()
                    carry = builder.and_(total[0], rest_bits[0])
                    for bit, rest_bit in zip(total[1:], rest_bits[1:], strict=False):
                        carry = _find_carry(builder, features, bit, rest_bit, carry)
                    few = builder.and_(load(fit_data, _I64(word)), builder.not_(carry))
                    builder.store(few, _vector_at(builder, hit_data, _I64(word)), align=8)
                    found = builder.or_(found, few)
            whole = ir.IntType(64 * VECTOR_WORDS)
            any_hit = builder.icmp_unsigned("!=", builder.bitcast(found, whole), whole(0))
            return builder.zext(any_hit, _I64)

        return types.uint64(rows, letters, types.uint64, fits, hits, types.uint64), generate

    return find


def make_swapper(step, lanes):
    """Return an intrinsic for half of the transposition of 64 x 64 bits in columns of words.

    It swaps squares of ``4 step``, ``2 step`` and ``step`` bits in the eight rows ``first``,
    ``first + step`` and so on, for ``VECTOR_WORDS`` columns from ``column`` on.
    """

    @intrinsic
    def swap(typing_context, words, first, column):  # noqa: ARG001
        def generate(context, builder, signature, arguments):
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            start = builder.add(builder.mul(arguments[1], _I64(lanes)), arguments[2])
            places = [
                _vector_at(builder, data, builder.add(start, _I64(k * step * lanes)))
                for k in range(8)
            ]
            rows = [builder.load(place, align=8) for place in places]
            for half in (4, 2, 1):
                size = half * step
                shift = ir.Constant(_VECTOR, [size] * VECTOR_WORDS)
                low = sum(1 << bit for bit in range(64) if not bit & size)
                keep = ir.Constant(_VECTOR, [low] * VECTOR_WORDS)
                drop = ir.Constant(_VECTOR, [~low & (1 << 64) - 1] * VECTOR_WORDS)
                for k in range(8):
                    if k & half:
                        continue
                    upper, lower = rows[k], rows[k + half]
                    rows[k] = builder.or_(
                        builder.and_(upper, keep), builder.and_(builder.shl(lower, shift), drop)
                    )
                    rows[k + half] = builder.or_(
                        builder.and_(builder.lshr(upper, shift), keep), builder.and_(lower, drop)
                    )
            for row, place in zip(rows, places, strict=True):
                builder.store(row, place, align=8)
            return context.get_dummy_value()

        return types.void(words, types.uint64, types.uint64), generate

    return swap


def make_shifter(lanes):
    """Return an intrinsic that copies a row of words, shifted by fewer than 64 bits."""

    @intrinsic
    def shift_row(typing_context, words, first, shift, rows, target):  # noqa: ARG001
        """Fill ``rows[target:]`` with the bits of ``words[first:]`` from bit ``shift`` on."""

        def generate(context, builder, signature, arguments):
            words, rows = (
                context.make_array(signature.args[k])(context, builder, arguments[k]).data
                for k in (0, 3)
            )
            shift = spread(builder, arguments[2], VECTOR_WORDS)
            rest = builder.xor(shift, ir.Constant(_VECTOR, [63] * VECTOR_WORDS))
            ones = ir.Constant(_VECTOR, [1] * VECTOR_WORDS)
            for word in range(0, lanes, VECTOR_WORDS):
                place = builder.add(arguments[1], _I64(word))
                here = builder.load(_vector_at(builder, words, place), align=8)
                after = _vector_at(builder, words, builder.add(place, _I64(1)))
                after = builder.shl(builder.shl(builder.load(after, align=8), ones), rest)
                row = builder.or_(builder.lshr(here, shift), after)
                target = builder.add(arguments[4], _I64(word))
                builder.store(row, _vector_at(builder, rows, target), align=8)
            return context.get_dummy_value()

        return types.void(words, types.uint64, types.uint64, rows, types.uint64), generate

    return shift_row


@intrinsic
def load_bits(typing_context, plane, start):  # noqa: ARG001
    """Return a word with at least 57 bits of a plane from ``start`` on."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        start = arguments[1]
        byte = builder.bitcast(data, ir.IntType(8).as_pointer())
        place = builder.gep(byte, [builder.lshr(start, _I64(3))])
        word = builder.load(builder.bitcast(place, _I64.as_pointer()), align=1)
        return builder.lshr(word, builder.and_(start, _I64(7)))

    return types.uint64(plane, types.uint64), generate
