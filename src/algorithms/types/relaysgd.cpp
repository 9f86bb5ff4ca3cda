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
// * State: the last message of every neighbour. Scratch for the sent messages; form grad also x.
// * Sends: one row per edge and direction, bucket by bucket during backward.
// * Requires: a tree.

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

class RelaySgd final : public Algorithm {
public:
    RelaySgd(const graphs::TreeExchanges& tree, bool model, bool begins_with_start)
        : tree_(tree), model_(model), begins_with_start_(begins_with_start) {}

    void declare(arena::StateTable& state) override {
        for (int k = 0; k < tree_.swaps(); ++k) {
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
        for (int k = 0; k < tree_.swaps(); ++k) {
            step.combine(sent_[k].rows(), messages(step, k), columns);
        }
        for (int k = 0; k < tree_.swaps(); ++k) {
            pending_.push_back(
                {step.exchange.start_mix(tree_.swap(k), sent_[k].rows(), columns), k});
        }
    }
    void after_backward(Step& step) override {
        step.probe.about_to_average(step.x);
        for (const auto& [token, k] : pending_) step.finish_mix(token, received_[k]);
        pending_.clear();
        update_counts(step.t);
        step.combine(step.x, averages(step), step.layout.all());
        step.probe.averaged(step.x);
    }
    Sent sent(int64_t, graphs::Round) const override {
        const int64_t n = tree_.size(), edges = n - 1;
        const double rows = 2.0 * static_cast<double>(edges);
        return {n > 1, n > 1 ? 1 : 0, rows / static_cast<double>(n), 2 * edges, rows};
    }

private:
    using Terms = std::vector<std::vector<arena::Term>>;
    struct Bucket {
        comm::Token token;
        int swap;
    };

    /// Adds `factor` times h of local row i to the terms.
    void add_own(std::vector<arena::Term>& terms, const Step& step, int64_t i,
                 double factor) const {
        terms.push_back({step.x.at(i, 0), factor});
        if (!model_) terms.push_back({before_.rows().at(i, 0), -factor});
    }

    /// Returns the terms of the messages of swap k (the exchange over the k-th set of disjoint
    /// edges). A replica without a partner in it sends nothing.
    Terms messages(const Step& step, int k) const {
        Terms terms(step.x.count);
        for (int64_t i = 0; i < step.x.count; ++i) {
            const auto replica = static_cast<int>(step.x.first + i);
            if (tree_.partner(k, replica) < 0) continue;
            add_own(terms[i], step, i, 1);
            for (int other = 0; other < tree_.swaps(); ++other) {
                if (other == k || tree_.partner(other, replica) < 0) continue;
                terms[i].push_back({received_[other].at(i, 0), 1});
            }
        }
        return terms;
    }

    /// Returns the terms of the next x.
    Terms averages(const Step& step) const {
        const double n = tree_.size();
        Terms terms(step.x.count);
        for (int64_t i = 0; i < step.x.count; ++i) {
            const auto replica = static_cast<int>(step.x.first + i);
            double count = 0;
            for (int k = 0; k < tree_.swaps(); ++k) {
                if (tree_.partner(k, replica) < 0) continue;
                count += counts_[k][replica];
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
        for (int k = 0; k < tree_.swaps(); ++k) {
            Terms terms(step.x.count);
            for (int64_t i = 0; i < step.x.count; ++i) {
                const auto replica = static_cast<int>(step.x.first + i);
                if (tree_.partner(k, replica) < 0) continue;
                terms[i].push_back({step.x.at(i, 0), counts_[k][replica]});
            }
            step.combine(received_[k], terms, step.layout.all());
        }
    }

    /// Updates the counts after the exchange of iteration t: counts_[k][i] is the number of
    /// replicas that the message to i over swap k contains.
    void update_counts(int64_t t) {
        if (counts_.empty()) {
            counts_.assign(tree_.swaps(), std::vector<double>(tree_.size(), 0));
            const int64_t before = begins_with_start_ ? tree_.size() : t;
            for (int64_t s = 0; s < std::min<int64_t>(before, tree_.size()); ++s) {
                update_counts_once();
            }
        }
        update_counts_once();
    }
    void update_counts_once() {
        const auto before = counts_;
        for (int k = 0; k < tree_.swaps(); ++k) {
            for (int i = 0; i < tree_.size(); ++i) {
                const int from = tree_.partner(k, i);
                if (from < 0) continue;
                counts_[k][i] = 1;
                for (int other = 0; other < tree_.swaps(); ++other) {
                    if (other != k) counts_[k][i] += before[other][from];
                }
            }
        }
    }

    const graphs::TreeExchanges& tree_;
    bool model_, begins_with_start_;
    std::vector<arena::Rows> received_;        // Rows received in each swap.
    std::vector<arena::Buffer> sent_;          // Rows sent in each swap.
    std::vector<std::vector<double>> counts_;  // Counts by swap and replica.
    arena::Buffer before_;
    std::vector<Bucket> pending_;
};

std::unique_ptr<Algorithm> make_relaysgd(const RelaySgdSpec& spec,
                                         const AlgorithmContext& context) {
    return std::make_unique<RelaySgd>(dynamic_cast<const graphs::TreeExchanges&>(*context.schedule),
                                      spec.model, spec.begins_with_start);
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
    traits.one_start = spec.begins_with_start;
}

}  // namespace

AlgorithmEntry relaysgd_entry() {
    return {"relaysgd",
            "on a tree: parameters or updates relayed from neighbour to neighbour",
            make_relaysgd,
            {.graph = GraphNeed::tree,
             .sequences = false,
             .replica_change = ReplicaChange::never,
             .mean = MeanRule::none,
             .bias = Bias::vanishes},
            {.schedule = schedule_relaysgd, .check = check_missing, .refine = refine_relaysgd}};
}

}  // namespace dbench::algorithms
