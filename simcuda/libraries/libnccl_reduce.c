/* Sums, products, extremes and averages of the elements that ranks send. */
#include <string.h>

#include "half.h"
#include "libnccl.h"

enum { kSum, kProduct, kMaximum, kMinimum, kAverage }; /* ncclRedOp_t; others are sums */
enum { kInt8, kUint8, kInt32, kUint32, kInt64, kUint64, kFloat16, kFloat32, kFloat64, kBfloat16 };

size_t element_bytes(int type) {
  static const unsigned char kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return type >= 0 && type < (int)sizeof kBytes ? kBytes[type] : 1;
}

/* Sums and products of integers wrap around. */
#define COMBINE(Type, Wide, a, b, reduction)                 \
  ((reduction) == kProduct   ? (Type)((Wide)(a) * (Wide)(b)) \
   : (reduction) == kMaximum ? ((a) < (b) ? (b) : (a))       \
   : (reduction) == kMinimum ? ((b) < (a) ? (b) : (a))       \
                             : (Type)((Wide)(a) + (Wide)(b)))

#define REDUCE(Type, Wide)                                           \
  for (size_t i = 0; i + sizeof(Type) <= bytes; i += sizeof(Type)) { \
    Type a, b;                                                       \
    memcpy(&a, (char*)result + i, sizeof a);                         \
    memcpy(&b, (const char*)other + i, sizeof b);                    \
    a = COMBINE(Type, Wide, a, b, reduction);                        \
    memcpy((char*)result + i, &a, sizeof a);                         \
  }                                                                  \
  return

static void reduce_halves(void* result, const void* other, size_t bytes, int brain, int reduction) {
  for (size_t i = 0; i + 2 <= bytes; i += 2) {
    uint16_t bits[2];
    memcpy(&bits[0], (char*)result + i, 2);
    memcpy(&bits[1], (const char*)other + i, 2);
    const double a = brain ? brain_value(bits[0]) : half_value(bits[0]);
    const double b = brain ? brain_value(bits[1]) : half_value(bits[1]);
    const double both = COMBINE(double, double, a, b, reduction);
    bits[0] = brain ? brain_bits((float)both) : half_bits(both);
    memcpy((char*)result + i, &bits[0], 2);
  }
}

/* Floats of 8 bits keep the value of the first rank. */
void reduce(void* result, const void* other, size_t bytes, int type, int reduction) {
  switch (type) {
    case kInt8:
      REDUCE(int8_t, uint8_t);
    case kUint8:
      REDUCE(uint8_t, uint8_t);
    case kInt32:
      REDUCE(int32_t, uint32_t);
    case kUint32:
      REDUCE(uint32_t, uint32_t);
    case kInt64:
      REDUCE(int64_t, uint64_t);
    case kUint64:
      REDUCE(uint64_t, uint64_t);
    case kFloat32:
      REDUCE(float, float);
    case kFloat64:
      REDUCE(double, double);
    case kFloat16:
    case kBfloat16:
      reduce_halves(result, other, bytes, type == kBfloat16, reduction);
      return;
    default:
      return;
  }
}

#define DIVIDE(Type)                                                 \
  for (size_t i = 0; i + sizeof(Type) <= bytes; i += sizeof(Type)) { \
    Type a;                                                          \
    memcpy(&a, (char*)result + i, sizeof a);                         \
    a = (Type)(a / (Type)ranks);                                     \
    memcpy((char*)result + i, &a, sizeof a);                         \
  }                                                                  \
  return

static void divide_halves(void* result, size_t bytes, int brain, int ranks) {
  for (size_t i = 0; i + 2 <= bytes; i += 2) {
    uint16_t bits;
    memcpy(&bits, (char*)result + i, 2);
    const double value = (brain ? brain_value(bits) : half_value(bits)) / ranks;
    bits = brain ? brain_bits((float)value) : half_bits(value);
    memcpy((char*)result + i, &bits, 2);
  }
}

void finish_reduction(void* result, size_t bytes, int type, int reduction, int ranks) {
  if (reduction != kAverage) return;
  switch (type) {
    case kInt8:
      DIVIDE(int8_t);
    case kUint8:
      DIVIDE(uint8_t);
    case kInt32:
      DIVIDE(int32_t);
    case kUint32:
      DIVIDE(uint32_t);
    case kInt64:
      DIVIDE(int64_t);
    case kUint64:
      DIVIDE(uint64_t);
    case kFloat32:
      DIVIDE(float);
    case kFloat64:
      DIVIDE(double);
    case kFloat16:
    case kBfloat16:
      divide_halves(result, bytes, type == kBfloat16, ranks);
      return;
    default:
      return;
  }
}
