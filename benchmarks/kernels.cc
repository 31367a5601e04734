// Fake-quant kernels against a plain copy, for every instruction set that this CPU has.
//
// The sizes stand for a tensor in the first cache, in the second cache, and far beyond all caches.
// There a kernel can be as fast as a copy, and no faster. Each pass is timed beside a copy of the
// same memory, both by the CPU time of this thread: `of_copy` is the median of how many of the
// copy's bytes per second the kernel reaches, and holds on a busy machine too.

#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "quant/fake_quant_plan.h"
#include "quant/kernels/fake_quant.h"

namespace bitsweep::kernels {
namespace {

constexpr std::size_t kSizes[] = {std::size_t{1} << 12, std::size_t{1} << 16, std::size_t{1} << 24};

// 8 bits, asymmetric, over most of the values below: some saturate.
constexpr AffineGrid kGrid = {
    .min = -2.0F, .max = 2.25F, .delta = 4.25F / 255.0F, .offset = -120.0F};

std::vector<float> normal_values(std::size_t n) {
  std::minstd_rand engine(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& value : values) value = normal(engine);
  return values;
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// One pass over `n` elements from x to y. y is null where a kernel only reads.
using Pass = std::function<void(const float* x, float* y)>;

// CPU time of passes over a tensor, many over a small one, so that the clock does not count.
double seconds_of(std::size_t times, const std::function<void()>& pass) {
  const double start = cpu_seconds();
  for (std::size_t i = 0; i < times; ++i) {
    pass();
    benchmark::ClobberMemory();
  }
  return cpu_seconds() - start;
}

enum class Form { kInto, kInPlace, kRead };

void measure(benchmark::State& state, std::size_t n, Form form, const Pass& pass) {
  std::vector<float> x = normal_values(n);
  std::vector<float> y(n);
  const std::size_t bytes = n * sizeof(float) * (form == Form::kRead ? 1 : 2);
  constexpr std::size_t kElements = std::size_t{1} << 20;
  const std::size_t times = std::max<std::size_t>(1, kElements / n);
  std::vector<double> of_copy;
  for (auto _ : state) {
    const double copy =
        seconds_of(times, [&] { std::memcpy(y.data(), x.data(), n * sizeof(float)); });
    const double own =
        seconds_of(times, [&] { pass(x.data(), form == Form::kInto ? y.data() : x.data()); });
    state.SetIterationTime(own);
    of_copy.push_back(copy / own * static_cast<double>(bytes) /
                      static_cast<double>(2 * n * sizeof(float)));
  }
  std::ranges::sort(of_copy);
  state.counters["of_copy"] = of_copy[of_copy.size() / 2];
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes * times));
}

void add(const std::string& kernel, const std::string& isa, std::size_t n, Form form, Pass pass) {
  const std::string name = kernel + "/" + isa + "/" + std::to_string(n);
  benchmark::RegisterBenchmark(name.c_str(), [n, form,
                                              pass = std::move(pass)](benchmark::State& state) {
    measure(state, n, form, pass);
  })->UseManualTime();
}

// One grid per element, repeated for every row: a weight whose channels are its last axis.
Pass rows(FakeQuantRowsFn kernel, std::size_t n) {
  constexpr std::size_t kRow = 4096;  // as long as a plan makes them
  const std::vector<float> min(kRow, kGrid.min);
  const std::vector<float> max(kRow, kGrid.max);
  const std::vector<float> delta(kRow, kGrid.delta);
  const std::vector<float> offset(kRow, kGrid.offset);
  return [=](const float* x, float* y) {
    kernel(x, y, n / kRow, kRow, kRow, {min.data(), max.data(), delta.data(), offset.data()});
  };
}

// A whole tensor through the plan that the simulation uses, on the instruction set of this process.
void add_plan(const std::string& name, const Granularity& granularity, const Shape& shape) {
  Encoding encoding{.format = Format::integer(8),
                    .granularity = granularity,
                    .grid = grid_shape(granularity, shape),
                    .cells = {}};
  encoding.cells.assign(static_cast<std::size_t>(num_elements(encoding.grid)),
                        make_encoding(kGrid.min, kGrid.max, {.bitwidth = 8}));
  add("plan_" + name, kernels().name, static_cast<std::size_t>(num_elements(shape)), Form::kInto,
      [plan = FakeQuantPlan(encoding), shape](const float* x, float* y) {
        plan.apply(x, y, shape);
      });
}

void add_kernels(const KernelTable& t, std::size_t n) {
  const auto fake_quant = [kernel = t.fake_quant, n](const float* x, float* y) {
    kernel(x, y, n, kGrid);
  };
  add("fake_quant", t.name, n, Form::kInto, fake_quant);
  add("fake_quant_in_place", t.name, n, Form::kInPlace, fake_quant);
  add("fake_quant_rows", t.name, n, Form::kInto, rows(t.fake_quant_rows, n));
  for (const auto& [name, cast] :
       {std::pair{"float16", t.cast_float16}, {"bfloat16", t.cast_bfloat16}}) {
    add(name, t.name, n, Form::kInto, [cast, n](const float* x, float* y) { cast(x, y, n); });
  }
  add("min_max", t.name, n, Form::kRead, [kernel = t.min_max, n](const float* x, float*) {
    float low = 0.0F;
    float high = 0.0F;
    benchmark::DoNotOptimize(kernel(x, n, &low, &high));
    benchmark::DoNotOptimize(low);
    benchmark::DoNotOptimize(high);
  });
}

void register_all() {
  const Shape images = {64, 64, 64, 64};
  add_plan("per_tensor", {}, images);
  for (int axis = 0; axis < 4; ++axis)
    add_plan("axis" + std::to_string(axis), {.channel_axis = axis}, images);
  add_plan("blocks_of_16_rows", {.channel_axis = 0, .block_axis = 1, .block_size = 16}, images);
  add_plan("blocks_of_32_last", {.channel_axis = 0, .block_axis = 3, .block_size = 32}, images);
  add_plan("blocks_of_16_last", {.channel_axis = 0, .block_axis = 3, .block_size = 16}, images);
  const Shape matrix = {4096, 4096};
  for (const int size : {16, 32}) {
    add_plan("matrix_blocks_of_" + std::to_string(size),
             {.channel_axis = 0, .block_axis = 1, .block_size = size}, matrix);
  }
  add_plan("matrix_axis1", {.channel_axis = 1}, matrix);
  const Shape filters = {1024, 1820, 3, 3};
  add_plan("filters_axis1", {.channel_axis = 1}, filters);
  std::size_t count = 0;
  const KernelTable* const* tables = available_kernels(&count);
  for (const std::size_t n : kSizes) {
    for (std::size_t i = 0; i < count; ++i) add_kernels(*tables[i], n);
  }
}

}  // namespace
}  // namespace bitsweep::kernels

int main(int argc, char** argv) {
  bitsweep::kernels::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 1;
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
