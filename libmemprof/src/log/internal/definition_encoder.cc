// Other definitions arrive encoded and are concatenated; nodes of the trie become columns.
#include "libmemprof/src/log/internal/definition_encoder.h"

#include <string.h>

#include <initializer_list>

#include "libmemprof/src/log/encoder.h"
#include "libmemprof/src/log/proto_writer.h"

namespace memprof::recorder {
namespace {

constexpr std::uint32_t kNodesPerTrie = 8192;
constexpr std::uint32_t kFramePython = 1;  // log.FrameKind

}  // namespace

void DefinitionEncoder::Add(const char* records, std::uint32_t bytes) {
  for (std::uint32_t at = 0; at < bytes;) {
    ring::DefinitionRecord record;
    memcpy(&record, records + at, sizeof record);
    const char* payload = records + at + sizeof record;
    if (record.kind == ring::DefinitionKind::kNode) {
      ring::NodeRecord node;
      memcpy(&node, payload, sizeof node);
      AddNode(node);
    } else {
      message_.Append(payload, record.bytes);
    }
    at += ring::PaddedRecordBytes(record.bytes);
  }
}

void DefinitionEncoder::AddNode(const ring::NodeRecord& node) {
  if (node_count_ == kNodesPerTrie || (node_count_ > 0 && node.id != first_node_ + node_count_))
    CloseTrie();
  if (node_count_ == 0) {
    first_node_ = node.id;
    last_address_ = 0;
    has_kinds_ = false;
  }
  for (ByteBuffer* column : {&parents_, &addresses_, &modules_, &kinds_})
    if (!column->Reserve(ByteBuffer::kMaxVarintBytes)) return;
  ++node_count_;
  parents_.PutVarint(node.parent);
  const bool python = node.kind == kFramePython;  // an id: no difference to the last address
  addresses_.PutVarint(ZigZag(python ? node.address : node.address - last_address_));
  modules_.PutVarint(node.module);
  kinds_.PutVarint(node.kind);
  has_kinds_ |= node.kind != 0;
  if (!python) last_address_ = node.address;
}

// A message holds one trie: when nodes need another one, the message becomes a chunk.
void DefinitionEncoder::CloseTrie() {
  if (node_count_ == 0) return;
  {
    ProtoWriter fields(message_);
    ProtoWriter trie(fields, 8);
    trie.AddVarint(1, first_node_);
    trie.AddBytes(2, parents_.data(), parents_.size());
    trie.AddBytes(3, addresses_.data(), addresses_.size());
    trie.AddBytes(4, modules_.data(), modules_.size());
    if (has_kinds_) trie.AddBytes(5, kinds_.data(), kinds_.size());
  }
  log_->AddChunk(log::ChunkKind::kDefinitions, message_);
  message_.Clear();
  for (ByteBuffer* column : {&parents_, &addresses_, &modules_, &kinds_}) column->Clear();
  node_count_ = 0;
}

void DefinitionEncoder::Finish() {
  CloseTrie();
  if (message_.size() > 0) log_->AddChunk(log::ChunkKind::kDefinitions, message_);
  message_.Clear();
}

}  // namespace memprof::recorder
