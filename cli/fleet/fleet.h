// memprof fleet: tables of many logs, and questions about them.
#pragma once

namespace memprof::cli {

int FleetVerb(int argc, char** argv);

}  // namespace memprof::cli
