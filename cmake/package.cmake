# What an installed distlock is found by: find_package(distlock) and pkg-config.
set(distlock_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/distlock)
get_target_property(distlock_type distlock TYPE)

install(EXPORT distlock-targets NAMESPACE distlock:: DESTINATION ${distlock_package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/distlock-config.cmake.in
  distlock-config.cmake INSTALL_DESTINATION ${distlock_package_dir})
write_basic_package_version_file(distlock-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
    ${PROJECT_BINARY_DIR}/distlock-config.cmake
    ${PROJECT_BINARY_DIR}/distlock-config-version.cmake
  DESTINATION ${distlock_package_dir})

# Computed, since the library folder may be lib or lib/<triplet>, or lie outside the prefix.
file(RELATIVE_PATH distlock_prefix_from_pc
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
file(RELATIVE_PATH distlock_libdir_from_prefix
  ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH distlock_includedir_from_prefix
  ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(${CMAKE_CURRENT_LIST_DIR}/distlock.pc.in distlock.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/distlock.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
