"""A program around a kernel without one: C++ that calls it once, with memory for its pointers.

Types of arguments are left to the C++ compiler, which knows them all. A pointer gets its own
memory: of positive floating-point numbers (every byte 0x3f), or of zeros, which are indices that
always exist.
"""

from __future__ import annotations

from smemlint.verify.calls import Argument, Call

ROOM = 256 << 20
"""Bytes of memory behind a pointer."""
FILL = 0x3F
"""Makes a positive number of every floating-point format: 0.75 as `float`, 1.8 as `half`."""
SAYS = "smemlint: "
"""Begins the line in which the program says why it could not do its part."""


def program(source: str, call: Call) -> str:
    """Returns the program that includes a source file and calls a kernel of it."""
    given = ", ".join(map(_given, call.arguments)) or '{"", false, 0, false}'
    shared = -1 if call.shared is None else call.shared
    return (
        f'#define main smemlint_other_main\n#include "{source}"\n#undef main\n{_HARNESS}'
        f"int main() {{\n"
        f"  const smemlint::Given given[] = {{{given}}};\n"
        f"  smemlint::call({call.kernel}, dim3{call.block}, {shared}, given);\n"
        f"}}\n"
    )


def _given(argument: Argument) -> str:
    known = "false, 0" if argument.value is None else f"true, {argument.value!r}"
    return f'{{"{argument.name}", {known}, {str(argument.dtype == "*f").lower()}}}'


_HARNESS = f"""
#include <cstdio>
#include <cstdlib>
#include <tuple>
#include <type_traits>
#include <utility>
#include <cuda_runtime.h>

namespace smemlint {{

struct Given {{ const char *name; bool known; double value; bool points_to_floating; }};

[[noreturn]] void stop(const char *what, const char *name, const char *why) {{
  std::fprintf(stderr, "\\n{SAYS}%s%s%s\\n", what, name, why);
  std::exit(3);
}}

void check(cudaError_t error) {{
  if (error != cudaSuccess) stop(cudaGetErrorName(error), ": ", cudaGetErrorString(error));
}}

template <class T> T argument(const Given &given) {{
  if constexpr (std::is_pointer_v<T>) {{
    using Target = std::remove_cv_t<std::remove_pointer_t<T>>;
    const bool is_floating = given.points_to_floating || std::is_floating_point_v<Target>;
    void *data = nullptr;
    check(cudaMalloc(&data, {ROOM}));
    check(cudaMemset(data, is_floating ? {FILL} : 0, {ROOM}));
    return static_cast<T>(data);
  }} else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {{
    if (!given.known && !std::is_floating_point_v<T>)
      stop("the value of argument `", given.name, "` is not known");
    return static_cast<T>(given.known ? given.value : 1.0);
  }} else if constexpr (std::is_constructible_v<T, float>) {{
    return T(given.known ? static_cast<float>(given.value) : 1.0f);
  }} else {{
    stop("argument `", given.name, "` is a structure");
  }}
}}

template <class... P, std::size_t... I>
void call_with(void (*kernel)(P...), dim3 block, long shared, const Given *given,
               std::index_sequence<I...>) {{
  cudaFuncAttributes attributes;
  int most = 0;
  check(cudaFuncGetAttributes(&attributes, kernel));
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  if (shared < 0) shared = most - static_cast<long>(attributes.sharedSizeBytes);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
  std::tuple<std::remove_cv_t<P>...> arguments{{argument<std::remove_cv_t<P>>(given[I])...}};
  kernel<<<1, block, shared>>>(std::get<I>(arguments)...);
  check(cudaGetLastError());
  check(cudaDeviceSynchronize());
}}

template <class... P>
void call(void (*kernel)(P...), dim3 block, long shared, const Given *given) {{
  call_with(kernel, block, shared, given, std::index_sequence_for<P...>{{}});
}}

}}  // namespace smemlint

"""
