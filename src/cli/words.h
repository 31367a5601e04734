#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bitsweep/allocation.h"
#include "bitsweep/text.h"

namespace bitsweep::cli {

/// "0.8 s", "12 s", "3 min 20 s", "1 h 05 min".
std::string duration_text(double seconds);

/// "1.24 G", "310 M", "12.5 k", "7": counts such as multiply-accumulates.
std::string count_text(std::int64_t count);

/// At most `limit` characters: the middle of a longer name gives way to "...".
std::string shortened(std::string_view name, std::size_t limit);

/// Bytes of "800MB", "1.5 GiB", "2G" (1000-based unless "i") or a plain number. @throws
/// Error(kInvalidArgument).
std::int64_t parse_size(const std::string& text);

/// As parse_mix_candidate(), without "float". @throws Error(kInvalidArgument).
Candidate parse_bits(const std::string& text);

/// Rows under headers, columns padded with blanks; the last column is not padded.
class Table {
 public:
  struct Column {
    std::string header;
    bool right = false;  ///< numbers
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace bitsweep::cli
