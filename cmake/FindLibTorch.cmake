# Finds LibTorch and defines the target dbench::torch. LibTorch is a folder with include/ and lib/: either
# the `torch` package of a Python environment or the unpacked LibTorch archive. The search covers
# TORCH_ROOT, Torch_DIR, CMAKE_PREFIX_PATH (LibTorch or an environment) and finally DBENCH_VENV.
#
# This file does not use LibTorch's own TorchConfig.cmake, because the one of a wheel built with CUDA
# requires a CUDA toolkit, while the CPU build needs only libtorch_cpu and libc10.
#
# With DBENCH_CUDA it also defines dbench::nccl, LibTorch_CUDNN_VERSION and LibTorch_NCCL_VERSION.

set(_torch_roots ${TORCH_ROOT} $ENV{TORCH_ROOT} ${LibTorch_ROOT})
if(Torch_DIR)
    list(APPEND _torch_roots "${Torch_DIR}/../../..")
endif()
foreach(_prefix ${CMAKE_PREFIX_PATH} "${DBENCH_VENV}")
    file(GLOB _packages "${_prefix}/lib/python3*/site-packages/torch")
    list(APPEND _torch_roots "${_prefix}" ${_packages})
endforeach()

set(LibTorch_DIR "")
foreach(_root ${_torch_roots})
    if(EXISTS "${_root}/include/torch/csrc/api/include/torch/torch.h" AND EXISTS "${_root}/lib/libc10.so")
        get_filename_component(LibTorch_DIR "${_root}" REALPATH)
        break()
    endif()
endforeach()

if(LibTorch_DIR)
    set(_lib "${LibTorch_DIR}/lib")
    set(_include "${LibTorch_DIR}/include")
    file(STRINGS "${_include}/torch/headeronly/version.h" _lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
    string(REGEX REPLACE "[^0-9;]" "" _numbers "${_lines}")
    string(REPLACE ";" "." LibTorch_VERSION "${_numbers}")

    # Older archives exist in two variants; one uses the std::string from before C++11.
    file(STRINGS "${_lib}/libc10.so" _abi REGEX "__cxx11" LIMIT_COUNT 1)
    if(NOT _abi)
        message(FATAL_ERROR "LibTorch in ${LibTorch_DIR} was built with the pre-C++11 ABI, which does not link with "
            "this compiler's standard library: use the archive named cxx11-abi, or let scripts/setup get one.")
    endif()

    add_library(dbench::torch INTERFACE IMPORTED)
    target_include_directories(dbench::torch SYSTEM INTERFACE "${_include}" "${_include}/torch/csrc/api/include")
    target_link_libraries(dbench::torch INTERFACE "${_lib}/libtorch_cpu.so" "${_lib}/libc10.so")

    if(DBENCH_CUDA)
        if(NOT EXISTS "${_lib}/libtorch_cuda.so")
            message(FATAL_ERROR "LibTorch in ${LibTorch_DIR} has no CUDA (no libtorch_cuda.so): run "
                "scripts/setup --cuda, or set TORCH_ROOT to a LibTorch with CUDA.")
        endif()
        # A wheel brings NVIDIA's libraries in a neighbouring folder; a LibTorch archive uses those of the system.
        get_filename_component(_nvidia "${LibTorch_DIR}/../nvidia" ABSOLUTE)
        file(GLOB _cudart "${_nvidia}/*/lib/libcudart.so.*")
        if(_cudart AND NOT _cudart MATCHES "libcudart\\.so\\.${CUDAToolkit_VERSION_MAJOR}$")
            message(FATAL_ERROR "nvcc is of CUDA ${CUDAToolkit_VERSION_MAJOR}, but LibTorch ${LibTorch_VERSION} in "
                "${LibTorch_DIR} was built for another CUDA: set CUDA_HOME or TORCH_ROOT so that both versions match.")
        endif()
        find_path(NCCL_INCLUDE_DIR nccl.h HINTS "${_nvidia}/nccl/include" ${NCCL_ROOT}/include ${CUDAToolkit_INCLUDE_DIRS})
        find_library(NCCL_LIBRARY NAMES libnccl.so.2 nccl HINTS "${_nvidia}/nccl/lib" ${NCCL_ROOT}/lib ${CUDAToolkit_LIBRARY_DIR})
        find_path(CUDNN_INCLUDE_DIR cudnn_version.h HINTS "${_nvidia}/cudnn/include" ${CUDNN_ROOT}/include ${CUDAToolkit_INCLUDE_DIRS})
        mark_as_advanced(NCCL_INCLUDE_DIR NCCL_LIBRARY CUDNN_INCLUDE_DIR)
        if(NOT NCCL_INCLUDE_DIR OR NOT NCCL_LIBRARY OR NOT CUDNN_INCLUDE_DIR)
            message(FATAL_ERROR "NCCL or cuDNN was not found (NCCL: ${NCCL_INCLUDE_DIR}, ${NCCL_LIBRARY}; cuDNN: "
                "${CUDNN_INCLUDE_DIR}): scripts/setup --cuda installs both; elsewhere set NCCL_ROOT, CUDNN_ROOT.")
        endif()
        file(STRINGS "${NCCL_INCLUDE_DIR}/nccl.h" _nccl REGEX "define NCCL_(MAJOR|MINOR|PATCH) ")
        string(REGEX REPLACE "[^0-9;]" "" _nccl "${_nccl}")
        string(REPLACE ";" "." LibTorch_NCCL_VERSION "${_nccl}")
        file(STRINGS "${CUDNN_INCLUDE_DIR}/cudnn_version.h" _cudnn REGEX "define CUDNN_(MAJOR|MINOR|PATCHLEVEL) [0-9]")
        string(REGEX REPLACE "[^0-9;]" "" _cudnn "${_cudnn}")
        string(REPLACE ";" "." LibTorch_CUDNN_VERSION "${_cudnn}")

        add_library(dbench::nccl INTERFACE IMPORTED)
        target_include_directories(dbench::nccl SYSTEM INTERFACE "${NCCL_INCLUDE_DIR}")
        target_compile_definitions(dbench::nccl INTERFACE DBENCH_NCCL=1)
        target_link_libraries(dbench::nccl INTERFACE "${NCCL_LIBRARY}")
        # The linker must not drop libtorch_cuda although no symbol of it is used: it registers itself with
        # libtorch_cpu when it is loaded.
        target_link_libraries(dbench::torch INTERFACE
            "-Wl,--push-state,--no-as-needed,${_lib}/libtorch_cuda.so,${_lib}/libc10_cuda.so,--pop-state")
    endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch REQUIRED_VARS LibTorch_DIR VERSION_VAR LibTorch_VERSION
    REASON_FAILURE_MESSAGE "scripts/setup gets it, or set TORCH_ROOT to the folder with its include/ and lib/")
