#pragma once

#include <stdexcept>
#include <string>

#include "bitsweep/export.h"

namespace BITSWEEP_EXPORT bitsweep {

/// Why a call failed. Faces map it to exit codes and exception types.
enum class ErrorCode {
  kInvalidArgument,  ///< the caller asked for something that makes no sense
  kInvalidModel,     ///< the ONNX model is broken or unsupported
  kInvalidData,      ///< samples do not fit the model or hold bad values
  kNotFound,         ///< a file, tensor or name does not exist
  kIo,               ///< reading or writing failed
  kRuntime,          ///< ONNX Runtime refused or failed
  kNotReady,         ///< the object is not in the state the call needs (e.g. not calibrated)
  kCancelled,        ///< the user interrupted the work
};

/// The one exception of bitsweep: one sentence that says what happened, where, and how to fix it.
///
/// `what()` reads "where: what; fix", e.g.
/// "calibrate: tensor "conv1.out" got NaN in batch 3 of 8; check the input preprocessing".
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& where, const std::string& what, const std::string& fix);

  ErrorCode code() const { return code_; }
  const std::string& where() const { return where_; }
  const std::string& fix() const { return fix_; }

 private:
  ErrorCode code_;
  std::string where_;
  std::string fix_;
};

}  // namespace BITSWEEP_EXPORT bitsweep
