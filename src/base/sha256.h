#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

namespace bitsweep {

/// SHA-256 over a series of fields. Every field's length is hashed too, so that two fields cannot
/// run into each other.
class Sha256 {
 public:
  Sha256();

  void add(const void* data, std::size_t size);
  void add(std::string_view text) { add(text.data(), text.size()); }
  /// The value's bytes; for numbers and the like, which have no padding.
  template <class Number>
    requires std::is_arithmetic_v<Number>
  void add_number(Number value) {
    add(&value, sizeof value);
  }

  /// Ends the hash: its 32 bytes, or the same as 64 hexadecimal digits.
  std::string digest();
  std::string hexadecimal();

 private:
  struct Free {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, Free> context_;
};

}  // namespace bitsweep
