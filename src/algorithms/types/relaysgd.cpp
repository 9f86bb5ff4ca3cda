// RelaySGD (Vogels et al. 2021, arXiv 2110.04175): on a tree, every update reaches every replica
// with the same weight. Neighbours relay updates, which takes one iteration per edge. h_i are the
// replica's parameters after its local update (form model), or that update itself (form grad):
//
//     M_{i->j} = h_i + sum over other neighbours k of M_{k->i} of the previous iteration
//     model   x_i <- (h_i (n - c_i) + sum_k M_{k->i}) / n;   c_i replicas have reached i so far
//     grad    x_i <- x_i + (h_i + sum_k M_{k->i}) / n
//
// The counts c_i follow from the tree and t; they are not sent. In the form model, `missing` says
// what stands for the h of a replica that has not reached i yet: h_i (own, as above), or x_0, which
// all replicas share (start, as in the code of epfml/relaysgd, algorithms.py). With start, each
// M_{k->i} is x_0 times the number of replicas behind k before the first exchange, so c_i = n - 1.
//
// On a sequence of p trees that repeats (double_binary_tree), the parameters are divided into p
// consecutive parts of nearly equal size, and part k is relayed along tree k, as if it were a model
// of its own. A replica that is a leaf of one tree can then be an inner node of another, which
// balances what replicas send. (The code of epfml/relaysgd gives every p-th parameter to a tree.)
//
// * State: the last message of every neighbour. Scratch for the sent messages; form grad also x.
// * Sends: one row per edge and direction, bucket by bucket during backward; with p trees the
//   columns of its part per edge of each tree.
// * Requires: a tree, or a sequence of trees that repeats.

#include "algorithms/entries.hpp"
#include "base/error.hpp"
#include "graphs/types/tree_exchanges.hpp"

namespace dbench::algorithms {
namespace {

struct RelaySgdSpec {
    bool model;              ///< Relays parameters, not updates.
    bool begins_with_start;  ///< x_0 stands for parameters that have not arrived.

    static const base::Section<RelaySgdSpec>& section();
};

const base::Section<RelaySgdSpec>& RelaySgdSpec::section() {
    static const base::Section<RelaySgdSpec> keys{
        {base::Words<bool>("form", {{"model", true}, {"grad", false}}, true,
                           "relayed values: parameters, or updates"),
         &RelaySgdSpec::model},
        {base::Words<bool>("missing", {{"own", false}, {"start", true}}, false,
                           "form model: parameters in place of those that have not arrived, the "
                           "replica's own or the start of all"),
         &RelaySgdSpec::begins_with_start},
    };
    return keys;
}

/// The columns that are relayed along one tree.
struct Part {
    graphs::TreeExchanges::Swaps swaps;
    arena::Columns columns;
};

/// Divides the parameters into one part per tree. A part ends where a block of at most
/// arena::kBlock columns of a tensor begins, so that small models may leave parts empty.
std::vector<Part> parts_of(const arena::Layout& layout, const graphs::TreeExchanges& graph) {
    const auto& trees = graph.trees();
    const auto count = static_cast<int64_t>(trees.size());
    std::vector<Part> parts;
    int64_t begin = 0, elements = 0;
    auto block = layout.segments().begin();
    for (int64_t k = 0; k < count; ++k) {
        while (block != layout.segments().end() && elements * count < layout.numel() * (k + 1)) {
            elements += block->end - block->begin;
            ++block;
        }
        const bool last = block == layout.segments().end();
        const int64_t end = last ? layout.columns() : block->begin;
        parts.push_back({trees[k], {begin, end}});
        begin = end;
    }
    return parts;
}

arena::Columns intersection(arena::Columns a, arena::Columns b) {
    const int64_t begin = std::max(a.begin, b.begin);
    return {begin, std::max(begin, std::min(a.end, b.end))};
}

class RelaySgd final : public Algorithm {
public:
    RelaySgd(const graphs::TreeExchanges& graph, const arena::Layout& layout, bool model,
             bool begins_with_start)
        : graph_(graph),
          parts_(parts_of(layout, graph)),
          model_(model),
          begins_with_start_(begins_with_start) {}

