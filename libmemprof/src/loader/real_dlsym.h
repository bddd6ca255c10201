// The dlsym and dlvsym behind ours: libc's, or the next interposer's.
#pragma once

namespace memprof::recorder {

// As dlsym, for a handle that dlopen returned. (RTLD_NEXT and RTLD_DEFAULT depend on the caller
// and would mean this library here.)
void* RealDlsym(void* handle, const char* name);
void* RealDlvsym(void* handle, const char* name, const char* version);

}  // namespace memprof::recorder
