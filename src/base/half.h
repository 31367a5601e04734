#pragma once

#include <cstddef>
#include <cstdint>

namespace bitsweep {

/// IEEE binary16 <-> binary32, round to nearest even; values beyond the range become infinities.
float half_to_float(std::uint16_t bits);
std::uint16_t float_to_half(float value);
void half_to_float(const std::uint16_t* from, float* to, std::size_t n);
void float_to_half(const float* from, std::uint16_t* to, std::size_t n);

/// bfloat16 <-> binary32, round to nearest even.
float bfloat16_to_float(std::uint16_t bits);
std::uint16_t float_to_bfloat16(float value);
void bfloat16_to_float(const std::uint16_t* from, float* to, std::size_t n);
void float_to_bfloat16(const float* from, std::uint16_t* to, std::size_t n);

}  // namespace bitsweep