    void declare(arena::StateTable& state) override {
        int most = 0;
        for (const Part& part : parts_) most = std::max(most, part.swaps.count());
        for (int k = 0; k < most; ++k) {
            received_.push_back(state.rows("algorithm/message_" + std::to_string(k)));
            sent_.push_back(state.scratch());
        }
        if (!model_) before_ = state.scratch();
    }

    void before_forward(Step& step) override {
        if (!model_) step.copy(step.x, before_.rows(), step.layout.all());
        if (begins_with_start_ && step.t == 0) receive_start(step);
    }
    void ready(Step& step, arena::Columns columns) override {
        step.update(step.x, step.x, step.x, columns);
        for (const Part& part : parts_) {
            const arena::Columns piece = intersection(columns, part.columns);
            if (piece.count() > 0) send(step, part, piece);
        }
    }
    void after_backward(Step& step) override {
        step.probe.about_to_average(step.x);
        for (const auto& [token, k] : pending_) step.finish_mix(token, received_[k]);
        pending_.clear();
        update_counts(step.t);
        for (const Part& part : parts_) {
            if (part.columns.count() == 0) continue;
            step.combine(step.x, averages(step, part), part.columns);
        }
        step.probe.averaged(step.x);
    }
    Sent sent(int64_t, graphs::Round) const override {
        const int64_t n = graph_.size(), edges = n - 1;
        const auto used = std::ranges::count_if(
            parts_, [](const Part& part) { return part.columns.count() > 0; });
        const double rows = 2.0 * static_cast<double>(edges);
        const double degree = rows * static_cast<double>(used) / static_cast<double>(n);
        return {n > 1, n > 1 ? 1 : 0, degree, 2 * edges * used, rows};
    }

private:
    using Terms = std::vector<std::vector<arena::Term>>;
    struct Message {
        comm::Token token;
        int row;  ///< The received rows that it belongs in.
    };

    /// Starts the messages of a part in the columns `piece` over each swap of its tree.
    void send(Step& step, const Part& part, arena::Columns piece) {
        for (int k = 0; k < part.swaps.count(); ++k) {
            step.combine(sent_[k].rows(), messages(step, part, k), piece);
        }
        const TimedScope scope(step.timers, Time::exchange);
        for (int k = 0; k < part.swaps.count(); ++k) {
            const graphs::Round swap = graph_.swap(part.swaps.begin + k);
            pending_.push_back({step.exchange.start_mix(swap, sent_[k].rows(), piece), k});
        }
    }

    /// True if replica i has a neighbour in the k-th swap of the part's tree. Its message is then
    /// in row k of the received rows.
    bool has_neighbour(const Part& part, int k, int i) const {
        return graph_.partner(part.swaps.begin + k, i) >= 0;
    }

    /// Adds `factor` times h of local row i to the terms.
    void add_own(std::vector<arena::Term>& terms, const Step& step, int64_t i,
                 double factor) const {
        terms.push_back({step.x.at(i, 0), factor});
        if (!model_) terms.push_back({before_.rows().at(i, 0), -factor});
    }

    /// Returns the terms of the messages of the part's swap k (the exchange over the k-th set of
    /// disjoint edges). A replica without a partner in it sends nothing.
    Terms messages(const Step& step, const Part& part, int k) const {
        Terms terms(step.x.count);
        for (int64_t i = 0; i < step.x.count; ++i) {
            const auto replica = static_cast<int>(step.x.first + i);
            if (!has_neighbour(part, k, replica)) continue;
            add_own(terms[i], step, i, 1);
            for (int other = 0; other < part.swaps.count(); ++other) {
                if (other == k || !has_neighbour(part, other, replica)) continue;
                terms[i].push_back({received_[other].at(i, 0), 1});
            }
        }
        return terms;
    }

    /// Returns the terms of the next x in the part's columns.
    Terms averages(const Step& step, const Part& part) const {
        const double n = graph_.size();
        Terms terms(step.x.count);
        for (int64_t i = 0; i < step.x.count; ++i) {
            const auto replica = static_cast<int>(step.x.first + i);
            double count = 0;
            for (int k = 0; k < part.swaps.count(); ++k) {
                if (!has_neighbour(part, k, replica)) continue;
                count += counts_[part.swaps.begin + k][replica];
                terms[i].push_back({received_[k].at(i, 0), 1 / n});
            }
            add_own(terms[i], step, i, model_ ? (n - count) / n : 1 / n);
            if (!model_) terms[i].push_back({before_.rows().at(i, 0), 1});
        }
        return terms;
    }

