/* NVRTC: compiles every source to kernels with the same names, which do nothing. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standin.h"

struct expression {
  struct expression* next;
  char* name;
};

struct program {
  struct expression* expressions;
  char* ptx;
  size_t length;
  char* source;
};

static void append(struct program* program, const char* text, size_t bytes) {
  char* grown = realloc(program->ptx, program->length + bytes + 1);
  if (grown == NULL) return;
  memcpy(grown + program->length, text, bytes);
  program->length += bytes;
  grown[program->length] = '\0';
  program->ptx = grown;
}

static void append_kernel(struct program* program, const char* name, size_t bytes) {
  append(program, ".visible .entry ", 16);
  append(program, name, bytes);
  append(program, "()\n{\n ret;\n}\n", 13);
}

static int is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* The name before the parenthesis that opens the parameters of the kernel whose "__global__" ends
 * at `at`, attributes such as __launch_bounds__(256) skipped. */
static const char* kernel_name(const char* at, size_t* bytes) {
  const char* name = NULL;
  while (*at != '\0' && *at != '{' && *at != ';') {
    if (is_word(*at)) {
      name = at;
      while (is_word(*at)) ++at;
      *bytes = (size_t)(at - name);
    } else if (*at == '(') {
      if (name == NULL) return NULL;
      if (strncmp(name, "__launch_bounds__", 17) != 0 && strncmp(name, "__attribute__", 13) != 0)
        return name;
      int depth = 0;
      do {
        depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
        ++at;
      } while (depth > 0 && *at != '\0');
      name = NULL;
    } else {
      ++at;
    }
  }
  return NULL;
}

STANDIN_API int nvrtcCreateProgram(struct program** result, const char* source, const char* name,
                                   int headers, const char* const* texts,
                                   const char* const* names) {
  (void)name, (void)headers, (void)texts, (void)names;
  *result = standin_new(sizeof **result);
  if (*result == NULL) return 1;
  (*result)->source = strdup(source == NULL ? "" : source);
  return 0;
}

STANDIN_API int nvrtcDestroyProgram(struct program** handle) {
  struct program* program = handle == NULL ? NULL : *handle;
  if (program == NULL) return 4; /* NVRTC_ERROR_INVALID_PROGRAM */
  while (program->expressions != NULL) {
    struct expression* next = program->expressions->next;
    free(program->expressions->name);
    free(program->expressions);
    program->expressions = next;
  }
  free(program->source);
  free(program->ptx);
  standin_free(program);
  *handle = NULL;
  return 0;
}

/* The lowered name of an expression: its letters and digits. */
static char* lowered(const char* expression) {
  char* name = strdup(expression);
  for (char* at = name; at != NULL && *at != '\0'; ++at)
    if (!is_word(*at)) *at = '_';
  return name;
}

STANDIN_API int nvrtcAddNameExpression(struct program* program, const char* expression) {
  struct expression* one = calloc(1, sizeof *one);
  if (one == NULL) return 1;
  one->name = strdup(expression);
  one->next = program->expressions;
  program->expressions = one;
  return 0;
}

STANDIN_API int nvrtcGetLoweredName(struct program* program, const char* expression,
                                    const char** name) {
  (void)program;
  /* The returned text must live as long as the program, so it is stored in it. */
  struct expression* one = calloc(1, sizeof *one);
  if (one == NULL) return 1;
  one->name = lowered(expression);
  one->next = program->expressions;
  program->expressions = one;
  *name = one->name;
  return 0;
}

STANDIN_API int nvrtcCompileProgram(struct program* program, int count,
                                    const char* const* options) {
  (void)count, (void)options;
  static const char kHead[] = ".version 7.0\n.target sm_80\n.address_size 64\n";
  program->length = 0;
  append(program, kHead, sizeof kHead - 1);
  for (const struct expression* one = program->expressions; one != NULL; one = one->next) {
    char* name = lowered(one->name);
    if (name != NULL) append_kernel(program, name, strlen(name));
    free(name);
  }
  for (const char* at = program->source; at != NULL && (at = strstr(at, "__global__")) != NULL;) {
    at += strlen("__global__");
    size_t bytes = 0;
    const char* name = kernel_name(at, &bytes);
    if (name != NULL) append_kernel(program, name, bytes);
  }
  return 0;
}

static int give_size(const struct program* program, size_t* size) {
  *size = program->length + 1;
  return 0;
}

static int give(const struct program* program, char* text) {
  if (program->ptx == NULL)
    *text = '\0';
  else
    memcpy(text, program->ptx, program->length + 1);
  return 0;
}

STANDIN_API int nvrtcGetPTXSize(struct program* program, size_t* size) {
  return give_size(program, size);
}
STANDIN_API int nvrtcGetPTX(struct program* program, char* text) { return give(program, text); }
/* The stand-in driver does not run machine code: the "cubin" is the same text. */
STANDIN_API int nvrtcGetCUBINSize(struct program* program, size_t* size) {
  return give_size(program, size);
}
STANDIN_API int nvrtcGetCUBIN(struct program* program, char* text) { return give(program, text); }

STANDIN_API int nvrtcGetProgramLogSize(struct program* program, size_t* size) {
  (void)program;
  *size = 1;
  return 0;
}
STANDIN_API int nvrtcGetProgramLog(struct program* program, char* text) {
  (void)program;
  *text = '\0';
  return 0;
}
