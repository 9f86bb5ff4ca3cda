#include "base/signals.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <limits>

#include "base/clock.hpp"

namespace dbench::base {
namespace {

volatile std::sig_atomic_t received = 0;
std::atomic<double> first_time{std::numeric_limits<double>::infinity()};
static_assert(std::atomic<double>::is_always_lock_free);  // The signal handler sets it.

struct EndingSignal {
    int number;
    const char* name;
    std::array<char, 512> line;  // The handler may not allocate.
};
EndingSignal ending_signals[] = {{SIGINT, "SIGINT", {}},
                                 {SIGTERM, "SIGTERM", {}},
                                 {SIGUSR1, "SIGUSR1", {}},
                                 {SIGHUP, "SIGHUP", {}}};
volatile std::sig_atomic_t ending_status = 0;

void end_process(int signal) {
    for (const EndingSignal& each : ending_signals) {
        if (each.number != signal) continue;
        [[maybe_unused]] const auto written = ::write(
            STDERR_FILENO, each.line.data(), std::char_traits<char>::length(each.line.data()));
    }
    ::_exit(ending_status);
}

// Installs a handler. SIGHUP remains ignored if the parent process chose that, as nohup does.
void handle(int signal, void (*handler)(int), int flags) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (signal == SIGHUP && action.sa_handler == SIG_IGN) return;
    action = {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(signal, &action, nullptr);
}

void note(int signal) {
    received = signal;
    double none = std::numeric_limits<double>::infinity();
    first_time.compare_exchange_strong(none, now());
}

}  // namespace

void catch_signals() {
    for (const EndingSignal& each : ending_signals) handle(each.number, note, SA_RESTART);
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
}

void end_on_signals(int status, const std::string& rest) {
    ending_status = status;
    for (EndingSignal& each : ending_signals) {
        std::snprintf(each.line.data(), each.line.size(), "dbench: stopped by %s %.480s\n",
                      each.name, rest.c_str());
        handle(each.number, end_process, 0);
    }
}

double first_signal_time() { return first_time; }

std::string received_signal() {
    const int signal = received;
    if (signal == 0) return "";
    for (const EndingSignal& each : ending_signals) {
        if (each.number == signal) return each.name;
    }
    return "signal " + std::to_string(signal);
}

}  // namespace dbench::base
