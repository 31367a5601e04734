#pragma once

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace bitsweep::report {

/// For tests: the path of a page of its own, and what was written there. Removed at the end.
class TestPage {
 public:
  TestPage() {
    static std::atomic<int> counter{0};
    path_ = std::filesystem::temp_directory_path() / ("bitsweep_page_" + std::to_string(getpid()) +
                                                      "_" + std::to_string(counter++) + ".html");
  }
  ~TestPage() { std::filesystem::remove(path_); }
  TestPage(const TestPage&) = delete;
  TestPage& operator=(const TestPage&) = delete;

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
  std::filesystem::path path_;
};

}  // namespace bitsweep::report
