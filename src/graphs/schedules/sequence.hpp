#pragma once
// Schedules made of matrices: one for ever, or a list visited in some order.

#include <functional>

#include "graphs/matrix/matrix.hpp"

namespace dbench::graphs {

/// Answers a Schedule's questions about rows from the round's matrix.
class MatrixSchedule : public Schedule {
public:
    std::vector<Link> in(Round round, int i) const override { return matrix(round)->in(i); }
    std::vector<Link> out(Round round, int i) const override { return matrix(round)->out(i); }
    std::vector<std::vector<int>> groups(Round round) const override {
        return matrix(round)->groups();
    }
};

/// The same matrix in every iteration.
std::unique_ptr<Schedule> always(MatrixPtr matrix);

/// The matrices in turn, again and again: period is their number. At least one.
std::unique_ptr<Schedule> in_turn(std::vector<MatrixPtr> matrices);

/// Iteration t uses matrices[pick(t)]; `pick` is pure. Never periodic; in every iteration each
/// matrix is equally likely, from which rho_expected follows.
std::unique_ptr<Schedule> drawn_from(std::vector<MatrixPtr> matrices,
                                     std::function<size_t(int64_t)> pick);

/// A new matrix in every iteration: draw(t), pure, O(edges). Never repeats. `rho_expected` as
/// Schedule::rho_expected.
std::unique_ptr<Schedule> redrawn(int n, std::function<MatrixPtr(int64_t)> draw,
                                  double rho_expected);

}  // namespace dbench::graphs
