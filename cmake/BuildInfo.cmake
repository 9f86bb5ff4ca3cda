# Generates build_info.cpp (version, commit, compiler, flags), which dbench_base compiles. When CMakeLists.txt
# includes this file, it defines the target. Every build then runs it as a script that updates the commit. The
# script rewrites the file only if something changed, so an unchanged tree compiles nothing.

if(NOT CMAKE_SCRIPT_MODE_FILE)
    set(info "${CMAKE_BINARY_DIR}/generated/build_info.cpp")
    string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
    string(JOIN " " flags ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}} ${DBENCH_COMPILE_OPTIONS})
    add_custom_target(dbench_commit BYPRODUCTS "${info}" COMMENT "Commit of this build"
        COMMAND "${CMAKE_COMMAND}" -DSOURCE=${CMAKE_SOURCE_DIR} -DINFO=${info} -DVERSION=${PROJECT_VERSION}
            "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}" "-DFLAGS=${flags}"
            -DTYPE=${CMAKE_BUILD_TYPE} -DCUDA=${DBENCH_CUDA} -P "${CMAKE_CURRENT_LIST_FILE}" VERBATIM)
    get_target_property(kind dbench_base TYPE)
    if(kind STREQUAL "STATIC_LIBRARY" AND EXISTS "${CMAKE_SOURCE_DIR}/src/base/build_info.hpp")
        set_source_files_properties("${info}" PROPERTIES GENERATED TRUE)
        target_sources(dbench_base PRIVATE "${info}")
        add_dependencies(dbench_base dbench_commit)
    endif()
    return()
endif()

# --no-optional-locks: a build must not disturb a git command that runs concurrently.
execute_process(COMMAND git --no-optional-locks rev-parse --short=12 HEAD WORKING_DIRECTORY "${SOURCE}"
    OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
    set(COMMIT "unknown")
    set(DIRTY false)
else()
    execute_process(COMMAND git --no-optional-locks status --porcelain --untracked-files=no
        WORKING_DIRECTORY "${SOURCE}" OUTPUT_VARIABLE changes ERROR_QUIET)
    set(DIRTY false)
    if(changes)
        set(DIRTY true)
    endif()
endif()
if(CUDA)
    set(CUDA true)
else()
    set(CUDA false)
endif()
configure_file("${CMAKE_CURRENT_LIST_DIR}/build_info.cpp.in" "${INFO}" @ONLY)
