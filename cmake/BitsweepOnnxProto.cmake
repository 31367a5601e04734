# bitsweep_onnx_proto: the ONNX messages, generated from the schema of the onnx package. Link it PRIVATE to graph only.
set(proto_dir "${CMAKE_BINARY_DIR}/generated/onnx")
get_filename_component(proto_source_dir "${BITSWEEP_ONNX_PROTO}" DIRECTORY)
get_filename_component(proto_stem "${BITSWEEP_ONNX_PROTO}" NAME_WE)
file(MAKE_DIRECTORY "${proto_dir}")
add_custom_command(
  OUTPUT "${proto_dir}/${proto_stem}.pb.cc" "${proto_dir}/${proto_stem}.pb.h"
  COMMAND protobuf::protoc "--cpp_out=${proto_dir}" "--proto_path=${proto_source_dir}" "${BITSWEEP_ONNX_PROTO}"
  DEPENDS "${BITSWEEP_ONNX_PROTO}"
  COMMENT "Generating the ONNX messages" VERBATIM)

# Generated code: built without this project's warnings, and its header is a system header for the others.
add_library(bitsweep_onnx_proto STATIC "${proto_dir}/${proto_stem}.pb.cc")
target_include_directories(bitsweep_onnx_proto SYSTEM PUBLIC "${proto_dir}")
target_link_libraries(bitsweep_onnx_proto PUBLIC protobuf::libprotobuf-lite)
if(BITSWEEP_SANITIZE)
  target_compile_options(bitsweep_onnx_proto PRIVATE -fsanitize=${BITSWEEP_SANITIZE} -fno-omit-frame-pointer)
endif()
