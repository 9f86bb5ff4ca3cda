#pragma once
// Exceptions of the program, and the exit status that each causes (docs/command-line.md).

#include <stdexcept>
#include <string>

namespace dbench::base {

inline constexpr int kExitFailed = 1;  // The run failed, or a signal stopped it.
inline constexpr int kExitUser = 2;    // The command, spec, data or machine set-up is wrong.
inline constexpr int kExitPreempted =
    75;  // A signal stopped the run, and a checkpoint was written.

/// The command, spec, data file or environment is wrong: exit status 2, and nothing is written.
/// Messages read "problem (why): what to try".
class UserError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The run failed after it had started: exit status 1. The result file keeps the message.
class RunError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

[[noreturn, gnu::cold]] void broken_contract(const char* condition, const char* file, int line);

}  // namespace dbench::base

// Checks a contract between functions of this program; throws std::logic_error if it is broken. It
// is checked in every build, so it belongs at the start of a function and not in a loop over
// elements.
#define DBENCH_EXPECT(condition)        \
    ((condition) ? static_cast<void>(0) \
                 : ::dbench::base::broken_contract(#condition, __FILE__, __LINE__))
