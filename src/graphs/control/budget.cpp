// The graph `budget`: spends a given total of bytes on two graphs, dense and sparse. It is the
// control experiment for claims that adapting the graph helps: the same bytes at other times. Of T
// iterations the dense graph gets
//
//     T_d = round(T (m - m_sparse) / (m_dense - m_sparse)),
//
// where m is the mean number of models sent per replica and iteration. `order` selects the first
// iterations, the last ones, or evenly spread ones, those t with
// floor((t + 1) T_d / T) > floor(t T_d / T). This project's own graph.

#include <cmath>
#include <nlohmann/json.hpp>

#include "graphs/number_text.hpp"
#include "graphs/proof/certificate.hpp"
#include "graphs/schedules/staged.hpp"
#include "graphs/types/families.hpp"

namespace dbench::graphs {
namespace {

constexpr int64_t kMostUniform = 10'000'000;
constexpr int64_t kIterations = 100;  // planned if a graph is examined without a run

enum class BudgetOrder : uint8_t { dense_first, dense_last, uniform };

struct BudgetSpec {
    BudgetOrder order;            ///< When the dense graph is used.
    double models;                ///< Mean models sent per replica and iteration.
    std::optional<double> bytes;  ///< Sent by all replicas in the run, instead of `models`.
    base::Json dense, sparse;     ///< The graphs.

    static const base::Section<BudgetSpec>& section();
};

const base::Section<BudgetSpec>& BudgetSpec::section() {
    using P = base::Parameter;
    static const base::Section<BudgetSpec> keys{
        {base::Words<BudgetOrder>("order",
                                  {{"dense_first", BudgetOrder::dense_first},
                                   {"dense_last", BudgetOrder::dense_last},
                                   {"uniform", BudgetOrder::uniform}},
                                  BudgetOrder::dense_first, "when the dense graph is used"),
         &BudgetSpec::order},
        {P::number("models", "4", "mean models sent per replica and iteration").greater_than(0),
         &BudgetSpec::models},
        {P::number("bytes", "null", "sent by all replicas in the run, instead of models")
             .greater_than(0)
             .or_null(),
         &BudgetSpec::bytes},
        {P::of("graphs", "dense", R"({"type": "ring_lattice", "k": 10})",
               "the graph that sends more", resolve_graph),
         &BudgetSpec::dense},
        {P::of("graphs", "sparse", "\"ring\"", "the graph that sends less", resolve_graph),
         &BudgetSpec::sparse},
    };
    return keys;
}

class Budget final : public StagedSchedule {
public:
    Budget(const BudgetSpec& spec, const GraphContext& context, const std::string& pointer)
        : StagedSchedule(context.n) {
        double models[2] = {};
        for (const size_t which : {0, 1}) {
            const std::string key = which == 0 ? "dense" : "sparse";
            const base::Json& graph = which == 0 ? spec.dense : spec.sparse;
            auto schedule = make_graph(graph, context, pointer + "/" + key);
            if (schedule->staged()) {
                throw base::UserError(pointer + "/" + key + ": " + graph_title(graph) +
                                      " sends more at some times than at others, so that a total "
                                      "cannot be planned with it: use a static graph, such as "
                                      "ring_lattice");
            }
            models[which] = models_sent(*schedule);
            add(graph_label(graph), std::move(schedule));
        }
        if (context.n == 1) {  // no messages to spend bytes on
            start_stage(0, kSparse, "planned");
            return;
        }
        if (models[0] <= models[1]) {
            throw base::UserError(
                pointer + "/dense: " + name(kBudgetDense) + " sends " + number_text(models[0], 6) +
                " models per replica and iteration, sparse (" + name(kSparse) + ") " +
                number_text(models[1], 6) + ": dense must send more" + remedy(models[1]));
        }
        const int64_t iterations =
            context.run.iterations > 0 ? context.run.iterations : kIterations;
        const double per_model =
            context.run.row_bytes * static_cast<double>(context.n) * double(iterations);
        const bool total = spec.bytes.has_value();
        const double mean = total ? *spec.bytes / per_model : spec.models;
        if (mean < models[1] || mean > models[0]) {
            const double unit = total ? per_model : 1;
            throw base::UserError(pointer + (total ? "/bytes: " : "/models: ") +
                                  number_text(mean * unit, 6) +
                                  " cannot be spent: " + number_text(models[1] * unit, 6) +
                                  " with the sparse graph alone, " +
                                  number_text(models[0] * unit, 6) + " with the dense one");
        }
        const double share = (mean - models[1]) / (models[0] - models[1]);
        const auto dense = static_cast<int64_t>(std::llround(share * double(iterations)));
        plan(spec.order, dense, iterations, pointer);
    }

    std::string nesting_problem() const override { return "spends a total over the whole run"; }

private:
    enum : size_t { kBudgetDense, kSparse };

    static double models_sent(const Schedule& schedule) {
        return certify(schedule, "").models_sent;
    }

    // Explains why the dense graph is cheap and names an alternative.
    std::string remedy(double sparse) const {
        const Schedule& dense = graph(kBudgetDense);
        const auto groups = dense.groups(dense.at(0));
        std::string text;
        if (!groups.empty() && static_cast<int>(groups.front().size()) == size()) {
            text = " (with " + std::to_string(size()) +
                   " replicas it is the complete graph, carried out as an all-reduce)";
        }
        const int k = (size() - 2) / 2 * 2;  // the largest k of an incomplete ring lattice
        const bool lattice = name(kBudgetDense).starts_with("ring_lattice");
        if (lattice && !text.empty() && k > sparse) return text + ": use k = " + std::to_string(k);
        return text + ": use another dense graph, or a sparse one such as one_peer_exponential";
    }

    void plan(BudgetOrder order, int64_t dense, int64_t iterations, const std::string& pointer) {
        if (order != BudgetOrder::uniform) {
            const bool first = order == BudgetOrder::dense_first;
            const int64_t change = first ? dense : iterations - dense;
            if (change > 0) start_stage(0, first ? kBudgetDense : kSparse, "planned");
            if (change < iterations) start_stage(change, first ? kSparse : kBudgetDense, "planned");
            return;
        }
        if (iterations > kMostUniform) {
            throw base::UserError(pointer +
                                  "/order: uniform changes graphs in many iterations, which is "
                                  "supported for at most " +
                                  std::to_string(kMostUniform) + " iterations (the run has " +
                                  std::to_string(iterations) +
                                  "): choose dense_first or dense_last, or a shorter /length");
        }
        // Use the dense graph whenever dense * t / iterations reaches the next whole number.
        for (int64_t t = 0; t < iterations; ++t) {
            const bool is_dense = (t + 1) * dense / iterations > t * dense / iterations;
            start_stage(t, is_dense ? kBudgetDense : kSparse, "planned");
        }
    }
};

std::unique_ptr<Schedule> make_budget(const BudgetSpec& spec, const GraphContext& context,
                                      const std::string& pointer) {
    return std::make_unique<Budget>(spec, context, pointer);
}

}  // namespace

GraphEntry budget_entry() {
    return mark_run_dependent(
        {"budget", "a total of bytes, spent on a dense and a sparse graph", make_budget});
}

}  // namespace dbench::graphs
