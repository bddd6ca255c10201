// protozero's writer into a ByteBuffer, made fit for a library without exceptions.
//
// Its headers also hold a decoder that throws, which this library never calls but which does not
// compile under -fno-exceptions: there the words throw, try and catch are blanked out while they
// are read. Its assertions would abort the program that we are a guest of, and are left out.
#pragma once

// All standard headers that protozero includes come first, so that they keep their `throw`.
#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "libmemprof/src/base/byte_buffer.h"

#ifndef protozero_assert
#define protozero_assert(condition) static_cast<void>(0)
#endif
#if !defined(__cpp_exceptions)
// The formatter takes `catch` for the keyword.
// clang-format off
#define throw (void)
#define try if constexpr (true)
#define catch(anything) else
// clang-format on
#define MEMPROF_BLANKED_THROW
#endif
#include <protozero/basic_pbf_writer.hpp>
#ifdef MEMPROF_BLANKED_THROW
#undef throw
#undef try
#undef catch
#undef MEMPROF_BLANKED_THROW
#endif

namespace protozero {

template <>
struct buffer_customization<memprof::recorder::ByteBuffer> {
  using Buffer = memprof::recorder::ByteBuffer;
  static std::size_t size(const Buffer* buffer) { return buffer->size(); }
  static void append(Buffer* buffer, const char* data, std::size_t count) {
    buffer->Append(data, count);
  }
  static void append_zeros(Buffer* buffer, std::size_t count) { buffer->AppendZeros(count); }
  static void resize(Buffer* buffer, std::size_t size) { buffer->Resize(size); }
  static void reserve_additional(Buffer* buffer, std::size_t size) { buffer->Reserve(size); }
  static void erase_range(Buffer* buffer, std::size_t from, std::size_t to) {
    buffer->Erase(from, to);
  }
  static char* at_pos(Buffer* buffer, std::size_t pos) { return buffer->data() + pos; }
  static void push_back(Buffer* buffer, char byte) { buffer->push_back(byte); }
};

}  // namespace protozero

namespace memprof::recorder {
using PbfWriter = protozero::basic_pbf_writer<ByteBuffer>;
}
