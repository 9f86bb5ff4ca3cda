#pragma once
// A schedule for relaying on trees, where each replica sends every neighbour a different message.
// In addition to the W of the trees it has rounds in which pairs of neighbours swap messages.

#include <vector>

#include "graphs/schedule.hpp"
#include "graphs/schedules/round_names.hpp"

namespace dbench::graphs {

/// Rounds over one tree or several: the averaging rounds of the graph, and swap rounds of each
/// tree. Immutable after construction.
class TreeExchanges final : public Schedule {
public:
    /// `graph` must satisfy is_tree(). Each round of its period is one tree.
    explicit TreeExchanges(std::shared_ptr<const Schedule> graph);

    int size() const override { return graph_->size(); }
    Round at(int64_t t) const override {
        const Round round = graph_->at(t);
        return {join_names({kTree, round.matrix}), round.repeats};
    }
    std::vector<Link> in(Round round, int i) const override;
    std::vector<Link> out(Round round, int i) const override { return in(round, i); }
    std::vector<std::vector<int>> groups(Round round) const override;
    std::shared_ptr<const Matrix> matrix(Round round) const override;
    int64_t period() const override { return graph_->period(); }

    /// A tree's swaps, as their numbers among the swaps of all trees. Each edge of the tree is in
    /// exactly one of them, and no replica is twice in one swap. Their number is the tree's largest
    /// degree.
    struct Swaps {
        int begin, end;
        int count() const { return end - begin; }
    };
    const std::vector<Swaps>& trees() const { return trees_; }
    Round swap(int k) const { return {join_names({kSwap, static_cast<uint64_t>(k)}), true}; }
    /// The replica with which i swaps in swap k; -1 if none.
    int partner(int k, int i) const { return partner_[k][i]; }

private:
    enum : uint64_t { kTree, kSwap };  // the part of a round's name

    void add_tree(Round round);

    std::shared_ptr<const Schedule> graph_;
    std::vector<Swaps> trees_;
    std::vector<std::vector<int>> partner_;
};

}  // namespace dbench::graphs
