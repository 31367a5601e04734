#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/testing/own_folder.h"

namespace bitsweep::report {

/// For tests: the path of a page of its own, and what was written there. Removed at the end.
class TestPage {
 public:
  const std::filesystem::path& path() const { return path_; }

  std::string html() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// The JSON between the tags of the data block.
  std::string data() const {
    const std::string text = html();
    const std::string open = "id=\"data\">";
    const std::size_t begin = text.find(open) + open.size();
    return text.substr(begin, text.find("</script>", begin) - begin);
  }

 private:
  const bitsweep::testing::OwnFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "page.html";
};

}  // namespace bitsweep::report
