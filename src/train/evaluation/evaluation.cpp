#include "train/evaluation/evaluation.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "arena/kernels.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/framing.hpp"
#include "base/input_file.hpp"
#include "comm/world/long_work.hpp"
#include "train/evaluation/dealt_batches.hpp"
#include "train/evaluation/mean_model.hpp"
#include "train/models/model.hpp"
#include "train/replicas.hpp"
#include "train/tensors.hpp"

namespace dbench::train {
namespace {

/// Sums over terms: of the loss, of correct predictions, and of each metric in turn.
using Sums = std::vector<double>;

/// Returns the samples of batch b of a set that is read in parallel columns. N samples are cut into
/// C consecutive parts (N parts if N < C); the first N mod C parts are longer by one sample. Batch
/// b holds the b-th sample of each part.
std::vector<int64_t> column_heads(int64_t samples, int64_t columns, int64_t b) {
    const int64_t count = std::min(columns, samples), longer = samples % count;
    std::vector<int64_t> heads;
    for (int64_t c = 0; c < count; ++c) {
        const int64_t begin = c * (samples / count) + std::min(c, longer);
        if (b < samples / count + (c < longer ? 1 : 0)) heads.push_back(begin + b);
    }
    return heads;
}

/// Returns true for "test-<iteration>.txt" and "validation-<iteration>.txt".
bool is_text_file(const std::string& name) {
    return base::is_numbered(name, "test-", ".txt") ||
           base::is_numbered(name, "validation-", ".txt");
}

}  // namespace

bool EvaluationPlan::writes_texts() const {
    return std::ranges::any_of(metrics, [](const Metric* metric) { return metric->texts; });
}

std::string texts_obstacle(const std::string& folder) {
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::file_type type = fs::symlink_status(folder, error).type();
    if (type == fs::file_type::directory || type == fs::file_type::not_found) return "";
    const std::string why = type == fs::file_type::symlink ? "it is a link"
                            : error                        ? error.message()
                                                           : "it is not a folder";
    return folder + ": the texts of evaluations cannot be written there (" + why +
           "): remove it, or choose another /output";
}

void remove_texts(const std::string& folder) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    if (!fs::is_directory(fs::symlink_status(folder, ignored))) return;
    for (const std::string& name : base::names_in(folder, ignored)) {
        if (is_text_file(name)) fs::remove(fs::path(folder) / name, ignored);
    }
}

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
    torch::Device torch_device;

    int64_t batch_count(const data::Dataset& set) const {
        return (set.size() + plan.batch_size - 1) / plan.batch_size;
    }
    const data::Batch& batch(const data::Dataset& set, int64_t b) {
        if (plan.carried) return batches.fill(set, column_heads(set.size(), plan.batch_size, b));
        const int64_t first = b * plan.batch_size;
        return batches.fill(set, first, std::min(plan.batch_size, set.size() - first));
    }
    /// Returns the state at the start of a set, all zero; empty if no state is carried.
    std::vector<torch::Tensor> initial_state(const data::Dataset& set) const {
        std::vector<torch::Tensor> state;
        if (!plan.carried) return state;
        for (const CarriedInfo& info : model.declaration().carried) {
            std::vector<int64_t> shape = info.shape;
            shape[1] = std::min(plan.batch_size, set.size());
            state.push_back(torch::zeros(
                shape, torch::TensorOptions(scalar_type(replicas.x().type)).device(torch_device)));
        }
        return state;
    }

    size_t width() const {
        size_t width = 2;
        for (const Metric* metric : plan.metrics) width += static_cast<size_t>(metric->sums);
        return width;
    }

    Sums score(const Weights& weights, const data::Dataset& set, int64_t b,
               std::string* texts = nullptr) {
        const data::Batch& all = batch(set, b);
        Weights narrowed = weights;
        for (torch::Tensor& each : narrowed.carried) each = each.narrow(1, 0, all.count);
        const torch::Tensor output =
            model.forward_terms(narrowed, input_tensor(all, torch_device), all.terms, false);
        const double loss = model.loss(output, all).item<double>() * static_cast<double>(all.terms);
        Sums sums(width());
        sums[0] = loss;
        sums[1] = model.correct(output, all, 1);
        double* own = sums.data() + 2;
        for (const Metric* metric : plan.metrics) {
            metric->add({model, weights, set, all, output, loss, texts}, own);
            own += metric->sums;
        }
        return sums;
    }

    // Returns the sums of each evaluated local replica; on rank 0 those of all ranks, in plan
    // order.
    std::vector<Sums> local_scores(const arena::Rows& x, const data::Dataset& set,
                                   comm::LongWork& work) {
        std::string packed;
        for (const int64_t replica : plan.replicas) {
            const int64_t local = replica - x.first;
            if (local < 0 || local >= x.count) continue;
            const Weights weights{
                views(replicas.layout(), x, local, torch_device),
                views(replicas.buffer_layout(), replicas.buffers(), local, torch_device),
                {},
                initial_state(set)};
            Sums sums(width());
            for (int64_t b = 0; b < batch_count(set); ++b) {
                const Sums more = score(weights, set, b);
                for (size_t k = 0; k < sums.size(); ++k) sums[k] += more[k];
                work.progressed();
            }
            packed += base::bytes_of(sums);
        }
        // Ranks hold consecutive replicas, so the parts are already in plan order.
        std::vector<Sums> all;
        const size_t bytes = width() * sizeof(double);
        for (const std::string_view part : world.gather(packed)) {
            for (size_t at = 0; at < part.size(); at += bytes) {
                all.push_back(base::doubles_of(part.substr(at, bytes)));
            }
        }
        return all;
    }

    // Ranks that share the mean model's batches: one if state is carried, as each batch needs the
    // state after the one before.
    int readers() const { return plan.carried ? 1 : world.size(); }

    // Returns the mean model's sums: the readers share the batches; rank 0 adds their sums in batch
    // order.
    Sums mean_score(Weights weights, const data::Dataset& set, const std::string& file,
                    comm::LongWork& work) {
        std::string packed, texts;
        const int ranks = readers();
        weights.carried = initial_state(set);
        for (int64_t b = world.rank(); world.rank() < ranks && b < batch_count(set); b += ranks) {
            packed += base::bytes_of(score(weights, set, b, &texts));
            work.progressed();
        }
        if (plan.writes_texts()) write_texts(world.gather(texts), set, file);
        const auto parts = world.gather(packed);
        if (world.rank() != 0) return Sums(width());
        return sum_of_dealt_batches(parts, batch_count(set), ranks, width());
    }

    // Writes the texts of all readers, who processed batches in turn, in the set's order; on rank
    // 0.
    void write_texts(const std::vector<std::string>& parts, const data::Dataset& set,
                     const std::string& file) const {
        if (world.rank() != 0) return;
        std::vector<std::istringstream> lines;
        for (const std::string& part : parts) lines.emplace_back(part);
        std::string text, line;
        for (int64_t k = 0; k < set.size(); ++k) {
            std::getline(lines[static_cast<size_t>(k / plan.batch_size % readers())], line);
            text += line + "\n";
        }
        const std::string obstacle = texts_obstacle(plan.texts);
        if (!obstacle.empty()) throw base::RunError(obstacle);
        std::error_code ignored;
        std::filesystem::create_directories(plan.texts, ignored);
        base::replace_file("the texts", (std::filesystem::path(plan.texts) / file).string(), text);
    }

    // `file` is the file for the mean model's texts.
    void scores(const arena::Rows& x, const Weights& mean_weights, const data::Dataset& set,
                const std::string& file, comm::LongWork& work, algorithms::Scores& out) {
        const auto terms = static_cast<double>(data::terms(set));
        const std::vector<Sums> local = local_scores(x, set, work);
        const Sums mean_sums = mean_score(mean_weights, set, file, work);
        for (const Sums& sums : local) {
            out.local_loss.push_back(sums[0] / terms);
            out.local_accuracy.push_back(sums[1] / terms);
        }
        out.mean_loss = mean_sums[0] / terms;
        out.mean_accuracy = mean_sums[1] / terms;
        size_t at = 2;
        for (const Metric* metric : plan.metrics) {
            algorithms::MetricScores found{metric->name, {}, 0};
            for (const Sums& sums : local) {
                found.local.push_back(metric->value(sums.data() + at, terms));
            }
            found.mean = metric->value(mean_sums.data() + at, terms);
            out.metrics.push_back(std::move(found));
            at += static_cast<size_t>(metric->sums);
        }
    }
};

