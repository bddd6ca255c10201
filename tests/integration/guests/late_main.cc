// Uses no CUDA itself; its library does at the very end.
extern "C" int LateLibrary();

int main() { return LateLibrary() - 1; }
