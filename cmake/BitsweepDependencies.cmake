# Finds what the library needs; every message says how to get it.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_package(fmt REQUIRED)
find_package(nlohmann_json 3.9 REQUIRED)
find_package(Threads REQUIRED)
find_package(Protobuf REQUIRED)
# SHA-256 of models and data (Debian: libssl-dev).
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(PkgConfig REQUIRED)
find_package(SQLite3 REQUIRED)
pkg_check_modules(libzip REQUIRED IMPORTED_TARGET libzip)
find_package(OrtHeaders REQUIRED)

# The ONNX schema comes with the onnx Python package, so that every element type it knows is known here.
set(BITSWEEP_ONNX_PROTO "" CACHE FILEPATH "onnx-ml.proto; empty: taken from the onnx Python package")
if(NOT BITSWEEP_ONNX_PROTO)
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" -c
            "import importlib.util as u; print(u.find_spec('onnx').submodule_search_locations[0] + '/onnx-ml.proto')"
    OUTPUT_VARIABLE proto OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT EXISTS "${proto}")
    message(FATAL_ERROR "onnx-ml.proto not found: run '${Python3_EXECUTABLE} -m pip install onnx', "
                        "or set BITSWEEP_ONNX_PROTO to the file")
  endif()
  set(BITSWEEP_ONNX_PROTO "${proto}" CACHE FILEPATH "" FORCE)
endif()

if(BITSWEEP_BUILD_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
  enable_testing()
endif()
