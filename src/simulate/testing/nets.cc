#include "simulate/testing/nets.h"

#include <random>

#include "bitsweep/simulation.h"
#include "graph/testing/model_builder.h"

namespace bitsweep::simulate::testing {
namespace {

using graph::testing::ModelBuilder;

void convolution(ModelBuilder& m, const std::string& out, const std::string& in, std::int64_t to,
                 std::int64_t from, std::int64_t kernel, std::int64_t group = 1) {
  m.random(out + ".w", {to, from / group, kernel, kernel},
           static_cast<std::uint64_t>(to + from) + out.size());
  m.random(out + ".b", {to}, static_cast<std::uint64_t>(to) + 3);
  const std::string pad = std::to_string(kernel / 2);
  m.node(out + " = Conv(" + in + ", " + out + ".w, " + out + ".b) {pads: [" + pad + ", " + pad +
         ", " + pad + ", " + pad + "], group: " + std::to_string(group) + "}");
}

Model chain() {
  ModelBuilder m;
  m.input("x", {-1, 3, 12, 12});
  std::string last = "x";
  std::int64_t channels = 3;
  for (int i = 0; i < 6; ++i) {
    const std::string c = "c" + std::to_string(i);
    convolution(m, c, last, 8, channels, 3);
    m.node("r" + std::to_string(i) + " = Relu(" + c + ")");
    last = "r" + std::to_string(i);
    channels = 8;
  }
  m.node("y = GlobalAveragePool(" + last + ")").output("y");
  return m.model();
}

Model residual() {
  ModelBuilder m;
  m.input("x", {-1, 8, 10, 10});
  std::string last = "x";
  for (int i = 0; i < 3; ++i) {
    const std::string k = std::to_string(i);
    convolution(m, "a" + k, last, 8, 8, 3);
    m.node("ar" + k + " = Relu(a" + k + ")");
    convolution(m, "b" + k, "ar" + k, 8, 8, 3);
    m.node("s" + k + " = Add(b" + k + ", " + last + ")");
    m.node("o" + k + " = Relu(s" + k + ")");
    last = "o" + k;
  }
  m.node("p = GlobalAveragePool(" + last + ")");
  m.node("f = Flatten(p)");
  m.random("fc.w", {8, 5}, 11).random("fc.b", {5}, 12);
  m.node("y = Gemm(f, fc.w, fc.b)").output("y");
  return m.model();
}

Model depthwise() {
  ModelBuilder m;
  m.input("x", {-1, 4, 12, 12});
  m.floats("zero", {}, {0.0F}).floats("six", {}, {6.0F});
  std::string last = "x";
  std::int64_t channels = 4;
  for (int i = 0; i < 3; ++i) {
    const std::string k = std::to_string(i);
    convolution(m, "e" + k, last, 8, channels, 1);
    m.node("ec" + k + " = Clip(e" + k + ", zero, six)");
    convolution(m, "d" + k, "ec" + k, 8, 8, 3, 8);
    m.node("dc" + k + " = Clip(d" + k + ", zero, six)");
    convolution(m, "q" + k, "dc" + k, 8, 8, 1);
    last = "q" + k;
    channels = 8;
  }
  m.node("y = ReduceMean(" + last + ") {axes: [2, 3], keepdims: 0}").output("y");
  return m.model();
}

// Parallel branches joined by Concat, a long skip as in a U-Net, and a Resize.
Model branchy() {
  ModelBuilder m;
  m.input("x", {-1, 4, 8, 8});
  convolution(m, "stem", "x", 8, 4, 3);
  m.node("s = Relu(stem)");
  convolution(m, "a", "s", 4, 8, 1);
  convolution(m, "b0", "s", 4, 8, 1);
  m.node("b1 = Relu(b0)");
  convolution(m, "b", "b1", 4, 4, 3);
  m.node("j = Concat(a, b) {axis: 1}");
  m.node("d = MaxPool(j) {kernel_shape: [2, 2], strides: [2, 2]}");
  convolution(m, "e", "d", 8, 8, 3);
  m.node("er = Relu(e)");
  m.floats("scales", {4}, {1, 1, 2, 2});
  m.node("u = Resize(er, , scales) {mode: \"nearest\"}");
  m.node("k = Concat(u, s) {axis: 1}");
  convolution(m, "z", "k", 3, 16, 3);
  m.node("y = Sigmoid(z)").output("y");
  return m.model();
}

Model transformer() {
  ModelBuilder m;
  m.input("ids", {-1, 6}, DataType::kInt64);
  m.input("mask", {-1, 1, 1, 6});
  m.random("table", {20, 16}, 5);
  m.node("h0 = Gather(table, ids)");
  m.ints("heads", {4}, {0, 0, 2, 8}).ints("merge", {3}, {0, 0, 16});
  m.floats("scale", {}, {0.35F});
  std::string h = "h0";
  for (int i = 0; i < 2; ++i) {
    const std::string k = std::to_string(i);
    for (const std::string p : {"q", "k", "v"}) {
      m.random(p + k + ".w", {16, 16},
               static_cast<std::uint64_t>(p[0]) + static_cast<std::uint64_t>(i));
      m.node(p + k + " = MatMul(" + h + ", " + p + k + ".w)");
      m.node(p + "r" + k + " = Reshape(" + p + k + ", heads)");
      m.node(p + "t" + k + " = Transpose(" + p + "r" + k +
             ") {perm: " + (p == "k" ? "[0, 2, 3, 1]" : "[0, 2, 1, 3]") + "}");
    }
    m.node("qk" + k + " = MatMul(qt" + k + ", kt" + k + ")");
    m.node("sc" + k + " = Mul(qk" + k + ", scale)");
    m.node("ms" + k + " = Add(sc" + k + ", mask)");
    m.node("pr" + k + " = Softmax(ms" + k + ") {axis: -1}");
    m.node("av" + k + " = MatMul(pr" + k + ", vt" + k + ")");
    m.node("at" + k + " = Transpose(av" + k + ") {perm: [0, 2, 1, 3]}");
    m.node("ar" + k + " = Reshape(at" + k + ", merge)");
    m.node("res" + k + " = Add(ar" + k + ", " + h + ")");
    m.random("ln" + k + ".g", {16}, 21).random("ln" + k + ".b", {16}, 22);
    m.node("n" + k + " = LayerNormalization(res" + k + ", ln" + k + ".g, ln" + k +
           ".b) {axis: -1}");
    m.random("up" + k + ".w", {16, 32}, 31)
        .random("dn" + k + ".w", {32, 16}, 32)
        .random("up" + k + ".b", {32}, 33);
    m.node("up" + k + " = MatMul(n" + k + ", up" + k + ".w)");
    m.node("ub" + k + " = Add(up" + k + ", up" + k + ".b)");
    m.node("ac" + k + " = Relu(ub" + k + ")");
    m.node("dn" + k + " = MatMul(ac" + k + ", dn" + k + ".w)");
    m.node("h" + std::to_string(i + 1) + " = Add(dn" + k + ", n" + k + ")");
    h = "h" + std::to_string(i + 1);
  }
  m.output(h);
  return m.model();
}

// Two inputs, three outputs: one early, one of integers, one at the end.
Model several() {
  ModelBuilder m;
  m.input("a", {-1, 3, 8, 8}).input("b", {-1, 3, 8, 8});
  convolution(m, "ca", "a", 6, 3, 3);
  m.node("ra = Relu(ca)").output("ra");
  convolution(m, "cb", "b", 6, 3, 1);
  m.node("sum = Add(ra, cb)");
  convolution(m, "d", "sum", 6, 6, 3);
  m.node("t = Tanh(d)");
  m.node("best = ArgMax(t) {axis: 1}").output("best", DataType::kInt64);
  m.node("mul = Mul(t, b0)").node("b0 = ReduceMean(b) {axes: [1], keepdims: 1}");
  convolution(m, "y", "mul", 2, 6, 3);
  m.output("y");
  return m.model();
}

Model recurrent() {
  ModelBuilder m;
  m.input("x", {5, -1, 8});
  m.random("w", {1, 24, 8}, 41).random("r", {1, 24, 6}, 42).random("b", {1, 48}, 43);
  // LSTM with hidden size 6: 4 gates.
  m.node("seq, last, cell = LSTM(x, w, r, b) {hidden_size: 6}");
  m.ints("squeeze", {1}, {1});
  m.node("s = Squeeze(seq, squeeze)");
  m.random("fc", {6, 4}, 44);
  m.node("y = MatMul(s, fc)").output("y");
  return m.model();
}

// One weight read by three layers: its quantizer touches most of the network at once.
Model shared_weight() {
  ModelBuilder m;
  m.input("x", {-1, 6});
  m.random("w", {6, 6}, 51).random("v", {6, 6}, 52);
  m.node("a = MatMul(x, w)").node("ra = Relu(a)");
  m.node("b = MatMul(ra, v)").node("rb = Relu(b)");
  m.node("c = MatMul(rb, w)").node("rc = Relu(c)");
  m.node("d = MatMul(rc, v)").node("rd = Relu(d)");
  m.node("y = MatMul(rd, w)").output("y");
  return m.model();
}

// A sequence lives across most of the network, where no cut may lie; a weight sits in an If body.
Model sequence() {
  ModelBuilder m;
  m.input("x", {-1, 6}).input("flag", {}, DataType::kBool);
  m.random("w0", {6, 6}, 61).random("w1", {6, 6}, 62).random("w2", {6, 6}, 63);
  m.node("parts = SplitToSequence(x) {axis: 1}");
  m.ints("second", {}, {1});
  std::string last = "x";
  for (int i = 0; i < 3; ++i) {
    const std::string k = std::to_string(i);
    m.node("m" + k + " = MatMul(" + last + ", w" + k + ")").node("r" + k + " = Relu(m" + k + ")");
    last = "r" + k;
  }
  m.node("part = SequenceAt(parts, second)");
  m.node("s = Add(" + last + ", part)");
  ModelBuilder yes;
  yes.node("a = Mul(s, s)").output("a", DataType::kFloat);
  ModelBuilder no;
  no.node("b = Neg(s)").output("b", DataType::kFloat);
  m.node("y = If(flag)", {{"then_branch", &yes}, {"else_branch", &no}}).output("y");
  return m.model();
}

}  // namespace

std::vector<std::pair<std::string, Model>> nets() {
  return {
      {"chain", chain()},         {"residual", residual()},           {"depthwise", depthwise()},
      {"branchy", branchy()},     {"transformer", transformer()},     {"several", several()},
      {"recurrent", recurrent()}, {"shared_weight", shared_weight()}, {"sequence", sequence()}};
}

Model thresholded_boxes() {
  ModelBuilder m;
  m.input("x", {64, 6}).random("score.w", {6, 1}, 21).random("box.w", {6, 4}, 22);
  m.floats("threshold", {}, {0.1F}).ints("all", {1}, {-1});
  m.node("score = MatMul(x, score.w)").node("over = Greater(score, threshold)");
  m.node("found = Reshape(over, all)").node("boxes = MatMul(x, box.w)");
  m.random("last.w", {4, 4}, 23).node("kept = Compress(boxes, found) {axis: 0}");
  m.node("y = MatMul(kept, last.w)").output("y");
  return m.model();
}

Model net(const std::string& name) {
  for (auto& [n, model] : nets()) {
    if (n == name) return model;
  }
  throw std::invalid_argument("no test network \"" + name + "\"");
}

std::vector<Feed> samples(const Model& model, int count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Feed> feeds;
  for (int i = 0; i < count; ++i) {
    Feed feed;
    for (const ValueInfo& input : model.inputs()) {
      Shape shape;
      for (const Dimension& d : input.shape) shape.push_back(d.size >= 0 ? d.size : 2);
      Tensor t = Tensor::allocate(input.type, shape);
      if (input.type == DataType::kBool) {
        *static_cast<bool*>(t.mutable_data()) = i % 2 == 0;
      } else if (input.type == DataType::kInt64) {
        auto* values = static_cast<std::int64_t*>(t.mutable_data());
        for (std::int64_t j = 0; j < t.size(); ++j)
          values[j] = static_cast<std::int64_t>(random() % 20);
      } else {
        for (float& v : t.mutable_floats())
          v = static_cast<float>(random() >> 40) / 8388608.0F - 1.0F;
      }
      feed.emplace(input.name, std::move(t));
    }
    feeds.push_back(std::move(feed));
  }
  return feeds;
}

bool HeldSource::next(Feed* feed) {
  if (num_free_-- <= 0) released_.wait();
  return VectorSource::next(feed);
}

bool VectorSource::next(Feed* feed) {
  if (position_ >= feeds_.size()) return false;
  *feed = feeds_[position_++];
  return true;
}

void calibrate(Simulation& simulation, const std::vector<Feed>& feeds) {
  simulation.begin_calibration();
  for (const Feed& feed : feeds) simulation.run(feed);
  simulation.finish_calibration();
}

Model residual_net(std::int64_t channels) {
  ModelBuilder m;
  m.input("x", {-1, channels, -1, -1}).random("stem", {channels, channels, 1, 1}, 7);
  m.node("h = Conv(x, stem)");
  std::string last = "h";
  for (const std::string k : {"0", "1", "2"}) {
    m.random("w" + k, {channels, channels, 3, 3}, 3).random("v" + k, {channels, channels, 1, 1}, 5);
    m.node("a" + k + " = Conv(" + last + ", w" + k + ") {pads: [1, 1, 1, 1]}");
    m.node("r" + k + " = Relu(a" + k + ")").node("b" + k + " = Conv(r" + k + ", v" + k + ")");
    m.node("s" + k + " = Add(b" + k + ", " + last + ")").node("o" + k + " = Relu(s" + k + ")");
    last = "o" + k;
  }
  m.node("y = GlobalAveragePool(" + last + ")").output("y");
  return m.model();
}

}  // namespace bitsweep::simulate::testing
