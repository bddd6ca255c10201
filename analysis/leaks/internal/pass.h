// Growth within one pass of a network, as against growth with each turn of a loop.
//
// Where no steps are known, a forward pass that keeps the activations of layer after layer looks
// as a loop that keeps something in each turn: a recording of one step of training has nothing
// else. The stacks tell them apart: a loop around passes makes something outside of them too (the
// batch, the loss), a loop over layers does not.
#pragma once

#include "analysis/leaks/sites.h"

namespace memprof::analysis {

// Whether all that the site's process allocated in the site's layer, from the birth of the first to
// that of the last of its survivors (less a twentieth of them at each end, which a group of sites
// may have from before and after), was allocated under one call of a function that is a pass: a
// module's forward, autograd's engine, or an optimizer's step. False where a stack is not known.
// O(births in between × depth of a stack), far less where it is false.
bool GrowsWithinOnePass(const Session& session, const LeakSite& site);

}  // namespace memprof::analysis
