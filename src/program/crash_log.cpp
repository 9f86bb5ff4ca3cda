#include "program/crash_log.hpp"

#include <execinfo.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/clock.hpp"
#include "base/input_file.hpp"
#include "base/run_position.hpp"

namespace dbench::program {
namespace {

// Everything that the signal handler uses is static: a signal handler must not allocate.
char path[4096] = "";
char where[1024] = "";
alignas(16) std::array<char, 1 << 16> handler_stack;

void write_text(int file, const char* text) {
    [[maybe_unused]] const auto written = ::write(file, text, std::strlen(text));
}

// Precondition: `number` is not negative.
void write_number(int file, int64_t number) {
    std::array<char, 24> digits{};
    char* first = digits.data() + digits.size() - 1;
    do {
        *--first = static_cast<char>('0' + number % 10);
        number /= 10;
    } while (number > 0);
    write_text(file, first);
}

void write_position(int file) {
    const base::RunPosition at = base::run_position();
    if (at.iteration < 0) {
        write_text(file, "before the first iteration");
    } else {
        write_text(file, "iteration ");
        write_number(file, at.iteration);
    }
    write_text(file, ", phase ");
    write_text(file, at.phase);
    write_text(file, "\n");
}

/// Opens the crash log for appending. Removes whatever else has its name (a link, a pipe), so that
/// nothing is written through it.
int open_log() {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    struct stat there {};
    if (::lstat(path, &there) == 0 && !S_ISREG(there.st_mode)) {
        ::unlink(path);
        return ::open(path, kFlags | O_EXCL, 0666);
    }
    return ::open(path, kFlags, 0666);
}

/// Writes the error in the first line, then where it happened, then the call stack if `calls`. The
/// call stack comes last, because finding it can fail.
void write_log(const char* error, bool calls) {
    if (!*path) return;
    const int file = open_log();
    if (file < 0) return;
    write_text(file, error);
    write_text(file, "\n");
    write_text(file, where);
    write_position(file);
    if (calls) {
        std::array<void*, 64> frames;
        backtrace_symbols_fd(frames.data(), backtrace(frames.data(), frames.size()), file);
    }
    ::fsync(file);
    ::close(file);
}

struct Fatal {
    int signal;
    const char* error;
};
constexpr Fatal kFatal[] = {{SIGSEGV, "fatal signal SEGV"},
                            {SIGBUS, "fatal signal BUS"},
                            {SIGFPE, "fatal signal FPE"},
                            {SIGILL, "fatal signal ILL"},
                            {SIGABRT, "fatal signal ABRT"}};

void on_fatal_signal(int signal) {
    for (const Fatal& fatal : kFatal) {
        if (fatal.signal == signal) write_log(fatal.error, true);
    }
    ::raise(signal);  // SA_RESETHAND has restored the default action
}

}  // namespace

void watch_for_crashes(const std::string& output, int rank, const std::string& host) {
    const char* job = std::getenv("SLURM_JOB_ID");
    const std::string file = output + ".crash-" + std::to_string(rank) + ".log";
    const std::string text = "rank " + std::to_string(rank) + " on " + host + ", process " +
                             std::to_string(getpid()) + (job ? std::string(", job ") + job : "") +
                             ", started " + base::iso_time() + "\n";
    if (file.size() >= sizeof path) return;
    std::strncpy(path, file.c_str(), sizeof path - 1);
    std::strncpy(where, text.c_str(), sizeof where - 1);
    std::array<void*, 1> first;
    backtrace(first.data(), 1);  // loads its library now, which a signal handler must not do
    stack_t stack{};
    stack.ss_sp = handler_stack.data();
    stack.ss_size = handler_stack.size();
    sigaltstack(&stack, nullptr);
    for (const Fatal& fatal : kFatal) {
        struct sigaction action {};
        action.sa_handler = on_fatal_signal;
        action.sa_flags = static_cast<int>(SA_RESETHAND | SA_ONSTACK);
        sigaction(fatal.signal, &action, nullptr);
    }
}

void stop_watching_for_crashes() noexcept { path[0] = '\0'; }

void write_crash_log(const std::string& error) noexcept { write_log(error.c_str(), false); }

void remove_crash_logs(const std::string& output) {
    namespace fs = std::filesystem;
    const fs::path file(output);
    const std::string begin = file.filename().string() + ".crash-";
    std::error_code ignored;
    const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
    for (const std::string& name : base::names_in(folder.string(), ignored)) {
        if (base::is_numbered(name, begin, ".log")) fs::remove(folder / name, ignored);
    }
}

}  // namespace dbench::program
