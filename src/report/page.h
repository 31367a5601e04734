#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bitsweep/report.h"

namespace bitsweep::report {

using Facts = std::vector<std::pair<std::string, std::string>>;

/// A number as JSON; strings stand for those that JSON lacks.
nlohmann::ordered_json json_number(double value);

/// What differs from page to page.
struct Page {
  std::string title;
  std::string data;  ///< JSON text, safe inside a script element
};

/// The field "intro" of a page.
nlohmann::ordered_json intro_json(const PageIntro& intro);

/// `kind` names the script of the page in web/src/main.ts, `fields` holds what that script reads
/// beside title and facts.
Page make_page(const std::string& kind, const std::string& title, const Facts& facts,
               const nlohmann::ordered_json& fields);

/// Pages of an analysis. @throws Error(kInvalidArgument) as the functions of report.h that write
/// them.
Page page_of(const RangesPage& page);
Page page_of(const LinesPage& page);
Page page_of(const HistogramsPage& page);

/// Writes one file that holds its script and style. @throws Error(kIo).
void write_page(const Page& page, const std::filesystem::path& path);

/// Many pages that share one copy of script and style: `report.js` and `report.css` in the folder.
/// The folder can be moved as a whole, a page alone says what it misses.
class PageFolder {
 public:
  /// Makes the folder and the two files. @throws Error(kIo).
  explicit PageFolder(std::filesystem::path folder);

  /// `file`: below the folder; folders in between are made. @throws Error(kIo).
  void write(const Page& page, const std::filesystem::path& file) const;

 private:
  std::filesystem::path folder_;
};

/// Makes a folder and those above it. @throws Error(kIo).
void make_folder(const std::filesystem::path& folder);

}  // namespace bitsweep::report
