#include "report/page.h"

#include <map>
#include <nlohmann/json.hpp>
#include <system_error>

#include "bitsweep/error.h"
#include "report/escape.h"
#include "report/page_template.h"

namespace bitsweep::report {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kScriptFile = "report.js";
constexpr const char* kStyleFile = "report.css";

/// Where a page has its script and style from.
struct Assets {
  std::string policy;  ///< what the content security policy lets the page load
  std::string style;   ///< elements
  std::string script;
};

std::string quoted(std::string_view hash) { return "'" + std::string(hash) + "'"; }

/// The policy names both by their hash, so that nothing else can run.
Assets inside_the_page() {
  return {"script-src " + quoted(kScriptHash) + "; style-src " + quoted(kStyleHash),
          "<style>" + std::string(kStyle) + "</style>",
          "<script>" + std::string(kScript) + "</script>"};
}

/// `up`: from the page to the folder of the two files, "" or "../" once or more. Browsers have no
/// hashes for scripts from files; a file is no 'self' for all of them.
Assets beside_the_page(const std::string& up) {
  return {"script-src 'self' file:; style-src 'self' file:",
          "<link rel=\"stylesheet\" href=\"" + up + kStyleFile + "\">",
          // Seen only where the style sheet that hides it is missing, too.
          "<p class=\"alone\">This page needs " + up + kScriptFile + " and " + up + kStyleFile +
              ": copy the whole folder.</p>\n<script src=\"" + up + kScriptFile + "\"></script>"};
}

/// The template with its marks replaced; what is put in is not searched for marks.
std::string fill(const std::map<std::string_view, std::string_view>& values) {
  std::string html;
  for (std::size_t at = 0; at < kPageTemplate.size();) {
    const std::size_t mark = kPageTemplate.find('@', at);
    html += kPageTemplate.substr(at, mark - at);
    if (mark == std::string_view::npos) break;
    const std::size_t end = kPageTemplate.find('@', mark + 1);
    html += values.at(kPageTemplate.substr(mark + 1, end - mark - 1));
    at = end + 1;
  }
  return html;
}

void write_html(const Page& page, const Assets& assets, const fs::path& path) {
  const std::string title = escape_html(page.title);
  write_text_file(path, fill({{"POLICY", assets.policy},
                              {"TITLE", title},
                              {"STYLE", assets.style},
                              {"DATA", page.data},
                              {"SCRIPT", assets.script}}));
}

}  // namespace

Json json_number(double value) {
  const std::string_view name = non_finite_name(value);
  return name.empty() ? Json(value) : Json(name);
}

Json intro_json(const PageIntro& intro) {
  Json links = Json::array();
  for (const auto& [file, text] : intro.links) links.push_back(Json::array({file, text}));
  return {{"sentences", intro.sentences},
          {"links", std::move(links)},
          {"next_command", intro.next_command}};
}

Page make_page(const std::string& kind, const std::string& title, const Facts& facts,
               const Json& fields) {
  Json data = {{"page", kind}, {"title", title}, {"facts", Json::array()}};
  for (const auto& [name, value] : facts) data["facts"].push_back(Json::array({name, value}));
  data.update(fields);
  // Names that are not UTF-8 show a replacement character instead of losing the page.
  return {title, escape_json_for_script(data.dump(-1, ' ', false, Json::error_handler_t::replace))};
}

void write_page(const Page& page, const fs::path& path) {
  write_html(page, inside_the_page(), path);
}

PageFolder::PageFolder(fs::path folder) : folder_(std::move(folder)) {
  make_folder(folder_);
  write_text_file(folder_ / kScriptFile, std::string(kScript));
  write_text_file(folder_ / kStyleFile, std::string(kStyle));
}

void PageFolder::write(const Page& page, const fs::path& file) const {
  std::string up;
  for (auto parent = file.parent_path(); !parent.empty(); parent = parent.parent_path())
    up += "../";
  const fs::path path = folder_ / file;
  make_folder(path.parent_path());
  write_html(page, beside_the_page(up), path);
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw Error(ErrorCode::kIo, "report",
                "\"" + folder.string() + "\" cannot be made: " + error.message(),
                "choose another folder");
  }
}

}  // namespace bitsweep::report
