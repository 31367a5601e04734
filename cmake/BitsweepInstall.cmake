# What `cmake --install` gives: headers, library, the command, and a package that find_package(bitsweep) finds.
# A wheel takes only the command (the module installs itself): see pyproject.toml.
if(SKBUILD)
  if(TARGET bitsweep_cli)
    install(TARGETS bitsweep_cli RUNTIME DESTINATION bitsweep/bin COMPONENT python)
  endif()
  return()
endif()

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS bitsweep EXPORT bitsweepTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/bitsweep DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
if(TARGET bitsweep_cli)
  install(TARGETS bitsweep_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/bitsweep)
install(EXPORT bitsweepTargets NAMESPACE bitsweep:: DESTINATION ${package_dir})
configure_package_config_file(cmake/bitsweepConfig.cmake.in "${CMAKE_BINARY_DIR}/bitsweepConfig.cmake"
  INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change the API.
write_basic_package_version_file("${CMAKE_BINARY_DIR}/bitsweepConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/bitsweepConfig.cmake" "${CMAKE_BINARY_DIR}/bitsweepConfigVersion.cmake"
  DESTINATION ${package_dir})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
