#pragma once

#include <string_view>

namespace bitsweep::report {

/// The page with @NAME@ where page.cc puts something; its script and style, and the hashes by which
/// a content security policy names these. Made at build time from web/.
extern const std::string_view kPageTemplate;
extern const std::string_view kScript;
extern const std::string_view kScriptHash;
extern const std::string_view kStyle;
extern const std::string_view kStyleHash;

}  // namespace bitsweep::report
