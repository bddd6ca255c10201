// Parses MEMPROF_* variables.
#include "libmemprof/src/recording/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libmemprof/src/base/memory_budget.h"
#include "libmemprof/src/base/sys.h"
#include "libmemprof/src/stacks/unwinder.h"

namespace memprof::recorder {
namespace {

bool IsSet(const char* value) {
  return value != nullptr && value[0] != '\0' && strcmp(value, "0") != 0;
}

// Leaves `*value` unchanged if the text is no number between `least` and `most`.
void ReadNumber(const char* name, const char* text, std::uint64_t least, std::uint64_t most,
                std::uint64_t* value) {
  if (text == nullptr || text[0] == '\0') return;
  char* end = nullptr;
  errno = 0;
  const unsigned long long number = strtoull(text, &end, 10);
  if (errno != 0 || *end != '\0' || text[0] == '-' || number < least || number > most) {
    Message("%s=%.60s is not a number between %llu and %llu; using %llu", name, text,
            static_cast<unsigned long long>(least), static_cast<unsigned long long>(most),
            static_cast<unsigned long long>(*value));
    return;
  }
  *value = number;
}

void ReadSource(const char* text, Settings* settings) {
  if (text == nullptr || text[0] == '\0' || strcmp(text, "auto") == 0) return;
  if (strcmp(text, "driver") == 0) {
    settings->cupti = false;
  } else if (strcmp(text, "cupti") == 0) {
    settings->driver = false;
    settings->cupti = true;
  } else if (strcmp(text, "driver,cupti") == 0 || strcmp(text, "cupti,driver") == 0) {
    settings->cupti = true;
  } else {
    Message("MEMPROF_SOURCE=%.60s is none of auto, driver, cupti and driver,cupti; using auto",
            text);
  }
}

}  // namespace

Settings ReadSettings(EnvironmentLookup lookup, bool preloaded) {
  SystemSection section;
  Settings settings;
  const char* output = lookup("MEMPROF_OUTPUT");
  const bool has_output = output != nullptr && output[0] != '\0';
  if (has_output && strlen(output) < sizeof settings.output)
    strcpy(settings.output, output);
  else if (has_output)
    Message("MEMPROF_OUTPUT is too long; using %s", settings.output);
  const char* shared = lookup("MEMPROF_SHM");
  if (shared != nullptr && shared[0] == '/' && strlen(shared) < sizeof settings.shared_directory)
    strcpy(settings.shared_directory, shared);
  else if (shared != nullptr && shared[0] != '\0')
    Message("MEMPROF_SHM=%.60s is no absolute path of fewer than %zu bytes; using %s", shared,
            sizeof settings.shared_directory, settings.shared_directory);
  const char* list = lookup("MEMPROF_RUN");
  if (list != nullptr && strlen(list) < sizeof settings.run_list) strcpy(settings.run_list, list);
  settings.disabled = IsSet(lookup("MEMPROF_DISABLE"));
  settings.verbose = IsSet(lookup("MEMPROF_VERBOSE"));
  settings.cupti = IsSet(lookup("MEMPROF_CUPTI"));
  settings.agent = IsSet(lookup("MEMPROF_AGENT"));
  settings.scan_at_exit = IsSet(lookup("MEMPROF_SCAN"));
  ReadSource(lookup("MEMPROF_SOURCE"), &settings);
  const char* start = lookup("MEMPROF_START");
  settings.start_paused = start != nullptr && strcmp(start, "paused") == 0;
  if (start != nullptr && start[0] != '\0' && !settings.start_paused && strcmp(start, "now") != 0)
    Message("MEMPROF_START=%.60s is neither paused nor now; using now", start);
  settings.begins_by_itself =
      !settings.start_paused && (preloaded || has_output || start != nullptr);
  std::uint64_t depth = static_cast<std::uint64_t>(settings.stack_depth);
  ReadNumber("MEMPROF_STACK_DEPTH", lookup("MEMPROF_STACK_DEPTH"), 0, kMaxStackDepth, &depth);
  settings.stack_depth = static_cast<int>(depth);
  settings.ring_events = 1u << 20;
  ReadNumber("MEMPROF_RING_EVENTS", lookup("MEMPROF_RING_EVENTS"), 1024, 1u << 24,
             &settings.ring_events);
  const char* always_on = lookup("MEMPROF_ALWAYS_ON");
  if (IsSet(always_on) && !log::ParseAlwaysOn(always_on, &settings.always_on))
    Message(
        "MEMPROF_ALWAYS_ON=%.60s is no budget of at least 64 KiB in a time of at least 1 s, such "
        "as 10MB/day; recording everything",
        always_on);
  std::uint64_t memory_mib = settings.always_on.wanted() ? kAlwaysOnMemoryMib : kDefaultMemoryMib;
  ReadNumber("MEMPROF_MEMORY_MIB", lookup("MEMPROF_MEMORY_MIB"), kMinMemoryMib, 1u << 16,
             &memory_mib);
  settings.memory_bytes = memory_mib << 20;
  ReadNumber("MEMPROF_WRITE_MS", lookup("MEMPROF_WRITE_MS"), 20, 1000, &settings.rest_ms);
  return settings;
}

}  // namespace memprof::recorder
