// Reads the text and takes windows from it.
#include "demo_trainer/train/text.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "demo_trainer/error.h"
#include "demo_trainer/random.h"

namespace memprof::demo {
namespace {

constexpr char kBundledName[] = "coriolanus.txt";

bool ReadFile(const std::string& path, std::string* contents) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return false;
  try {
    contents->assign(std::istreambuf_iterator<char>(stream), {});
  } catch (const std::ios_base::failure&) {  // of the buffer: a failed read
    return false;
  }
  return true;
}

}  // namespace

std::string FindBundledText() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path folder = program.parent_path();
  for (const fs::path& place :
       {folder / "../share/memprof/demo_trainer", folder / "../../demo_trainer/data"}) {
    const fs::path candidate = place / kBundledName;
    if (fs::is_regular_file(candidate, error)) return candidate.lexically_normal().string();
  }
  return "";
}

Text::Text(const std::string& path, int64_t context, uint64_t seed)
    : context_(context), seed_(seed) {
  const std::string file = path.empty() ? FindBundledText() : path;
  if (file.empty()) throw Error("the bundled text was not found; name one with --text");
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    throw Error("cannot read the text '" + file + "': not a file");
  }
  if (!ReadFile(file, &text_)) throw Error("cannot read the text '" + file + "'");
  held_out_from_ = bytes() - bytes() / 10;
  if (bytes() / 10 < context_ + 1) {
    throw Error("the text '" + file + "' is too short: a tenth of it must hold " +
                std::to_string(context_ + 1) + " bytes");
  }
}

void Text::AppendWindow(int64_t offset, HostBatch* batch) const {
  for (int64_t i = 0; i < context_; ++i) {
    batch->tokens.push_back(static_cast<unsigned char>(text_[static_cast<size_t>(offset + i)]));
    batch->targets.push_back(
        static_cast<unsigned char>(text_[static_cast<size_t>(offset + i + 1)]));
  }
}

HostBatch Text::TrainingBatch(int64_t step, int64_t first_row, int64_t rows) const {
  HostBatch batch;
  const uint64_t places = static_cast<uint64_t>(held_out_from_ - context_);
  for (int64_t row = first_row; row < first_row + rows; ++row) {
    const uint64_t key = Mix(seed_, static_cast<uint64_t>(step));
    AppendWindow(static_cast<int64_t>(Mix(key, static_cast<uint64_t>(row)) % places), &batch);
  }
  return batch;
}

HostBatch Text::EvaluationBatch(int64_t index, int64_t rows) const {
  HostBatch batch;
  const int64_t places = bytes() - held_out_from_ - context_;
  for (int64_t row = 0; row < rows; ++row) {
    AppendWindow(held_out_from_ + (index * rows + row) * context_ % places, &batch);
  }
  return batch;
}

}  // namespace memprof::demo
