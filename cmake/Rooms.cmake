# A room is a folder of src/ and a static library dbench_<room>. To add a source file, put it there.

set(DBENCH_ROOMS "")

# dbench_room(room [BESIDE room...]): the room's library, which sees the rooms declared before it less
# those that it stands beside. A room without sources is an empty link.
function(dbench_room room)
    cmake_parse_arguments(PARSE_ARGV 1 given "" "" "BESIDE")
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${room}/*.cpp")
    list(REMOVE_ITEM sources "${CMAKE_SOURCE_DIR}/src/bench/main.cpp")
    if(DBENCH_CUDA)
        file(GLOB_RECURSE kernels CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${room}/*.cu")
        list(APPEND sources ${kernels})
    endif()
    set(above ${DBENCH_ROOMS})
    if(given_BESIDE)
        list(REMOVE_ITEM above ${given_BESIDE})
    endif()
    list(TRANSFORM above PREPEND dbench_)
    if(sources)
        add_library(dbench_${room} STATIC ${sources})
        target_include_directories(dbench_${room} PUBLIC "${CMAKE_SOURCE_DIR}/src")
        target_link_libraries(dbench_${room} PUBLIC ${above})
    else()
        add_library(dbench_${room} INTERFACE)
        target_include_directories(dbench_${room} INTERFACE "${CMAKE_SOURCE_DIR}/src")
        target_link_libraries(dbench_${room} INTERFACE ${above})
    endif()
    set(DBENCH_ROOMS ${DBENCH_ROOMS} ${room} PARENT_SCOPE)
endfunction()

# dbench_use(room PUBLIC|PRIVATE library...): PRIVATE libraries are linked into every program, but only
# this room and its tests (by ${room}_uses) find their headers.
function(dbench_use room scope)
    get_target_property(type dbench_${room} TYPE)
    if(type STREQUAL "INTERFACE_LIBRARY")
        set(scope INTERFACE)
    endif()
    target_link_libraries(dbench_${room} ${scope} ${ARGN})
    set(${room}_uses ${${room}_uses} ${ARGN} PARENT_SCOPE)
endfunction()

function(dbench_precompile room)
    get_target_property(type dbench_${room} TYPE)
    if(NOT type STREQUAL "INTERFACE_LIBRARY")
        target_precompile_headers(dbench_${room} PRIVATE ${ARGN})
    endif()
endfunction()
