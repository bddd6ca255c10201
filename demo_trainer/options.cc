// Reads and checks the command line: one table has the values of each option.
#include "demo_trainer/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <sstream>

#include "demo_trainer/error.h"
#include "demo_trainer/leaks/leaks.h"

namespace memprof::demo {
namespace {

int64_t ParseInteger(const std::string& option, const std::string& text, int64_t least,
                     int64_t most) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) {
    throw UsageError(option + " takes a whole number, not '" + text + "'");
  }
  if (value < least || value > most) {
    throw UsageError(option + " must be between " + std::to_string(least) + " and " +
                     std::to_string(most) + ", not " + text);
  }
  return value;
}

float ParseReal(const std::string& option, const std::string& text, float least) {
  char* end = nullptr;
  const float value = std::strtof(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value) || value < least) {
    throw UsageError(option + " takes a number that is not negative, not '" + text + "'");
  }
  return value;
}

std::vector<std::string> SplitByComma(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

template <typename T>
T OneOf(const std::string& option, const std::string& text, const std::map<std::string, T>& map) {
  const auto found = map.find(text);
  if (found != map.end()) return found->second;
  std::string choices;
  for (const auto& [name, value] : map) choices += (choices.empty() ? "" : ", ") + name;
  throw UsageError(option + " takes one of " + choices + "; not '" + text + "'");
}

void ParseLeaks(const std::string& text, Options* options) {
  for (const std::string& kind : SplitByComma(text)) {
    if (kind == "list") {
      options->list_leaks = true;
    } else if (FindLeak(kind) == nullptr) {
      throw UsageError("--leak does not know '" + kind + "'; --leak list shows the kinds");
    } else {
      options->leaks.push_back(kind);
    }
  }
}

using Setter = std::function<void(const std::string& option, const std::string& text, Options*)>;

Setter Integer(int64_t Options::*member, int64_t least, int64_t most) {
  return [=](const std::string& option, const std::string& text, Options* options) {
    options->*member = ParseInteger(option, text, least, most);
  };
}

Setter ModelInteger(int64_t ModelConfig::*member, int64_t most) {
  return [=](const std::string& option, const std::string& text, Options* options) {
    options->model.*member = ParseInteger(option, text, 1, most);
  };
}

Setter Count(int Options::*member, int64_t least, int64_t most) {
  return [=](const std::string& option, const std::string& text, Options* options) {
    options->*member = static_cast<int>(ParseInteger(option, text, least, most));
  };
}

Setter Real(float Options::*member) {
  return [=](const std::string& option, const std::string& text, Options* options) {
    options->*member = ParseReal(option, text, 0.0f);
  };
}

// Options that take a value.
const std::map<std::string, Setter>& Setters() {
  constexpr int64_t kMany = 1'000'000'000;
  static const std::map<std::string, Setter> setters = {
      {"--layers", ModelInteger(&ModelConfig::layers, 1000)},
      {"--dim", ModelInteger(&ModelConfig::dim, 65536)},
      {"--heads", ModelInteger(&ModelConfig::heads, 1024)},
      {"--context", ModelInteger(&ModelConfig::context, 65536)},
      {"--batch", Integer(&Options::batch, 1, 1'000'000)},
      {"--grad-accum", Integer(&Options::grad_accum, 1, 10'000)},
      {"--steps", Integer(&Options::steps, 0, kMany)},
      {"--eval-every", Integer(&Options::eval_every, 0, kMany)},
      {"--print-every", Integer(&Options::print_every, 1, kMany)},
      {"--leak-after", Integer(&Options::leak_after, 0, kMany)},
      {"--lr", Real(&Options::lr)},
      {"--clip", Real(&Options::clip)},
      {"--loss-scale", Real(&Options::loss_scale)},
      {"--devices", Count(&Options::devices, 1, 64)},
      {"--ranks", Count(&Options::ranks, 1, 64)},
      {"--rank", Count(&Options::rank, 0, 63)},
      {"--rank-fd", Count(&Options::rank_fd, 0, std::numeric_limits<int>::max())},
      {"--seed",
       [](const std::string& option, const std::string& text, Options* options) {
         options->seed = static_cast<uint64_t>(
             ParseInteger(option, text, 0, std::numeric_limits<int64_t>::max()));
       }},
      {"--text",
       [](const std::string&, const std::string& text, Options* options) { options->text = text; }},
      {"--dtype",
       [](const std::string& option, const std::string& text, Options* options) {
         options->model.dtype =
             OneOf<DType>(option, text, {{"fp32", DType::kFloat32}, {"bf16", DType::kBFloat16}});
       }},
      {"--allocator",
       [](const std::string& option, const std::string& text, Options* options) {
         options->allocator = OneOf<AllocatorKind>(option, text,
                                                   {{"caching", AllocatorKind::kCaching},
                                                    {"cuda", AllocatorKind::kCuda},
                                                    {"async", AllocatorKind::kAsync}});
       }},
      {"--max-split", [](const std::string& option, const std::string& text,
                         Options* options) { options->max_split_bytes = ParseSize(option, text); }},
      {"--leak", [](const std::string&, const std::string& text,
                    Options* options) { ParseLeaks(text, options); }},
      {"--snapshot",
       [](const std::string& option, const std::string& text, Options* options) {
         for (const std::string& step : SplitByComma(text)) {
           options->snapshots.push_back(ParseInteger(option, step, 0, kMany));
         }
       }},
  };
  return setters;
}

// Options that take none.
bool SetFlag(const std::string& name, Options* options) {
  static const std::map<std::string, std::function<void(Options*)>> flags = {
      {"--checkpointing", [](Options* o) { o->model.checkpointing = true; }},
      {"--inplace", [](Options* o) { o->model.inplace = true; }},
      {"--prefetch", [](Options* o) { o->prefetch = true; }},
      {"--empty-cache", [](Options* o) { o->empty_cache = true; }},
      {"--stats", [](Options* o) { o->stats = true; }},
      {"--quiet", [](Options* o) { o->quiet = true; }},
      {"--help", [](Options* o) { o->help = true; }},
      {"-h", [](Options* o) { o->help = true; }},
  };
  const auto found = flags.find(name);
  if (found == flags.end()) return false;
  found->second(options);
  return true;
}

void CheckTogether(Options* options) {
  const ModelConfig& model = options->model;
  if (model.dim % model.heads != 0) {
    throw UsageError("--dim " + std::to_string(model.dim) + " is not divisible by --heads " +
                     std::to_string(model.heads));
  }
  if (options->batch % options->Shards() != 0) {
    throw UsageError("--batch " + std::to_string(options->batch) + " cannot be shared out evenly " +
                     "to " + std::to_string(options->devices) + " devices x " +
                     std::to_string(options->ranks) + " ranks");
  }
  if (options->loss_scale == 0.0f) {
    options->loss_scale = model.dtype == DType::kBFloat16 ? 65536.0f : 1.0f;
  }
  if (options->Leaks("eval") && options->eval_every == 0) options->eval_every = 5;
}

}  // namespace

bool Options::Leaks(const std::string& kind) const {
  return std::find(leaks.begin(), leaks.end(), kind) != leaks.end();
}

size_t ParseSize(const std::string& option, const std::string& text) {
  static const std::map<std::string, double> units = {
      {"", 1.0}, {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}};
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const auto unit = units.find(end);
  if (end == text.c_str() || unit == units.end() || !(number > 0.0) || number > 1e15) {
    throw UsageError(option + " takes a size such as 64MiB, not '" + text + "'");
  }
  return static_cast<size_t>(number * unit->second);
}

Options ParseOptions(const std::vector<std::string>& arguments) {
  Options options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string name = arguments[i];
    if (SetFlag(name, &options)) continue;
    const size_t equals = name.find('=');
    const bool joined = name.starts_with("--") && equals != std::string::npos;
    std::string value = joined ? name.substr(equals + 1) : "";
    if (joined) name.resize(equals);
    const auto setter = Setters().find(name);
    if (setter == Setters().end()) {
      throw UsageError("unknown option '" + arguments[i] + "'; --help shows the options");
    }
    if (!joined && ++i < arguments.size()) value = arguments[i];
    if (value.empty()) throw UsageError(name + " needs a value");
    setter->second(name, value, &options);
  }
  if (!options.help) CheckTogether(&options);
  return options;
}

}  // namespace memprof::demo
