# Installs three components: library, development, tool.
include(CMakePackageConfigHelpers)
set(distlock_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/distlock)
get_target_property(distlock_type distlock TYPE)

install(TARGETS distlock EXPORT distlock-targets
  LIBRARY COMPONENT library NAMELINK_COMPONENT development
  ARCHIVE COMPONENT development
  FILE_SET HEADERS COMPONENT development)
install(EXPORT distlock-targets NAMESPACE distlock::
  DESTINATION ${distlock_package_dir} COMPONENT development)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/distlock-config.cmake.in
  distlock-config.cmake INSTALL_DESTINATION ${distlock_package_dir})
write_basic_package_version_file(distlock-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
    ${PROJECT_BINARY_DIR}/distlock-config.cmake
    ${PROJECT_BINARY_DIR}/distlock-config-version.cmake
  DESTINATION ${distlock_package_dir} COMPONENT development)

# Computed, since the library folder may be lib or lib/<triplet>, or lie outside the prefix.
file(RELATIVE_PATH distlock_prefix_from_pc
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
file(RELATIVE_PATH distlock_libdir_from_prefix
  ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH distlock_includedir_from_prefix
  ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
# The shared library brings along what it needs. Whoever links the static one has to name it.
if(distlock_type STREQUAL "STATIC_LIBRARY")
  set(distlock_pc_requires "libmongoc-1.0 sqlite3")
  set(distlock_pc_libs " -lboost_log -lboost_thread -lboost_chrono -pthread")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/distlock.pc.in distlock.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/distlock.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

if(TARGET distlock_tool)
  # So that the tool finds the library beside it, wherever both are moved to.
  file(RELATIVE_PATH distlock_libdir_from_bindir
    ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(distlock_tool PROPERTIES
    INSTALL_RPATH "$ORIGIN/${distlock_libdir_from_bindir}")
  install(TARGETS distlock_tool COMPONENT tool)
  install(FILES ${PROJECT_SOURCE_DIR}/docs/distlock.1
    DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tool)
  # Of each shell: where its own packages leave completions of other programs.
  foreach(completion IN ITEMS bash:bash-completion/completions/distlock
                              zsh:zsh/vendor-completions/_distlock
                              fish:fish/vendor_completions.d/distlock.fish)
    string(REGEX MATCH "^([a-z]+):(.+)/([^/]+)$" matched ${completion})
    if(EXISTS ${PROJECT_SOURCE_DIR}/src/cli/completion.${CMAKE_MATCH_1})
      install(FILES ${PROJECT_SOURCE_DIR}/src/cli/completion.${CMAKE_MATCH_1}
        DESTINATION ${CMAKE_INSTALL_DATADIR}/${CMAKE_MATCH_2} RENAME ${CMAKE_MATCH_3}
        COMPONENT tool)
    endif()
  endforeach()
endif()

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT library)
# With the tool and with what programs are built with: each may be there alone.
set(distlock_documented development)
if(TARGET distlock_tool)
  list(APPEND distlock_documented tool)
endif()
foreach(component IN LISTS distlock_documented)
  install(CODE "set(source \"${PROJECT_SOURCE_DIR}\")
    set(to \"${PROJECT_BINARY_DIR}/documents\")
    include(\"${CMAKE_CURRENT_LIST_DIR}/installed_documents.cmake\")" COMPONENT ${component})
  install(DIRECTORY ${PROJECT_BINARY_DIR}/documents/
    DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT ${component})
endforeach()
