#include "allocate/budget/highs.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "allocate/budget/configuration.h"
#include "bitsweep/error.h"

// The C interface of HiGHS, opened at run time like ONNX Runtime: only this question needs it.

namespace bitsweep::allocate {
namespace {

namespace fs = std::filesystem;

constexpr double kInfinity = 1e30;  // what HiGHS reads as no bound
constexpr int kOk = 0;
constexpr int kWarning = 1;
constexpr int kOptimal = 7;
constexpr int kInfeasible = 8;
constexpr int kRowwise = 2;
constexpr int kMinimize = 1;

struct Library {
  void* (*create)() = nullptr;
  void (*destroy)(void*) = nullptr;
  int (*pass_mip)(void*, int, int, int, int, int, double, const double*, const double*,
                  const double*, const double*, const double*, const int*, const int*,
                  const double*, const int*) = nullptr;
  int (*set_bool)(void*, const char*, int) = nullptr;
  int (*set_int)(void*, const char*, int) = nullptr;
  int (*set_double)(void*, const char*, double) = nullptr;
  int (*set_solution)(void*, const double*, const double*, const double*, const double*) = nullptr;
  int (*run)(void*) = nullptr;
  int (*status)(const void*) = nullptr;
  int (*solution)(const void*, double*, double*, double*, double*) = nullptr;
  int (*info)(const void*, const char*, double*) = nullptr;
};

template <typename Function>
bool find(void* handle, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(handle, name));
  return *function != nullptr;
}

std::optional<Library> open(const fs::path& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return std::nullopt;
  Library l;
  const bool complete =
      find(handle, "Highs_create", &l.create) && find(handle, "Highs_destroy", &l.destroy) &&
      find(handle, "Highs_passMip", &l.pass_mip) &&
      find(handle, "Highs_setBoolOptionValue", &l.set_bool) &&
      find(handle, "Highs_setIntOptionValue", &l.set_int) &&
      find(handle, "Highs_setDoubleOptionValue", &l.set_double) &&
      find(handle, "Highs_setSolution", &l.set_solution) && find(handle, "Highs_run", &l.run) &&
      find(handle, "Highs_getModelStatus", &l.status) &&
      find(handle, "Highs_getSolution", &l.solution) &&
      find(handle, "Highs_getDoubleInfoValue", &l.info);
  if (!complete) return std::nullopt;
  return l;
}

std::vector<fs::path> candidates(const fs::path& preferred) {
  if (!preferred.empty()) return {preferred};
  if (const char* path = std::getenv("BITSWEEP_HIGHS_LIB"); path != nullptr && *path != '\0')
    return {fs::path(path)};
  std::vector<fs::path> paths;
  if (const char* root = std::getenv("VIRTUAL_ENV"); root != nullptr) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(fs::path(root) / "lib", error))
      paths.push_back(entry.path() / "site-packages/highsbox/highs_dist/lib/libhighs.so");
    std::sort(paths.begin(), paths.end());
  }
  paths.emplace_back("libhighs.so.1");
  paths.emplace_back("libhighs.so");
  return paths;
}

std::optional<Library> open_library(const fs::path& preferred) {
  for (const fs::path& path : candidates(preferred)) {
    if (std::optional<Library> library = open(path)) return library;
  }
  if (!preferred.empty()) {
    throw Error(ErrorCode::kNotFound, "budget",
                "\"" + preferred.string() + "\" is no library of HiGHS",
                "run `pip install highsbox`, or leave the path out");
  }
  return std::nullopt;
}

/// The question in rows of coefficients. Columns: a 0/1 variable per choice, then one per pair of
/// choices of each pair of groups that decides a cost together.
class Program {
 public:
  Program(const BudgetProblem& problem, const CostTable& objective)
      : offsets_(choice_offsets(problem)) {
    cost_.assign(offsets_.back(), 0.0);
    integral_.assign(offsets_.back(), 1);
    for (std::size_t g = 0; g + 1 < offsets_.size(); ++g) {
      begin_row(1.0, 1.0);
      for (std::size_t s = offsets_[g]; s < offsets_[g + 1]; ++s) add(s, 1.0);
    }
    offset_ = objective.rows[0].constant;
    for (std::size_t g = 0; g + 1 < offsets_.size(); ++g) {
      for (std::size_t c = 0; c < objective.rows[0].by_choice[g].size(); ++c)
        cost_[offsets_[g] + c] = objective.rows[0].by_choice[g][c];
    }
    for (const auto& [column, value] : pair_columns(objective)) cost_[column] = value;
  }

