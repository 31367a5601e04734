#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace bitsweep::report {

/// Puts title and data (JSON) into the page template and writes it. @throws Error(kIo).
void write_page(std::string_view title, std::string_view data_json,
                const std::filesystem::path& path);

}  // namespace bitsweep::report
