#pragma once

#include <string>
#include <string_view>

namespace bitsweep::report {

/// JSON made safe inside a <script> element: no text of a value can end the element or open a
/// comment.
std::string escape_json_for_script(std::string_view json);

/// Text made safe between HTML tags.
std::string escape_html(std::string_view text);

/// "NaN", "Infinity" or "-Infinity": strings for the numbers that JSON lacks; empty for a finite
/// value.
std::string_view non_finite_name(double value);

}  // namespace bitsweep::report
