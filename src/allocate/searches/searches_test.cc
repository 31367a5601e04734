#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "allocate/searches/search.h"
#include "bitsweep/error.h"

namespace bitsweep::allocate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Falling scores, and a record of what was asked for.
struct Points {
  std::vector<double> scores;
  std::vector<int> asked = {};

  int run(std::string_view search, double target) {
    return find_search(search).search(static_cast<int>(scores.size()), target, [this](int i) {
      asked.push_back(i);
      return scores.at(static_cast<std::size_t>(i));
    });
  }
};

int last_that_reaches(const std::vector<double>& scores, double target) {
  int last = 0;
  for (int i = 0; i < static_cast<int>(scores.size()); ++i) {
    if (scores[static_cast<std::size_t>(i)] >= target) last = i;
  }
  return last;
}

TEST(Searches, AllFindTheLastPointThatReachesTheTarget) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> value(0.0, 100.0);
    std::vector<double> scores(1 + random() % 20);
    for (double& s : scores) s = value(random);
    std::sort(scores.rbegin(), scores.rend());
    const double target = value(random);
    for (const SearchInfo& info : searches()) {
      Points points{scores};
      EXPECT_EQ(points.run(info.name, target), last_that_reaches(scores, target))
          << info.name << " seed " << seed;
    }
  }
}

TEST(Searches, EqualScoreEndsTheSearch) {
  for (const SearchInfo& info : searches()) {
    Points points{{90, 80, 70, 60, 50}};
    EXPECT_EQ(points.run(info.name, 70), 2) << info.name;
  }
}

TEST(Searches, ResultIsZeroWhenNoPointReachesTheTarget) {
  for (const SearchInfo& info : searches()) {
    Points points{{30, 20, 10}};
    EXPECT_EQ(points.run(info.name, 99), 0) << info.name;
  }
}

TEST(Searches, BisectionLooksAtTheCheapestPointFirstAndStopsWhenItReaches) {
  for (const std::string_view name : {"binary", "interpolation"}) {
    Points points{{90, 80, 70}};
    EXPECT_EQ(points.run(name, -std::numeric_limits<double>::infinity()), 2);
    EXPECT_THAT(points.asked, ElementsAre(2)) << name;
  }
}

TEST(Searches, EqualScoresAtBothEndsOfAnInterpolationDoNotDivideByZero) {
  Points points{{50, 50, 50, 50}};
  EXPECT_EQ(points.run("interpolation", 50), 3);
  Points infinite{{std::numeric_limits<double>::infinity(), 60, 40, 20}};
  EXPECT_EQ(infinite.run("interpolation", 50), 1);
}

TEST(Searches, InterpolationAsksForFewerPointsOnALine) {
  std::vector<double> line;
  for (int i = 0; i < 1000; ++i) line.push_back(1000.0 - i);
  Points binary{line};
  Points interpolation{line};
  EXPECT_EQ(binary.run("binary", 900.5), interpolation.run("interpolation", 900.5));
  EXPECT_LT(interpolation.asked.size(), binary.asked.size());
}

TEST(Searches, OneThatIsNotKnownIsRefusedWithTheKnownOnes) {
  try {
    find_search("linear");
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("binary, brute_force, interpolation"));
  }
}

}  // namespace
}  // namespace bitsweep::allocate
