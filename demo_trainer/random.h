// Random numbers that depend only on a key, so that a run repeats for its seed however its work
// is divided. SplitMix64 (Steele, Lea and Flood, 2014).
#ifndef DEMO_TRAINER_RANDOM_H_
#define DEMO_TRAINER_RANDOM_H_

#include <cmath>
#include <cstdint>
#include <string_view>

namespace memprof::demo {

inline uint64_t Mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

inline uint64_t Mix(uint64_t a, uint64_t b) { return Mix(Mix(a) ^ b); }

// FNV-1a, to make a key from a name.
inline uint64_t HashName(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

// In [0, 1).
inline double Uniform(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1.0p-53; }

// Standard normal number `index` of the sequence `key` (Box and Muller, 1958).
inline float Normal(uint64_t key, uint64_t index) {
  const double u = 1.0 - Uniform(Mix(key, 2 * index));
  const double v = Uniform(Mix(key, 2 * index + 1));
  return static_cast<float>(std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * v));
}

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_RANDOM_H_
