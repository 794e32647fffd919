"""Processor instructions without a Numba equivalent, for kernels on the CPU.

Numba's cache does not notice changes here; each function is one LLVM instruction and does not
change.
"""

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

ir = cgutils.ir


def spread(builder, scalar, n):
    """Broadcast a scalar to a vector of ``n`` elements; for use inside intrinsics."""
    i32 = ir.IntType(32)
    undefined = ir.Constant(ir.VectorType(scalar.type, n), ir.Undefined)
    one = builder.insert_element(undefined, scalar, i32(0))
    return builder.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(i32, n), [0] * n))


@intrinsic
def count_ones(typing_context, word):  # noqa: ARG001
    """Return the number of set bits of a word (popcount)."""

    def generate(context, builder, signature, arguments):  # noqa: ARG001
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@intrinsic
def leading_zeros(typing_context, word):  # noqa: ARG001
    """Return the number of leading zeros of a word; 64 for 0."""

    def generate(context, builder, signature, arguments):  # noqa: ARG001
        return builder.ctlz(arguments[0], context.get_constant(types.boolean, 0))

    return types.uint64(types.uint64), generate


@intrinsic
def lowest_bit(typing_context, word):  # noqa: ARG001
    """Return the position of the lowest set bit of a word; 64 for 0."""

    def generate(context, builder, signature, arguments):  # noqa: ARG001
        return builder.cttz(arguments[0], context.get_constant(types.boolean, 0))

    return types.uint64(types.uint64), generate


@intrinsic
def prefetch(typing_context, array, index):  # noqa: ARG001
    """Prefetch the cache line of an array element; a no-op where LLVM has no such instruction."""

    def generate(context, builder, signature, arguments):
        view = context.make_array(signature.args[0])(context, builder, value=arguments[0])
        pointer = builder.bitcast(builder.gep(view.data, [arguments[1]]), cgutils.voidptr_t)
        i32 = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, i32, i32, i32])
        name = "llvm.prefetch.p0"
        function = cgutils.get_or_insert_function(builder.module, kind, name)
        builder.call(function, [pointer, i32(0), i32(3), i32(1)])
        return context.get_dummy_value()

    return types.void(array, index), generate


@intrinsic
def number_of_bits(typing_context, bits):  # noqa: ARG001
    """Return the float64 with these bits."""

    def generate(context, builder, signature, arguments):  # noqa: ARG001
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate
