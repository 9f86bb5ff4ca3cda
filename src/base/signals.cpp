#include "base/signals.hpp"

#include <atomic>
#include <csignal>
#include <limits>

#include "base/clock.hpp"

namespace dbench::base {
namespace {

volatile std::sig_atomic_t received = 0;
std::atomic<double> first_time{std::numeric_limits<double>::infinity()};
static_assert(std::atomic<double>::is_always_lock_free);  // The signal handler sets it.

void note(int signal) {
    received = signal;
    double none = std::numeric_limits<double>::infinity();
    first_time.compare_exchange_strong(none, now());
}

}  // namespace

void catch_signals() {
    for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) {
        struct sigaction action {};
        action.sa_handler = note;
        action.sa_flags = SA_RESTART;
        sigaction(signal, &action, nullptr);
    }
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
}

double first_signal_time() { return first_time; }

std::string received_signal() {
    switch (received) {
        case 0:
            return "";
        case SIGINT:
            return "SIGINT";
        case SIGTERM:
            return "SIGTERM";
        case SIGUSR1:
            return "SIGUSR1";
        default:
            return "signal " + std::to_string(received);
    }
}

}  // namespace dbench::base
