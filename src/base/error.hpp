#pragma once
// Errors of the program and the exit status each ends with (docs/command-line.md).

#include <stdexcept>
#include <string>

namespace dbench::base {

inline constexpr int kExitFailed = 1;      // failed while running, or stopped by a signal
inline constexpr int kExitUser = 2;        // the command, spec, data or machine set-up is at fault
inline constexpr int kExitPreempted = 75;  // stopped by a signal after a checkpoint

/// The command, spec, data file or environment is at fault: exit status 2, nothing written.
/// Messages read "problem (why): what to try".
class UserError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The run itself failed after it had begun: exit status 1, the result file keeps the message.
class RunError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

[[noreturn, gnu::cold]] void broken_contract(const char* condition, const char* file, int line);

}  // namespace dbench::base

// A contract between functions of this program. Checked in every build: it stands at the door of a
// function, never in a loop over elements, where it would cost something.
#define DBENCH_EXPECT(condition)        \
    ((condition) ? static_cast<void>(0) \
                 : ::dbench::base::broken_contract(#condition, __FILE__, __LINE__))
