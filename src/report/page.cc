#include "report/page.h"

#include <nlohmann/json.hpp>

#include "bitsweep/report.h"
#include "report/escape.h"
#include "report/page_template.h"

namespace bitsweep::report {

using Json = nlohmann::ordered_json;

Json json_number(double value) {
  const std::string_view name = non_finite_name(value);
  return name.empty() ? Json(value) : Json(name);
}

void write_page(const std::string& kind, const std::string& title, const Facts& facts,
                const Json& fields, const std::filesystem::path& path) {
  Json data = {{"page", kind}, {"title", title}, {"facts", Json::array()}};
  for (const auto& [name, value] : facts) data["facts"].push_back(Json::array({name, value}));
  data.update(fields);
  std::string html(kPageHead);
  html += escape_html(title);
  html += kPageMiddle;
  // Names that are not UTF-8 show a replacement character instead of losing the page.
  html += escape_json_for_script(data.dump(-1, ' ', false, Json::error_handler_t::replace));
  html += kPageTail;
  write_text_file(path, html);
}

}  // namespace bitsweep::report
