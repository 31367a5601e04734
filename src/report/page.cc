#include "report/page.h"

#include "bitsweep/report.h"
#include "report/escape.h"
#include "report/page_template.h"

namespace bitsweep::report {

void write_page(std::string_view title, std::string_view data_json,
                const std::filesystem::path& path) {
  std::string html(kPageHead);
  html += escape_html(title);
  html += kPageMiddle;
  html += escape_json_for_script(data_json);
  html += kPageTail;
  write_text_file(path, html);
}

}  // namespace bitsweep::report
