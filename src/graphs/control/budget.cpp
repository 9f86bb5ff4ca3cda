// A total of bytes spent on two graphs, the control for any claim that adapting the graph helps:
// the same bytes, another time. Of T iterations the dense graph has
//
//     T_d = round(T (m - m_sparse) / (m_dense - m_sparse)),
//
// m the mean models sent per replica and iteration: the first ones, the last ones, or spread evenly
// (those t where floor((t + 1) T_d / T) > floor(t T_d / T)). This project's own.

#include <cmath>
#include <nlohmann/json.hpp>

#include "graphs/number_text.hpp"
#include "graphs/proof/certificate.hpp"
#include "graphs/schedules/staged.hpp"
#include "graphs/types/families.hpp"

namespace dbench::graphs {
namespace {

constexpr int64_t kMostUniform = 10'000'000;
constexpr int64_t kIterations = 100;  // planned for a graph looked at by itself

class Budget final : public Staged {
public:
    Budget(const base::Json& spec, const GraphContext& context, const std::string& pointer)
        : Staged(context.n) {
        double models[2] = {};
        for (const size_t which : {0, 1}) {
            const std::string key = which == 0 ? "dense" : "sparse";
            const base::Json graph = resolve_graph(spec.at(key), pointer + "/" + key);
            auto schedule = make_graph(graph, context, pointer + "/" + key);
            if (schedule->staged()) {
                throw base::UserError(pointer + "/" + key + ": " + graph_title(graph) +
                                      " sends more at some times than at others, so that a total "
                                      "cannot be planned with it: use a graph that stays, such as "
                                      "ring_lattice");
            }
            models[which] = models_sent(*schedule);
            add(graph_label(graph), std::move(schedule));
        }
        if (context.n == 1) {  // nothing to spend
            go_to(0, kSparse, "planned");
            return;
        }
        if (models[0] <= models[1]) {
            throw base::UserError(
                pointer + "/dense: " + name(kDense) + " sends " + number_text(models[0], 6) +
                " models per replica and iteration, sparse (" + name(kSparse) + ") " +
                number_text(models[1], 6) + ": dense must send more" + remedy(models[1]));
        }
        const int64_t iterations =
            context.run.iterations > 0 ? context.run.iterations : kIterations;
        const double per_model =
            context.run.row_bytes * static_cast<double>(context.n) * double(iterations);
        const bool total = !spec.at("bytes").is_null();
        const double mean =
            total ? spec.at("bytes").get<double>() / per_model : spec.at("models").get<double>();
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
        plan(spec.at("order"), dense, iterations, pointer);
    }

    std::string alone() const override { return "spends a total over the whole run"; }

private:
    enum : size_t { kDense, kSparse };

    static double models_sent(const Schedule& schedule) {
        return certify(schedule, "").models_sent;
    }

    // Why the dense graph is cheap, and what to use instead.
    std::string remedy(double sparse) const {
        const Schedule& dense = graph(kDense);
        const auto groups = dense.groups(dense.at(0));
        std::string text;
        if (!groups.empty() && static_cast<int>(groups.front().size()) == size()) {
            text = " (with " + std::to_string(size()) +
                   " replicas it is the complete graph, carried out as an all-reduce)";
        }
        const int k = (size() - 2) / 2 * 2;  // of a ring lattice that is not complete
        const bool lattice = name(kDense).starts_with("ring_lattice");
        if (lattice && !text.empty() && k > sparse) return text + ": use k = " + std::to_string(k);
        return text + ": use another dense graph, or a sparse one such as one_peer_exponential";
    }

    void plan(const std::string& order, int64_t dense, int64_t iterations,
              const std::string& pointer) {
        if (order == "dense_first" || order == "dense_last") {
            const bool first = order == "dense_first";
            const int64_t change = first ? dense : iterations - dense;
            if (change > 0) go_to(0, first ? kDense : kSparse, "planned");
            if (change < iterations) go_to(change, first ? kSparse : kDense, "planned");
            return;
        }
        if (iterations > kMostUniform) {
            throw base::UserError(pointer +
                                  "/order: uniform changes graphs all the time, which is "
                                  "planned for at most " +
                                  std::to_string(kMostUniform) + " iterations (the run has " +
                                  std::to_string(iterations) +
                                  "): choose dense_first or dense_last, or a shorter /length");
        }
        // Dense where the line dense * t / iterations reaches the next whole number.
        for (int64_t t = 0; t < iterations; ++t) {
            const bool now = (t + 1) * dense / iterations > t * dense / iterations;
            go_to(t, now ? kDense : kSparse, "planned");
        }
    }
};

std::unique_ptr<Schedule> make(const base::Json& spec, const GraphContext& context,
                               const std::string& pointer) {
    return std::make_unique<Budget>(spec, context, pointer);
}

}  // namespace

GraphEntry budget_entry() {
    using P = base::Parameter;
    return for_runs(graph_entry(
        "budget", "a total of bytes, spent on a dense and a sparse graph",
        {P::choice("order", "\"dense_first\"", {"dense_first", "dense_last", "uniform"},
                   "when the dense graph is used"),
         P::number("models", "4", "mean models sent per replica and iteration").greater_than(0),
         P::number("bytes", "null", "sent by all replicas in the run, instead of models")
             .greater_than(0)
             .or_null(),
         P::of("graphs", "dense", R"({"type": "ring_lattice", "k": 10})",
               "the graph that sends more"),
         P::of("graphs", "sparse", "\"ring\"", "the graph that sends less")},
        make));
}

}  // namespace dbench::graphs
