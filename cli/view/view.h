// memprof view: starts memprof-viewer.
#pragma once

namespace memprof::cli {

int ViewVerb(int argc, char** argv);

}  // namespace memprof::cli
