// Quantized push-sum (Taheri et al. 2020, arXiv 2002.09964; not yet checked against its text, which
// was not available): push-sum (push_sum.hpp) with compressed differences from public copies x^.
//
//     q = Q(x - x^);   x^ <- x^ + q,   s <- s + sum_j a_ij q_j;   v = x - x^ + s;   w+ = A w
//     z+ = v / w+;   x+ = v - lr d(g(z+))
//
// s = sum_j a_ij x^_j; x^ and s start at 0. The sum of v over replicas equals that of x for every
// Q.
//
// * State: w, x^ and s.
// * Sends: one compressed message and 8 bytes (the exact weight) per neighbour and iteration,
//   before forward.
// * Requires: a column-stochastic matrix that does not change.

#include "algorithms/codecs/messages.hpp"
#include "algorithms/entries.hpp"
#include "algorithms/push_sum.hpp"

namespace dbench::algorithms {
namespace {

class QuantizedPushSum final : public CompressingAlgorithm {
public:
    using CompressingAlgorithm::CompressingAlgorithm;

    void declare(arena::StateTable& state) override {
        CompressingAlgorithm::declare(state);
        w_.declare(state);
        known_ = state.rows("algorithm/public");
        mixed_ = state.rows("algorithm/mixed_public");
        row_ = state.scratch();
    }
    void before_forward(Step& step) override {
        const arena::Columns all = step.layout.all();
        w_.begin(step);
        step.probe.about_to_average(step.x);
        if (averages(step.round)) {
            const arena::Rows row = row_.rows();
            w_.weigh(step, step.x, step.x, all);
            step.combine(row, {{1, step.x}, {-1, known_}}, all);
            messages().send(step, row);
            w_.send(step);
            messages().receive(step, {{known_, 1, 0}, {mixed_, 0, 1}});
            w_.apply(w_.receive(step));
            step.combine(step.x, {{1, step.x}, {-1, known_}, {1, mixed_}}, all);
            w_.unweigh(step, step.x, step.x, all);
        }
        step.probe.averaged(step.x);
    }
    void ready(Step& step, arena::Columns columns) override {
        const arena::Rows row = row_.rows();
        w_.weigh(step, step.x, row, columns);
        step.update(row, row, step.x, columns);
        w_.unweigh(step, row, step.x, columns);
    }
    Sent sent(int64_t, graphs::Round round) const override {
        Sent sent = messages_sent(round, 1);
        sent.bytes += 8.0 * static_cast<double>(sent.messages);
        return sent;
    }

private:
    PushSumWeights w_;
    arena::Rows known_, mixed_;
    arena::Buffer row_;
};

std::unique_ptr<Algorithm> make_quantized_push_sum(const base::NoKeys&,
                                                   const AlgorithmContext& context) {
    return std::make_unique<QuantizedPushSum>(context);
}

}  // namespace

AlgorithmEntry quantized_push_sum_entry() {
    return {"quantized_push_sum",
            "stochastic gradient push with compressed messages",
            make_quantized_push_sum,
            {.graph = GraphNeed::column_stochastic,
             .sequences = false,
             .messages = Messages::coded,
             .replica_change = ReplicaChange::never,  // mixed_public = A times the public copies
             .weight = "algorithm/weight"}};
}

}  // namespace dbench::algorithms
