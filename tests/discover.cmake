# discover(TARGET PREFIX LABEL): a test of ctest for each case of the program.
#
# With DISTLOCK_TEST_WHOLE one test for all cases that do not fork, since the start of a program takes
# longer under a sanitizer than most cases. A child has what the threads of earlier cases left, and so
# a case that forks gets a program of its own there, too.
option(DISTLOCK_TEST_WHOLE "Run a program's cases that do not fork as one test" OFF)

set(forking "fork\\(|forked_child.h|leave.h|sleeper.h|command_end.h|runner.h")
string(APPEND forking "|child_process.h|keeper.h|supervision.h|signals.h")

# The tags, one for each file, that Catch2 gives their cases with the option -#.
function(tags_of_forking_files target result)
  set(tags)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${source})
      file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/${source} forks REGEX "${forking}")
      if(forks)
        get_filename_component(name ${source} NAME_WE)
        list(APPEND tags "[#${name}]")
      endif()
    endif()
  endforeach()
  set(${result} "${tags}" PARENT_SCOPE)
endfunction()

function(discover target prefix label)
  if(NOT DISTLOCK_TEST_WHOLE)
    catch_discover_tests(${target} ${sanitized} TEST_PREFIX ${prefix} PROPERTIES LABELS ${label} TIMEOUT 600)
    return()
  endif()
  tags_of_forking_files(${target} tags)
  set(whole ${left_out})
  set(alone)
  foreach(tag IN LISTS tags)
    string(APPEND whole "~${tag}")
    list(APPEND alone "${left_out}${tag}")
  endforeach()
  add_test(NAME "${prefix}all cases that do not fork" COMMAND ${target} -\# ${whole})
  set_tests_properties("${prefix}all cases that do not fork" PROPERTIES LABELS ${label} TIMEOUT 1200 COST 500)
  if(alone)
    list(JOIN alone "," spec)
    catch_discover_tests(${target} TEST_SPEC -\# "${spec}" EXTRA_ARGS -\# TEST_PREFIX ${prefix}
      PROPERTIES LABELS ${label} TIMEOUT 600)
  endif()
endfunction()
