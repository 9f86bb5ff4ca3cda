#pragma once
// A schedule for relaying on a tree, where each replica sends every neighbour a different message.
// In addition to the tree's own W it has rounds in which pairs of neighbours swap messages.

#include <vector>

#include "graphs/schedule.hpp"
#include "graphs/schedules/round_names.hpp"

namespace dbench::graphs {

/// Rounds over a tree: the tree's own averaging round, and swap rounds. Immutable after
/// construction.
class TreeExchanges final : public Schedule {
public:
    /// `tree` must satisfy is_tree().
    explicit TreeExchanges(std::shared_ptr<const Schedule> tree);

    int size() const override { return tree_->size(); }
    Round at(int64_t t) const override {
        const Round round = tree_->at(t);
        return {join_names({kTree, round.matrix}), round.repeats};
    }
    std::vector<Link> in(Round round, int i) const override;
    std::vector<Link> out(Round round, int i) const override { return in(round, i); }
    std::vector<std::vector<int>> groups(Round round) const override;
    std::shared_ptr<const Matrix> matrix(Round round) const override;
    int64_t period() const override { return 1; }

    /// The number of swap rounds, which is the largest degree. Each edge is in exactly one swap,
    /// and no replica is twice in one swap.
    int swaps() const { return static_cast<int>(partner_.size()); }
    Round swap(int k) const { return {join_names({kSwap, static_cast<uint64_t>(k)}), true}; }
    /// The replica with which i swaps in swap k; -1 if none.
    int partner(int k, int i) const { return partner_[k][i]; }

private:
    enum : uint64_t { kTree, kSwap };  // the part of a round's name

    std::shared_ptr<const Schedule> tree_;
    std::vector<std::vector<int>> partner_;
};

}  // namespace dbench::graphs
