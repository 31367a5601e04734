#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace bitsweep::report {

using Facts = std::vector<std::pair<std::string, std::string>>;

/// A number as JSON; strings stand for those that JSON lacks.
nlohmann::ordered_json json_number(double value);

/// Writes a page. `kind` names its script in web/src/main.ts, `fields` holds what that script reads
/// beside title and facts. @throws Error(kIo).
void write_page(const std::string& kind, const std::string& title, const Facts& facts,
                const nlohmann::ordered_json& fields, const std::filesystem::path& path);

}  // namespace bitsweep::report
