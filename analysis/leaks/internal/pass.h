// Distinguishes growth within one pass of a network from growth with each iteration of a loop.
//
// Without known steps, a forward pass that keeps the activations of layer after layer looks like a
// loop that keeps something in each iteration: a recording of one training step has nothing else.
// The stacks show the difference: a loop around passes also allocates outside of them (the batch,
// the loss), a loop over layers does not.
#pragma once

#include "analysis/leaks/sites.h"

namespace memprof::analysis {

// Whether everything that the site's process allocated in the site's layer, between the births of
// its first and its last survivor (less a twentieth of them at each end, which a group of sites may
// have from before and after), was allocated within one call of a pass: a module's forward,
// autograd's engine, or an optimizer's step. False if a stack is not known. O(births in between ×
// depth of a stack), far less where it is false.
bool GrowsWithinOnePass(const Session& session, const LeakSite& site);

}  // namespace memprof::analysis
