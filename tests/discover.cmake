# discover(TARGET PREFIX LABEL): a test of ctest for each case of the program.
#
# With DISTLOCK_TEST_WHOLE one test for all cases that leave the process as it is, since the start of a
# program takes longer under a sanitizer than most cases. A program of its own has still each case that
# forks, since a child has what the threads of earlier cases left, and that changes what the whole
# process has.
option(DISTLOCK_TEST_WHOLE "Run most cases of a program as one test" OFF)

set(needs_own_process "fork\\(|forked_child.h|leave.h|sleeper.h|command_end.h|runner.h")
string(APPEND needs_own_process "|child_process.h|keeper.h|supervision.h|signals.h")
string(APPEND needs_own_process "|environ|setenv|current_path|error_pipe.h|umask\\(|rlimit|dup2\\(|signal\\(|sigaction\\(")

# The tags, one for each file, that Catch2 gives their cases with the option -#.
function(tags_of_files_alone target result)
  set(tags)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${source})
      file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/${source} alone REGEX "${needs_own_process}")
      if(alone)
        get_filename_component(name ${source} NAME_WE)
        list(APPEND tags "[#${name}]")
      endif()
    endif()
  endforeach()
  set(${result} "${tags}" PARENT_SCOPE)
endfunction()

function(discover target prefix label)
  if(NOT DISTLOCK_TEST_WHOLE)
    catch_discover_tests(${target} ${sanitized} TEST_PREFIX ${prefix} PROPERTIES LABELS ${label} TIMEOUT 240)
    return()
  endif()
  tags_of_files_alone(${target} tags)
  set(whole ${left_out})
  set(alone)
  foreach(tag IN LISTS tags)
    string(APPEND whole "~${tag}")
    list(APPEND alone "${left_out}${tag}")
  endforeach()
  set(test "${prefix}all cases that leave the process as it is")
  add_test(NAME ${test} COMMAND ${target} -\# ${whole})
  set_tests_properties(${test} PROPERTIES LABELS ${label} TIMEOUT 1200 COST 500)
  if(alone)
    list(JOIN alone "," spec)
    catch_discover_tests(${target} TEST_SPEC -\# "${spec}" EXTRA_ARGS -\# TEST_PREFIX ${prefix}
      PROPERTIES LABELS ${label} TIMEOUT 240)
  endif()
endfunction()
