/* Defines the symbol versions of an older C library, and no usable function. */
int of_2_2_5(void) { return 0; }
int of_2_31(void) { return 0; }
