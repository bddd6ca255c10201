// Hand-written encoding, decoded by libprotobuf.
#include "libmemprof/src/log/proto_writer.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

#include "libmemprof/src/log/encoder.h"
#include "proto/memprof.pb.h"
#include "tests/libmemprof/base/in_account.h"

namespace memprof::recorder {
namespace {

constexpr std::uint64_t kValues[] = {
    0,          1,          127,
    128,        16383,      16384,
    1ull << 35, 1ull << 62, std::numeric_limits<std::uint64_t>::max()};

TEST(ProtoWriter, AColumnOfVarintsIsAPackedField) {
  ByteBuffer column;
  for (const std::uint64_t value : kValues) {
    ASSERT_TRUE(column.Reserve(ByteBuffer::kMaxVarintBytes));
    column.PutVarint(value);
  }
  ByteBuffer message;
  ProtoWriter events(message);
  events.AddBytes(9, column.data(), column.size());  // log.Events.bytes
  events.AddVarints(11, kValues, 0);
  log::Events parsed;
  ASSERT_TRUE(parsed.ParseFromString(Text(message)));
  ASSERT_EQ(parsed.bytes_size(), static_cast<int>(std::size(kValues)));
  for (int i = 0; i < parsed.bytes_size(); ++i) EXPECT_EQ(parsed.bytes(i), kValues[i]);
  EXPECT_EQ(parsed.context_size(), 0);
}

// The length of a nested message is known last and takes one to four bytes, so the message may have
// to be moved.
TEST(ProtoWriter, NestedMessagesOfAnyLengthAreRead) {
  SetMemoryLimit(256 * kMib, 0);
  std::mt19937 random(3);
  for (const std::size_t longest : {0, 1, 90, 127, 128, 200, 16400, 3 << 20}) {
    log::Definitions expected;
    ByteBuffer message;
    {
      ProtoWriter fields(message);
      for (std::uint32_t i = 0; i < 5; ++i) {
        const std::string text(random() % (longest + 1), static_cast<char>('a' + i));
        const std::uint64_t shape[] = {random(), 0, std::uint64_t{1} << 40, random()};
        const std::size_t rank = random() % 5;
        {
          ProtoWriter string(fields, 1);
          string.AddVarint(1, i);
          string.AddBytes(2, text.data(), text.size());
        }
        {
          ProtoWriter device(fields, 4);
          device.AddVarint(1, 1000 * i);
          device.AddText(2, text.c_str());
          device.AddVarint(3, kValues[i + 4]);
          device.AddVarint(5, i % 2);
        }
        ProtoWriter tensor(fields, 6);
        tensor.AddVarint(1, i);
        tensor.AddVarints(4, shape, rank);
        auto* string = expected.add_string();
        string->set_id(i);
        string->set_value(text);
        auto* device = expected.add_device();
        device->set_ordinal(1000 * i);
        device->set_name(text);
        device->set_capacity_bytes(kValues[i + 4]);
        device->set_simulated(i % 2 != 0);
        auto* expected_tensor = expected.add_tensor();
        expected_tensor->set_id(i);
        for (std::size_t axis = 0; axis < rank; ++axis) expected_tensor->add_shape(shape[axis]);
      }
    }
    log::Definitions parsed;
    ASSERT_TRUE(parsed.ParseFromString(Text(message))) << longest;
    EXPECT_EQ(parsed.SerializeAsString(), expected.SerializeAsString()) << longest;
  }
}

// The length of each level includes the lengths nested in it.
TEST(ProtoWriter, MessagesWithinMessagesAreRead) {
  for (const std::size_t bytes : {0, 100, 120, 126, 127, 128, 16370, 16383, 16384}) {
    ByteBuffer message;
    {
      ProtoWriter fields(message);
      ProtoWriter trie(fields, 8);
      ProtoWriter kinds(trie, 5);  // as if a column were a message
      kinds.AddBytes(1, std::string(bytes, 'x').data(), bytes);
    }
    log::Definitions parsed;
    ASSERT_TRUE(parsed.ParseFromString(Text(message))) << bytes;
    ASSERT_TRUE(parsed.has_trie());
    // Tag and length of the inner field, each byte of which is a varint of the packed column.
    EXPECT_GE(parsed.trie().kind_size(), static_cast<int>(bytes) + 2);
  }
}

TEST(ProtoWriter, WithoutMemoryTheBufferHasFailed) {
  SetMemoryLimit(16 * kMib, 16 * kMib);  // no memory is left
  {
    ByteBuffer message;
    {
      ProtoWriter fields(message);
      ProtoWriter nested(fields, 1);
      nested.AddVarint(1, 300);
      nested.AddText(2, "text");
    }
    EXPECT_TRUE(message.failed());
  }
  SetMemoryLimit(256 * kMib, 0);
  ByteBuffer message;
  message.Reserve(1);
  SetMemoryLimit(16 * kMib, 16 * kMib);
  {
    ProtoWriter fields(message);
    ProtoWriter nested(fields, 1);
    const std::string text(1000, 'x');
    for (int i = 0; i < 40; ++i) nested.AddBytes(2, text.data(), text.size());
  }
  EXPECT_TRUE(message.failed());
  SetMemoryLimit(256 * kMib, 0);
}

TEST(ZigZag, TurnsSmallDifferencesOfEitherSignIntoSmallNumbers) {
  EXPECT_EQ(ZigZag(0), 0u);
  EXPECT_EQ(ZigZag(1), 2u);
  EXPECT_EQ(ZigZag(0 - std::uint64_t{1}), 1u);
  EXPECT_EQ(ZigZag(0 - std::uint64_t{64}), 127u);
  EXPECT_EQ(ZigZag(std::uint64_t{1} << 63), std::numeric_limits<std::uint64_t>::max());
}

}  // namespace
}  // namespace memprof::recorder
