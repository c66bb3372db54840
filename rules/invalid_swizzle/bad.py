import cutlass.cute as cute


@cute.jit
def layout(is_wide: bool):
    shift = 3 if is_wide else 2
    cute.make_swizzle(3, 3, shift)  # ~ SML201 makes the identity of it, without a word
    return cute.make_swizzle(2, -1, 3)  # ~ SML201 is no swizzle
