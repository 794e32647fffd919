"""Products of small integers by the matrix unit (AMX) that some x86 processors have.

A *tile* is 16 rows of 64 bytes. The unit multiplies 16 by 64 integers of 8 bits with 64 by 16, and
adds to 16 by 16 integers of 32 bits. A row of the second factor has four entries of each column::

           64 entries                 16 columns of 4 entries          16 columns
       +--------------+             +----------+----------+---        +-------------+
    16 | a0 a1 a2 ..  |     x    16 | b0 .. b3 | c0 .. c3 | ..  += 16 | a0 b0 + ..  |
       |              |             | b4 .. b7 | c4 .. c7 | ..        |             |
       +--------------+             +----------+----------+---        +-------------+

Genotypes are expanded from 2 bits to bytes just before the product, so that memory is read at 2
bits a genotype.
"""

import ctypes
import platform
import sys
from functools import cache

import llvmlite.binding
import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

TILE_ROWS = 16
TILE_BYTES = 1024
LINE = 64
"""Bytes of a row of a tile."""
MAX_TILES = 5
"""Accumulator tiles, of the eight tiles of the unit."""
CHUNK = 256
"""Genotypes of a line of packed codes, and rows of sums that are expanded at a time."""
STATES, CODE_1, CODE_2 = range(3)
"""What is multiplied: the sum of a code's bits, or the indicator of one code."""

FEATURES = "amx-tile", "amx-int8", "avx512bw"
SYSCALL_ARCH_PRCTL = 158
ARCH_REQ_XCOMP_PERM = 0x1023
XFEATURE_XTILEDATA = 18

ir = cgutils.ir
_I8, _I16, _I32, _I64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))
_BYTES = _I8.as_pointer()
_READ_INTO_L2 = 0, 2, 1
_LANES = 4
"""128-bit lanes of a 64-byte vector; bytes are interleaved within a lane."""


