/* Numbers of 16 bits: IEEE's and the upper half of a float. */
#ifndef SIMCUDA_LIBRARIES_HALF_H
#define SIMCUDA_LIBRARIES_HALF_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline double half_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const double fraction = bits & 1023;
  const double size = exponent == 0    ? ldexp(fraction, -24)
                      : exponent == 31 ? (fraction != 0 ? NAN : INFINITY)
                                       : ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 ? -size : size;
}

static inline uint16_t half_bits(double value) {
  /* A number that is added and subtracted again rounds to an integer. Release builds do not need
   * the mathematical library, whose functions have other versions in old systems. */
  const double rounds = 1LL << 52;
  const uint16_t sign = signbit(value) ? 0x8000 : 0;
  double size = fabs(value);
  if (isnan(size)) return sign | 0x7e00;
  if (size >= 65520) return sign | 0x7c00;
  int exponent = 0;
  frexp(size, &exponent);
  if (exponent < -13 || size == 0) exponent = -13;
  const double steps = ldexp(size, 11 - exponent) + rounds - rounds; /* of 2^(exponent - 11) */
  return sign | (uint16_t)(steps + (exponent + 13) * 1024);
}

static inline float brain_value(uint16_t bits) {
  const uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

static inline uint16_t brain_bits(float value) {
  uint32_t wide;
  memcpy(&wide, &value, sizeof wide);
  return (uint16_t)((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
}

#endif
