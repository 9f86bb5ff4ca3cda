#include "train/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "arena/kernels.hpp"
#include "train/mean_model.hpp"
#include "train/models/model.hpp"
#include "train/replicas.hpp"
#include "train/tensors.hpp"

namespace dbench::train {
namespace {

struct BatchScore {
    double loss = 0, correct = 0;  ///< sums over the batch's terms
};

BatchScore score(const Model& model, const Weights& weights, const data::Batch& batch) {
    const torch::Tensor output = model.forward(weights, input_tensor(batch), false);
    return {model.loss(output, batch).item<double>() * static_cast<double>(batch.terms),
            model.correct(output, batch)};
}

}  // namespace

std::vector<int64_t> spaced_replicas(int64_t n, int64_t m) {
    std::vector<int64_t> out;
    for (int64_t j = 0; j < m; ++j) out.push_back(j * n / m);
    return out;
}

struct Evaluator::Impl {
    comm::World& world;
    comm::Placement placement;
    const Model& model;
    Replicas& replicas;
    const data::DataSets& data;
    EvaluationPlan plan;
    MeanModel mean;
    data::PlainBatches batches;

    int64_t batch_count(const data::Dataset& set) const {
        return (set.size() + plan.batch_size - 1) / plan.batch_size;
    }
    const data::Batch& batch(const data::Dataset& set, int64_t b) {
        const int64_t first = b * plan.batch_size;
        return batches.fill(set, first, std::min(plan.batch_size, set.size() - first));
    }

    // Loss sum and right answers of each evaluated local replica; on rank 0 of all, in plan order.
    std::vector<BatchScore> local_scores(const arena::Rows& x, const data::Dataset& set) {
        std::string packed;
        for (const int64_t replica : plan.replicas) {
            const int64_t local = replica - x.first;
            if (local < 0 || local >= x.count) continue;
            const Weights weights{views(replicas.layout(), x, local),
                                  views(replicas.buffer_layout(), replicas.buffers(), local)};
            BatchScore sum;
            for (int64_t b = 0; b < batch_count(set); ++b) {
                const BatchScore s = score(model, weights, batch(set, b));
                sum.loss += s.loss;
                sum.correct += s.correct;
            }
            packed.append(reinterpret_cast<const char*>(&sum), sizeof sum);
        }
        return gathered(packed);  // ranks hold consecutive replicas: already in plan order
    }

    // The mean model's, with batches dealt over the ranks; on rank 0, added in batch order.
    BatchScore mean_score(const Weights& weights, const data::Dataset& set) {
        std::string packed;
        const int ranks = world.size();
        for (int64_t b = world.rank(); b < batch_count(set); b += ranks) {
            const BatchScore s = score(model, weights, batch(set, b));
            packed.append(reinterpret_cast<const char*>(&s), sizeof s);
        }
        BatchScore sum;
        const auto parts = world.gather(packed);
        if (world.rank() != 0) return sum;
        for (int64_t b = 0; b < batch_count(set); ++b) {
            BatchScore s;
            std::memcpy(&s, parts[b % ranks].data() + (b / ranks) * sizeof s, sizeof s);
            sum.loss += s.loss;
            sum.correct += s.correct;
        }
        return sum;
    }

    std::vector<BatchScore> gathered(const std::string& packed) {
        std::vector<BatchScore> all;
        for (const auto& part : world.gather(packed)) {
            const size_t before = all.size();
            all.resize(before + part.size() / sizeof(BatchScore));
            std::memcpy(all.data() + before, part.data(), part.size());
        }
        return all;
    }

    void scores(const arena::Rows& x, const Weights& mean_weights, const data::Dataset& set,
                algorithms::Scores& out) {
        const auto size = static_cast<double>(set.size() * data::numel(set.label_shape()));
        for (const BatchScore& s : local_scores(x, set)) {
            out.local_loss.push_back(s.loss / size);
            out.local_accuracy.push_back(s.correct / size);
        }
        const BatchScore mean_sum = mean_score(mean_weights, set);
        out.mean_loss = mean_sum.loss / size;
        out.mean_accuracy = mean_sum.correct / size;
        if (!set.tokens()) return;
        for (const double loss : out.local_loss) out.local_perplexity.push_back(std::exp(loss));
        out.mean_perplexity = std::exp(out.mean_loss);
    }
};

Evaluator::Evaluator(comm::World& world, const comm::Placement& placement, const Model& model,
                     Replicas& replicas, comm::Exchange& exchange, const data::DataSets& data,
                     const EvaluationPlan& plan)
    : impl_(new Impl{world, placement, model, replicas, data, plan,
                     MeanModel(world, placement, model, replicas, exchange),
                     data::PlainBatches(replicas.x().type, model.order(), data.threads)}) {}
Evaluator::~Evaluator() = default;

void Evaluator::evaluate(arena::Rows x, algorithms::EvaluationRecord& record) {
    const torch::NoGradGuard no_grad;
    const Weights mean = impl_->plan.recalibrate ? impl_->mean.recalibrated(x, *impl_->data.train,
                                                                            impl_->plan.batch_size)
                                                 : impl_->mean.pooled(x);
    impl_->scores(x, mean, *impl_->data.test, record.test);
    if (impl_->data.validation) impl_->scores(x, mean, *impl_->data.validation, record.validation);
}

}  // namespace dbench::train
