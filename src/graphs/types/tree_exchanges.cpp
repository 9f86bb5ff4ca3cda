#include "graphs/types/tree_exchanges.hpp"

namespace dbench::graphs {

TreeExchanges::TreeExchanges(std::shared_ptr<const Schedule> graph) : graph_(std::move(graph)) {
    for (int64_t t = 0; t < graph_->period(); ++t) add_tree(graph_->at(t));
}

// Colours the edges from replica 0 outwards: the edges to a node's children get the first colours
// that differ from the colour of the edge to its parent.
void TreeExchanges::add_tree(Round round) {
    const int n = graph_->size();
    const auto first = static_cast<int>(partner_.size());
    std::vector<int> order = {0}, parent(n, -1), colour(n, -1);  // colour of the edge to the parent
    for (size_t k = 0; k < order.size(); ++k) {
        const int i = order[k];
        int next = first;
        for (const Link& link : graph_->in(round, i)) {
            const int child = link.peer;
            if (child == i || child == parent[i]) continue;
            if (next == colour[i]) ++next;
            parent[child] = i;
            colour[child] = next;
            if (next == static_cast<int>(partner_.size())) partner_.emplace_back(n, -1);
            partner_[next][i] = child;
            partner_[next][child] = i;
            order.push_back(child);
            ++next;
        }
    }
    trees_.push_back({first, static_cast<int>(partner_.size())});
}

std::vector<Link> TreeExchanges::in(Round round, int i) const {
    const PartName of = split_name(round.matrix);
    if (of.part == kTree) return graph_->in({of.name, round.repeats}, i);
    const int other = partner(static_cast<int>(of.name), i);
    if (other < 0) return {{i, 1.0}};
    if (other < i) return {{other, 1.0}, {i, 0.0}};
    return {{i, 0.0}, {other, 1.0}};
}

std::vector<std::vector<int>> TreeExchanges::groups(Round round) const {
    const PartName of = split_name(round.matrix);
    if (of.part == kTree) return graph_->groups({of.name, round.repeats});
    return {};
}

std::shared_ptr<const Matrix> TreeExchanges::matrix(Round round) const {
    const PartName of = split_name(round.matrix);
    return of.part == kTree ? graph_->matrix({of.name, round.repeats}) : nullptr;
}

}  // namespace dbench::graphs
