// Fake-quant kernels against a plain copy, for every instruction set that this CPU has.
//
// The sizes stand for a tensor in the first cache, in the second cache, and far beyond all caches.
// There a kernel can be as fast as a copy, and no faster: compare bytes_per_second within one size.

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstring>
#include <random>
#include <string>
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
  for (float& value : values) {
    value = normal(engine);
  }
  return values;
}

struct Buffers {
  explicit Buffers(std::size_t n) : x(normal_values(n)), y(n) {}
  std::vector<float> x;
  std::vector<float> y;
};

void count_bytes(benchmark::State& state, std::size_t n, int buffers) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(n * sizeof(float)) *
                          buffers);
}

void copy(benchmark::State& state, std::size_t n) {
  Buffers b(n);
  for (auto _ : state) {
    std::memcpy(b.y.data(), b.x.data(), n * sizeof(float));
    benchmark::ClobberMemory();
  }
  count_bytes(state, n, 2);
}

void fake_quant(benchmark::State& state, FakeQuantFn kernel, std::size_t n) {
  Buffers b(n);
  for (auto _ : state) {
    kernel(b.x.data(), b.y.data(), n, kGrid);
    benchmark::ClobberMemory();
  }
  count_bytes(state, n, 2);
}

void fake_quant_in_place(benchmark::State& state, FakeQuantFn kernel, std::size_t n) {
  Buffers b(n);
  for (auto _ : state) {
    kernel(b.x.data(), b.x.data(), n, kGrid);
    benchmark::ClobberMemory();
  }
  count_bytes(state, n, 2);
}

// One grid per element, repeated for every row: a weight whose channels are its last axis.
void fake_quant_rows(benchmark::State& state, FakeQuantRowFn kernel, std::size_t n) {
  constexpr std::size_t kRow = 512;
  Buffers b(n);
  const std::vector<float> min(kRow, kGrid.min);
  const std::vector<float> max(kRow, kGrid.max);
  const std::vector<float> delta(kRow, kGrid.delta);
  const std::vector<float> offset(kRow, kGrid.offset);
  const AffineRow grids = {min.data(), max.data(), delta.data(), offset.data()};
  for (auto _ : state) {
    for (std::size_t i = 0; i < n; i += kRow) {
      kernel(b.x.data() + i, b.y.data() + i, kRow, grids);
    }
    benchmark::ClobberMemory();
  }
  count_bytes(state, n, 2);
}

void cast(benchmark::State& state, CastFn kernel, std::size_t n) {
  Buffers b(n);
  for (auto _ : state) {
    kernel(b.x.data(), b.y.data(), n);
    benchmark::ClobberMemory();
  }
  count_bytes(state, n, 2);
}

// A whole tensor through the plan that the simulation uses, on the instruction set of this process.
void whole_tensor(benchmark::State& state, const Granularity& granularity, const Shape& shape) {
  const auto n = static_cast<std::size_t>(num_elements(shape));
  Buffers b(n);
  Encoding encoding{.format = Format::integer(8),
                    .granularity = granularity,
                    .grid = grid_shape(granularity, shape),
                    .cells = {}};
  encoding.cells.assign(static_cast<std::size_t>(num_elements(encoding.grid)),
                        make_encoding(kGrid.min, kGrid.max, {.bitwidth = 8}));
  const FakeQuantPlan plan(encoding);
  for (auto _ : state) {
    plan.apply(b.x.data(), b.y.data(), shape);
    benchmark::ClobberMemory();
  }
  count_bytes(state, n, 2);
}

void min_max(benchmark::State& state, MinMaxFn kernel, std::size_t n) {
  const std::vector<float> x = normal_values(n);
  for (auto _ : state) {
    float low = 0.0F;
    float high = 0.0F;
    benchmark::DoNotOptimize(kernel(x.data(), n, &low, &high));
    benchmark::DoNotOptimize(low);
    benchmark::DoNotOptimize(high);
  }
  count_bytes(state, n, 1);
}

void register_all() {
  std::size_t count = 0;
  const KernelTable* const* tables = available_kernels(&count);
  const Shape shape = {64, 64, 64, 64};
  const auto whole = [&](const std::string& name, const Granularity& granularity) {
    const std::string isa = kernels().name;
    benchmark::RegisterBenchmark((name + "/" + isa + "/16777216").c_str(), whole_tensor,
                                 granularity, shape);
  };
  whole("plan_per_tensor", {});
  for (int axis = 0; axis < 4; ++axis)
    whole("plan_axis" + std::to_string(axis), {.channel_axis = axis});
  whole("plan_blocks_of_16", {.channel_axis = 0, .block_axis = 1, .block_size = 16});
  whole("plan_blocks_of_32_last", {.channel_axis = 0, .block_axis = 3, .block_size = 32});
  for (const std::size_t n : kSizes) {
    const auto name = [n](const std::string& kernel, const std::string& isa) {
      return kernel + "/" + isa + "/" + std::to_string(n);
    };
    benchmark::RegisterBenchmark(name("copy", "memcpy").c_str(), copy, n);
    for (std::size_t i = 0; i < count; ++i) {
      const KernelTable& t = *tables[i];
      benchmark::RegisterBenchmark(name("fake_quant", t.name).c_str(), fake_quant, t.fake_quant, n);
      benchmark::RegisterBenchmark(name("fake_quant_in_place", t.name).c_str(), fake_quant_in_place,
                                   t.fake_quant, n);
      benchmark::RegisterBenchmark(name("fake_quant_rows", t.name).c_str(), fake_quant_rows,
                                   t.fake_quant_row, n);
      benchmark::RegisterBenchmark(name("float16", t.name).c_str(), cast, t.cast_float16, n);
      benchmark::RegisterBenchmark(name("bfloat16", t.name).c_str(), cast, t.cast_bfloat16, n);
      benchmark::RegisterBenchmark(name("min_max", t.name).c_str(), min_max, t.min_max, n);
    }
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
