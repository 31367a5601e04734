# bitsweep_embed_rules(OUTPUT files...): writes a C++ file that holds the rules files, so that none is looked up at run time.

function(bitsweep_embed_rules output)
  set(entries "")
  foreach(file ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    get_filename_component(alias "${file}" NAME_WE)
    file(READ "${file}" text)
    string(APPEND entries "    {\"${alias}\", R\"json(${text})json\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT "${output}" @ONLY CONTENT [=[
// Made by CMake from src/graph/rules/*.json.
#include <utility>

#include "graph/placement/rules_file.h"

namespace bitsweep::graph {
namespace {

constexpr std::pair<std::string_view, std::string_view> kBuiltinRules[] = {
@entries@};

}  // namespace

std::string_view builtin_rules(std::string_view alias) {
  for (const auto& [name, text] : kBuiltinRules) {
    if (name == alias) return text;
  }
  return {};
}

std::vector<std::string> rules_aliases() {
  std::vector<std::string> aliases;
  for (const auto& [name, text] : kBuiltinRules) aliases.emplace_back(name);
  return aliases;
}

}  // namespace bitsweep::graph
]=])
endfunction()
