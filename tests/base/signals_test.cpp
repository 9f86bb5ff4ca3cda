#include "base/signals.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>

#include "base/clock.hpp"
#include "catch.hpp"
#include "in_child.hpp"

namespace dbench::base {

TEST_CASE("Signals that ask for an end are recorded by name, and the process continues") {
    struct Case {
        int signal;
        const char* name;
    };
    for (const auto& [signal, name] : {Case{SIGINT, "SIGINT"}, Case{SIGTERM, "SIGTERM"},
                                       Case{SIGUSR1, "SIGUSR1"}, Case{SIGHUP, "SIGHUP"}}) {
        CAPTURE(name);
        const Ended ended = in_child([&] {
            catch_signals();
            if (!received_signal().empty() || !std::isinf(first_signal_time())) return 3;
            const double before = now();
            std::raise(signal);
            if (received_signal() != name) return 4;
            if (first_signal_time() < before || first_signal_time() > now()) return 5;
            return 0;
        });
        CHECK(ended.exit_status == 0);
    }
    // Without catch_signals(), and without the handlers of the test framework:
    const Ended ended = in_child([] {
        std::signal(SIGTERM, SIG_DFL);
        return std::raise(SIGTERM);
    });
    CHECK(ended.signal == SIGTERM);
}

TEST_CASE("Before training a signal ends the process with a status and a message") {
    const Ended ended = in_child([] {
        end_on_signals(75, "too early: nothing is lost");
        std::raise(SIGUSR1);
        return 3;
    });
    CHECK(ended.exit_status == 75);
    CHECK(ended.stderr_text == "dbench: stopped by SIGUSR1 too early: nothing is lost\n");
    const Ended later = in_child([] {
        end_on_signals(75, std::string(2000, 'x'));
        catch_signals();
        std::raise(SIGTERM);
        return received_signal() == "SIGTERM" ? 0 : 4;
    });
    CHECK(later.exit_status == 0);
}

TEST_CASE("The recorded time is that of the first signal, the name that of the last one") {
    const Ended ended = in_child([] {
        catch_signals();
        std::raise(SIGUSR1);
        const double first = first_signal_time();
        std::raise(SIGTERM);
        if (first_signal_time() != first) return 3;
        return received_signal() == "SIGTERM" ? 0 : 4;
    });
    CHECK(ended.exit_status == 0);
}

TEST_CASE("Writing to a closed pipe or past a size limit returns an error") {
    const auto to_closed_pipe = [] {
        int ends[2];
        if (::pipe(ends) != 0) return 3;
        ::close(ends[0]);
        return ::write(ends[1], "x", 1) == -1 && errno == EPIPE ? 0 : 4;
    };
    const auto past_limit = [] {
        char path[] = "/tmp/dbench_signals_XXXXXX";
        const int file = ::mkstemp(path);
        if (file < 0) return 3;
        ::unlink(path);
        const rlimit limit{1, 1};
        if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 3;
        if (::write(file, "ab", 2) != 1) return 4;
        return ::write(file, "c", 1) == -1 && errno == EFBIG ? 0 : 5;
    };
    const auto noting = [](auto body) {
        return in_child([&] {
            catch_signals();
            return body();
        });
    };
    CHECK(noting(to_closed_pipe).exit_status == 0);
    CHECK(noting(past_limit).exit_status == 0);
    CHECK(in_child(to_closed_pipe).signal == SIGPIPE);
    CHECK(in_child(past_limit).signal == SIGXFSZ);
}

}  // namespace dbench::base