  void limit(const CostTable& table, double at_most) {
    const std::vector<std::pair<std::size_t, double>> pairs = pair_columns(table);
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
      begin_row(-kInfinity, at_most - table.rows[r].constant);
      for (std::size_t g = 0; g + 1 < offsets_.size(); ++g) {
        for (std::size_t c = 0; c < table.rows[r].by_choice[g].size(); ++c)
          add(offsets_[g] + c, table.rows[r].by_choice[g][c]);
      }
      if (r > 0) continue;
      for (const auto& [column, value] : pairs) add(column, value);
    }
  }

  HighsAnswer solve(const Library& library, const std::vector<int>& start,
                    const BudgetOptions& options) {
    const int num_columns = static_cast<int>(cost_.size());
    const int num_rows = static_cast<int>(low_.size());
    const std::vector<double> zero(cost_.size(), 0.0);
    const std::vector<double> one(cost_.size(), 1.0);
    const auto check = [](int status) {
      if (status != kOk && status != kWarning) {
        throw Error(ErrorCode::kRuntime, "budget", "HiGHS reported an error",
                    "solve without it (prove = false)");
      }
    };
    check(library.set_bool(handle_of(library), "output_flag", 0));
    check(library.set_int(handle_, "threads", 1));
    check(library.set_int(handle_, "mip_max_nodes", options.max_nodes));
    check(library.set_double(handle_, "mip_rel_gap", options.relative_gap));
    check(library.pass_mip(handle_, num_columns, num_rows, static_cast<int>(value_.size()),
                           kRowwise, kMinimize, offset_, cost_.data(), zero.data(), one.data(),
                           low_.data(), high_.data(), begin_.data(), index_.data(), value_.data(),
                           integral_.data()));
    if (!start.empty()) {
      const std::vector<double> x = columns_of(start);
      check(library.set_solution(handle_, x.data(), nullptr, nullptr, nullptr));
    }
    check(library.run(handle_));
    HighsAnswer answer;
    const int status = library.status(handle_);
    answer.infeasible = status == kInfeasible;
    answer.optimal = status == kOptimal;
    if (answer.infeasible) return answer;
    check(library.info(handle_, "mip_dual_bound", &answer.bound));
    std::vector<double> x(cost_.size(), -1.0);
    std::vector<double> rows(low_.size());
    library.solution(handle_, x.data(), nullptr, rows.data(), nullptr);
    for (std::size_t g = 0; g + 1 < offsets_.size(); ++g) {
      const auto begin = x.begin() + static_cast<std::ptrdiff_t>(offsets_[g]);
      const auto end = x.begin() + static_cast<std::ptrdiff_t>(offsets_[g + 1]);
      const auto chosen = std::max_element(begin, end);
      if (*chosen < 0.5) {
        answer.choices.clear();
        return answer;
      }
      answer.choices.push_back(static_cast<int>(chosen - begin));
    }
    return answer;
  }

  ~Program() {
    if (handle_ != nullptr) destroy_(handle_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

 private:
  void* handle_of(const Library& library) {
    handle_ = library.create();
    destroy_ = library.destroy;
    return handle_;
  }

  void begin_row(double low, double high) {
    begin_.push_back(static_cast<int>(value_.size()));
    low_.push_back(low);
    high_.push_back(high);
  }
  void add(std::size_t column, double value) {
    if (value == 0.0) return;
    index_.push_back(static_cast<int>(column));
    value_.push_back(value);
  }

  /// Variables y of each pair with sum over one side equal to the choice of the other side, so that
  /// y is their product; each with its value.
  std::vector<std::pair<std::size_t, double>> pair_columns(const CostTable& table) {
    std::vector<std::pair<std::size_t, double>> result;
    for (const CostTable::Pair& pair : table.pairs) {
      const auto first = static_cast<std::size_t>(pair.first);
      const auto second = static_cast<std::size_t>(pair.second);
      const std::size_t base = cost_.size();
      const std::size_t width = pair.by_choices[0].size();
      for (std::size_t i = 0; i < pair.by_choices.size(); ++i) {
        for (std::size_t j = 0; j < width; ++j) {
          result.emplace_back(cost_.size(), pair.by_choices[i][j]);
          products_.push_back({first, second, i, j});
          cost_.push_back(0.0);
          integral_.push_back(0);
        }
      }
      for (std::size_t i = 0; i < pair.by_choices.size(); ++i) {
        begin_row(0.0, 0.0);
        for (std::size_t j = 0; j < width; ++j) add(base + i * width + j, 1.0);
        add(offsets_[first] + i, -1.0);
      }
      for (std::size_t j = 0; j < width; ++j) {
        begin_row(0.0, 0.0);
        for (std::size_t i = 0; i < pair.by_choices.size(); ++i) add(base + i * width + j, 1.0);
        add(offsets_[second] + j, -1.0);
      }
    }
    return result;
  }

  std::vector<double> columns_of(const std::vector<int>& choices) const {
    std::vector<double> x(cost_.size(), 0.0);
    for (std::size_t g = 0; g < choices.size(); ++g)
      x[offsets_[g] + static_cast<std::size_t>(choices[g])] = 1.0;
    for (std::size_t p = 0; p < products_.size(); ++p) {
      const Product& product = products_[p];
      const bool on = choices[product.first] == static_cast<int>(product.first_choice) &&
                      choices[product.second] == static_cast<int>(product.second_choice);
      x[offsets_.back() + p] = on ? 1.0 : 0.0;
    }
    return x;
  }

  struct Product {
    std::size_t first;
    std::size_t second;
    std::size_t first_choice;
    std::size_t second_choice;
  };

  std::vector<std::size_t> offsets_;
  double offset_ = 0.0;
  std::vector<double> cost_;
  std::vector<int> integral_;
  std::vector<Product> products_;
  std::vector<double> low_;
  std::vector<double> high_;
  std::vector<int> begin_;
  std::vector<int> index_;
  std::vector<double> value_;
  void* handle_ = nullptr;
  void (*destroy_)(void*) = nullptr;
};

}  // namespace

CostTable loss_table(const BudgetProblem& problem) {
  return {.name = "loss", .rows = {{.constant = 0.0, .by_choice = problem.loss}}, .pairs = {}};
}

std::optional<HighsAnswer> solve_with_highs(
    const BudgetProblem& problem, const CostTable& objective, const std::vector<CostLimit>& limits,
    std::optional<double> loss_limit, const std::vector<int>& start, const BudgetOptions& options) {
  const std::optional<Library> library = open_library(options.highs_library);
  if (!library) return std::nullopt;
  Program program(problem, objective);
  for (const CostLimit& limit : limits)
    program.limit(problem.costs[static_cast<std::size_t>(limit.cost)], limit.at_most);
  if (loss_limit) program.limit(loss_table(problem), *loss_limit);
  return program.solve(*library, start, options);
}

}  // namespace bitsweep::allocate
