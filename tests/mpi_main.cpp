// The main function of test programs that run on several MPI ranks.

#include <mpi.h>

#include <cstdio>

#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
using Listener = Catch::EventListenerBase;
#else
#define CATCH_CONFIG_RUNNER
#define CATCH_CONFIG_EXTERNAL_INTERFACES
// SIGTERM of mpirun after an abort is not a failure of this rank.
#define CATCH_CONFIG_NO_POSIX_SIGNALS
#include <catch2/catch.hpp>
using Listener = Catch::TestEventListenerBase;
#endif

namespace {

/// Aborts all ranks after a failed test case, because the other ranks may wait for messages of this
/// rank.
struct AbortTogether : Listener {
    using Listener::Listener;

    void testCaseEnded(const Catch::TestCaseStats& stats) override {
        if (stats.totals.assertions.failed == 0) return;
        std::fflush(nullptr);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
};

CATCH_REGISTER_LISTENER(AbortTogether)

}  // namespace

int main(int argc, char** argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    const int result = Catch::Session().run(argc, argv);
    MPI_Finalize();
    return result;
}
