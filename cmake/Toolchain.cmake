# Compiler settings for all targets: language, warnings, optimisation, linker, compiler cache.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug, RelWithDebInfo" FORCE)
endif()

# -ffp-contract=off: a vector loop and its scalar remainder must round equally; otherwise results would
# depend on where a range of columns is cut.
# -fno-math-errno: nothing reads errno after a square root, and setting it would prevent vectorisation.
set(DBENCH_COMPILE_OPTIONS -Wall -Wextra -fPIE -ffp-contract=off -fno-math-errno)
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")
if(DBENCH_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # A grouped source is an included file, and GCC takes its types for those of a header.
    list(APPEND DBENCH_COMPILE_OPTIONS -Wno-subobject-linkage)
endif()
if(DBENCH_WERROR AND NOT DBENCH_SANITIZE)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
# These warnings depend on the optimiser and give false positives: GCC 12 reports overlaps in std::string, and
# uninitialised values in the code that sanitizers add.
foreach(warning restrict stringop-overflow stringop-overread array-bounds maybe-uninitialized)
    if(DBENCH_SANITIZE OR warning STREQUAL "restrict")
        add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-${warning}>)
    else()
        add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-error=${warning}>)
    endif()
endforeach()
if(DBENCH_ARCH)
    list(APPEND DBENCH_COMPILE_OPTIONS "-march=${DBENCH_ARCH}")
endif()
if(DBENCH_SANITIZE)
    list(APPEND DBENCH_COMPILE_OPTIONS "-fsanitize=${DBENCH_SANITIZE}" -fno-omit-frame-pointer)
    add_link_options("-fsanitize=${DBENCH_SANITIZE}")
endif()

find_program(DBENCH_CCACHE ccache)
if(DBENCH_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # ccache can cache a precompiled header only if it ignores time stamps. It makes paths below the base
    # directory relative, so that another clone finds what this one compiled.
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND};-E;env;CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}"
        "CCACHE_SLOPPINESS=pch_defines,time_macros;${DBENCH_CCACHE}")
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        list(APPEND DBENCH_COMPILE_OPTIONS -fpch-preprocess)
    endif()
endif()
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${DBENCH_COMPILE_OPTIONS}>")

include(CheckCXXSourceCompiles)
set(DBENCH_LINKER "default")
foreach(linker mold lld)
    set(CMAKE_REQUIRED_LINK_OPTIONS "-fuse-ld=${linker}")
    check_cxx_source_compiles("int main() { return 0; }" DBENCH_HAS_${linker})
    unset(CMAKE_REQUIRED_LINK_OPTIONS)
    if(DBENCH_HAS_${linker})
        set(DBENCH_LINKER ${linker})
        add_link_options("-fuse-ld=${linker}")
        break()
    endif()
endforeach()

if(DBENCH_CUDA)
    # nvcc is often installed but not in PATH.
    if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
        find_program(CMAKE_CUDA_COMPILER nvcc HINTS "$ENV{CUDA_HOME}/bin" /usr/local/cuda/bin)
        if(NOT CMAKE_CUDA_COMPILER)
            message(FATAL_ERROR "No CUDA compiler (DBENCH_CUDA=ON, but nvcc is neither in PATH, nor in "
                "CUDA_HOME, nor in /usr/local/cuda/bin): install the CUDA toolkit, set CMAKE_CUDA_COMPILER, or build without CUDA.")
        endif()
    endif()
    if(NOT CMAKE_CUDA_ARCHITECTURES)
        set(CMAKE_CUDA_ARCHITECTURES "80;90" CACHE STRING "GPU generations to compile for")
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)  # shares the runtime with LibTorch
    enable_language(CUDA)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc has C++20
        set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
        set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    endif()
    # --fmad=false: the counterpart of -ffp-contract=off. A kernel that spills registers is an error.
    # --expt-relaxed-constexpr: device code may call constexpr functions. Calling any other host function is an error.
    add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:--fmad=false;--expt-relaxed-constexpr;--Werror=cross-execution-space-call;-Xcompiler=-fPIE;-Xptxas=--warn-on-spills,--warning-as-error>")
endif()
