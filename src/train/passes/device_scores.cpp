#include "train/passes/device_scores.hpp"

#include "arena/passes/scores.hpp"
#include "train/tensors.hpp"

namespace dbench::train {
namespace {

/// True if the kernel arena::score accepts these tensors.
bool kernel_accepts(const torch::Tensor& output, const torch::Tensor& losses,
                    const data::Batch& batch) {
    const torch::ScalarType type = output.scalar_type();
    if (type != losses.scalar_type() || (type != torch::kFloat32 && type != torch::kFloat64)) {
        return false;
    }
    return !batch.labels || output.size(-1) <= arena::kMaxScoredClasses;
}

void add_or_store(const torch::Tensor& now, double* to, bool adds) {
    const torch::Tensor there = torch::from_blob(to, now.sizes(), torch::kFloat64);
    store(adds ? now + there.to(now.device(), /*non_blocking=*/true) : now, to);
}

}  // namespace

void write_scores(const Model& model, const torch::Tensor& outputs, const torch::Tensor& losses,
                  const data::Batch& batch, double share, double terms, bool adds,
                  const ScoreMemory& sums, arena::Queue& queue) {
    const torch::NoGradGuard no_grad;
    const torch::Tensor output = model.logits(outputs);
    const int64_t minibatches = losses.numel();
    if (!kernel_accepts(output, losses, batch)) {
        const torch::Tensor flat = output.dim() > 2 ? output.flatten(0, 1) : output;
        add_or_store((losses.detach().to(torch::kFloat64) * share).view({minibatches}), sums.loss,
                     adds);
        add_or_store(model.correct_on_device(flat, batch, 1, minibatches) / terms, sums.accuracy,
                     adds);
        return;
    }
    const torch::Tensor each = losses.detach().contiguous();
    arena::Outputs all{};
    all.minibatches = minibatches;
    all.losses = each.const_data_ptr();
    all.type =
        output.scalar_type() == torch::kFloat32 ? arena::DType::float32 : arena::DType::float64;
    torch::Tensor labels, logits;
    if (batch.labels) {
        labels = label_tensor(batch, output.device());
        logits = output.detach().view({minibatches, -1, output.size(-1)});
        all.logits = logits.const_data_ptr();
        all.terms = logits.size(1);
        all.classes = logits.size(2);
        all.minibatch_stride = logits.stride(0);
        all.term_stride = logits.stride(1);
        all.class_stride = logits.stride(2);
        all.labels = labels.const_data_ptr<int64_t>();
    }
    arena::score(all, share, terms, adds, sums.loss, sums.accuracy, queue);
}

}  // namespace dbench::train
