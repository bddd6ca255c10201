// Cells of notebooks and prompts of IPython. Each run of a cell is code of its own, in a file that
// is named after the run; the same text is one place, however often and in which process it runs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/store/session.h"

namespace memprof::analysis {

// "<cell 9d1f0c2ab34e>" for "<ipython-input-3-9d1f0c2ab34e>" and "/tmp/ipykernel_71/286144868.py",
// by the hash of the cell's text; "" for other files.
std::string CellOf(std::string_view file);

// Names the files of cells by their text, and makes stacks that then have the same frames children
// of the same callers. Returns by stack the first one that is equal; empty if there is no cell.
std::vector<std::uint32_t> JoinCells(std::vector<std::string>* strings, std::vector<Frame>* frames,
                                     std::vector<StackId>* parents, std::vector<FrameId>* frame_of);

}  // namespace memprof::analysis
