#include "train/models/exported/exported_loss.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "train/models/exported/fields.hpp"

namespace dbench::train {

ExportedLoss::ExportedLoss(const ExportedFile& file) : file_(file) {
    const ExportManifest& m = file.manifest;
    evaluation_ = training_ = {m.output};
    for (size_t k = 1; k <= m.auxiliary.size(); ++k) training_.push_back(k);
    if (!own()) return;
    function_.emplace(*file.loss);
    training_.resize(file.train.outputs.size());
    std::iota(training_.begin(), training_.end(), size_t{0});
    evaluation_ = training_;
    const std::string& where = file.loss->where;
    if (!function_->facts().unknown.empty()) {
        refuse_export(where, "uses an operator that this program's LibTorch does not have (" +
                                 function_->facts().unknown.front() + ")");
    }
    if (function_->facts().draws) {
        refuse_model(where, "draws random numbers", "draw them in forward(), and return them");
    }
    if (file.loss->most_batch && *file.loss->most_batch == file.loss->least_batch) {
        refuse_export(where, "accepts only batches of " + std::to_string(file.loss->least_batch) +
                                 " samples (torch.export has fixed the first dimension)");
    }
    for (const ExportedInput& input : file.loss->inputs) {
        if (input.kind == ExportedInput::Kind::parameter) {
            refuse_model(where, "has the parameter " + input.name + ", which nothing trains",
                         "move it into the model");
        }
        if (input.kind == ExportedInput::Kind::user) continue;
        constant_of_input_.push_back(constants_.add(file.tensor_of(*file.loss, input)));
    }
    require_constants();
}

/// Throws UserError if the user's function changes a constant.
void ExportedLoss::require_constants() const {
    const ExportedGraph& graph = *file_.loss;
    for (const size_t k : function_->facts().written) {
        if (graph.inputs[k].kind == ExportedInput::Kind::user) continue;
        refuse_model(graph.where, "changes the constant " + graph.inputs[k].name,
                     "change a copy of it");
    }
}

const std::vector<size_t>& ExportedLoss::outputs(bool training) const {
    return training ? training_ : evaluation_;
}

/// Returns the shapes of the outputs of the training graph for `samples` samples.
std::vector<ExportedLoss::Part> ExportedLoss::parts_of(const std::vector<torch::Tensor>& trained,
                                                       const std::vector<torch::Tensor>& evaluated,
                                                       int64_t samples) const {
    const std::string& where = file_.train.where;
    std::vector<Part> parts;
    for (size_t k = 0; k < trained.size(); ++k) {
        const torch::Tensor& each = trained[k];
        const std::string name = "output " + std::to_string(training_[k]);
        if (!each.is_floating_point()) {
            refuse_export(where,
                          "returns " + name + ", which is read by the loss, as whole numbers");
        }
        if (own() && evaluated[k].sizes() != each.sizes()) {
            refuse_export(file_.eval.where,
                          "returns " + name + " in another shape than in training");
        }
        Part part{each.dim() == 0, 1, {}, 1};
        if (!part.single) {
            if (each.size(0) % samples != 0 || each.numel() == 0) {
                refuse_export(where, "returns " + name + " without rows for each sample");
            }
            part.rows = each.size(0) / samples;
            part.row = each.sizes().slice(1).vec();
            part.width = each.numel() / samples;
        }
        parts.push_back(std::move(part));
    }
    return parts;
}

void ExportedLoss::learn(const Results& results) {
    if (!packs()) return;
    const std::string& where = file_.train.where;
    constexpr int64_t kSamples = 2, kOtherSamples = 3;
    const std::vector<torch::Tensor> trained = results(true, kSamples);
    parts_ = parts_of(trained, results(false, kSamples), kSamples);
    for (const Part& part : parts_) {
        width_ += part.width;
        if (part.single) {
            obstacle_ = own() ? "the loss function reads a number that belongs to a whole batch"
                              : "an auxiliary loss is one number for all samples of a replica";
        }
    }
    // Two samples do not show that an output always has two rows, or an even number of them.
    const std::vector<torch::Tensor> others = results(true, kOtherSamples);
    const std::vector<Part> again = parts_of(others, results(false, kOtherSamples), kOtherSamples);
    for (size_t k = 0; k < parts_.size(); ++k) {
        if (again[k] == parts_[k]) continue;
        refuse_export(where, "returns output " + std::to_string(training_[k]) +
                                 " without rows for each sample (their number does not grow with "
                                 "the batch)");
    }
    if (!own()) {
        for (size_t k = 1; k < parts_.size(); ++k) {
            const Part &main = parts_[0], &part = parts_[k];
            const bool same = main.row == part.row && main.rows == part.rows;
            if (same || part.single) continue;
            if (part.rows * part.width != 1) {
                refuse_export(where, "returns output " + std::to_string(k) +
                                         " neither in the shape of the logits nor as a loss");
            }
            if (main.rows != 1 || main.row.size() > 1) {
                obstacle_ = "an auxiliary loss belongs to a sample and not to a label";
            }
        }
        return;
    }
    if (parts_.size() == 1 && parts_[0].single) {
        refuse_export(where, "returns one number for a batch instead of outputs for each sample");
    }
    if (try_function(pack(trained, kSamples), kSamples) !=
        try_function(pack(others, kOtherSamples), kOtherSamples)) {
        refuse_export(file_.loss->where, "returns neither one number nor one for each sample");
    }
}

/// Targets of a few samples: different classes, and different numbers from 0 on.
struct ExportedLoss::Targets {
    std::vector<int64_t> labels;
    std::vector<float> values;
    int64_t terms;  ///< Labels of each sample.
    bool classes;

