import cutlass.cute as cute


@cute.jit
def layout(is_wide: bool):
    shift = 3 if is_wide else 2
    cute.make_swizzle(3, 3, shift)  # ~ SML201 the identity
    return cute.make_swizzle(2, -1, 3)  # ~ SML201 `Swizzle<2,-1,3>`
