# Run by CPack for Debian packages: brings what was installed for each component into the form that
# Debian asks for.
set(source ${CPACK_DISTLOCK_SOURCE_DIR})
string(TIMESTAMP today "%a, %d %b %Y %H:%M:%S +0000" UTC)

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(package ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}/usr)
  set(documents ${root}/share/doc/${package})

  # Each package has a folder for its documents.
  if(EXISTS ${root}/share/doc/distlock AND NOT package STREQUAL distlock)
    file(REMOVE_RECURSE ${documents})
    file(RENAME ${root}/share/doc/distlock ${documents})
  endif()
  # Debian has the licence elsewhere, and wants the copyright here.
  file(REMOVE ${documents}/LICENSE ${documents}/NOTICE)
  if(EXISTS ${documents}/README.md)
    file(READ ${documents}/README.md readme)
    string(REGEX REPLACE "\\]\\((LICENSE|NOTICE)\\)" "](copyright)" readme "${readme}")
    string(REPLACE "](CHANGELOG.md)" "](changelog.gz)" readme "${readme}")
    file(WRITE ${documents}/README.md "${readme}")
    file(RENAME ${documents}/CHANGELOG.md ${documents}/changelog)
  endif()
  file(READ ${source}/NOTICE notice)
  file(WRITE ${documents}/copyright
    "${notice}\nOn Debian systems the Apache License is in /usr/share/common-licenses/Apache-2.0.\n")
  file(WRITE ${documents}/changelog.Debian
    "distlock (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n\n"
    "  * See CHANGELOG.md of the sources.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${today}\n")

  # The system's loader looks where Debian has libraries, and a run path would come before that.
  if(EXISTS ${root}/bin/distlock)
    file(RPATH_REMOVE FILE ${root}/bin/distlock)
  endif()

  file(GLOB_RECURSE to_compress ${root}/share/man/*.1 ${documents}/changelog ${documents}/changelog.Debian)
  foreach(file IN LISTS to_compress)
    execute_process(COMMAND gzip -9n ${file} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endforeach()
