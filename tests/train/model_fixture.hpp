#pragma once
// Models, weights and batches for tests, made from a few numbers.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/family.hpp"
#include "train/models/model.hpp"
#include "train/models/names.hpp"

namespace dbench::train {

/// `spec` as it would stand in /model.
inline std::unique_ptr<Model> make_model(const std::string& spec, const ModelContext& context) {
    const base::Json resolved =
        base::resolve_member(base::Json::parse(spec), "/model", "model", model_entries());
    return base::find_entry(model_table(), resolved.at("type"))->make(resolved, context);
}

/// Parameters of a replica.
inline int64_t count(const std::string& spec, const ModelContext& context) {
    return layout_of(make_model(spec, context)->declaration()).numel();
}

/// What `spec` is refused with, or "accepted".
inline std::string refusal(const std::string& spec, const ModelContext& context) {
    try {
        make_model(spec, context);
    } catch (const base::UserError& error) {
        return error.what();
    }
    return "accepted";
}

/// Initialised parameters that take gradients, and buffers.
inline Weights draw_weights(const Model& model, torch::ScalarType type, uint64_t seed) {
    torch::manual_seed(seed);
    Weights weights;
    for (const auto& info : model.declaration().parameters) {
        torch::Tensor tensor = torch::zeros(info.shape, type);
        info.initialise(tensor);
        weights.parameters.push_back(tensor.requires_grad_(true));
    }
    for (const auto& info : model.declaration().buffers) {
        weights.buffers.push_back(torch::full(info.shape, info.initial, type));
    }
    return weights;
}

/// A batch that owns its memory: standard normal inputs and targets, uniform labels and tokens.
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
        stored = order == data::Order::channels_last ? inputs.permute({0, 2, 3, 1}).contiguous()
                                                     : inputs;
        batch.count = count;
        batch.tokens = context.tokens;
        batch.terms = context.tokens ? inputs.numel() : count;
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
};

}  // namespace dbench::train
