#pragma once
// The one way to wait: with a deadline, an ear for failures, and without taking the core from the
// rank that is waited for (ranks may outnumber cores).

#include <functional>
#include <string>
#include <vector>

namespace dbench::comm {

/// A look that took this long has copied: there is likely more to copy.
inline constexpr double kBusySeconds = 20e-6;

/// What to do between two looks at something unfinished: give way for some microseconds, unless
/// others were found to compute on this core, then sleep 20 to 200 us, longer and longer.
class Backoff {
public:
    void pause();
    void reset() { *this = {}; }
    bool sleeping() const { return sleep_us_ > 0; }

private:
    double yielding_since_ = -1;
    int sleep_us_ = 0;
};

/// Lets this thread's short sleeps be short: by default Linux rounds them up by 50 us.
void shorten_sleeps();

/// Seconds that a wait may take: environment DBENCH_TIMEOUT, 600 by default. Throws UserError.
double timeout();

/// Seconds that a wait may still take once a signal has asked this rank to stop: environment
/// DBENCH_STOP_TIMEOUT, 60 by default. Throws UserError.
double stop_timeout();

/// "rank 3", "ranks 0, 2", "ranks 0, 1, ... and 5 others"
std::string to_text(const std::vector<int>& ranks);

/// What is known of a wait that took too long.
struct Blame {
    std::string culprit;  ///< "no answer from rank 0"
    std::string chain;    ///< who waits for whom: "; rank 1 waits for rank 0"
};

struct Wait {
    std::string what;                         ///< "the exchange of iteration 7"
    std::function<bool()> done;               ///< moves things along; never blocks
    std::function<std::vector<int>()> owing;  ///< ranks that are waited for
    std::function<void()> check_failures;     ///< throws PeerFailure; called now and then
    double deadline;                          ///< seconds
    std::function<Blame()> ask = nullptr;     ///< who is to blame; null: those who owe
};

/// Returns when `done` does. Throws Stalled after the deadline, or after a signal where the others
/// do not answer within `stop_timeout`; and what `done`, `check_failures` and `ask` throw.
void wait(const Wait& wait);

/// Lets `seconds` pass, for nobody's sake; a signal ends that early. Throws what `check_failures`
/// does, which is called now and then.
void pause(double seconds, const std::function<void()>& check_failures);

}  // namespace dbench::comm
