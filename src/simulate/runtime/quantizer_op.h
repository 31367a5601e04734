#pragma once

#include <onnxruntime_cxx_api.h>

namespace bitsweep::simulate {

/// Domain `com.bitsweep` with FakeQuant and FakeQuantInPlace: (T tensor, int64[1] address of a
/// RunState) -> T, attribute `index` = site. T is float32, float16 or bfloat16. FakeQuantInPlace
/// tells the runtime to reuse the input's buffer without asking, so only a piece builder that
/// proved it safe may use it. Elementwise and ElementwiseInPlace: float32 tensors through a whole
/// ElementwiseProgram, attributes `steps` and `constants`.
OrtCustomOpDomain* quantizer_op_domain();

}  // namespace bitsweep::simulate
