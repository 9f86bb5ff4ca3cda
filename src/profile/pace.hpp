#pragma once
// How long the rest of a run takes, from what this start of it has measured.

#include <cstdint>

namespace dbench::profile {

class Pace {
public:
    /// `every`: iterations between evaluations; 0: only the last one is left.
    Pace(int64_t iterations, int64_t every) : iterations_(iterations), every_(every) {}

    /// An evaluation took so many seconds.
    void evaluated(double seconds);
    /// `completed` iterations are done, `elapsed` seconds after this start began.
    void reached(int64_t completed, double elapsed);
    /// Seconds that the iterations and evaluations still to come take at the pace since the first
    /// that was reached, which takes longer than others; NaN before a second of it was measured.
    double left() const;

private:
    struct Point {
        int64_t completed = -1;
        double training = 0;  ///< seconds without evaluations
    };
    int64_t iterations_, every_;
    int64_t evaluations_ = 0;
    double evaluating_ = 0;
    Point first_, last_;
};

}  // namespace dbench::profile
