// What the recorded copies are compiled with: CuTe's copy() logs instead of executing.
// record_cute_copies.py puts LOG_ELEMENT and LOG_ATOM into the headers where CuTe executes.
#pragma once
#include <cstdint>
#include <cstdio>
#include <type_traits>

namespace recorded {

alignas(1024) inline unsigned char shared_memory[1 << 20];
inline int thread = 0;
inline bool is_on = false;

inline void log(char const* op, void const* pointer, int bytes) {
  long offset = static_cast<unsigned char const*>(pointer) - shared_memory;
  if (is_on && offset >= 0 && offset < long(sizeof(shared_memory)))
    printf("%d %s %d %ld\n", thread, op, bytes, offset);
}

template <class Op>
struct Name {
  static constexpr char const* load = "load";
  static constexpr char const* store = "store";
};

template <class T>
using engine_of = typename std::remove_cv_t<std::remove_reference_t<T>>::engine_type;

}  // namespace recorded

#define LOG_ELEMENT(src, dst, i)                                            \
  do {                                                                      \
    if constexpr (cute::is_smem<SrcEngine>::value)                          \
      recorded::log("load", (void const*)&src(i), int(sizeof(src(i))));     \
    if constexpr (cute::is_smem<DstEngine>::value)                          \
      recorded::log("store", (void const*)&dst(i), int(sizeof(dst(i))));    \
  } while (0)

#define LOG_ATOM(Op, rS, rD)                                                \
  do {                                                                      \
    using LogName = recorded::Name<Op>;                                     \
    if constexpr (cute::is_smem<recorded::engine_of<decltype(rS)>>::value)  \
      recorded::log(LogName::load, (void const*)&rS(0), int(sizeof(rS(0)))); \
    if constexpr (cute::is_smem<recorded::engine_of<decltype(rD)>>::value)  \
      recorded::log(LogName::store, (void const*)&rD(0), int(sizeof(rD(0)))); \
  } while (0)
