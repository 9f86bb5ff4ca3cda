#pragma once
// Estimates the remaining time of a run from the measurements since its last start.

#include <cstdint>

namespace dbench::profile {

/// Keeps training and evaluation apart.
class Pace {
public:
    /// `every`: iterations between evaluations; 0: only the final one remains.
    Pace(int64_t iterations, int64_t every) : iterations_(iterations), every_(every) {}

    /// Reports an evaluation that took `seconds`.
    void evaluated(double seconds);
    /// Reports that `completed` iterations are done, `elapsed` seconds after this start began.
    void add_progress(int64_t completed, double elapsed);
    /// Returns the estimated seconds of the remaining iterations and evaluations. The pace is
    /// measured from the first report on, as the first iteration takes longer than others. NaN
    /// until a second was measured.
    double remaining() const;

private:
    struct Point {
        int64_t completed = -1;
        double training = 0;  ///< Seconds without evaluations.
    };
    int64_t iterations_, every_;
    int64_t evaluations_ = 0;
    double evaluating_ = 0;
    Point first_, last_;
};

}  // namespace dbench::profile
