/* A program whose end tells that it ran. */
int main(void) { return 5; }
