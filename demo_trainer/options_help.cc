// The text of --help.
#include "demo_trainer/options.h"

namespace memprof::demo {

std::string HelpText() {
  return R"(usage: demo_trainer [OPTIONS]

Trains a small byte-level GPT on a text file, on the GPU or on memprof's stand-in for one.

Model
  --layers N        transformer blocks (4)
  --dim N           width of the residual stream (128)
  --heads N         attention heads; must divide --dim (4)
  --context N       bytes in a window of text (128)
  --dtype TYPE      fp32 or bf16: bf16 activations, fp32 weights, dynamic loss scaling (fp32)

Training
  --steps N         optimizer steps (50)
  --batch N         windows in a micro-batch, over all devices and ranks (8)
  --grad-accum N    micro-batches in a step (1)
  --lr X            learning rate, reached over the first ten steps (0.001)
  --clip X          largest norm of the gradient; 0 = no limit (1)
  --loss-scale X    initial loss scale (65536 for bf16, 1 for fp32)
  --seed N          of weights and of the order of the text (1)
  --text FILE       what to train on (the bundled play)
  --eval-every N    evaluate on the held-out tenth of the text each N steps (0 = never)

Memory
  --allocator KIND  caching: segments, blocks, splitting, as in PyTorch; cuda: cudaMalloc for each
                    tensor; async: cudaMallocAsync (caching)
  --max-split SIZE  the caching allocator does not split larger blocks, e.g. 64MiB (no limit)
  --empty-cache     give cached segments back after each evaluation
  --checkpointing   keep only the inputs of blocks, and compute their activations again
  --inplace         let results overwrite inputs that are not needed any more
  --prefetch        pinned buffers, and asynchronous copies on a second stream

Several
  --devices N       data parallel over N devices in this process, gradients averaged by peer copies
  --ranks N         data parallel over N processes that share the devices

Output
  --print-every N   steps between two lines of loss (10)
  --stats           print what the allocator holds, after training and at exit
  --snapshot N,...  ask memprof for a snapshot at the end of these steps
  --quiet           print nothing but errors and what --stats asks for
  --help            this text

Seeded leaks
  --leak KIND,...   leak on purpose; --leak list shows the kinds with their bytes per step under
                    the other options given
  --leak-after N    leak from step N on, counted from 0 (0)

Examples
  demo_trainer --steps 200 --eval-every 50
  demo_trainer --dtype bf16 --checkpointing --inplace --prefetch --stats
  demo_trainer --layers 8 --dim 256 --devices 2
  demo_trainer --leak list
  memprof run --sim -- demo_trainer --leak history
)";
}

}  // namespace memprof::demo
