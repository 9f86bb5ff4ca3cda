// Measures the cost of each algorithm without the gradient: its update and exchange relative to
// those of dsgd, next to the ratio predicted from the rows that it reads and writes. Prints a
// table; the last line is the largest measured ratio over its prediction.

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "algorithms/step/stepper.hpp"
#include "base/clock.hpp"
#include "comm/transport/launcher.hpp"

namespace {

using namespace dbench;
using base::Json;

constexpr int64_t kReplicas = 8, kParameters = 1 << 20;
constexpr int kRounds = 5, kSteps = 10;

// `rows` counts the rows that are read and written per replica and step: 3 for an update by plain
// SGD, k + 1 for a combination of k rows, 2 for a copy, 2 for averaging. Algorithms with local
// steps use the mean over a period of 10.
struct Subject {
    const char* spec;
    double rows;
    const char* passes;
};
const Subject kSubjects[] = {
    {R"({"type": "dsgd"})", 3 + 2, "update, W"},
    {R"({"type": "dsgd", "order": "combine_while_adapt"})", 2 + 3, "W, update"},
    {R"({"type": "dsgd", "order": "combine_then_adapt"})", 2 + 3, "W, update"},
    {R"({"type": "dsgd_ac", "start_epoch": 0, "a_max": 0.5})", 2 + 3 + 3, "W, combine 2, update"},
    {R"({"type": "averaged_momentum"})", 3 + 3 + 2 * 2, "update, combine 2, W twice"},
    {R"({"type": "decentlam"})", 3 + 2 + 4 + 3, "update, W, combine 3, combine 2"},
    {R"({"type": "qg_dsgdm"})", 3 + 3 + 2 + 4 + 2, "combine 2, update, W, combine 3, copy"},
    {R"({"type": "qg_adam"})", 5 + 2 + 3 + 1 + 6 + 2,
     "update 5, W, combine 2, norm, moments 6, copy"},
    {R"({"type": "dadam"})", 2 + 9, "W, update 9"},
    {R"({"type": "d_amsgrad"})", 8 + 3 + 2 + 4 + 2, "moments 8, combine 2, W, update 4, W"},
    {R"({"type": "d2"})", 3 + 4 + 2 + 2, "update, combine 3, copy, W"},
    {R"({"type": "d2", "form": "relay"})", 3 + 3 + 2 + 3, "update, combine 2, W, combine 2"},
    {R"({"type": "exact_diffusion"})", 3 + 3 + 3 + 2 + 2 + 3,
     "combine 2, update, combine 2, copy, W, combine 2"},
    {R"({"type": "gradient_tracking"})", 4 + 2 + 2 + 3 + 2, "combine 3, copy, W, update, W"},
    {R"({"type": "gradient_tracking", "form": "diging"})", 2 + 4 + 2 + 2 + 3,
     "W, combine 3, copy, W, update"},
    {R"({"type": "momentum_tracking"})", 2 + 4 + 3 + 2 + 3, "W, combine 3, combine 2, W, update"},
    {R"({"type": "gut"})", 2 + 2 + 4 + 5 + 2 + 3 + 2,
     "copy, W, combine 3, combine 4, copy, update, copy"},
    {R"({"type": "qg_gutm"})", 2 + 2 + 4 + 5 + 2 + 3 + 2 + 3 + 3,
     "copy, W, combine 3, combine 4, copy, combine 2, copy, update, combine 2"},
    {R"({"type": "local_sgd", "period": 10})", 3 + 0.2, "update, W / 10"},
    {R"({"type": "slowmo", "period": 10})", 3 + 0.1 * (2 + 4 + 3 + 2),
     "update, (mean, combine 3, combine 2, copy) / 10"},
    {R"({"type": "diloco", "period": 10})", 3 + 0.1 * (2 + 3 + 3 + 4 + 2),
     "update, (W, combine 2, 2, 3, copy) / 10"},
    {R"({"type": "noloco", "period": 10})", 3 + 0.1 * (3 + 2 + 2 + 5 + 3 + 3 + 2),
     "update, (W twice, combine 2, 4, 2, 2, copy) / 10"},
    {R"({"type": "gasloc", "period": 10, "gamma": 0.1})", 3 + 0.1 * (3 + 2 + 4 + 2 + 2),
     "update, (combine 2, W, combine 3, copy twice) / 10"},
    {R"({"type": "cocod_sgd", "period": 10})", 3 + 0.1 * (2 + 4 + 2),
     "update, (W, combine 3, copy) / 10"},
    {R"({"type": "overlap_local_sgd", "period": 10})", 3 + 0.1 * (2 + 3 + 4 + 3),
     "update, (W, combine 2, 3, 2) / 10"},
    {R"({"type": "feddkd", "period": 10, "distill_steps": 5})", 3 + 0.1 * (2 + 5 * (3 + 2)),
     "update, (W, 5 times combine 2, W) / 10"},
    // The three linearised models, of one sample each, are each written, multiplied and added once.
    {R"({"type": "ntk_dfl", "steps": 1, "candidates": 1})", 2 + 3 + 3 + 3 + 3,
     "W, linearise 3, multiply 3, add 3, update"},
    {R"({"type": "sgp"})", 2 + 3 + 2 + 2, "copy, update, copy, W"},
    {R"({"type": "sgp", "order": "awc"})", 2 + 2 + 3 + 2, "copy, W, update, copy"},
    {R"({"type": "osgp"})", 2 + 2 + 3 + 3 + 2 + 3 + 2,
     "copy, W, combine 2, combine 2, copy, update, copy"},
    // Encoding reads one row. Decoding reads and writes the row to which it adds, per neighbour.
    {R"({"type": "choco"})", 3 + 3 + 2 + 3 + 4 * 3 + 4, "update, combine 2, code, add, combine 3"},
    {R"({"type": "adagossip"})", 3 + 3 + 2 + 3 + 4 * 3 + 6,
     "update, combine 2, code, add, approach 6"},
    {R"({"type": "quantized_push_sum"})", 3 + 2 + 3 + 4 * 3 + 4 + 2 + 3 + 2,
     "combine 2, code, add, combine 3, copy, update, copy"},
    {R"({"type": "dcd"})", 3 + 3 + 2 + 3 + 4 * 3, "update, combine 2, code, add"},
    {R"({"type": "ecd"})", 3 + 3 + 2 + 2 + 2 + 3 * 3, "update, combine 2, code, copy, scale, add"},
    {R"({"type": "deepsqueeze"})", 3 + 3 + 2 + 3 + 4 * 3 + 3, "update, combine 2, code, add"},
    {R"({"type": "beer"})", 6 + 2 + 4 + 3 + 2 * (3 + 2 + 4 * 3),
     "combine 5, copy, combine 3, update, twice combine 2, code, add"},
    {R"({"type": "motef"})", 3 + 6 + 2 + 4 + 3 + 2 * (3 + 2 + 4 * 3),
     "combine 2, combine 5, copy, combine 3, update, twice combine 2, code, add"},
    {R"({"type": "moniqua"})", 3 + 1 + 2, "update, code, add to x once"},
    // For each of the two neighbours, a row is read and x is changed.
    {R"({"type": "powergossip"})", 3 + 2 + 2 * 2, "update, multiply twice, add twice"},
    // There are half as many pairs as replicas.
    {R"({"type": "ad_psgd"})", 0.5 * (3 + 2) + 3 + 2, "(combine 2, copy) / 2, update, copy"},
    {R"({"type": "swift"})", 4 + 3 + 2, "combine 3, update, copy"},
};

class Silent final : public algorithms::Observer {
public:
    void iteration(const algorithms::IterationRecord&) override {}
    void evaluation(const algorithms::EvaluationRecord&) override {}
    void event(int64_t, const std::string&, const std::string&) override {}
};

class Bench {
public:
    explicit Bench(const Subject& subject)
        : world_(comm::alone()),
          placement_{kReplicas, 1},
          layout_(make_layout()),
          table_(arena::DType::float32, 0, kReplicas, layout_.columns()),
          g_(arena::DType::float32, 0, kReplicas, layout_.columns()) {
        table_.declare_parameters();
        const Json spec = algorithms::resolve_algorithm(Json::parse(subject.spec));
        const auto& row =
            *base::find_entry(algorithms::algorithm_table(), spec.at("type").get<std::string>());
        const graphs::RunFacts run{kSteps, kSteps, kReplicas, 4.0 * kParameters};
        algorithms::RunSchedule schedule(
            graphs::make_graph({{"type", "ring"}, {"lazy", 0.5}}, {kReplicas, 1, run}), row, spec,
            run);
        const Json sgd = algorithms::resolve_optimizer("sgd", "/optimizer");
        algorithms::StepSpec step{row, spec, sgd, run, kRate};
        step.minibatch = {1, 1, false};
        stepper_ = std::make_unique<algorithms::Stepper>(world_, placement_, layout_, step,
                                                         std::move(schedule));
        stepper_->attach(table_, g_.rows());
        // Distillation and linearisation cost nothing here, like the gradient.
        stepper_->set_distillation([](auto...) {});
        stepper_->set_linearisation(
            {[](const char*, int64_t, int64_t, const algorithms::Linearised& out) {
                 std::fill_n(out.jacobian<float>(0, 0), out.elements(), 1e-3f);
             },
             [](auto...) { return 0.0; }});
    }

