/* A program whose exit status shows that it ran. */
int main(void) { return 5; }
