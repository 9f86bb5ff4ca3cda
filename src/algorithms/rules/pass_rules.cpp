// Rules about the model, the data, and forward and backward passes.

#include <string>

#include "algorithms/rules/rules.hpp"

namespace dbench::algorithms {
namespace {

Finding check_smoothing_classes(const Facts& f) {
    if (!f.passes || !f.data || !f.passes->smooths_labels || f.data->classes > 0) return {};
    return Problem{"/label_smoothing",
                   "spreads a share over all classes (the data have real targets)",
                   "leave it out, or use data with classes, such as shapes"};
}

Finding check_smoothing_gradient(const Facts& f) {
    if (!f.passes || !f.passes->smooths_labels || !f.traits.linearises) return {};
    return Problem{"/label_smoothing",
                   "changes the gradient of the loss (" + f.algorithm + " uses none)",
                   "leave it out, or choose the algorithm dsgd"};
}

Finding check_smoothing_loss(const Facts& f) {
    if (!f.passes || !f.model || !f.passes->smooths_labels || !f.model->own_loss) return {};
    return Problem{"/label_smoothing",
                   "changes the cross-entropy (the model has a loss function of its own)",
                   "leave it out, and smooth the labels in that function"};
}

Finding check_own_loss(const Facts& f) {
    if (!f.model || !f.model->own_loss || !f.traits.linearises) return {};
    return Problem{"/model",
                   "has a loss function of its own (" + f.algorithm + " uses squared errors)",
                   "export it without a loss function, or choose the algorithm dsgd"};
}

Finding check_number_of_microbatches(const Facts& f) {
    if (!f.passes || !f.data || f.passes->microbatches == 1 || f.data->ragged) return {};
    const std::string size = std::to_string(f.data->batch_size);
    if (f.passes->microbatches <= f.data->batch_size) return {};
    return Problem{"/data/accumulate",
                   "a batch of " + size + " samples cannot be divided into " +
                       std::to_string(f.passes->microbatches) + " micro-batches",
                   "use at most " + size};
}

Finding check_microbatch_gradient(const Facts& f) {
    if (!f.passes || f.passes->microbatches == 1) return {};
    if (!f.traits.linearises && !f.traits.distils) return {};
    return Problem{"/data/accumulate",
                   "computes gradients by micro-batches (" + f.algorithm +
                       " uses the batch for more than its gradient)",
                   "leave it out, or choose the algorithm dsgd"};
}

Finding check_microbatch_carried(const Facts& f) {
    if (!f.passes || !f.model || f.passes->microbatches == 1 || !f.model->carries) return {};
    return Problem{"/data/accumulate",
                   "divides a batch (the text and the model's state continue from one whole batch "
                   "to the next)",
                   "leave it out, or choose another partition than stream"};
}

bool know_passes(const Facts& f) { return f.passes && f.model && f.data; }

Finding check_streams(const Facts& f) {
    if (!know_passes(f) || !f.passes->streams) return {};
    const std::string obstacle = streams_obstacle(f);
    if (obstacle.empty()) return {};
    return Problem{"/stacking",
                   "replicas cannot run through the model concurrently (" + obstacle + ")",
                   "leave it out"};
}

Finding check_batched(const Facts& f) {
    if (!know_passes(f) || !f.passes->batched) return {};
    const std::string obstacle = batched_obstacle(f);
    if (obstacle.empty()) return {};
    return Problem{"/stacking", "replicas cannot run through the model together (" + obstacle + ")",
                   "leave it out"};
}

Finding check_capture(const Facts& f) {
    if (!know_passes(f) || !f.passes->captured) return {};
    const std::string obstacle = capture_obstacle(f);
    if (obstacle.empty()) return {};
    return Problem{"/capture", "passes cannot be captured (" + obstacle + ")", "leave it out"};
}

Finding check_carried_evaluation(const Facts& f) {
    if (!f.passes || !f.model || !f.passes->carried_evaluation || f.model->carries) return {};
    return Problem{"/evaluate/state", "the model carries no state from batch to batch",
                   "leave it out, or choose the model lstm with the partition stream and a number "
                   "as batch_size"};
}

Finding check_rates(const Facts& f) {
    if (!f.zero_rate || !f.traits.divides_by_lr) return {};
    return Problem{"/optimizer/lr",
                   "is 0 in iteration " + std::to_string(*f.zero_rate) + ", but " + f.algorithm +
                       " divides by it",
                   "set a positive rate (a positive /schedule/lr_min or /schedule/gamma), or "
                   "choose dsgd"};
}

Finding check_statistics(const Facts& f) {
    if (!f.model || !f.model->statistics || !f.traits.linearises) return {};
    return Problem{"/model",
                   "has BatchNorm, whose statistics depend on the whole minibatch (" + f.algorithm +
                       " needs the Jacobian of each sample)",
                   "choose a model without it, such as mlp"};
}

Finding check_normalised_values(const Facts& f) {
    if (!f.model || !f.data || !f.passes || f.model->normalised_values != 1) return {};
    const std::string reason =
        "makes BatchNorm normalise single values (a channel of its last layers has one value for "
        "each sample, and ";
    if (f.data->batch_size / f.passes->microbatches < 2) {
        return Problem{"/data/batch_size",
                       reason + "a pass has one sample; the variance of one value is undefined)",
                       "use batches and micro-batches of at least 2 samples"};
    }
    if (f.passes->recalibrated_samples == 1) {
        return Problem{"/evaluate/batch_size",
                       reason + "/evaluate/batchnorm measures batches of one sample)",
                       "use batches of at least 2 samples, or \"pooled\" statistics"};
    }
    return {};
}

Finding check_scaled_rate(const Facts& f) {
    if (!f.data || !f.data->token_batches || !f.scaled_rate) return {};
    return Problem{"/schedule/scale",
                   "scales the rate by the number of samples in a global batch (/data/batch_size "
                   "counts tokens)",
                   "set the rule \"none\" and choose /optimizer/lr for this batch"};
}

Finding check_tokens(const Facts& f) {
    if (!f.data || !f.data->tokens || !f.traits.linearises) return {};
    return Problem{"/data",
                   "has a label for each position of a text (" + f.algorithm +
                       " needs Jacobians of one output per sample)",
                   "choose a data set such as fashion_mnist"};
}

Finding check_full_batches(const Facts& f) {
    if (!f.data || !f.data->full_batches || !f.traits.linearises) return {};
    return Problem{"/data/batch_size",
                   "\"full\" batches may differ in size (the Jacobians that " + f.algorithm +
                       " sends have one size)",
                   "give a number of samples, such as 50"};
}

Finding check_temperature(const Facts& f) {
    if (!f.data || f.data->classes > 0 || f.traits.temperature == 1) return {};
    return Problem{"/algorithm/temperature",
                   "divides the logits of classes (the data have real targets, whose outputs " +
                       f.algorithm + " compares unscaled)",
                   "leave it out"};
}

}  // namespace

std::vector<Rule> pass_rules() {
    return {
        {"smoothed classes", "label smoothing requires data with classes", check_smoothing_classes},
        {"smoothed gradient", "label smoothing requires an algorithm that uses gradients",
         check_smoothing_gradient},
        {"smoothed loss", "label smoothing requires the cross-entropy of DBench",
         check_smoothing_loss},
        {"own loss", "an algorithm that linearises the model requires one without a loss function",
         check_own_loss},
        {"micro-batches", "a batch has at least as many samples as micro-batches",
         check_number_of_microbatches},
        {"gradient of micro-batches",
         "accumulation requires an algorithm that uses a batch for its gradient only",
         check_microbatch_gradient},
        {"carried state of micro-batches", "accumulation requires a model that carries no state",
         check_microbatch_carried},
        {"streams", "replicas run on streams only if nothing orders their passes", check_streams},
        {"batched", "replicas run batched only if model and batches can be stacked", check_batched},
        {"capture", "passes are captured only if they are the same in every iteration",
         check_capture},
        {"carried evaluation", "evaluation carries state only for a model that carries it",
         check_carried_evaluation},
        {"rates", "an algorithm that divides by the learning rate requires rates above 0",
         check_rates},
        {"statistics", "an algorithm that linearises the model requires one without BatchNorm",
         check_statistics},
        {"normalised values", "BatchNorm normalises at least two values per channel",
         check_normalised_values},
        {"scaled rate", "the learning rate scales only with batches that are counted in samples",
         check_scaled_rate},
        {"tokens", "an algorithm that linearises the model requires one output per sample",
         check_tokens},
        {"full batches", "an algorithm that linearises the model requires equal batches",
         check_full_batches},
        {"temperature", "real targets require temperature 1", check_temperature},
    };
}

}  // namespace dbench::algorithms
