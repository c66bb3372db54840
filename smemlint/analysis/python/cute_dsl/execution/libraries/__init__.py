"""Libraries on top of `cutlass.cute`: the helpers of `cutlass.utils`, and QuACK's."""
