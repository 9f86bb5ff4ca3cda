#include "graphs/types/tree_exchanges.hpp"

namespace dbench::graphs {

// Edges are coloured from replica 0 outwards: a child's edge takes the next colour that the edge to
// the parent has not.
TreeExchanges::TreeExchanges(std::shared_ptr<const Schedule> tree) : tree_(std::move(tree)) {
    const int n = tree_->size();
    const Round round = tree_->at(0);
    std::vector<int> order = {0}, parent(n, -1), colour(n, -1);  // colour of the edge to the parent
    for (size_t k = 0; k < order.size(); ++k) {
        const int i = order[k];
        int next = 0;
        for (const Link& link : tree_->in(round, i)) {
            const int child = link.peer;
            if (child == i || child == parent[i]) continue;
            if (next == colour[i]) ++next;
            parent[child] = i;
            colour[child] = next;
            if (next == swaps()) partner_.emplace_back(n, -1);
            partner_[next][i] = child;
            partner_[next][child] = i;
            order.push_back(child);
            ++next;
        }
    }
}

std::vector<Link> TreeExchanges::in(Round round, int i) const {
    if (round.matrix < kSwap) return tree_->in(round, i);
    const int other = partner(static_cast<int>(round.matrix - kSwap), i);
    if (other < 0) return {{i, 1.0}};
    if (other < i) return {{other, 1.0}, {i, 0.0}};
    return {{i, 0.0}, {other, 1.0}};
}

std::vector<std::vector<int>> TreeExchanges::groups(Round round) const {
    if (round.matrix >= kSwap) return {};
    return tree_->groups(round);
}

std::shared_ptr<const Matrix> TreeExchanges::matrix(Round round) const {
    return round.matrix < kSwap ? tree_->matrix(round) : nullptr;
}

}  // namespace dbench::graphs
