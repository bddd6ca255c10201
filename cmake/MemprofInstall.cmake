# The installed prefix: programs, injected libraries, header, stand-ins, CMake package.
#   bin/memprof bin/memprof-viewer bin/demo_trainer
#   lib/libmemprof.so lib/libmemprof_cupti.so lib/memprof/simcuda/*
#   include/memprof/memprof.h  lib/cmake/memprof/
#   share/memprof/{scripts/torch-sim,simcuda/}
# The CUPTI source, the viewer and the demo trainer are installed by their own folders.
include(CMakePackageConfigHelpers)

install(FILES ${PROJECT_SOURCE_DIR}/libmemprof/include/memprof/memprof.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/memprof)
install(TARGETS memprof_command memprof
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# By path, not by target: the stand-ins' real names are their SONAMEs.
install(PROGRAMS
  ${PROJECT_BINARY_DIR}/simcuda/libcuda.so.1 ${PROJECT_BINARY_DIR}/simcuda/libcudart.so.12
  ${PROJECT_BINARY_DIR}/simcuda/libcudart.so.13 ${PROJECT_BINARY_DIR}/simcuda/libcupti.so.13
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/memprof/simcuda)
install(DIRECTORY ${PROJECT_BINARY_DIR}/simcuda/libraries DESTINATION ${CMAKE_INSTALL_LIBDIR}/memprof/simcuda
  USE_SOURCE_PERMISSIONS FILES_MATCHING PATTERN "*.so" PATTERN simcuda-cudnn-plans
  PATTERN CMakeFiles EXCLUDE)

# The tools by which `memprof run --sim` makes stand-ins for the libraries of a Python.
install(PROGRAMS ${PROJECT_SOURCE_DIR}/scripts/torch-sim
  DESTINATION ${CMAKE_INSTALL_DATADIR}/memprof/scripts)
install(FILES ${PROJECT_SOURCE_DIR}/simcuda/tools/generate_libraries.py
  ${PROJECT_SOURCE_DIR}/simcuda/tools/elf_imports.py ${PROJECT_SOURCE_DIR}/simcuda/tools/elf_library.py
  DESTINATION ${CMAKE_INSTALL_DATADIR}/memprof/simcuda/tools)
install(FILES ${PROJECT_SOURCE_DIR}/simcuda/libraries/functions.txt
  DESTINATION ${CMAKE_INSTALL_DATADIR}/memprof/simcuda/libraries)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/memprofConfig.cmake.in
  ${PROJECT_BINARY_DIR}/memprofConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/memprof
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/memprofConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/memprofConfig.cmake ${PROJECT_BINARY_DIR}/memprofConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/memprof)
