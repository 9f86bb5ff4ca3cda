#include "graphs/schedules/sequence.hpp"

#include <array>

#include "base/error.hpp"
#include "graphs/matrix/spectral.hpp"

namespace dbench::graphs {
namespace {

class SequenceList : public MatrixSchedule {
public:
    explicit SequenceList(std::vector<MatrixPtr> matrices) : matrices_(std::move(matrices)) {
        DBENCH_EXPECT(!matrices_.empty());
    }
    int size() const override { return matrices_.front()->size(); }
    Round at(int64_t t) const override { return {static_cast<uint64_t>(t % period()), true}; }
    int64_t period() const override { return static_cast<int64_t>(matrices_.size()); }
    MatrixPtr matrix(Round round) const override { return matrices_.at(round.matrix); }
    std::vector<Round> rounds() const override {
        std::vector<Round> all;
        for (size_t k = 0; k < matrices_.size(); ++k) all.push_back({k, true});
        return all;
    }

protected:
    std::vector<MatrixPtr> matrices_;
};

class Drawn final : public SequenceList {
public:
    Drawn(std::vector<MatrixPtr> matrices, std::function<size_t(int64_t)> pick)
        : SequenceList(std::move(matrices)), pick_(std::move(pick)) {}
    Round at(int64_t t) const override { return {pick_(t), true}; }
    int64_t period() const override { return 0; }
    double rho_expected() const override { return mean_square_rho(matrices_).value_or(-1); }

private:
    std::function<size_t(int64_t)> pick_;
};

// Caches the last few rounds, because an iteration requests the same matrix row by row.
class RandomSequence final : public MatrixSchedule {
public:
    RandomSequence(int n, std::function<MatrixPtr(int64_t)> draw, double rho_expected,
                   std::shared_ptr<const Schedule> source)
        : n_(n), draw_(std::move(draw)), rho_expected_(rho_expected), source_(std::move(source)) {}
    int size() const override { return n_; }
    Round at(int64_t t) const override { return {static_cast<uint64_t>(t), false}; }
    int64_t period() const override { return 0; }
    double rho_expected() const override { return rho_expected_; }
    const Schedule* drawn_from() const override { return source_.get(); }
    MatrixPtr matrix(Round round) const override {
        const std::lock_guard lock(mutex_);
        auto& [id, kept] = kept_[round.matrix % kept_.size()];
        if (!kept || id != round.matrix) {
            kept = draw_(static_cast<int64_t>(round.matrix));
            id = round.matrix;
        }
        return kept;
    }

private:
    int n_;
    std::function<MatrixPtr(int64_t)> draw_;
    double rho_expected_;
    std::shared_ptr<const Schedule> source_;
    mutable std::mutex mutex_;
    mutable std::array<std::pair<uint64_t, MatrixPtr>, 4> kept_;
};

}  // namespace

std::unique_ptr<Schedule> static_schedule(MatrixPtr matrix) {
    return std::make_unique<SequenceList>(std::vector<MatrixPtr>{std::move(matrix)});
}

std::unique_ptr<Schedule> cyclic_schedule(std::vector<MatrixPtr> matrices) {
    return std::make_unique<SequenceList>(std::move(matrices));
}

std::unique_ptr<Schedule> random_choice(std::vector<MatrixPtr> matrices,
                                        std::function<size_t(int64_t)> pick) {
    if (matrices.size() == 1) return static_schedule(std::move(matrices.front()));
    return std::make_unique<Drawn>(std::move(matrices), std::move(pick));
}

std::unique_ptr<Schedule> random_sequence(int n, std::function<MatrixPtr(int64_t)> draw,
                                          double rho_expected,
                                          std::shared_ptr<const Schedule> source) {
    return std::make_unique<RandomSequence>(n, std::move(draw), rho_expected, std::move(source));
}

}  // namespace dbench::graphs
