#include "base/signals.hpp"

#include <csignal>

namespace dbench::base {
namespace {

volatile std::sig_atomic_t received = 0;

void note(int signal) { received = signal; }

}  // namespace

void note_signals() {
    for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) {
        struct sigaction action {};
        action.sa_handler = note;
        action.sa_flags = SA_RESTART;
        sigaction(signal, &action, nullptr);
    }
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
}

std::string noted_signal() {
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
