#include "train/models/model.hpp"

#include <limits>
#include <utility>

#include "base/error.hpp"

namespace dbench::train {
namespace {

torch::Tensor to_device(const torch::Tensor& tensor, torch::Device place) {
    return place.is_cpu() ? tensor : tensor.to(place, /*non_blocking=*/true);
}

torch::TensorOptions memory(bool on_device, torch::ScalarType type, torch::Device place) {
    return torch::TensorOptions(type).device(on_device ? place : torch::Device(torch::kCPU));
}

/// The cast is safe: LibTorch only reads this memory, but from_blob takes a non-const pointer.
torch::Tensor view(const void* data, c10::IntArrayRef shape, const torch::TensorOptions& memory,
                   torch::Device place) {
    return to_device(torch::from_blob(const_cast<void*>(data), shape, memory), place);
}

/// Counts rows in which fewer than `top` logits precede that of the label. Preceding logits are
/// those of earlier classes that are at least as large, and those of later classes that are larger.
/// A NaN compares false and therefore precedes all others; if the label's own logit is NaN, the row
/// is wrong.
template <class T>
int64_t count_correct(const torch::Tensor& logits, const int64_t* labels, int64_t top) {
    const auto values = logits.accessor<T, 2>();
    int64_t count = 0;
    for (int64_t i = 0; i < values.size(0); ++i) {
        const T own = values[i][labels[i]];
        int64_t before = 0;
        for (int64_t c = 0; c < labels[i] && before < top; ++c) before += !(values[i][c] < own);
        for (int64_t c = labels[i] + 1; c < values.size(1) && before < top; ++c) {
            before += !(values[i][c] <= own);
        }
        count += own == own && before < top;
    }
    return count;
}

}  // namespace

algorithms::ModelFacts facts_of(const Model& model) {
    const Declaration& d = model.declaration();
    return {.statistics = !d.buffers.empty(),
            .carries = !d.carried.empty(),
            .draws = d.draws,
            .stacks = d.stacks,
            .unstacked = d.unstacked,
            .fixed_start = d.fixed_start,
            .own_loss = d.own_loss};
}

int64_t normalised_values(const Model& model, const std::vector<int64_t>& shape) {
    const torch::NoGradGuard no_grad;
    int64_t least = std::numeric_limits<int64_t>::max();
    Weights weights;
    for (const ParameterInfo& info : model.declaration().parameters) {
        weights.parameters.push_back(torch::zeros(info.shape));
    }
    for (const BufferInfo& info : model.declaration().buffers) {
        weights.buffers.push_back(torch::zeros(info.shape));
    }
    weights.least_normalised = &least;
    std::vector<int64_t> one{1};
    one.insert(one.end(), shape.begin(), shape.end());
    model.forward(weights, torch::zeros(one), true);
    return least;
}

int Declaration::parameter(ParameterInfo info) {
    parameters.push_back(std::move(info));
    return static_cast<int>(parameters.size()) - 1;
}

int Declaration::buffer(BufferInfo info) {
    buffers.push_back(std::move(info));
    return static_cast<int>(buffers.size()) - 1;
}

int Declaration::carry(CarriedInfo info) {
    carried.push_back(std::move(info));
    return static_cast<int>(carried.size()) - 1;
}

torch::Tensor Model::loss(const torch::Tensor& output, const data::Batch& batch,
                          double smoothing) const {
    return at::cross_entropy_loss(output, label_tensor(batch, output.device()), {},
                                  at::Reduction::Mean,
                                  /*ignore_index=*/-100, smoothing);
}

torch::Tensor Model::term_losses(const torch::Tensor& output, const data::Batch& batch,
                                 double smoothing) const {
    return at::cross_entropy_loss(output, label_tensor(batch, output.device()), {},
                                  at::Reduction::None,
                                  /*ignore_index=*/-100, smoothing);
}

torch::Tensor Model::distance(const torch::Tensor& output, const torch::Tensor& teacher,
                              double temperature) const {
    const torch::Tensor student = torch::log_softmax(output / temperature, 1);
    const torch::Tensor wanted = torch::log_softmax(teacher / temperature, 1);
    const double scale = temperature * temperature / static_cast<double>(output.size(0));
    return scale * torch::kl_div(student, wanted, at::Reduction::Sum, /*log_target=*/true);
}

double Model::correct(const torch::Tensor& output, const data::Batch& batch, int64_t top) const {
    if (batch.labels == nullptr) return std::numeric_limits<double>::quiet_NaN();
    const torch::Tensor logits = output.detach().to(torch::kCPU);
    return static_cast<double>(logits.scalar_type() == torch::kFloat64
                                   ? count_correct<double>(logits, batch.labels, top)
                                   : count_correct<float>(logits, batch.labels, top));
}

torch::Tensor Model::correct_on_device(const torch::Tensor& given, const data::Batch& batch,
                                       int64_t top, int64_t minibatches) const {
    const torch::Tensor logits = given.detach();
    const auto number = logits.options().dtype(torch::kFloat64);
    if (batch.labels == nullptr) {
        return torch::full({minibatches}, std::numeric_limits<double>::quiet_NaN(), number);
    }
    const torch::Tensor labels = label_tensor(batch, logits.device()).unsqueeze(1);
    const torch::Tensor classes = torch::arange(logits.size(1), labels.options()).unsqueeze(0);
    const torch::Tensor own = logits.gather(1, labels);
    // The classes that precede the label's, as in count_correct.
    const torch::Tensor before = torch::where(classes < labels, logits.lt(own).logical_not(),
                                              (classes > labels) & logits.le(own).logical_not());
    const torch::Tensor right = (before.sum(1) < top) & own.eq(own).squeeze(1);
    return right.view({minibatches, -1}).sum(1).to(torch::kFloat64);
}

std::vector<std::vector<int64_t>> Model::translate(const Weights&, const torch::Tensor&) const {
    DBENCH_EXPECT(false);
    return {};
}

torch::Tensor input_tensor(const data::Batch& batch, torch::Device place) {
    const auto from =
        memory(batch.on_device, batch.tokens ? torch::kInt64 : scalar_type(batch.type), place);
    if (batch.order == data::Order::contiguous || batch.shape.size() != 4) {
        return view(batch.inputs, batch.shape, from, place);
    }
    const int64_t channels = batch.shape[1], height = batch.shape[2], width = batch.shape[3];
    return to_device(
        torch::from_blob(batch.inputs, batch.shape,
                         {height * width * channels, 1, width * channels, channels}, from),
        place);
}

torch::Tensor label_tensor(const data::Batch& batch, torch::Device place) {
    const auto from = memory(batch.labels_on_device, torch::kInt64, place);
    return view(batch.labels, {batch.terms}, from, place);
}

torch::Tensor target_tensor(const data::Batch& batch, torch::Device place) {
    const auto from = memory(batch.labels_on_device, scalar_type(batch.type), place);
    return view(batch.targets, {batch.count}, from, place);
}

torch::ScalarType scalar_type(arena::DType type) {
    return type == arena::DType::float32 ? torch::kFloat32 : torch::kFloat64;
}

arena::Layout layout_of(const Declaration& declaration) {
    arena::Layout layout;
    for (const auto& each : declaration.parameters) layout.add(each.name, each.shape, each.kind);
    return layout;
}

}  // namespace dbench::train
