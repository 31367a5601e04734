#pragma once

#include <string>
#include <vector>

namespace bitsweep::calibrate {

/// All that parse_scheme() takes.
std::vector<std::string> scheme_names();

}  // namespace bitsweep::calibrate
