#pragma once
// Running a function in a child process.

#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace dbench::base {

/// How a child process ended, and what it wrote to standard error.
struct Ended {
    int exit_status = -1;  ///< -1: a signal ended the process.
    int signal = 0;
    std::string stderr_text;
};

/// Runs `body` in a child process, so that its effects on the process do not reach the test. The
/// result of `body` is the exit status.
template <class Body>
Ended in_child(Body&& body) {
    int ends[2];
    if (::pipe(ends) != 0) return {};
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(ends[1], STDERR_FILENO);
        ::close(ends[0]);
        ::close(ends[1]);
        ::_exit(body());
    }
    ::close(ends[1]);
    Ended ended;
    char part[256];
    for (ssize_t got; (got = ::read(ends[0], part, sizeof part)) > 0;) {
        ended.stderr_text.append(part, static_cast<size_t>(got));
    }
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status)) ended.exit_status = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
    return ended;
}

}  // namespace dbench::base
