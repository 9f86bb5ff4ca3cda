#pragma once
// Schedules made of matrices: one matrix forever, or a list in some order.

#include <functional>

#include "graphs/matrix/matrix.hpp"

namespace dbench::graphs {

/// Base class that answers a Schedule's questions about rows from the round's matrix.
class MatrixSchedule : public Schedule {
public:
    std::vector<Link> in(Round round, int i) const override { return matrix(round)->in(i); }
    std::vector<Link> out(Round round, int i) const override { return matrix(round)->out(i); }
    std::vector<std::vector<int>> groups(Round round) const override {
        return matrix(round)->groups();
    }
};

/// Returns the schedule that uses the same matrix in every iteration.
std::unique_ptr<Schedule> static_schedule(MatrixPtr matrix);

/// Returns the schedule that cycles through the matrices; its period is their number. Requires at
/// least one matrix.
std::unique_ptr<Schedule> cyclic_schedule(std::vector<MatrixPtr> matrices);

/// Returns the schedule that uses matrices[pick(t)] in iteration t. `pick` is pure and chooses each
/// matrix with equal probability, which gives rho_expected. The schedule has no period.
std::unique_ptr<Schedule> random_choice(std::vector<MatrixPtr> matrices,
                                        std::function<size_t(int64_t)> pick);

/// Returns the schedule that uses a new matrix draw(t) in every iteration. `draw` is pure and costs
/// O(edges). No matrix is used again. `rho_expected` and `source` are the values of
/// Schedule::rho_expected and Schedule::drawn_from.
std::unique_ptr<Schedule> random_sequence(int n, std::function<MatrixPtr(int64_t)> draw,
                                          double rho_expected,
                                          std::shared_ptr<const Schedule> source = nullptr);

}  // namespace dbench::graphs
