// The verbs `attach` and `detach`: begin and end the recording of a program that runs already.
#pragma once

namespace memprof::cli {

int AttachVerb(int argc, char** argv);
int DetachVerb(int argc, char** argv);

}  // namespace memprof::cli
