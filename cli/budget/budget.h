// `memprof budget`: a device's memory as a budget, and the pools of servers.
#pragma once

namespace memprof::cli {

// argv[0] is the verb's name; the result is the exit status.
int BudgetVerb(int argc, char** argv);

}  // namespace memprof::cli
