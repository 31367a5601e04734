// Networks of the kinds that a sweep must get right beyond those of nets.cc: blocks whose fusions
// and layouts the runtime decides by what surrounds them, and control flow.
#include "graph/testing/model_builder.h"
#include "simulate/testing/nets.h"

namespace bitsweep::simulate::testing {
namespace {

using graph::testing::ModelBuilder;

constexpr std::int64_t kChannels = 16;  // the runtime's largest block

std::uint64_t seed_of(const std::string& name) {
  std::uint64_t seed = 17;
  for (const char c : name) seed = seed * 31 + static_cast<unsigned char>(c);
  return seed;
}

/// `out` = convolution of `in`; its weights are called after it.
void convolve(ModelBuilder& m, const std::string& out, const std::string& in, std::int64_t to,
              std::int64_t from, std::int64_t kernel = 1, const std::string& more = "") {
  const std::int64_t group = more.find("group") == std::string::npos ? 1 : from;
  m.random(out + ".w", {to, from / group, kernel, kernel}, seed_of(out));
  m.random(out + ".b", {to}, seed_of(out) + 1);
  const std::string pad = std::to_string(kernel / 2);
  m.node(out + " = Conv(" + in + ", " + out + ".w, " + out + ".b) {pads: [" + pad + ", " + pad +
         ", " + pad + ", " + pad + "]" + more + "}");
}

void relu(ModelBuilder& m, const std::string& out, const std::string& in) {
  m.node(out + " = Relu(" + in + ")");
}

/// x * (erf(x / sqrt(2)) + 1) / 2 in single nodes.
void gelu(ModelBuilder& m, const std::string& out, const std::string& in) {
  m.floats(out + ".r", {}, {1.4142135F}).floats(out + ".1", {}, {1.0F});
  m.floats(out + ".h", {}, {0.5F});
  m.node(out + ".d = Div(" + in + ", " + out + ".r)").node(out + ".e = Erf(" + out + ".d)");
  m.node(out + ".a = Add(" + out + ".e, " + out + ".1)");
  m.node(out + ".m = Mul(" + in + ", " + out + ".a)");
  m.node(out + " = Mul(" + out + ".m, " + out + ".h)");
}

ModelBuilder image_input() {
  ModelBuilder m;
  m.input("x", {-1, kChannels, -1, -1});
  return m;
}

Model pooled(ModelBuilder& m, const std::string& last) {
  m.node("y = GlobalAveragePool(" + last + ")").output("y");
  return m.model();
}

// Squeeze and excite; biases are nodes of their own, with an Identity behind, as Paddle writes
// them.
Model squeeze_excite() {
  ModelBuilder m = image_input();
  std::string last = "x";
  for (const std::string k : {"0", "1", "2"}) {
    m.random("c" + k + ".w", {kChannels, kChannels, 3, 3}, seed_of("c" + k));
    m.random("c" + k + ".b", {1, kChannels, 1, 1}, seed_of("b" + k));
    m.node("c" + k + " = Conv(" + last + ", c" + k + ".w) {pads: [1, 1, 1, 1]}");
    m.node("a" + k + " = Add(c" + k + ", c" + k + ".b)").node("i" + k + " = Identity(a" + k + ")");
    m.node("s" + k + " = Add(i" + k + ", " + last + ")").node("j" + k + " = Identity(s" + k + ")");
    m.node("p" + k + " = GlobalAveragePool(j" + k + ")");
    convolve(m, "d" + k, "p" + k, 8, kChannels);
    relu(m, "r" + k, "d" + k);
    convolve(m, "u" + k, "r" + k, kChannels, 8);
    m.node("g" + k + " = Sigmoid(u" + k + ")").node("m" + k + " = Mul(j" + k + ", g" + k + ")");
    last = "m" + k;
  }
  return pooled(m, last);
}

// A depthwise convolution, then two pointwise ones around a GELU, and a residual behind Identity.
Model convolution_mixer() {
  ModelBuilder m = image_input();
  std::string last = "x";
  for (const std::string k : {"0", "1", "2"}) {
    convolve(m, "d" + k, last, kChannels, kChannels, 3, ", group: 16");
    m.node("i" + k + " = Identity(d" + k + ")");
    convolve(m, "e" + k, "i" + k, 2 * kChannels, kChannels);
    gelu(m, "g" + k, "e" + k);
    convolve(m, "q" + k, "g" + k, kChannels, 2 * kChannels);
    m.node("s" + k + " = Add(i" + k + ", q" + k + ")").node("o" + k + " = Identity(s" + k + ")");
    last = "o" + k;
  }
  return pooled(m, last);
}

// x * sigmoid(x) behind each convolution, and residuals: two blocked tensors live inside a block.
Model gated() {
  ModelBuilder m = image_input();
  std::string last = "x";
  for (const std::string k : {"0", "1", "2"}) {
    convolve(m, "a" + k, last, 2 * kChannels, kChannels, 3);
    m.node("t" + k + " = Sigmoid(a" + k + ")").node("g" + k + " = Mul(a" + k + ", t" + k + ")");
    convolve(m, "b" + k, "g" + k, kChannels, 2 * kChannels);
    m.node("s" + k + " = Add(" + last + ", b" + k + ")");
    last = "s" + k;
  }
  return pooled(m, last);
}

// Hard swish: a product with a clipped sum.
Model hard_swish() {
  ModelBuilder m = image_input();
  m.floats("zero", {}, {0.0F}).floats("three", {}, {3.0F}).floats("six", {}, {6.0F});
  std::string last = "x";
  for (const std::string k : {"0", "1", "2"}) {
    convolve(m, "c" + k, last, kChannels, kChannels, 3, ", group: 16");
    m.node("a" + k + " = Add(c" + k + ", three)").node("l" + k + " = Clip(a" + k + ", zero, six)");
    m.node("m" + k + " = Mul(c" + k + ", l" + k + ")").node("h" + k + " = Div(m" + k + ", six)");
    convolve(m, "p" + k, "h" + k, kChannels, kChannels);
    last = "p" + k;
  }
  return pooled(m, last);
}

Model inception() {
  ModelBuilder m = image_input();
  std::string last = "x";
  for (const std::string k : {"0", "1"}) {
    convolve(m, "a" + k, last, 8, kChannels);
    relu(m, "ar" + k, "a" + k);
    convolve(m, "b" + k, last, 8, kChannels);
    relu(m, "br" + k, "b" + k);
    convolve(m, "c" + k, "br" + k, 8, 8, 3);
    relu(m, "cr" + k, "c" + k);
    m.node("p" + k + " = MaxPool(" + last +
           ") {kernel_shape: [3, 3], pads: [1, 1, 1, 1], strides: [1, 1]}");
    convolve(m, "d" + k, "p" + k, 16, kChannels);
    relu(m, "dr" + k, "d" + k);
    m.node("j" + k + " = Concat(ar" + k + ", cr" + k + ", dr" + k + ") {axis: 1}");
    convolve(m, "o" + k, "j" + k, kChannels, 32);
    last = "o" + k;
  }
  return pooled(m, last);
}

Model dense() {
  ModelBuilder m = image_input();
  std::string last = "x";
  std::int64_t channels = kChannels;
  for (const std::string k : {"0", "1", "2", "3"}) {
    convolve(m, "c" + k, last, 8, channels, 3);
    relu(m, "r" + k, "c" + k);
    m.node("j" + k + " = Concat(" + last + ", r" + k + ") {axis: 1}");
    last = "j" + k;
    channels += 8;
  }
  return pooled(m, last);
}

// Two levels down and up again, with skips at each.
Model u_net() {
  ModelBuilder m;
  m.input("x", {-1, 4, 8, 8});
  convolve(m, "a", "x", 8, 4, 3);
  relu(m, "ar", "a");
  m.node("ap = MaxPool(ar) {kernel_shape: [2, 2], strides: [2, 2]}");
  convolve(m, "b", "ap", 16, 8, 3);
  relu(m, "br", "b");
  m.node("bp = MaxPool(br) {kernel_shape: [2, 2], strides: [2, 2]}");
  convolve(m, "c", "bp", 16, 16, 3);
  relu(m, "cr", "c");
  m.random("t0", {16, 16, 2, 2}, 5).random("t1", {16, 8, 2, 2}, 6);
  m.node("cu = ConvTranspose(cr, t0) {strides: [2, 2]}");
  m.node("cj = Concat(cu, br) {axis: 1}");
  convolve(m, "d", "cj", 16, 32, 3);
  relu(m, "dr", "d");
  m.node("du = ConvTranspose(dr, t1) {strides: [2, 2]}");
  m.node("dj = Concat(du, ar) {axis: 1}");
  convolve(m, "e", "dj", 2, 16, 3);
  m.node("y = Sigmoid(e)").output("y");
  return m.model();
}

// One trunk, heads for boxes and classes at two scales.
Model detector() {
  ModelBuilder m = image_input();
  convolve(m, "a", "x", kChannels, kChannels, 3);
  relu(m, "ar", "a");
  convolve(m, "b", "ar", kChannels, kChannels, 3, ", strides: [2, 2]");
  relu(m, "br", "b");
  for (const std::string trunk : {"ar", "br"}) {
    for (const std::string head : {".box", ".class"}) {
      convolve(m, trunk + head + ".c", trunk, 8, kChannels, 3);
      relu(m, trunk + head + ".r", trunk + head + ".c");
      convolve(m, trunk + head, trunk + head + ".r", 4, 8);
      m.output(trunk + head);
    }
  }
  return m.model();
}

// Both towers read the same weights; their product is the answer.
Model two_towers() {
  ModelBuilder m;
  m.input("a", {-1, 8}).input("b", {-1, 8});
  m.random("w0", {8, 12}, 71).random("w1", {12, 6}, 72);
  for (const std::string side : {"a", "b"}) {
    m.node(side + "0 = MatMul(" + side + ", w0)");
    relu(m, side + "r", side + "0");
    m.node(side + "1 = MatMul(" + side + "r, w1)");
    m.node(side + "n = LpNormalization(" + side + "1) {axis: -1}");
  }
  m.node("p = Mul(an, bn)").node("y = ReduceMean(p) {axes: [1]}").output("y");
  return m.model();
}

// Layer normalizations in front of the blocks and in single nodes, a GELU between the products.
Model encoder() {
  constexpr std::int64_t kWidth = 16;
  ModelBuilder m;
  m.input("x", {-1, 5, kWidth});
  m.floats("two", {}, {2.0F}).floats("eps", {}, {1e-5F});
  std::string last = "x";
  for (const std::string k : {"0", "1"}) {
    m.node("mu" + k + " = ReduceMean(" + last + ") {axes: [-1]}");
    m.node("ce" + k + " = Sub(" + last + ", mu" + k + ")");
    m.node("sq" + k + " = Pow(ce" + k + ", two)");
    m.node("va" + k + " = ReduceMean(sq" + k + ") {axes: [-1]}");
    m.node("ve" + k + " = Add(va" + k + ", eps)").node("sd" + k + " = Sqrt(ve" + k + ")");
    m.node("no" + k + " = Div(ce" + k + ", sd" + k + ")");
    m.random("g" + k, {kWidth}, seed_of("g" + k)).random("h" + k, {kWidth}, seed_of("h" + k));
    m.node("ng" + k + " = Mul(no" + k + ", g" + k + ")");
    m.node("n" + k + " = Add(ng" + k + ", h" + k + ")");
    m.random("u" + k + ".w", {kWidth, 32}, seed_of("u" + k));
    m.random("u" + k + ".b", {32}, seed_of("ub" + k));
    m.random("v" + k + ".w", {32, kWidth}, seed_of("v" + k));
    m.node("u" + k + " = MatMul(n" + k + ", u" + k + ".w)");
    m.node("w" + k + " = Add(u" + k + ", u" + k + ".b)");
    gelu(m, "a" + k, "w" + k);
    m.node("v" + k + " = MatMul(a" + k + ", v" + k + ".w)");
    m.node("s" + k + " = Add(v" + k + ", " + last + ")");
    last = "s" + k;
  }
  m.output(last);
  return m.model();
}

Model gru() {
  ModelBuilder m;
  m.input("x", {5, -1, 8});
  m.random("e", {8, 8}, 80).random("w", {1, 18, 8}, 81).random("r", {1, 18, 6}, 82);
  m.node("h = MatMul(x, e)").node("t = Tanh(h)");
  m.node("seq, last = GRU(t, w, r) {hidden_size: 6, linear_before_reset: 1}");
  m.ints("one", {1}, {1}).random("fc", {6, 4}, 83);
  m.node("s = Squeeze(seq, one)").node("z = MatMul(s, fc)");
  m.node("y = Softmax(z) {axis: -1}").output("y");
  return m.model();
}

Model bidirectional() {
  ModelBuilder m;
  m.input("x", {4, -1, 8});
  m.random("w", {2, 24, 8}, 91).random("r", {2, 24, 6}, 92);
  m.node("seq, last, cell = LSTM(x, w, r) {hidden_size: 6, direction: \"bidirectional\"}");
  m.node("p = Transpose(seq) {perm: [0, 2, 1, 3]}").ints("flat", {3}, {0, 0, 12});
  m.node("s = Reshape(p, flat)").random("fc", {12, 4}, 93);
  m.node("z = MatMul(s, fc)");
  relu(m, "y", "z");
  m.output("y");
  return m.model();
}

// The body multiplies by a weight from outside, again and again.
Model loop() {
  ModelBuilder m;
  m.input("x", {-1, 6});
  m.random("w0", {6, 6}, 101).random("w1", {6, 6}, 102).random("w2", {6, 4}, 103);
  m.node("a = MatMul(x, w0)").node("r = Tanh(a)");
  m.ints("trips", {}, {3});
  ModelBuilder body;
  body.input("i", {}, DataType::kInt64).input("go", {}, DataType::kBool).input("h", {-1, 6});
  body.node("on = Identity(go)").node("b = MatMul(h, w1)").node("hn = Tanh(b)");
  body.output("on", DataType::kBool).output("hn", DataType::kFloat);
  m.node("l = Loop(trips, , r)", {{"body", &body}});
  m.node("y = MatMul(l, w2)").output("y");
  return m.model();
}

Model scan() {
  ModelBuilder m;
  m.input("x", {4, 6});
  m.random("w0", {6, 6}, 111).random("w1", {6, 4}, 112).random("start", {6}, 113);
  m.node("a = MatMul(x, w0)");
  relu(m, "r", "a");
  ModelBuilder body;
  body.input("s", {6}).input("e", {6});
  body.node("t = Add(s, e)").node("n = Tanh(t)").node("o = Identity(n)");
  body.output("n", DataType::kFloat).output("o", DataType::kFloat);
  m.node("final, all = Scan(start, r) {num_scan_inputs: 1}", {{"body", &body}});
  m.node("y = MatMul(all, w1)").output("y");
  return m.model();
}

}  // namespace

std::vector<std::pair<std::string, Model>> more_nets() {
  return {{"squeeze_excite", squeeze_excite()},
          {"convolution_mixer", convolution_mixer()},
          {"gated", gated()},
          {"hard_swish", hard_swish()},
          {"inception", inception()},
          {"dense", dense()},
          {"u_net", u_net()},
          {"detector", detector()},
          {"two_towers", two_towers()},
          {"encoder", encoder()},
          {"gru", gru()},
          {"bidirectional", bidirectional()},
          {"loop", loop()},
          {"scan", scan()}};
}

}  // namespace bitsweep::simulate::testing