    /// Returns the mean seconds of kSteps steps without the computation of gradients.
    double seconds() {
        const double start = base::now();
        if (const auto* asynchronous = stepper_->algorithm().asynchronous()) {
            const algorithms::ComputeTimes times(asynchronous->pace());
            stepper_->advance({t_, t_ + kSteps, times, [](int64_t) { return kRate; },
                               [](const auto&, const auto&, auto&) {}});
            t_ += kSteps;
            return (base::now() - start) / kSteps;
        }
        for (int k = 0; k < kSteps; ++k, ++t_) {
            algorithms::IterationRecord record;
            stepper_->step(
                t_, kRate, [&](const auto& ready) { ready(layout_.all()); }, record, silent_);
        }
        return (base::now() - start) / kSteps;
    }

private:
    static constexpr double kRate = 1e-3;
    static arena::Layout make_layout() {
        arena::Layout layout;
        layout.add("weight", {1024, kParameters / 1024}, arena::TensorKind::weight);
        return layout;
    }

    comm::World world_;
    comm::Placement placement_;
    arena::Layout layout_;
    arena::StateTable table_;
    arena::Buffer g_;
    std::unique_ptr<algorithms::Stepper> stepper_;
    Silent silent_;
    int64_t t_ = 0;
};

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
}

}  // namespace

int main() {
    std::printf("%-58s %8s %8s %8s   %s\n", "algorithm", "ms", "of dsgd", "by rows", "passes");
    double worst = 0;
    for (const Subject& subject : kSubjects) {
        Bench bench(subject), dsgd(kSubjects[0]);
        bench.seconds();
        dsgd.seconds();
        std::vector<double> ratios, times;
        for (int k = 0; k < kRounds; ++k) {  // alternating, so that disturbances affect both
            times.push_back(bench.seconds());
            ratios.push_back(times.back() / dsgd.seconds());
        }
        const double found = median(ratios), expected = subject.rows / kSubjects[0].rows;
        worst = std::max(worst, found / expected);
        std::printf("%-58s %8.2f %8.2f %8.2f   %s\n", subject.spec, 1e3 * median(times), found,
                    expected, subject.passes);
    }
    std::printf("largest found over expected: %.2f\n", worst);
}
