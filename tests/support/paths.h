// Places on this machine that tests use. memprof_test_paths (cmake/MemprofTests.cmake) defines in
// each program those that it uses, in a source of their own: in the options of all sources they
// would keep the compiler cache of another clone from fitting.
#pragma once

namespace memprof::paths {

extern const char kAttachGuest[];
extern const char kBuild[];
extern const char kCallsC10[];
extern const char kCallsLazy[];
extern const char kCallsNow[];
extern const char kCommand[];
extern const char kDemoTrainer[];
extern const char kFakeCupti[];
extern const char kFakeDriver[];
extern const char kFinaliser[];
extern const char kGolden[];
extern const char kGuests[];
extern const char kHeader[];
extern const char kHolder[];
extern const char kLibrary[];
extern const char kLinesDump[];
extern const char kMimeFile[];
extern const char kPlugin[];
extern const char kPythonGuest[];
extern const char kSimcudaExports[];
extern const char kSimcudaLibraries[];
extern const char kSimcudaPeer[];
extern const char kSourceLibrary[];
extern const char kSources[];
extern const char kStandInCupti[];
extern const char kTestData[];
extern const char kViewer[];

}  // namespace memprof::paths
