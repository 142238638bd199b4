# Debian packages by CPack, one of each component (tools/release/package).
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "distributed locks on MongoDB or SQLite")
set(CPACK_PACKAGE_VENDOR "the distlock authors")
set(CPACK_PACKAGE_CONTACT "the distlock authors <maintainers@distlock.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/debian_tree.cmake)
set(CPACK_DISTLOCK_SOURCE_DIR ${PROJECT_SOURCE_DIR})

set(CPACK_COMPONENTS_ALL library development)
if(TARGET distlock_tool)
  list(APPEND CPACK_COMPONENTS_ALL tool)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENT_DEVELOPMENT_DEPENDS library)
set(CPACK_COMPONENT_TOOL_DEPENDS library)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SOURCE distlock)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Where the tool finds the library of its own version; on that package it depends as a component.
get_target_property(distlock_binary_dir distlock BINARY_DIR)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${distlock_binary_dir})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libdistlock0)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
file(WRITE ${PROJECT_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/triggers)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "Processes on many machines compete for named locks, which are documents in
MongoDB or rows of a SQLite file. A holder that is silent for too long is
taken over, after its own deadline has passed.

This package has the shared library.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libdistlock-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Processes on many machines compete for named locks, which are documents in
MongoDB or rows of a SQLite file. A holder that is silent for too long is
taken over, after its own deadline has passed.

This package has the headers, files for CMake and pkg-config, documents and
examples.")

set(CPACK_DEBIAN_TOOL_PACKAGE_NAME distlock)
set(CPACK_DEBIAN_TOOL_PACKAGE_SECTION utils)
set(CPACK_COMPONENT_TOOL_DESCRIPTION "Runs a command while holding a lock that processes on many machines compete
for, like flock for more than one host. A command whose lock is lost is ended
before another process can take the lock over.

This package has the command distlock, which also lists and breaks locks.")
include(CPack)
