# Sets how a test starts ranks: DBENCH_MPIRUN (a list), and the environment variables of tests.

set(DBENCH_MPIRUN ${MPIEXEC_EXECUTABLE})
set(DBENCH_TEST_ENVIRONMENT OMP_NUM_THREADS=1 "DBENCH_TESTS=${CMAKE_CURRENT_SOURCE_DIR}" "DBENCH_PYTHON=${Python}")
# Tests start the program some 2,000 times, and LibTorch fills the heap at each start. glibc asks for huge pages, so that
# a start takes 0.15 instead of 0.19 seconds of processor time. Other C libraries ignore the variable.
list(APPEND DBENCH_TEST_ENVIRONMENT GLIBC_TUNABLES=glibc.malloc.hugetlb=1)
execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE version ERROR_QUIET)
if(version MATCHES "Open MPI|OpenRTE|prte")  # other implementations do not have these options
    list(APPEND DBENCH_MPIRUN --oversubscribe --bind-to none)
    # If munge is installed and does not run, PMIx waits for it for two seconds at every start.
    list(APPEND DBENCH_TEST_ENVIRONMENT OMPI_MCA_rmaps_base_oversubscribe=1 PMIX_MCA_psec=native)
    execute_process(COMMAND id -u OUTPUT_VARIABLE user OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(user EQUAL 0)  # in a container
        list(APPEND DBENCH_MPIRUN --allow-run-as-root)
        list(APPEND DBENCH_TEST_ENVIRONMENT OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)
    endif()
endif()
if(DBENCH_SANITIZE)
    list(APPEND DBENCH_TEST_ENVIRONMENT ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1
        UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1)
endif()
string(JOIN " " mpirun ${DBENCH_MPIRUN})
list(APPEND DBENCH_TEST_ENVIRONMENT "DBENCH_MPIRUN=${mpirun}")
