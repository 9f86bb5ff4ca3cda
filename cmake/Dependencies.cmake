# Finds all third-party libraries. The usual CMake variables (<Package>_ROOT, <Package>_DIR,
# CMAKE_PREFIX_PATH) select their locations; packages of Debian and Ubuntu need no variables.

# Finds a package, or fails with a message that says how to install it.
macro(dbench_find package debian)
    find_package(${package} ${ARGN} QUIET)
    if(NOT ${package}_FOUND)
        message(FATAL_ERROR "${package} was not found: scripts/setup installs it (Debian and Ubuntu: apt-get "
            "install ${debian}); elsewhere set ${package}_ROOT or CMAKE_PREFIX_PATH.")
    endif()
endmacro()

dbench_find(Threads libc6-dev)
dbench_find(nlohmann_json nlohmann-json3-dev)
dbench_find(Eigen3 libeigen3-dev)
dbench_find(MPI libopenmpi-dev COMPONENTS C)
dbench_find(ZLIB zlib1g-dev)
dbench_find(JPEG libjpeg-dev)
dbench_find(HDF5 libhdf5-dev COMPONENTS C)
dbench_find(CLI11 libcli11-dev)

# MPI removed its C++ bindings, but the mpi.h of some implementations still contains them.
target_compile_definitions(MPI::MPI_C INTERFACE OMPI_SKIP_MPICXX=1 MPICH_SKIP_MPICXX=1)

add_library(dbench::hdf5 INTERFACE IMPORTED)
target_include_directories(dbench::hdf5 INTERFACE ${HDF5_C_INCLUDE_DIRS})
target_link_libraries(dbench::hdf5 INTERFACE ${HDF5_C_LIBRARIES})
if(HDF5_IS_PARALLEL)  # the header of parallel HDF5 includes mpi.h
    target_link_libraries(dbench::hdf5 INTERFACE MPI::MPI_C)
endif()

if(DBENCH_CUDA)
    find_package(CUDAToolkit REQUIRED)
    add_library(dbench::cuda INTERFACE IMPORTED)
    # Only modules that link this target get the definitions, so ccache serves all others to both kinds of build.
    list(JOIN CMAKE_CUDA_ARCHITECTURES " " architectures)
    target_compile_definitions(dbench::cuda INTERFACE DBENCH_CUDA=1 "DBENCH_CUDA_ARCHITECTURES=\"${architectures}\"")
    target_link_libraries(dbench::cuda INTERFACE CUDA::cudart)
endif()
if(DBENCH_TORCH)
    find_package(LibTorch REQUIRED)
endif()
