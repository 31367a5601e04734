# How targets of this project are made: bitsweep_add_module, bitsweep_link_modules, bitsweep_add_kernels, bitsweep_add_test.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
find_program(BITSWEEP_CCACHE ccache)
if(BITSWEEP_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${BITSWEEP_CCACHE}")
endif()

# Requirements every target of the project shares.
add_library(bitsweep_options INTERFACE)
target_include_directories(bitsweep_options INTERFACE
  "$<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>" "$<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src>")
# Results depend on inputs, not on the machine: no fused multiply-add unless written.
target_compile_options(bitsweep_options INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
  -Wno-missing-field-initializers  # options are set by name; the others keep their defaults
  -Wno-restrict  # false alarms of GCC 12 in std::string (GCC bug 105651)
  -ffp-contract=off)
if(BITSWEEP_WERROR)
  target_compile_options(bitsweep_options INTERFACE -Werror)
endif()
if(BITSWEEP_SANITIZE)
  target_compile_options(bitsweep_options INTERFACE -fsanitize=${BITSWEEP_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(bitsweep_options INTERFACE -fsanitize=${BITSWEEP_SANITIZE})
endif()

# What test files add. Their code runs once, so optimizing googletest's macros costs more than it gives; and undefined
# behaviour is looked for in the library: instrumenting the tests too would double their compile time.
add_library(bitsweep_test_options INTERFACE)
target_compile_options(bitsweep_test_options INTERFACE $<$<NOT:$<CONFIG:RelWithDebInfo>>:-O0>)
if(BITSWEEP_SANITIZE MATCHES "undefined")
  target_compile_options(bitsweep_test_options INTERFACE -fno-sanitize=undefined)
endif()

# bitsweep_add_module(NAME SOURCES ... PUBLIC modules-and-libraries PRIVATE libraries [TESTS files])
# An OBJECT library bitsweep_NAME; links are the dependency arrows of docs/architecture.md.
function(bitsweep_add_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;PUBLIC;PRIVATE;TESTS" ${ARGN})
  add_library(bitsweep_${name} OBJECT ${arg_SOURCES})
  target_link_libraries(bitsweep_${name} PUBLIC bitsweep_options ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  set_property(GLOBAL APPEND PROPERTY BITSWEEP_MODULES bitsweep_${name})
  if(arg_TESTS)
    list(TRANSFORM arg_TESTS PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
    set_property(GLOBAL APPEND PROPERTY BITSWEEP_TESTS ${arg_TESTS})
  endif()
endfunction()

# Links every module into a final target: object files do not travel along a chain of object libraries.
function(bitsweep_link_modules target)
  get_property(modules GLOBAL PROPERTY BITSWEEP_MODULES)
  foreach(module ${modules})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${module}>)
    target_link_libraries(${target} PRIVATE ${module})
  endforeach()
endfunction()

# bitsweep_add_kernels(MODULE FILE): compiles FILE once per instruction set; BITSWEEP_ISA names the namespace.
function(bitsweep_add_kernels name file)
  set(levels sse2 avx2 avx512)
  set(flags_sse2 "-march=x86-64")
  set(flags_avx2 "-march=x86-64-v3")
  set(flags_avx512 "-march=x86-64-v4")
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(levels generic)
    set(flags_generic "")
  endif()
  foreach(level ${levels})
    add_library(bitsweep_kernel_${level} OBJECT ${file})
    target_link_libraries(bitsweep_kernel_${level} PRIVATE bitsweep_options)
    target_compile_definitions(bitsweep_kernel_${level} PRIVATE BITSWEEP_ISA=${level})
    target_compile_options(bitsweep_kernel_${level} PRIVATE ${flags_${level}} -O3 -fno-math-errno -fno-trapping-math)
    target_compile_definitions(bitsweep_${name} PRIVATE BITSWEEP_HAVE_${level}=1)
    set_property(GLOBAL APPEND PROPERTY BITSWEEP_MODULES bitsweep_kernel_${level})
  endforeach()
endfunction()
