"""Host code: the launches it makes and the kernel instances that follow from them."""
