/* Defines versions as a C library of another age does, and nothing that could be used. */
int of_2_2_5(void) { return 0; }
int of_2_31(void) { return 0; }
