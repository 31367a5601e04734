#include "export/entry_fields.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "bitsweep/error.h"

namespace bitsweep::exporting {

using nlohmann::json;

void EntryFields::fail(const std::string& what, const std::string& fix) const {
  throw Error(ErrorCode::kInvalidData, "encodings",
              fmt::format("entry \"{}\" of \"{}\" {}", entry_, file_, what), fix);
}

const json& EntryFields::field(const json& item, const char* name) const {
  const auto it = item.find(name);
  if (it == item.end()) fail(fmt::format("has no \"{}\"", name));
  return *it;
}

double EntryFields::number(const json& item, const char* name) const {
  const json& value = field(item, name);
  const double result =
      value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
  if (!std::isfinite(result))
    fail(fmt::format("has {} as \"{}\", which is no finite number", value.dump(), name));
  return result;
}

int EntryFields::integer(const json& item, const char* name, int least, int most) const {
  const json& value = field(item, name);
  if (!value.is_number_integer() || value.get<std::int64_t>() < least ||
      value.get<std::int64_t>() > most) {
    fail(fmt::format("has {} as \"{}\"", value.dump(), name),
         fmt::format("give {} to {}", least, most));
  }
  return value.get<int>();
}

std::string EntryFields::text(const json& item, const char* name) const {
  const json& value = field(item, name);
  if (!value.is_string())
    fail(fmt::format("has {} as \"{}\", which is no text", value.dump(), name));
  return value.get<std::string>();
}

NestedNumbers EntryFields::numbers(const json& item, const char* name) const {
  std::optional<NestedNumbers> result = nested_numbers(field(item, name));
  if (!result) {
    fail(fmt::format(
        "has \"{}\" with empty or uneven lists, or with something else than finite numbers", name));
  }
  return std::move(*result);
}

std::vector<double> EntryFields::list(const json& item, const char* name) const {
  NestedNumbers result = numbers(item, name);
  if (result.shape.size() != 1) fail(fmt::format("has \"{}\" that is no plain list", name));
  return std::move(result.values);
}

void EntryFields::same_length(std::size_t a, const char* name_a, std::size_t b,
                              const char* name_b) const {
  if (a != b) fail(fmt::format("has {} values in \"{}\" but {} in \"{}\"", a, name_a, b, name_b));
}

}  // namespace bitsweep::exporting
