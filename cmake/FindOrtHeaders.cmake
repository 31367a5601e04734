# Finds the C++ headers of ONNX Runtime (API 21 or later). The library itself is opened at run time, never linked.
# Order: ONNXRUNTIME_ROOT, a CMake package, system include paths, third_party/onnxruntime/include.
set(roots "${ONNXRUNTIME_ROOT}" "$ENV{ONNXRUNTIME_ROOT}")
find_path(OrtHeaders_INCLUDE_DIR onnxruntime_cxx_api.h
  HINTS ${roots} PATHS "${CMAKE_SOURCE_DIR}/third_party/onnxruntime/include"
  PATH_SUFFIXES include include/onnxruntime include/onnxruntime/core/session onnxruntime onnxruntime/core/session)
if(OrtHeaders_INCLUDE_DIR)
  file(STRINGS "${OrtHeaders_INCLUDE_DIR}/onnxruntime_c_api.h" line REGEX "#define ORT_API_VERSION [0-9]+")
  string(REGEX MATCH "[0-9]+" OrtHeaders_API_VERSION "${line}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OrtHeaders REQUIRED_VARS OrtHeaders_INCLUDE_DIR VERSION_VAR OrtHeaders_API_VERSION
  REASON_FAILURE_MESSAGE "run 'sh scripts/get-ort-headers.sh third_party/onnxruntime/include', or set ONNXRUNTIME_ROOT to an ONNX Runtime release folder")
if(OrtHeaders_FOUND AND OrtHeaders_API_VERSION LESS 21)
  message(FATAL_ERROR "${OrtHeaders_INCLUDE_DIR} has API ${OrtHeaders_API_VERSION}; bitsweep needs 21 or later: "
                      "run 'sh scripts/get-ort-headers.sh third_party/onnxruntime/include'")
endif()
if(OrtHeaders_FOUND AND NOT TARGET OrtHeaders::OrtHeaders)
  add_library(OrtHeaders::OrtHeaders INTERFACE IMPORTED)
  target_include_directories(OrtHeaders::OrtHeaders SYSTEM INTERFACE "${OrtHeaders_INCLUDE_DIR}")
  # The API table is set by hand after dlopen; every file that sees the header must agree.
  target_compile_definitions(OrtHeaders::OrtHeaders INTERFACE ORT_API_MANUAL_INIT)
endif()
