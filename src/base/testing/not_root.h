#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>

namespace bitsweep::testing {

/// While it lives, permissions of files hold also when the tests run as root.
class NotRoot {
 public:
  NotRoot() {
    if (before_ == 0) {
      EXPECT_EQ(::seteuid(kNobody), 0);
    }
  }
  ~NotRoot() { EXPECT_EQ(::seteuid(before_), 0); }
  NotRoot(const NotRoot&) = delete;
  NotRoot& operator=(const NotRoot&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
  uid_t before_ = ::geteuid();
};

}  // namespace bitsweep::testing
