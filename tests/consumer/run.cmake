# Installs the build into a folder of its own, builds examples/consumer against it as a stranger would, and runs it.
#   cmake -DBUILD=... -DSOURCE=... -DPYTHON=... -DGENERATOR=... [-DSANITIZE=address,undefined] -P run.cmake
set(work "${BUILD}/consumer-test")
file(REMOVE_RECURSE "${work}")

if(SANITIZE)
  set(FLAGS "-fsanitize=${SANITIZE}")
endif()

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${work}/prefix")
run("${CMAKE_COMMAND}" -S "${SOURCE}/examples/consumer" -B "${work}/build" -G "${GENERATOR}"
    "-DCMAKE_PREFIX_PATH=${work}/prefix" "-DCMAKE_CXX_FLAGS=${FLAGS}")
run("${CMAKE_COMMAND}" --build "${work}/build")
run("${PYTHON}" "${SOURCE}/tests/consumer/make_fixture.py" "${work}/data")

execute_process(COMMAND "${work}/build/rank_quantizers" "${work}/data/model.onnx" "${work}/data/samples.npz"
  OUTPUT_VARIABLE table COMMAND_ERROR_IS_FATAL ANY)
message("${table}")
foreach(expected "  1 " "conv.weight" "fc.weight" "image" "dB")
  string(FIND "${table}" "${expected}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "the table of the consumer lacks '${expected}'")
  endif()
endforeach()
