#pragma once
// The only way to wait for other ranks. Every wait has a deadline, checks for failures of other
// ranks, and releases its CPU core, because ranks may outnumber cores and the awaited rank may need
// this core.

#include <functional>
#include <string>
#include <vector>

namespace dbench::comm {

/// A poll that took at least this long was moving data: more data is likely, so the back-off starts
/// again.
inline constexpr double kBusyPoll = 20e-6;

/// Backs off between two polls: yields for the first microseconds, then sleeps for 20 to 200 us, a
/// longer time after every poll. Skips the yields for a while if another process was found to use
/// this core.
class Backoff {
public:
    /// Yields or sleeps once.
    void pause();
    /// Starts again with yields. Call it after progress.
    void reset() { *this = {}; }
    /// Returns true if `pause` has slept since the last reset.
    bool sleeping() const { return sleep_us_ > 0; }

private:
    double yielding_since_ = -1;
    int sleep_us_ = 0;
};

/// Lets this thread sleep for the requested time. Linux rounds short sleeps up by 50 us by default.
void shorten_sleeps();

/// Returns the seconds that a wait may take: environment variable DBENCH_TIMEOUT, 600 by default.
/// Throws UserError if the variable is not a positive number.
double timeout();

/// Returns the seconds that a wait may still take after a signal has asked this rank to stop:
/// environment variable DBENCH_STOP_TIMEOUT, 60 by default. Throws UserError as `timeout` does.
double stop_timeout();

/// Ends the limit `stop_timeout`: all ranks have agreed to stop, so that later waits, such as that
/// for the last checkpoint, have the ordinary deadline.
void note_stop_agreed();

/// Returns "rank 3" or "ranks 0, 2". Of more than 16 ranks it names the first 16 and says how many
/// others there are.
std::string to_text(const std::vector<int>& ranks);

/// The known facts about a wait that exceeded its deadline.
struct StallDiagnosis {
    std::string culprit;  ///< The ranks that hold up the wait: "no answer from rank 0".
    std::string chain;    ///< The ranks that wait for each other: "; rank 1 waits for rank 0".
};

/// The description of one wait.
struct Wait {
    std::string what;            ///< Names the wait in errors: "the exchange of iteration 7".
    std::function<bool()> done;  ///< Makes progress and returns true at the end. Never blocks.
    /// Returns the ranks that this wait depends on.
    std::function<std::vector<int>()> awaited_ranks;
    /// Throws PeerFailure if another rank failed. Called at intervals.
    std::function<void()> check_failures;
    double deadline;  ///< Seconds from the start of the wait until it fails; see last_progress.
    /// Finds the cause after the deadline. Null: the cause is `awaited_ranks`.
    std::function<StallDiagnosis()> diagnose_stall = nullptr;
    /// Returns the time of the last sign that another rank makes progress in long work: the
    /// deadline begins there, if that is after the start. Null: there are no such signs.
    std::function<double()> last_progress = nullptr;
};

/// Polls until `done` returns true. Throws Stalled after the deadline, or if a signal asked to stop
/// and the ranks did not agree on it within `stop_timeout`. Passes on exceptions of `done`,
/// `check_failures` and `diagnose_stall`.
void wait(const Wait& wait);

/// Throws Stalled if a signal asked this rank to stop, and a wait for itself has taken longer than
/// `stop_timeout` since then. The wait began at `start`; `what` names it.
void check_stop_deadline(const std::string& what, double start);

/// Sleeps for `seconds` (a simulated delay), or until a signal arrives. Calls `check_failures` at
/// intervals and passes on its exceptions.
double pause(double seconds, const std::function<void()>& check_failures);

}  // namespace dbench::comm
