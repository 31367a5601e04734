#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "export/nested_numbers.h"

namespace bitsweep::exporting {

/// Reads the fields of one entry of an encodings file. Each function throws Error(kInvalidData)
/// with the names of file, entry and field where it finds something else than it is asked for.
class EntryFields {
 public:
  EntryFields() = default;
  EntryFields(std::string file, std::string entry)
      : file_(std::move(file)), entry_(std::move(entry)) {}

  const std::string& entry() const { return entry_; }
  /// `what` follows the name of the entry.
  [[noreturn]] void fail(const std::string& what,
                         const std::string& fix = "export the encodings again") const;

  const nlohmann::json& field(const nlohmann::json& item, const char* name) const;
  /// Finite.
  double number(const nlohmann::json& item, const char* name) const;
  int integer(const nlohmann::json& item, const char* name, int least, int most) const;
  std::string text(const nlohmann::json& item, const char* name) const;
  NestedNumbers numbers(const nlohmann::json& item, const char* name) const;
  /// Not nested.
  std::vector<double> list(const nlohmann::json& item, const char* name) const;
  void same_length(std::size_t a, const char* name_a, std::size_t b, const char* name_b) const;

 private:
  std::string file_;
  std::string entry_;
};

}  // namespace bitsweep::exporting
