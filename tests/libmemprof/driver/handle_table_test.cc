// The table of handles that the hooks keep.
#include "libmemprof/src/driver/handle_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <utility>

namespace memprof::recorder {
namespace {

using HandleEntry = HandleTable::Entry;
using Dropped = HandleTable::Dropped;

TEST(HandleTable, KindsAreSeparate) {
  HandleTable table;
  EXPECT_TRUE(table.Add(HandleEntry(5, HandleKind::kIpc)));
  EXPECT_TRUE(table.Add(HandleEntry(5, HandleKind::kPool)));
  EXPECT_FALSE(table.Has(5, HandleKind::kMipmap));
  EXPECT_EQ(table.Drop(5, HandleKind::kPool), Dropped::kRemoved);
  EXPECT_TRUE(table.Has(5, HandleKind::kIpc));
}

TEST(HandleTable, DroppingCopiesTheEntry) {
  HandleTable table;
  EXPECT_EQ(table.Drop(5, HandleKind::kModule), Dropped::kUnknown);
  table.Add(HandleEntry::Module(5, 3, 77, 88));
  HandleEntry entry;
  EXPECT_EQ(table.Drop(5, HandleKind::kModule, &entry), Dropped::kRemoved);
  EXPECT_EQ(entry.bytes, 77u);
  EXPECT_EQ(entry.device_bytes(), 88u);
  EXPECT_EQ(entry.context, 3u);
}

// Against a map with reference counts.
TEST(HandleTable, AgreesWithAModel) {
  struct Counted {
    std::uint32_t references, context;
    std::uint64_t owner;
  };
  std::mt19937 random(11);
  HandleTable table;
  std::map<std::pair<std::uint64_t, HandleKind>, Counted> model;
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t handle = random() % 20;
    const auto kind = static_cast<HandleKind>(random() % 3);
    const auto at = model.find({handle, kind});
    switch (random() % 9) {
      case 0: {
        const std::uint32_t context = random() % 4;
        table.EndContext(context);
        if (context != 0)
          std::erase_if(model, [&](const auto& item) { return item.second.context == context; });
        break;
      }
      case 1: {
        const std::uint64_t owner = random() % 5;
        HandleEntry entry;
        const bool some = std::any_of(model.begin(), model.end(), [&](const auto& item) {
          return item.first.second == kind && item.second.owner == owner;
        });
        ASSERT_EQ(table.TakeOwned(owner, kind, &entry), some);
        if (some) {
          ASSERT_EQ(model.at({entry.handle, kind}).owner, owner);
          model.erase({entry.handle, kind});
        }
        break;
      }
      case 2:
      case 3:
      case 4: {
        const Dropped dropped = table.Drop(handle, kind);
        if (at == model.end()) {
          ASSERT_EQ(dropped, Dropped::kUnknown);
        } else if (--at->second.references == 0) {
          ASSERT_EQ(dropped, Dropped::kRemoved);
          model.erase(at);
        } else {
          ASSERT_EQ(dropped, Dropped::kReferenced);
        }
        break;
      }
      case 5: {
        const auto context = static_cast<std::uint32_t>(random() % 4);
        const std::uint64_t owner = random() % 5;
        table.Update(HandleEntry(handle, kind, context, owner));
        if (at != model.end()) at->second = {at->second.references, context, owner};
        break;
      }
      default: {
        const auto context = static_cast<std::uint32_t>(random() % 4);
        const std::uint64_t owner = random() % 5;
        ASSERT_EQ(table.Add(HandleEntry(handle, kind, context, owner)), at == model.end());
        if (at == model.end())
          model[{handle, kind}] = {1, context, owner};
        else
          ++at->second.references;
      }
    }
    ASSERT_EQ(table.Has(handle, kind), model.contains({handle, kind}));
  }
}

}  // namespace
}  // namespace memprof::recorder
