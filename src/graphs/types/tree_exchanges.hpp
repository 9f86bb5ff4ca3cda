#pragma once
// A tree whose replicas exchange a message of their own with each neighbour, instead of one for
// all: relaying. Beside the tree's own W, rounds in which pairs swap.

#include <vector>

#include "graphs/schedule.hpp"
#include "graphs/schedules/naming.hpp"

namespace dbench::graphs {

class TreeExchanges final : public Schedule {
public:
    /// `tree` as is_tree says.
    explicit TreeExchanges(std::shared_ptr<const Schedule> tree);

    int size() const override { return tree_->size(); }
    Round at(int64_t t) const override {
        const Round round = tree_->at(t);
        return {joined({kTree, round.matrix}), round.repeats};
    }
    std::vector<Link> in(Round round, int i) const override;
    std::vector<Link> out(Round round, int i) const override { return in(round, i); }
    std::vector<std::vector<int>> groups(Round round) const override;
    std::shared_ptr<const Matrix> matrix(Round round) const override;
    int64_t period() const override { return 1; }

    /// Swaps: as many as the largest degree; each edge is in one, no replica twice in one.
    int swaps() const { return static_cast<int>(partner_.size()); }
    Round swap(int k) const { return {joined({kSwap, static_cast<uint64_t>(k)}), true}; }
    /// With whom i swaps in swap k; -1 with nobody.
    int partner(int k, int i) const { return partner_[k][i]; }

private:
    enum : uint64_t { kTree, kSwap };  // whose a round is

    std::shared_ptr<const Schedule> tree_;
    std::vector<std::vector<int>> partner_;
};

}  // namespace dbench::graphs