    Targets(const ExportManifest& manifest, int64_t samples)
        : terms(manifest.input == ExportManifest::Input::tokens ? manifest.shape.at(0) : 1),
          classes(manifest.classes > 0) {
        for (int64_t k = 0; classes && k < samples * terms; ++k) {
            labels.push_back(k / terms % manifest.classes);
        }
        for (int64_t k = 0; k < samples; ++k) values.push_back(0.5F * static_cast<float>(k));
    }

    data::Batch batch(int64_t samples) const {
        data::Batch all;
        all.count = samples;
        all.terms = samples * terms;
        if (classes) all.labels = labels.data();
        all.targets = values.data();
        return all;
    }

    /// Gives the last sample the targets of the first one.
    void repeat_first() {
        if (classes) std::copy_n(labels.begin(), terms, labels.end() - terms);
        values.back() = values.front();
    }
};

/// Calls the user's function once. Returns how many numbers it computes for each sample, or 0 if it
/// computes one number for the batch.
int64_t ExportedLoss::try_function(const torch::Tensor& output, int64_t samples) {
    const Targets targets(file_.manifest, samples);
    const data::Batch batch = targets.batch(samples);
    if (function_->facts().changes) {
        function_->find_writes(inputs_of(output.clone(), batch), output.scalar_type(),
                               output.device());
        require_constants();
    }
    const torch::Tensor value = evaluate(output, batch);
    if (!value.is_floating_point()) refuse_export(file_.loss->where, "returns whole numbers");
    if (value.dim() > 0 && (value.numel() == 0 || value.size(0) % samples != 0)) {
        refuse_export(file_.loss->where, "returns neither one number nor one for each sample");
    }
    if (value.dim() == 0) {
        obstacle_ = "the loss function of the exported model returns one number for a batch";
        return 0;
    }
    if (mixes_samples(output, targets)) {
        obstacle_ =
            "the loss function of the exported model computes the loss of a sample from others, "
            "too";
    }
    return value.numel() / samples;
}

/// Tries whether the losses of the first samples change if the last sample is left out, or gets
/// other outputs or targets, as in contrastive losses and in means over the samples of a class. The
/// replicas' samples must then stay apart.
bool ExportedLoss::mixes_samples(const torch::Tensor& output, const Targets& targets) const {
    const int64_t width = output.size(1), samples = output.size(0), first = samples - 1;
    Targets repeated = targets;
    repeated.repeat_first();
    // Numbers between 0 and 1, all different.
    const torch::Tensor ramp =
        torch::arange(1, width + 1, output.options()) / static_cast<double>(width + 1);
    const auto losses_of_first = [&](const torch::Tensor& outputs, const Targets& given) {
        const torch::Tensor losses = evaluate(outputs, given.batch(outputs.size(0))).flatten();
        return losses.narrow(0, 0, losses.size(0) / outputs.size(0) * first);
    };
    const auto mixes = [&](const torch::Tensor& outputs, const torch::Tensor& row) {
        torch::Tensor others = outputs.clone();
        others[first].copy_(row);
        const torch::Tensor alone = losses_of_first(outputs.narrow(0, 0, first), targets);
        const auto changes = [&](const torch::Tensor& losses) {
            return alone.sizes() != losses.sizes() ||
                   !torch::allclose(alone, losses, 1e-4, 1e-6, /*equal_nan=*/true);
        };
        return changes(losses_of_first(outputs, targets)) ||
               changes(losses_of_first(others, targets)) ||
               changes(losses_of_first(outputs, repeated)) ||
               changes(losses_of_first(others, repeated));
    };
    try {
        if (mixes(output, output[first] * ramp)) return true;
    } catch (const base::UserError&) {
        return true;  // The loss function may need other batches than these.
    }
    try {
        // The outputs of the trial may be zeros.
        return mixes(output + ramp, output[first] + ramp + ramp.flip(0));
    } catch (const base::UserError&) {
        // The function may require probabilities. Those of the first trial then decide.
        return !output.all().item<bool>();
    }
}

torch::Tensor ExportedLoss::plain(const torch::Tensor& result) const {
    if (file_.manifest.classes == 0) return result.flatten();
    return result.dim() > 2 ? result.flatten(0, -2) : result;
}

torch::Tensor ExportedLoss::pack(const std::vector<torch::Tensor>& results, int64_t samples) const {
    if (!own() && results.size() == 1) return plain(results[0]);
    std::vector<torch::Tensor> columns;
    columns.reserve(results.size());
    for (const torch::Tensor& each : results) {
        columns.push_back(each.dim() == 0 ? each.expand({samples, 1})
                                          : each.reshape({samples, -1}));
    }
    return columns.size() == 1 ? columns[0] : torch::cat(columns, 1);
}

bool ExportedLoss::packed(const torch::Tensor& output) const {
    return own() || (packs() && output.dim() > 1 && output.size(-1) == width_);
}

std::vector<torch::Tensor> ExportedLoss::unpack(const torch::Tensor& packed) const {
    const int64_t samples = packed.size(0);
    std::vector<torch::Tensor> columns{packed};
    if (parts_.size() > 1) {
        std::vector<int64_t> widths;
        for (const Part& part : parts_) widths.push_back(part.width);
        columns = packed.split_with_sizes(widths, 1);
    }
    for (size_t k = 0; k < parts_.size(); ++k) {
        if (parts_[k].single) {
            columns[k] = columns[k].select(0, 0).select(0, 0);
            continue;
        }
        std::vector<int64_t> shape{samples * parts_[k].rows};
        shape.insert(shape.end(), parts_[k].row.begin(), parts_[k].row.end());
        columns[k] = columns[k].reshape(shape);
    }
    return columns;
}

torch::Tensor ExportedLoss::logits(const torch::Tensor& output) const {
    if (!packed(output)) return output;
    const torch::Tensor rows = output.dim() > 2 ? output.flatten(0, -2) : output;
    // The outputs of another model, such as a teacher's, have the same columns.
    return plain(unpack(rows)[file_.manifest.output]);
}

torch::Tensor ExportedLoss::term_losses_of(const Model& model, const torch::Tensor& values,
                                           const data::Batch& batch, double smoothing) const {
    if (file_.manifest.classes > 0) {
        return model.Model::term_losses(plain(values), batch, smoothing);
    }
    return (plain(values) - target_tensor(batch, values.device())).square();
}

/// Returns auxiliary loss k: that of logits, or the output itself.
torch::Tensor ExportedLoss::auxiliary(const Model& model, size_t k, const torch::Tensor& value,
                                      const data::Batch& batch, double smoothing) const {
    const bool same = parts_[k].row == parts_[0].row && parts_[k].rows == parts_[0].rows;
    if (!same || parts_[k].single) return value.dim() == 0 ? value : value.mean();
    if (file_.manifest.classes > 0) return model.Model::loss(plain(value), batch, smoothing);
    return torch::mse_loss(plain(value), target_tensor(batch, value.device()));
}

/// Returns the inputs of the user's function.
std::vector<torch::Tensor> ExportedLoss::inputs_of(const torch::Tensor& output,
                                                   const data::Batch& batch) const {
    std::vector<torch::Tensor> given = unpack(output);
    const torch::Tensor targets =
        file_.manifest.classes > 0
            ? label_tensor(batch, output.device())
                  .view(file_.manifest.input == ExportManifest::Input::tokens
                            ? std::vector<int64_t>{batch.count, batch.terms / batch.count}
                            : std::vector<int64_t>{batch.count})
            : target_tensor(batch, output.device());
    given.push_back(targets);
    const ExportedGraph& graph = *file_.loss;
    std::vector<torch::Tensor> inputs;
    const std::vector<torch::Tensor>& constants =
        constants_.on(output.scalar_type(), output.device());
    size_t next = 0, constant = 0;
    for (size_t k = 0; k < graph.inputs.size(); ++k) {
        const ExportedInput& input = graph.inputs[k];
        if (input.kind == ExportedInput::Kind::user) {
            const torch::Tensor& each = given[next++];
            inputs.push_back(function_->facts().written.contains(k) ? each.clone() : each);
            continue;
        }
        inputs.push_back(constants[constant_of_input_[constant++]]);
    }
    return inputs;
}

/// Calls the user's function.
torch::Tensor ExportedLoss::evaluate(const torch::Tensor& output, const data::Batch& batch) const {
    return function_->run(inputs_of(output, batch), {0}, output.scalar_type(), output.device(),
                          nullptr)[0];
}

torch::Tensor ExportedLoss::loss(const Model& model, const torch::Tensor& output,
                                 const data::Batch& batch, double smoothing) const {
    if (own()) {
        const torch::Tensor value = evaluate(output, batch);
        return value.dim() == 0 ? value : value.mean();
    }
    const bool classes = file_.manifest.classes > 0;
    const auto main = [&](const torch::Tensor& values) {
        return classes ? model.Model::loss(values, batch, smoothing)
                       : torch::mse_loss(values, target_tensor(batch, values.device()));
    };
    if (!packed(output)) return main(output);
    const std::vector<torch::Tensor> all = unpack(output);
    torch::Tensor total = main(plain(all[0]));
    for (size_t k = 1; k < all.size(); ++k) {
        total =
            total + file_.manifest.auxiliary[k - 1] * auxiliary(model, k, all[k], batch, smoothing);
    }
    return total;
}

torch::Tensor ExportedLoss::term_losses(const Model& model, const torch::Tensor& output,
                                        const data::Batch& batch, double smoothing) const {
    if (own()) return evaluate(output, batch).flatten();
    if (!packed(output)) return term_losses_of(model, output, batch, smoothing);
    const std::vector<torch::Tensor> all = unpack(output);
    torch::Tensor total = term_losses_of(model, all[0], batch, smoothing);
    for (size_t k = 1; k < all.size(); ++k) {
        const bool same = parts_[k].row == parts_[0].row && parts_[k].rows == parts_[0].rows;
        const torch::Tensor terms =
            same ? term_losses_of(model, all[k], batch, smoothing) : all[k].flatten();
        total = total + file_.manifest.auxiliary[k - 1] * terms;
    }
    return total;
}

}  // namespace dbench::train
