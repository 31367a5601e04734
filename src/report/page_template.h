#pragma once

#include <string_view>

namespace bitsweep::report {

/// The page around its title and its data: head + title + middle + data + tail. Made at build time
/// from web/.
extern const std::string_view kPageHead;
extern const std::string_view kPageMiddle;
extern const std::string_view kPageTail;

}  // namespace bitsweep::report
