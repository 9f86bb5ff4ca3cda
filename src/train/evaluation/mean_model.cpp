#include "train/evaluation/mean_model.hpp"

#include <algorithm>

#include "base/framing.hpp"
#include "base/random.hpp"
#include "train/evaluation/dealt_batches.hpp"
#include "train/replicas.hpp"
#include "train/tensors.hpp"

namespace dbench::train {
namespace {

using arena::HostRows;

constexpr int64_t kRecalibrationBatches = 32;

void store(const arena::Rows& row, int64_t column, double value) {
    arena::with_type(row.type, [&]<class T>() { row.row<T>(0)[column] = static_cast<T>(value); });
}

double load(const arena::Rows& rows, int64_t local, int64_t column) {
    return arena::with_type(
        rows.type, [&]<class T>() { return static_cast<double>(rows.row<T>(local)[column]); });
}

}  // namespace

MeanModel::MeanModel(comm::World& world, const comm::Placement& placement, const Model& model,
                     Replicas& replicas, comm::Exchange& exchange, int64_t threads)
    : world_(world),
      model_(model),
      replicas_(replicas),
      exchange_(exchange),
      threads_(threads),
      mean_(replicas.device().place().values<double>(replicas.layout().columns())) {
    const arena::Rows x = replicas.x();
    const int64_t columns = replicas.layout().columns();
    const int64_t buffer_columns = replicas.buffer_layout().columns();
    const arena::Place place = replicas.device().place();
    parameters_ = place.rows(x.type, 0, 1, columns);
    if (buffer_columns == 0) return;
    buffers_ = place.rows(x.type, 0, 1, buffer_columns);
    pooled_layout_.add("value", {buffer_columns}, arena::TensorKind::norm);
    pooled_layout_.add("square", {buffer_columns}, arena::TensorKind::norm);
    pooled_rows_ =
        place.host_visible_rows(arena::DType::float64, x.first, x.count, pooled_layout_.columns());
    buffer_exchange_ = std::make_unique<comm::Exchange>(world, placement, pooled_layout_, nullptr,
                                                        comm::Reduction::reproducible);
}

void MeanModel::average_parameters(arena::Rows x) {
    mean_.resize(replicas_.layout().columns());
    exchange_.moments(x, mean_.data());
    HostRows parameters = replaced(parameters_);
    for (const auto& tensor : replicas_.layout().tensors()) {
        for (int64_t c = tensor.offset; c < tensor.offset + tensor.numel; ++c) {
            store(parameters.rows(), c, mean_[c]);
        }
    }
    parameters.write_back("the mean model");
}

/// Gives host access to a row that is to be overwritten. No wait is needed: earlier evaluations
/// have completed.
HostRows MeanModel::replaced(const arena::Buffer& row) const {
    return {row.rows(), queue(), "", HostRows::State::replaced};
}

arena::Queue& MeanModel::queue() const { return replicas_.device().place().compute(); }

Weights MeanModel::pooled(arena::Rows x) {
    average_parameters(x);
    const torch::Device torch_device = torch_device_of(replicas_.device());
    Weights weights{views(replicas_.layout(), parameters_.rows(), 0, torch_device), {}};
    if (!buffer_exchange_) return weights;

    const arena::Layout& layout = replicas_.buffer_layout();
    const int64_t square = pooled_layout_.tensors()[1].offset;
    const HostRows statistics(replicas_.buffers(), queue(), "statistics that are pooled",
                              HostRows::State::settled);
    for (int64_t i = 0; i < x.count; ++i) {
        double* row = pooled_rows_.rows().row<double>(i);
        for (int64_t c = 0; c < layout.columns(); ++c) {
            row[c] = load(statistics.rows(), i, c);
            row[square + c] = row[c] * row[c];
        }
    }
    auto mean = replicas_.device().place().values<double>(pooled_layout_.columns());
    buffer_exchange_->moments(pooled_rows_.rows(), mean.data());
    const auto& infos = model_.declaration().buffers;
    HostRows buffers = replaced(buffers_);
    for (size_t k = 0; k < infos.size(); ++k) {
        const int64_t at = layout.tensors()[k].offset;
        for (int64_t c = 0; c < layout.tensors()[k].numel; ++c) {
            double value = mean[at + c];
            if (infos[k].variance) {  // The buffer before this one holds the means.
                const int64_t m = layout.tensors()[k - 1].offset + c;
                value += std::max(0.0, mean[square + m] - mean[m] * mean[m]);
            }
            store(buffers.rows(), at + c, value);
        }
    }
    buffers.write_back("the mean model's statistics");
    weights.buffers = views(layout, buffers_.rows(), 0, torch_device);
    return weights;
}

MeanModel::OtherBuffers MeanModel::pool_other_buffers(arena::Rows x) {
    const auto& infos = model_.declaration().buffers;
    const auto is_other = [](const BufferInfo& info) { return info.momentum == 0; };
    if (std::ranges::none_of(infos, is_other)) {
        average_parameters(x);
        return {};
    }
    const Weights weights = pooled(x);
    OtherBuffers others;
    const HostRows moved(buffers_.rows(), queue(), "pooled statistics");
    for (int64_t c = 0; c < replicas_.buffer_layout().columns(); ++c) {
        others.values.push_back(load(moved.rows(), 0, c));
    }
    others.tensors.resize(infos.size());
    for (size_t k = 0; k < infos.size(); ++k) {
        if (is_other(infos[k])) others.tensors[k] = weights.buffers[k].clone();
    }
    return others;
}

// In training mode a batch moves each statistic b to (1 - m) b + m s, with momentum m and batch
// statistic s. From b = 0 that is m s, which loses no digits however large s is.
std::vector<double> MeanModel::statistics_of(const data::Batch& batch, int64_t number,
                                             const Weights& weights, const OtherBuffers& others) {
    const auto& infos = model_.declaration().buffers;
    const arena::Layout& layout = replicas_.buffer_layout();
    Device& device = replicas_.device();
    device.submit(
        "statistics of a batch",
        [&] {
            return std::vector{arena::reads(parameters_.rows(), replicas_.layout().all()),
                               arena::writes(buffers_.rows(), layout.all())};
        },
        [&] {
            const torch::NoGradGuard no_grad;
            for (size_t k = 0; k < infos.size(); ++k) {
                torch::Tensor buffer = weights.buffers[k];
                infos[k].momentum == 0 ? buffer.copy_(others.tensors[k]) : buffer.zero_();
            }
            if (model_.declaration().draws) {
                const base::Random key(0, base::Purpose::recalibration,
                                       {static_cast<uint64_t>(number)});
                torch::manual_seed(key.key() >> 1);
            }
            model_.forward(weights, input_tensor(batch, torch_device_of(device)), true);
        });
    const HostRows moved(buffers_.rows(), queue(), "statistics of a batch");
    std::vector<double> statistics(layout.columns());
    for (size_t k = 0; k < infos.size(); ++k) {
        const arena::Tensor& tensor = layout.tensors()[k];
        for (int64_t c = tensor.offset; c < tensor.offset + tensor.numel; ++c) {
            statistics[c] = infos[k].momentum == 0 ? others.values[c]
                                                   : load(moved.rows(), 0, c) / infos[k].momentum;
        }
    }
    return statistics;
}

Weights MeanModel::recalibrated(arena::Rows x, const data::Dataset& train, int64_t batch_size) {
    const OtherBuffers others = pool_other_buffers(x);
    const torch::Device torch_device = torch_device_of(replicas_.device());
    Weights weights{views(replicas_.layout(), parameters_.rows(), 0, torch_device), {}};
    if (!buffer_exchange_) return weights;
    const arena::Layout& layout = replicas_.buffer_layout();
    weights.buffers = views(layout, buffers_.rows(), 0, torch_device);

    const int64_t size = std::min(batch_size, train.size());
    const int64_t batches = std::min(kRecalibrationBatches, train.size() / size);
    const int ranks = world_.size();
    data::PlainBatches plain(x.type, model_.order(), threads_);
    std::vector<int64_t> samples(static_cast<size_t>(size));
    std::string packed;
    for (int64_t b = world_.rank(); b < batches; b += ranks) {
        for (int64_t j = 0; j < size; ++j) {
            samples[static_cast<size_t>(j)] = (j * batches + b) * train.size() / (batches * size);
        }
        const data::Batch& batch = plain.fill(train, samples);
        packed += base::bytes_of(statistics_of(batch, b, weights, others));
    }
    const std::vector<double> sum = sum_of_dealt_batches(world_.all_gather(packed), batches, ranks,
                                                         static_cast<size_t>(layout.columns()));
    HostRows buffers = replaced(buffers_);
    for (const auto& tensor : layout.tensors()) {
        for (int64_t c = tensor.offset; c < tensor.offset + tensor.numel; ++c) {
            store(buffers.rows(), c, sum[c] / static_cast<double>(batches));
        }
    }
    buffers.write_back("the mean model's statistics");
    return weights;
}

}  // namespace dbench::train
