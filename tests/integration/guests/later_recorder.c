/* A library that cannot be loaded, as it needs a symbol of a later C library. */
int of_2_31(void);
int needs_it(void) { return of_2_31(); }