    /// Fills the received rows with x_0 times the number of replicas that each will contain.
    void receive_start(Step& step) {
        update_counts(0);
        for (const Part& part : parts_) {
            for (int k = 0; k < part.swaps.count() && part.columns.count() > 0; ++k) {
                Terms terms(step.x.count);
                for (int64_t i = 0; i < step.x.count; ++i) {
                    const auto replica = static_cast<int>(step.x.first + i);
                    if (!has_neighbour(part, k, replica)) continue;
                    const double count = counts_[part.swaps.begin + k][replica];
                    terms[i].push_back({step.x.at(i, 0), count});
                }
                step.combine(received_[k], terms, part.columns);
            }
        }
    }

    /// Updates the counts after the exchange of iteration t: counts_[k][i] is the number of
    /// replicas that the message to i over swap k contains.
    void update_counts(int64_t t) {
        if (counts_.empty()) {
            counts_.assign(graph_.trees().back().end, std::vector<double>(graph_.size(), 0));
            const int64_t before = begins_with_start_ ? graph_.size() : t;
            for (int64_t s = 0; s < std::min<int64_t>(before, graph_.size()); ++s) {
                update_counts_once();
            }
        }
        update_counts_once();
    }
    void update_counts_once() {
        const auto before = counts_;
        for (const auto& [begin, end] : graph_.trees()) {
            for (int k = begin; k < end; ++k) {
                for (int i = 0; i < graph_.size(); ++i) {
                    const int from = graph_.partner(k, i);
                    if (from < 0) continue;
                    counts_[k][i] = 1;
                    for (int other = begin; other < end; ++other) {
                        if (other != k) counts_[k][i] += before[other][from];
                    }
                }
            }
        }
    }

    const graphs::TreeExchanges& graph_;
    std::vector<Part> parts_;
    bool model_, begins_with_start_;
    std::vector<arena::Rows> received_;        // Rows received in the k-th swap of each tree.
    std::vector<arena::Buffer> sent_;          // Rows sent in the k-th swap of each tree.
    std::vector<std::vector<double>> counts_;  // Counts by swap (of all trees) and replica.
    arena::Buffer before_;
    std::vector<Message> pending_;
};

std::unique_ptr<Algorithm> make_relaysgd(const RelaySgdSpec& spec,
                                         const AlgorithmContext& context) {
    return std::make_unique<RelaySgd>(dynamic_cast<const graphs::TreeExchanges&>(*context.schedule),
                                      *context.layout, spec.model, spec.begins_with_start);
}

std::unique_ptr<graphs::Schedule> schedule_relaysgd(const RelaySgdSpec&,
                                                    std::shared_ptr<const graphs::Schedule> graph,
                                                    const graphs::RunFacts&) {
    return std::make_unique<graphs::TreeExchanges>(std::move(graph));
}

void check_missing(const RelaySgdSpec& spec, const std::string& pointer) {
    if (!spec.begins_with_start || spec.model) return;
    throw base::UserError(pointer +
                          "/missing: start requires the form model (the form grad relays updates, "
                          "and an update that has not arrived counts as 0): remove it, or choose "
                          "\"form\": \"model\"");
}

void refine_relaysgd(const RelaySgdSpec& spec, Traits& traits) {
    // Updates alone never bring different starts together.
    traits.one_start = spec.begins_with_start || !spec.model;
}

}  // namespace

AlgorithmEntry relaysgd_entry() {
    return {"relaysgd",
            "on a tree, or on several: parameters or updates relayed from neighbour to neighbour",
            make_relaysgd,
            {.graph = GraphNeed::tree,
             .sequences = false,
             .replica_change = ReplicaChange::never,
             .mean = MeanRule::none,
             .bias = Bias::vanishes},
            {.schedule = schedule_relaysgd, .check = check_missing, .refine = refine_relaysgd}};
}

}  // namespace dbench::algorithms
