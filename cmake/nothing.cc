// A program that is only there for its precompiled headers (MemprofTests.cmake).
int main() {}
