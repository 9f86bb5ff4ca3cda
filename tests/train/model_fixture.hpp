#pragma once
// Models, weights and batches for tests.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/family.hpp"
#include "train/models/model.hpp"
#include "train/models/names.hpp"

namespace dbench::train {

/// Makes a model from `spec`, the JSON text of /model.
inline std::unique_ptr<Model> make_model(const std::string& spec, const ModelContext& context) {
    const base::Json resolved =
        base::resolve_member(base::Json::parse(spec), "/model", "model", model_entries());
    return base::find_entry(model_table(), resolved.at("type"))->make(resolved, context);
}

/// The JSON text of a /model, and the data that the model is made for.
struct ModelCase {
    const char* spec;
    ModelContext context;
};

/// Returns the number of parameters of a replica.
inline int64_t count(const std::string& spec, const ModelContext& context) {
    return layout_of(make_model(spec, context)->declaration()).numel();
}

/// Returns the error that `spec` is refused with, or "accepted".
inline std::string refusal(const std::string& spec, const ModelContext& context) {
    try {
        make_model(spec, context);
    } catch (const base::UserError& error) {
        return error.what();
    }
    return "accepted";
}

/// Returns buffers and initialised parameters that require gradients.
inline Weights draw_weights(const Model& model, torch::ScalarType type, uint64_t seed) {
    torch::manual_seed(seed);
    Weights weights;
    for (const auto& info : model.declaration().parameters) {
        torch::Tensor tensor = torch::zeros(info.shape, type);
        info.initialise(tensor);
        weights.parameters.push_back(tensor.requires_grad_(true));
    }
    for (const auto& info : model.declaration().buffers) {
        weights.buffers.push_back(info.values.defined()
                                      ? info.values.to(type, false, /*copy=*/true)
                                      : torch::full(info.shape, info.initial, type));
    }
    return weights;
}

/// A batch that owns its memory: standard normal inputs and targets, uniform labels and tokens. If
/// the model translates sentences, the pairs have random lengths.
struct RandomBatch {
    torch::Tensor inputs, labels, targets;  ///< inputs in logical order
    torch::Tensor stored;                   ///< inputs in the batch's memory order
    data::Batch batch;

    RandomBatch(int64_t count, const ModelContext& context, data::Order order,
                torch::ScalarType type, uint64_t seed) {
        torch::manual_seed(seed);
        std::vector<int64_t> shape = {count};
        shape.insert(shape.end(), context.input_shape.begin(), context.input_shape.end());
        inputs = context.tokens ? torch::randint(context.classes, shape, torch::kInt64)
                                : torch::randn(shape, type);
        const bool pairs = context.tokens && context.input_shape.size() == 2;
        if (pairs) pad(context.classes);
        stored = order == data::Order::channels_last ? inputs.permute({0, 2, 3, 1}).contiguous()
                                                     : inputs;
        batch.count = count;
        batch.tokens = context.tokens;
        batch.terms = context.tokens ? inputs.numel() : count;
        if (pairs) {
            const torch::Tensor terms = (inputs.select(1, 1) != data::kPadToken).sum(1);
            batch.row_terms.assign(terms.data_ptr<int64_t>(), terms.data_ptr<int64_t>() + count);
            batch.terms = terms.sum().item<int64_t>();
        }
        batch.shape = shape;
        batch.order = order;
        batch.type = type == torch::kFloat64 ? arena::DType::float64 : arena::DType::float32;
        batch.inputs = stored.data_ptr();
        if (context.classes > 0) {
            labels = torch::randint(context.classes, {batch.terms}, torch::kInt64);
            batch.labels = labels.data_ptr<int64_t>();
        } else {
            targets = torch::randn({count}, type);
            batch.targets = targets.data_ptr();
        }
    }

private:
    /// Makes sources that end with kEndToken and targets that begin with kBeginToken, padded.
    void pad(int64_t classes) {
        const int64_t count = inputs.size(0), length = inputs.size(2);
        inputs = torch::randint(data::kEndToken + 1, classes, {count, 2, length}, torch::kInt64);
        const torch::Tensor lengths = torch::randint(1, length + 1, {count, 2}, torch::kInt64);
        for (int64_t k = 0; k < count; ++k) {
            for (int64_t side = 0; side < 2; ++side) {
                const auto own = lengths[k][side].item<int64_t>();
                inputs[k][side].slice(0, own).fill_(data::kPadToken);
                inputs[k][side][side == 0 ? own - 1 : 0] =
                    side == 0 ? data::kEndToken : data::kBeginToken;
            }
        }
    }
};

}  // namespace dbench::train
