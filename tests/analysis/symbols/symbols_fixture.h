// A library of known symbols, and sessions with frames in it.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstdlib>

#include "tests/analysis/symbols/symbols_guest.h"
#include "tests/support/load_log.h"

namespace memprof::analysis::testing {

struct Loaded {
  std::string path, build_id;
  std::uint64_t bias = 0, first = 0, end = 0;
};

// The loaded object that contains `address`, according to the dynamic linker.
inline Loaded ObjectOf(const void* address) {
  struct Search {
    std::uint64_t address;
    Loaded found;
  } search{reinterpret_cast<std::uint64_t>(address), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto* const wanted = static_cast<Search*>(data);
        Loaded object{.path = info->dlpi_name, .bias = info->dlpi_addr, .first = ~0ull};
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& header = info->dlpi_phdr[i];
          const std::uint64_t begin = info->dlpi_addr + header.p_vaddr;
          if (header.p_type == PT_LOAD) {
            object.first = std::min<std::uint64_t>(object.first, begin);
            object.end = std::max<std::uint64_t>(object.end, begin + header.p_memsz);
          }
          if (header.p_type != PT_NOTE) continue;
          const char* at = reinterpret_cast<const char*>(begin);
          for (const char* const last = at + header.p_memsz; at < last;) {
            const auto* const note = reinterpret_cast<const ElfW(Nhdr)*>(at);
            const char* const content = at + sizeof *note + (note->n_namesz + 3) / 4 * 4;
            if (note->n_type == NT_GNU_BUILD_ID) object.build_id.assign(content, note->n_descsz);
            at = content + (note->n_descsz + 3) / 4 * 4;
          }
        }
        if (wanted->address < object.first || wanted->address >= object.end) return 0;
        wanted->found = object;
        return 1;
      },
      &search);
  return search.found;
}

class SymbolsTest : public ::testing::Test {
 protected:
  SymbolsTest() : capture_(guest::Outer()), library_(ObjectOf(capture_.address[0])) {}

  // A session with the captured stack in `library`.
  std::shared_ptr<const Session> SessionWith(const Loaded& library) {
    LogBuilder log;
    Describe(library, log);
    return LoadLog(log);
  }
  void Describe(const Loaded& library, LogBuilder& log) const {
    log::Module* module = log.definitions().add_module();
    module->set_id(4);
    module->set_path(library.path);
    module->set_build_id(library.build_id);
    module->set_load_bias(library.bias);
    module->set_first_address(library.first);
    module->set_end_address(library.end);
    log::StackTrie* trie = log.definitions().mutable_trie();
    trie->set_first_id(1);
    std::uint64_t before = 0;
    for (int i = 2; i >= 0; --i) {  // outermost first: Outer, Middle, Innermost
      const auto address = reinterpret_cast<std::uint64_t>(capture_.address[i]);
      trie->add_parent(static_cast<std::uint32_t>(2 - i));
      trie->add_address_delta(static_cast<std::int64_t>(address - before));
      trie->add_module(4);
      before = address;
    }
    log.Alloc(Layer::kLinear, 0x1000, 64, {.stack = 3});
  }

  // The same in a copy of the library that objcopy makes with `option`; the file's name stays.
  std::shared_ptr<const Session> SessionWithCopy(const std::string& option) {
    Loaded copy = library_;
    copy.path = directory_.File("libsymbols_guest.so");
    const std::string command =
        "objcopy " + option + " '" + library_.path + "' '" + copy.path + "'";
    return std::system(command.c_str()) == 0 ? SessionWith(copy) : nullptr;
  }

  const guest::Capture capture_;
  const Loaded library_;
  const TempDirectory directory_;
};

}  // namespace memprof::analysis::testing