@cache
def has_amx():
    """Return whether this processor has AMX and the system lets this process use it."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    features = llvmlite.binding.get_host_cpu_features()
    if not all(features.get(name) for name in FEATURES):
        return False
    libc = ctypes.CDLL(None)
    if libc.syscall(SYSCALL_ARCH_PRCTL, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA):
        return False
    llvmlite.binding.initialize_native_asmparser()
    return True


def tile_shapes():
    """Return the tile configuration, uint8 (64,): all tiles have full size."""
    shapes = np.zeros(LINE, np.uint8)
    shapes[0] = 1
    shapes[16:32:2], shapes[48:56] = LINE, TILE_ROWS
    return shapes


def _assembly(n_tiles, genotypes_are_first):
    """Return the instructions that add products to accumulator tiles, group after group.

    Operands: $0 genotypes, $1 sums, $2 groups, $3 and $4 scratch; then the initial values of the
    first three; $8 shapes, $9 digits, $10 steps, $11 row stride in bytes, $12 group stride in
    bytes.
    """
    sums = [f"%tmm{k}" for k in range(n_tiles)]
    lines = ["ldtilecfg ($8)", "2:", "mov $9, $3", "mov $10, $4"]
    lines += [f"tileloadd {TILE_BYTES * k}($1,$11), {tile}" for k, tile in enumerate(sums)]
    lines += ["1:", "tileloadd ($0,$11), %tmm7", f"add $${TILE_BYTES}, $0"]
    for k, tile in enumerate(sums):
        digits = f"%tmm{MAX_TILES + k % 2}"
        second, first = (digits, "%tmm7") if genotypes_are_first else ("%tmm7", digits)
        lines.append(f"tileloadd {TILE_BYTES * k}($3,$11), {digits}")
        lines.append(f"tdpbssd {second}, {first}, {tile}")
    lines += [f"add $${n_tiles * TILE_BYTES}, $3", "dec $4", "jnz 1b"]
    lines += [f"tilestored {tile}, {TILE_BYTES * k}($1,$11)" for k, tile in enumerate(sums)]
    lines += [f"add $${n_tiles * TILE_BYTES}, $1", "add $12, $0", "dec $2", "jnz 2b"]
    lines += ["tilerelease"]
    return "\n".join(lines)


def _pointer(context, builder, signature, arguments, k, index=None):
    data = context.make_array(signature.args[k])(context, builder, arguments[k]).data
    return builder.bitcast(data if index is None else builder.gep(data, [index]), _BYTES)


@intrinsic
def multiply_tiles(
    typing_context, by_sample, n_tiles, genotypes, n_between, digits, n_steps, sums, n_groups,  # noqa: ARG001
    shapes,
):  # fmt: skip
    """Add products of tiles to groups of ``n_tiles`` accumulator tiles.

    The digits have ``n_steps * n_tiles`` tiles. The genotypes have ``n_steps`` tiles for each of
    ``n_groups`` groups, ``n_between`` bytes apart, and are the first factors unless ``by_sample``.
    """

    def generate(context, builder, signature, arguments):
        def pointer(k):
            return _pointer(context, builder, signature, arguments, k)

        by_sample, n_tiles, n_between, n_steps, n_groups = (arguments[k] for k in (0, 1, 3, 5, 7))
        operands = (
            pointer(2), pointer(6), n_groups, pointer(8), pointer(4), n_steps, _I64(LINE),
            n_between,
        )  # fmt: skip
        outputs = _BYTES, _BYTES, _I64, _BYTES, _I64
        kind = ir.FunctionType(
            ir.LiteralStructType(outputs), [operand.type for operand in operands]
        )
        constraints = "=&r,=&r,=&r,=&r,=&r,0,1,2,r,r,r,r,r,~{memory},~{flags}"
        for are_first in (False, True):
            is_so = builder.icmp_signed("==", by_sample, _I64(1 - are_first))
            with builder.if_then(is_so):
                for n in range(1, MAX_TILES + 1):
                    with builder.if_then(builder.icmp_signed("==", n_tiles, _I64(n))):
                        text = _assembly(n, are_first)
                        builder.asm(kind, text, constraints, operands, side_effect=True)
        return context.get_dummy_value()

    size = types.int64
    return (
        types.void(size, size, genotypes, size, digits, size, sums, size, shapes),
        generate,
    )


def _interleave(builder, first, second, element, upper):
    """Interleave the lower or the upper halves of the lanes of two vectors."""
    n = LINE * 8 // element.width
    size = n // _LANES
    kind = ir.VectorType(element, n)
    order = [
        size * lane + upper * size // 2 + k + other
        for lane in range(_LANES)
        for k in range(size // 2)
        for other in (0, n)
    ]
    mask = ir.Constant(ir.VectorType(_I32, n), order)
    return builder.shuffle_vector(builder.bitcast(first, kind), builder.bitcast(second, kind), mask)


def _counts(builder, codes, kind):
    """Return the values of codes: the sum of bits, or the indicator of code 1 or 2."""
    vector = ir.VectorType(_I64, 8)
    codes = builder.bitcast(codes, vector)
    low_bits, none = (ir.Constant(vector, [bits] * 8) for bits in (0x5555555555555555, 0))

    def of_kinds_but(bits, other):
        is_other = builder.icmp_signed("==", kind, _I64(other))
        return builder.and_(bits, builder.select(is_other, none, low_bits))

    upper = builder.lshr(codes, ir.Constant(vector, [1] * 8))
    both = of_kinds_but(builder.and_(codes, upper), STATES)
    ones = builder.add(of_kinds_but(codes, CODE_2), of_kinds_but(upper, CODE_1))
    return builder.sub(ones, both)


def _load_line(builder, pointer, ahead):
    """Load a line, and prefetch the line ``ahead`` bytes further on."""
    prefetch = builder.module.declare_intrinsic(
        "llvm.prefetch.p0i8", fnty=ir.FunctionType(ir.VoidType(), [_BYTES, _I32, _I32, _I32])
    )
    builder.call(prefetch, [builder.gep(pointer, [ahead]), *map(_I32, _READ_INTO_L2)])
    return builder.load(builder.bitcast(pointer, ir.VectorType(_I8, LINE).as_pointer()), align=1)


def _store_line(builder, line, pointer):
    line = builder.bitcast(line, ir.VectorType(_I8, LINE))
    builder.store(line, builder.bitcast(pointer, line.type.as_pointer()), align=LINE)


@intrinsic
def spread_columns(typing_context, kind, codes, byte, row_bytes, ahead, tiles, place, step):  # noqa: ARG001
    """Write the values of 256 samples at four variants: one row in each of 16 tiles.

    The codes of a variant are 64 bytes from ``codes.flat[byte]`` on, those of the next variant
    ``row_bytes`` further; those ``ahead`` bytes further are prefetched. Row ``t`` begins at
    ``tiles[place + t step]``. Its bytes are four variants of each of 16 samples: samples
    ``64 l + 4 t + j`` for ``l`` and ``j`` from 0 to 3.
    """

    def generate(context, builder, signature, arguments):
        kind, byte, row_bytes, ahead, place, step = (arguments[k] for k in (0, 2, 3, 4, 6, 7))
        rows = []
        for k in range(4):
            index = builder.add(byte, builder.mul(row_bytes, _I64(k)))
            pointer = _pointer(context, builder, signature, arguments, 1, index)
            rows.append(_counts(builder, _load_line(builder, pointer, ahead), kind))
        pairs = [
            [_interleave(builder, rows[k], rows[k + 1], _I8, upper) for k in (0, 2)]
            for upper in (0, 1)
        ]
        fours = [_interleave(builder, *pair, _I16, upper) for pair in pairs for upper in (0, 1)]
        vector = ir.VectorType(_I32, LINE // 4)
        shifts = ir.Constant(vector, [0, 2, 4, 6] * _LANES)
        kept = ir.Constant(vector, [0x03030303] * (LINE // 4))
        for t in range(TILE_ROWS):
            words = builder.bitcast(fours[t // 4], vector)
            order = [4 * lane + t % 4 for lane in range(_LANES) for _ in range(4)]
            words = builder.shuffle_vector(words, words, ir.Constant(vector, order))
            line = builder.and_(builder.lshr(words, shifts), kept)
            index = builder.add(place, builder.mul(step, _I64(t)))
            _store_line(builder, line, _pointer(context, builder, signature, arguments, 5, index))
        return context.get_dummy_value()

    size = types.int64
    return types.void(size, codes, size, size, size, tiles, size, size), generate


@intrinsic
def spread_row(typing_context, kind, codes, byte, ahead, tiles, place, step):  # noqa: ARG001
    """Write the values of 256 samples at a variant, 64 bytes from ``codes.flat[byte]`` on: 4 rows.

    Row ``t`` begins at ``tiles[place + t step]`` and has the samples ``4 j + t``. The codes
    ``ahead`` bytes further on are prefetched.
    """

    def generate(context, builder, signature, arguments):
        kind, byte, ahead, place, step = (arguments[k] for k in (0, 2, 3, 5, 6))
        pointer = _pointer(context, builder, signature, arguments, 1, byte)
        counts = _counts(builder, _load_line(builder, pointer, ahead), kind)
        for t in range(4):
            line = builder.lshr(counts, ir.Constant(counts.type, [2 * t] * 8))
            line = builder.and_(line, ir.Constant(counts.type, [0x0303030303030303] * 8))
            index = builder.add(place, builder.mul(step, _I64(t)))
            _store_line(builder, line, _pointer(context, builder, signature, arguments, 4, index))
        return context.get_dummy_value()

    size = types.int64
    return types.void(size, codes, size, size, tiles, size, size), generate


@intrinsic
def find_codes(typing_context, kind, codes, byte, ahead):  # noqa: ARG001
    """Return a number that is 0 unless some of 256 codes have a value, read as by `spread_row`."""

    def generate(context, builder, signature, arguments):
        pointer = _pointer(context, builder, signature, arguments, 1, arguments[2])
        counts = _counts(builder, _load_line(builder, pointer, arguments[3]), arguments[0])
        reduce = builder.module.declare_intrinsic(
            "llvm.vector.reduce.or.v8i64", fnty=ir.FunctionType(_I64, [counts.type])
        )
        return builder.call(reduce, [counts])

    size = types.int64
    return size(size, codes, size, size), generate