Evaluator::Evaluator(comm::World& world, const comm::Placement& placement, const Model& model,
                     Replicas& replicas, comm::Exchange& exchange, const data::DataSets& data,
                     const EvaluationPlan& plan)
    : impl_(new Impl{world, placement, model, replicas, data, plan,
                     MeanModel(world, placement, model, replicas, exchange, data.threads),
                     data::PlainBatches(replicas.x().type, model.order(), data.threads),
                     torch_device_of(replicas.device())}) {}
Evaluator::~Evaluator() = default;

void Evaluator::evaluate(arena::Rows x, algorithms::EvaluationRecord& record) {
    const torch::NoGradGuard no_grad;
    const Weights mean = impl_->plan.recalibrate ? impl_->mean.recalibrated(x, *impl_->data.train,
                                                                            impl_->plan.batch_size)
                                                 : impl_->mean.pooled(x);
    const std::string end = std::to_string(record.iteration) + ".txt";
    // Ranks with fewer local models wait for the others.
    comm::LongWork work(impl_->world);
    impl_->scores(x, mean, *impl_->data.test, "test-" + end, work, record.test);
    if (!impl_->data.validation) return;
    impl_->scores(x, mean, *impl_->data.validation, "validation-" + end, work, record.validation);
}

}  // namespace dbench::train
