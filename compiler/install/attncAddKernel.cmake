# attnc_add_kernel, which attncConfig.cmake describes. CMake 3.20.

# In a cross build, the installed runtime may be for the build machine. The linker would report that only at the end.
function(_attnc_check_runtime what)
  get_target_property(library attnc::rt IMPORTED_LOCATION)
  if(NOT CMAKE_CROSSCOMPILING OR NOT library OR library STREQUAL ATTNC_LINKED_RUNTIME)
    return()
  endif()
  set(folder "${CMAKE_BINARY_DIR}/CMakeFiles/attnc_runtime")
  file(WRITE "${folder}/linked.c" "const char *attn_strerror(int);\nint main(void) { return !attn_strerror(0); }\n")
  try_compile(linked "${folder}/build" SOURCES "${folder}/linked.c" LINK_LIBRARIES "${library}" m)
  if(NOT linked)
    message(FATAL_ERROR "${what}: ${library} cannot be linked for ${CMAKE_SYSTEM_NAME} on ${CMAKE_SYSTEM_PROCESSOR}. "
      "Make the kernel STANDALONE, which needs no runtime; or make attnc a part of this project, which then builds the "
      "runtime (compiler/install/CMakeLists.txt of its source); or name by attnc_DIR an attnc that was installed for "
      "that machine (meson setup --cross-file).")
  endif()
  set(ATTNC_LINKED_RUNTIME "${library}" CACHE INTERNAL "a runtime library that this machine's linker takes")
endfunction()

function(attnc_add_kernel target spec)
  cmake_parse_arguments(PARSE_ARGV 2 arg "STANDALONE;TUNED" "" "TARGETS;SET")
  if(arg_UNPARSED_ARGUMENTS OR arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "attnc_add_kernel(${target} ${spec} …): not understood: "
      "${arg_UNPARSED_ARGUMENTS} ${arg_KEYWORDS_MISSING_VALUES}")
  endif()
  if(NOT TARGET ${target})
    message(FATAL_ERROR "attnc_add_kernel(${target} ${spec}): there is no target ${target} yet")
  endif()
  if(NOT CMAKE_C_COMPILER_LOADED)
    message(FATAL_ERROR "attnc_add_kernel: kernels are C; add C to the languages of project()")
  endif()
  get_filename_component(path "${spec}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
  if(NOT EXISTS "${path}")
    message(FATAL_ERROR "attnc_add_kernel: there is no file ${path}")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}") # the spec's name may change

  set(options --quiet)
  if(arg_STANDALONE)
    list(APPEND options --standalone)
  endif()
  set(tuned "")
  if(arg_TUNED)
    if(path MATCHES "^(.*)(\\.ya?ml)$")
      set(tuned "${CMAKE_MATCH_1}.tuned${CMAKE_MATCH_2}")
    else()
      set(tuned "${path}.tuned.yaml")
    endif()
    if(NOT EXISTS "${tuned}")
      message(FATAL_ERROR "attnc_add_kernel: TUNED, but there is no file ${tuned}; attnc tune ${path} makes it")
    endif()
    list(APPEND options --tuned)
  endif()
  if(NOT arg_TARGETS AND CMAKE_CROSSCOMPILING) # attnc's default targets are those of the build machine
    execute_process(COMMAND "${ATTNC_EXECUTABLE}" list targets "${CMAKE_SYSTEM_PROCESSOR}"
      OUTPUT_VARIABLE arg_TARGETS OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(REPLACE "\n" ";" arg_TARGETS "${arg_TARGETS}")
  endif()
  if(arg_TARGETS)
    string(REPLACE ";" "," targets "${arg_TARGETS}")
    list(APPEND options --target "${targets}")
  endif()
  foreach(setting IN LISTS arg_SET)
    list(APPEND options --set "${setting}")
  endforeach()

  set(folder "${CMAKE_CURRENT_BINARY_DIR}/attnc/${target}")
  file(MAKE_DIRECTORY "${folder}")
  list(APPEND options -o "${folder}")
  execute_process(COMMAND "${ATTNC_EXECUTABLE}" ${options} --emit c --outputs "${path}"
    OUTPUT_VARIABLE source ERROR_VARIABLE said RESULT_VARIABLE status OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(status EQUAL 0)
    get_filename_component(name "${source}" NAME_WE)
  elseif(status EQUAL 1) # the spec is wrong: the build prints the errors, and CMake runs again when the spec changes
    get_filename_component(name "${path}" NAME_WE)
    string(MAKE_C_IDENTIFIER "${name}" name)
  else()
    message(FATAL_ERROR "attnc_add_kernel: ${ATTNC_EXECUTABLE} ${path}: ${said} (${status})")
  endif()
  set(files "${folder}/${name}.c" "${folder}/${name}.h")
  add_custom_command(OUTPUT ${files}
    COMMAND "${ATTNC_EXECUTABLE}" ${options} -MD -MF "${folder}/${name}.d" "${path}"
    DEPENDS "${path}" ${tuned} "${ATTNC_EXECUTABLE}"
    DEPFILE "${folder}/${name}.d"
    COMMENT "Making the kernel ${name}"
    VERBATIM)
  # The rule is known only in this directory; a target of another one depends on the kernel through this custom target.
  add_custom_target(${target}_${name}_kernel DEPENDS ${files})
  add_dependencies(${target} ${target}_${name}_kernel)
  set_source_files_properties(${files} TARGET_DIRECTORY ${target} PROPERTIES GENERATED TRUE)
  target_sources(${target} PRIVATE ${files})
  target_include_directories(${target} PUBLIC "$<BUILD_INTERFACE:${folder}>")

  # Only the kernel is compiled with OpenMP; it is optimised in every configuration.
  find_package(OpenMP QUIET COMPONENTS C)
  set(flags "$<$<NOT:$<CONFIG:Release>>:-O2>")
  set(libraries m)
  if(OpenMP_C_FOUND)
    separate_arguments(openmp UNIX_COMMAND "${OpenMP_C_FLAGS}")
    list(APPEND flags ${openmp})
    list(APPEND libraries ${OpenMP_C_LIBRARIES})
  endif()
  set_source_files_properties("${folder}/${name}.c" TARGET_DIRECTORY ${target} PROPERTIES COMPILE_OPTIONS "${flags}")
  if(NOT arg_STANDALONE)
    _attnc_check_runtime("attnc_add_kernel(${target} ${spec})")
    list(INSERT libraries 0 attnc::rt)
  endif()
  # As a property, because target_link_libraries() fails if the project's own calls use keywords and this one does not.
  set_property(TARGET ${target} APPEND PROPERTY LINK_LIBRARIES ${libraries})
  set_property(TARGET ${target} APPEND PROPERTY INTERFACE_LINK_LIBRARIES ${libraries})
endfunction()
