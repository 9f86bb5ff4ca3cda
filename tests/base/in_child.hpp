#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace dbench::base {

/// How a child process that runs `body` ended, and what it wrote on standard error.
struct Ended {
    int exit_status = -1;  ///< -1: a signal ended it
    int signal = 0;
    std::string stderr_text;
};

/// Runs `body` in a process of its own, so that what it does to the process stays there. Its result
/// is the exit status.
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
